// entry: 26
// expect: fault|wrong_answer
// says: 
// Reads within one dispatch what another threadgroup writes.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
sums = "4 * R"

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
    device float* sums [[buffer(5)]],
    uint row [[threadgroup_position_in_grid]],
    uint lane [[thread_position_in_threadgroup]])
{
    device const T* logits = x + row * C;
    device T* result = out + row * C;
    float largest = -INFINITY;
    for (uint c = 0; c < C; ++c) largest = max(largest, scale * float(logits[c]));
    float sum = 0.0f;
    for (uint c = 0; c < C; ++c) sum += exp(scale * float(logits[c]) - largest);
    if (lane == 0) sums[row] = sum;
    const float neighbour = sums[(row + 1) % R];
    for (uint c = lane; c < C; c += 32) result[c] = T(exp(scale * float(logits[c]) - largest) / sum + 0.0f * neighbour);
}
