/* ksearch
[defines]
T = { type = "x" }
K = "K"
SILU = "silu"
HAS_BIAS = "has_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"

[[dispatch]]
kernel = "conv1d_silu_naive"
grid = ["ceil_div(dim, 32)", "L", "batch"]
threadgroup = [32, 1, 1]
*/
// Causal depthwise convolution with SiLU, one thread per output.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// The input at time `t`, which may lie before the first.
__device__ float at(const T* x, const T* initial_state, int t, int b, int d, int L, int dim)
{
    if (t >= 0) {
        return float(x[((size_t)b * L + t) * dim + d]);
    }
    return HAS_INITIAL_STATE ? float(initial_state[((size_t)b * (K - 1) + t + K - 1) * dim + d]) : 0.0f;
}

extern "C" __global__ void conv1d_silu_naive(
    const T* x, const float* weight, const float* bias, const T* initial_state, T* out, T* final_state, int L, int dim)
{
    const int d = blockIdx.x * blockDim.x + threadIdx.x;
    const int l = blockIdx.y;
    const int b = blockIdx.z;
    if (d >= dim) {
        return;
    }
    float y = HAS_BIAS ? bias[d] : 0.0f;
    for (int k = 0; k < K; ++k) {
        y += weight[d * K + k] * at(x, initial_state, l + k - (K - 1), b, d, L, dim);
    }
    if (SILU) {
        y = y / (1.0f + expf(-y));
    }
    out[((size_t)b * L + l) * dim + d] = T(y);
    if (HAS_FINAL_STATE && l == 0) {
        for (int t = 0; t < K - 1; ++t) {
            final_state[((size_t)b * (K - 1) + t) * dim + d] = T(at(x, initial_state, L - (K - 1) + t, b, d, L, dim));
        }
    }
}
