/* ksearch
[[dispatch]]
kernel = "softmax_reference"
grid = ["ceil_div(R, 32)", 1, 1]
threadgroup = [32, 1, 1]
*/
#include <metal_stdlib>
using namespace metal;

kernel void softmax_reference(
    device const double* x [[buffer(0)]],
    device double* out [[buffer(1)]],
    constant uint& R [[buffer(2)]],
    constant uint& C [[buffer(3)]],
    constant double& scale [[buffer(4)]],
    uint r [[thread_position_in_grid]])
{
    if (r >= R) {
        return;
    }
    device const double* row = x + r * C;
    double top = -numeric_limits<double>::infinity();
    for (uint c = 0; c < C; ++c) {
        top = max(top, scale * row[c]);
    }
    double sum = 0;
    for (uint c = 0; c < C; ++c) {
        sum += exp(scale * row[c] - top);
    }
    for (uint c = 0; c < C; ++c) {
        out[r * C + c] = exp(scale * row[c] - top) / sum;
    }
}
