/* ksearch
[[dispatch]]
kernel = "gated_rms_norm_reference"
grid = ["ceil_div(R, 32)", 1, 1]
threadgroup = [32, 1, 1]
*/
#include <metal_stdlib>
using namespace metal;

static double gated(device const double* x, device const double* z, uint has_z, uint i)
{
    return has_z ? x[i] * z[i] / (1.0 + exp(-z[i])) : x[i];
}

kernel void gated_rms_norm_reference(
    device const double* x [[buffer(0)]],
    device const double* z [[buffer(1)]],
    device const double* weight [[buffer(2)]],
    device double* out [[buffer(3)]],
    constant uint& R [[buffer(4)]],
    constant uint& C [[buffer(5)]],
    constant double& eps [[buffer(6)]],
    constant uint& has_z [[buffer(7)]],
    uint row [[thread_position_in_grid]])
{
    if (row >= R) {
        return;
    }
    double squares = 0;
    for (uint c = 0; c < C; ++c) {
        const double g = gated(x, z, has_z, row * C + c);
        squares += g * g;
    }
    for (uint c = 0; c < C; ++c) {
        out[row * C + c] = weight[c] * gated(x, z, has_z, row * C + c) / sqrt(squares / double(C) + eps);
    }
}
