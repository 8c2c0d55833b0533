// The work in a template with an operation as its argument.
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

struct Larger {
    static float of(float a, float b) { return max(a, b); }
};
struct Total {
    static float of(float a, float b) { return a + b; }
};
template <typename Operation>
float fold(float a, float b)
{
    return Operation::of(a, b);
}

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
    float largest = -INFINITY;
    for (uint c = 0; c < C; ++c) largest = fold<Larger>(largest, scale * float(logits[c]));
    float sum = 0.0f;
    for (uint c = 0; c < C; ++c) sum = fold<Total>(sum, exp(scale * float(logits[c]) - largest));
    for (uint c = 0; c < C; ++c) result[c] = T(exp(scale * float(logits[c]) - largest) / sum);
}
