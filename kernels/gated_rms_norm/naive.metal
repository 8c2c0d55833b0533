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

#include <metal_stdlib>
using namespace metal;

inline float gated(device const T* x, device const T* z, uint i)
{
    const float value = float(x[i]);
    if (!HAS_Z) {
        return value;
    }
    const float gate = float(z[i]);
    return value * gate / (1.0f + exp(-gate));
}

kernel void gated_rms_norm_naive(
    device const T* x [[buffer(0)]],
    device const T* z [[buffer(1)]],
    device const float* weight [[buffer(2)]],
    device T* out [[buffer(3)]],
    constant uint& R [[buffer(4)]],
    constant uint& C [[buffer(5)]],
    constant float& eps [[buffer(6)]],
    uint row [[thread_position_in_grid]])
{
    if (row >= R) {
        return;
    }
    float squares = 0.0f;
    for (uint c = 0; c < C; ++c) {
        const float g = gated(x, z, row * C + c);
        squares += g * g;
    }
    const float factor = rsqrt(squares / float(C) + eps);
    for (uint c = 0; c < C; ++c) {
        out[row * C + c] = T(weight[c] * factor * gated(x, z, row * C + c));
    }
}
