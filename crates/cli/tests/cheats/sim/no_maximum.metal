// entry: 22
// expect: nonfinite|wrong_answer
// says: 
// stage: confirm
// Leaves out the maximum, which hardly matters where all values are small.
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
    float sum = 0.0f;
    for (uint c = 0; c < C; ++c) sum += exp(scale * float(logits[c]));
    for (uint c = 0; c < C; ++c) result[c] = T(exp(scale * float(logits[c])) / sum);
}
