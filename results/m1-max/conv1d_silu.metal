/* ksearch
[tunables]
ROWS = { values = [2, 4, 8, 16], default = 16 }

[defines]
T = { type = "x" }
K = "K"
SILU = "silu"
HAS_BIAS = "has_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"
WIDTH = 1

[[dispatch]]
kernel = "conv1d_silu"
grid = ["ceil_div(ceil_div(dim, WIDTH), 32)", "ceil_div(ceil_div(L, 1), ROWS)", "batch"]
threadgroup = [32, "ROWS", 1]
*/
// Causal depthwise convolution with SiLU.
// Strategies: threadgroups over channels and time.

#include <metal_stdlib>
using namespace metal;

using Wide = float;

inline Wide load(device const T* p) { return Wide(*p); }
inline Wide load_bias(device const float* p) { return *p; }
inline void save(device T* p, Wide x) { *p = T(x); }
inline Wide tap(device const float* p) { return *p; }

inline Wide activated(Wide y)
{
    if (!SILU) {
        return y;
    }
    return y / (1.0f + exp(-y));
}

// The input at time `t`, which may lie before the first.
inline Wide at(device const T* x, device const T* initial_state, int t, uint b, uint d, uint L, uint dim)
{
    if (t >= 0) {
        return load(x + (b * L + uint(t)) * dim + d);
    }
    return HAS_INITIAL_STATE ? load(initial_state + (b * (K - 1) + uint(t + K - 1)) * dim + d) : Wide(0.0f);
}

kernel void conv1d_silu(
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
    const uint d = position.x * WIDTH;
    const uint b = position.z;
    if (d >= dim) {
        return;
    }
    Wide taps[K];
    #pragma unroll
    for (int k = 0; k < K; ++k) {
        taps[k] = tap(weight + d * K + k);
    }
    const Wide offset = HAS_BIAS ? load_bias(bias + d) : Wide(0.0f);
    const int l = int(position.y);
    if (l >= int(L)) {
        return;
    }
    Wide y = offset;
    #pragma unroll
    for (int k = 0; k < K; ++k) {
        y += taps[k] * at(x, initial_state, l + k - (K - 1), b, d, L, dim);
    }
    save(out + (b * L + uint(l)) * dim + d, activated(y));
    if (HAS_FINAL_STATE && position.y == 0) {
        for (int t = 0; t < K - 1; ++t) {
            save(final_state + (b * (K - 1) + uint(t)) * dim + d, at(x, initial_state, int(L) - (K - 1) + t, b, d, L, dim));
        }
    }
}
