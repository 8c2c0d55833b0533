/* ksearch
[[dispatch]]
kernel = "conv1d_silu_reference"
grid = ["ceil_div(dim, 32)", "L", "batch"]
threadgroup = [32, 1, 1]
*/
#include <metal_stdlib>
using namespace metal;

static double at(device const double* x, device const double* before, int t, int K, uint carried, uint row, uint d, uint L, uint dim)
{
    if (t >= 0) {
        return x[(row * L + uint(t)) * dim + d];
    }
    return carried ? before[(row * uint(K - 1) + uint(t + K - 1)) * dim + d] : 0.0;
}

kernel void conv1d_silu_reference(
    device const double* x [[buffer(0)]],
    device const double* weight [[buffer(1)]],
    device const double* bias [[buffer(2)]],
    device const double* initial_state [[buffer(3)]],
    device double* out [[buffer(4)]],
    device double* final_state [[buffer(5)]],
    constant uint& L [[buffer(6)]],
    constant uint& dim [[buffer(7)]],
    constant uint& K [[buffer(8)]],
    constant uint& silu [[buffer(9)]],
    constant uint& has_bias [[buffer(10)]],
    constant uint& has_initial_state [[buffer(11)]],
    constant uint& has_final_state [[buffer(12)]],
    uint3 position [[thread_position_in_grid]])
{
    const uint d = position.x, l = position.y, b = position.z;
    if (d >= dim) {
        return;
    }
    const int taps = int(K);
    double y = has_bias ? bias[d] : 0.0;
    for (int k = 0; k < taps; ++k) {
        y += weight[d * K + uint(k)] * at(x, initial_state, int(l) + k - (taps - 1), taps, has_initial_state, b, d, L, dim);
    }
    out[(b * L + l) * dim + d] = silu ? y / (1.0 + exp(-y)) : y;
    if (has_final_state && l == 0) {
        for (int t = 0; t < taps - 1; ++t) {
            final_state[(b * uint(taps - 1) + uint(t)) * dim + d] =
                at(x, initial_state, int(L) - (taps - 1) + t, taps, has_initial_state, b, d, L, dim);
        }
    }
}
