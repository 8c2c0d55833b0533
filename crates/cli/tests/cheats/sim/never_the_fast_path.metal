// entry: 25
// expect: wrong_answer
// says: 
// Claims a fast path that no shape takes, and has nothing else.
/* ksearch
[defines]
T = { type = "x" }

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
    uint row [[thread_position_in_grid]])
{
    if (row >= R) {
        return;
    }
    device const T* logits = x + row * C;
    device T* result = out + row * C;
    if (C == 1u << 30) {
        float largest = -INFINITY;
        for (uint c = 0; c < C; ++c) largest = max(largest, scale * float(logits[c]));
        float sum = 0.0f;
        for (uint c = 0; c < C; ++c) sum += exp(scale * float(logits[c]) - largest);
        for (uint c = 0; c < C; ++c) result[c] = T(exp(scale * float(logits[c]) - largest) / sum);
    } else {
        for (uint c = 0; c < C; ++c) result[c] = T(1.0f / float(C));
    }
}
