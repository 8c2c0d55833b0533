// A simdgroup works on a row, with sums across its lanes.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R", 1, 1]
threadgroup = [32, 1, 1]
*/

#include <metal_stdlib>
using namespace metal;
kernel void softmax(
    device const T* x [[buffer(0)]],
    device T* out [[buffer(1)]],
    constant uint& R [[buffer(2)]],
    constant uint& C [[buffer(3)]],
    constant float& scale [[buffer(4)]],
    uint row [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]])
{
    device const T* logits = x + row * C;
    device T* result = out + row * C;
    float largest = -INFINITY;
    for (uint c = lane; c < C; c += 32) largest = max(largest, scale * float(logits[c]));
    largest = simd_max(largest);
    float sum = 0.0f;
    for (uint c = lane; c < C; c += 32) sum += exp(scale * float(logits[c]) - largest);
    sum = simd_sum(sum);
    for (uint c = lane; c < C; c += 32) result[c] = T(exp(scale * float(logits[c]) - largest) / sum);
}
