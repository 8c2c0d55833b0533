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

#include <metal_stdlib>
using namespace metal;

// The input at time `t`, which may lie before the first.
inline float at(device const T* x, device const T* initial_state, int t, uint b, uint d, uint L, uint dim)
{
    if (t >= 0) {
        return float(x[(b * L + uint(t)) * dim + d]);
    }
    return HAS_INITIAL_STATE ? float(initial_state[(b * (K - 1) + uint(t + K - 1)) * dim + d]) : 0.0f;
}

kernel void conv1d_silu_naive(
    device const T* x [[buffer(0)]],
    device const float* weight [[buffer(1)]],
    device const float* bias [[buffer(2)]],
    device const T* initial_state [[buffer(3)]],
    device T* out [[buffer(4)]],
    device T* final_state [[buffer(5)]],
    constant uint& L [[buffer(6)]],
    constant uint& dim [[buffer(7)]],
    uint3 position [[thread_position_in_grid]])
{
    const uint d = position.x;
    const uint l = position.y;
    const uint b = position.z;
    if (d >= dim) {
        return;
    }
    float y = HAS_BIAS ? bias[d] : 0.0f;
    for (int k = 0; k < K; ++k) {
        y += weight[d * K + k] * at(x, initial_state, int(l) + k - (K - 1), b, d, L, dim);
    }
    if (SILU) {
        y = y / (1.0f + exp(-y));
    }
    out[(b * L + l) * dim + d] = T(y);
    if (HAS_FINAL_STATE && l == 0) {
        for (int t = 0; t < K - 1; ++t) {
            final_state[(b * (K - 1) + t) * dim + d] = T(at(x, initial_state, int(L) - (K - 1) + t, b, d, L, dim));
        }
    }
}
