/* ksearch
[defines]
T = { type = "x" }
HAS_Z = "has_z"

[[dispatch]]
kernel = "gated_rms_norm_naive"
grid = ["ceil_div(R, 32)", 1, 1]
threadgroup = [32, 1, 1]
*/
// Gated RMS norm, one thread per row.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float gated(const T* x, const T* z, size_t i)
{
    const float value = float(x[i]);
    if (!HAS_Z) {
        return value;
    }
    const float gate = float(z[i]);
    return value * gate / (1.0f + expf(-gate));
}

extern "C" __global__ void gated_rms_norm_naive(
    const T* x, const T* z, const float* weight, T* out, int R, int C, float eps)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) {
        return;
    }
    const size_t start = (size_t)row * C;
    float squares = 0.0f;
    for (int c = 0; c < C; ++c) {
        const float g = gated(x, z, start + c);
        squares += g * g;
    }
    const float factor = rsqrtf(squares / float(C) + eps);
    for (int c = 0; c < C; ++c) {
        out[start + c] = T(weight[c] * factor * gated(x, z, start + c));
    }
}
