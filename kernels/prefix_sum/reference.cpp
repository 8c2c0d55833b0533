/* ksearch
[[dispatch]]
kernel = "prefix_sum_reference"
grid = ["ceil_div(R, 32)", 1, 1]
threadgroup = [32, 1, 1]
*/
#include <metal_stdlib>
using namespace metal;

kernel void prefix_sum_reference(
    device const double* x [[buffer(0)]],
    device double* out [[buffer(1)]],
    constant uint& R [[buffer(2)]],
    constant uint& C [[buffer(3)]],
    uint row [[thread_position_in_grid]])
{
    if (row >= R) {
        return;
    }
    double sum = 0;
    for (uint c = 0; c < C; ++c) {
        sum += x[row * C + c];
        out[row * C + c] = sum;
    }
}
