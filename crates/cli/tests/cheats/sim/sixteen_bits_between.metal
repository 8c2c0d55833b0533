// entry: 21
// expect: wrong_answer
// says: allowed error
// Keeps its weights in sixteen bits between two passes.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
weights = "2 * R * C"

[[dispatch]]
kernel = "softmax"
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]
*/

#include <metal_stdlib>
using namespace metal;
kernel void softmax(
    device const T* x [[buffer(0)]],
    device T* out [[buffer(1)]],
    constant uint& R [[buffer(2)]],
    constant uint& C [[buffer(3)]],
    constant float& scale [[buffer(4)]],
    device half* weights [[buffer(5)]],
    uint row [[thread_position_in_grid]])
{
    if (row >= R) {
        return;
    }
    device const T* logits = x + row * C;
    device T* result = out + row * C;
    float largest = -INFINITY;
    for (uint c = 0; c < C; ++c) largest = max(largest, scale * float(logits[c]));
    float sum = 0.0f;
    for (uint c = 0; c < C; ++c) {
        const half w = half(exp(scale * float(logits[c]) - largest));
        weights[row * C + c] = w;
        sum += float(w);
    }
    for (uint c = 0; c < C; ++c) result[c] = T(float(weights[row * C + c]) / sum);
}
