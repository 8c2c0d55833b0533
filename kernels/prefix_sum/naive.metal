/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "prefix_sum_naive"
grid = ["ceil_div(R, 32)", 1, 1]
threadgroup = [32, 1, 1]
*/
// Prefix sums, one thread per row.

#include <metal_stdlib>
using namespace metal;

kernel void prefix_sum_naive(
    device const T* x [[buffer(0)]],
    device T* out [[buffer(1)]],
    constant uint& R [[buffer(2)]],
    constant uint& C [[buffer(3)]],
    uint row [[thread_position_in_grid]])
{
    if (row >= R) {
        return;
    }
    float sum = 0.0f;
    for (uint c = 0; c < C; ++c) {
        sum += float(x[row * C + c]);
        out[row * C + c] = T(sum);
    }
}
