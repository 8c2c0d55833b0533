// A threadgroup works on a row, with a tree of sums in threadgroup memory.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R", 1, 1]
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
    uint row [[threadgroup_position_in_grid]],
    uint lane [[thread_position_in_threadgroup]])
{
    device const T* logits = x + row * C;
    device T* result = out + row * C;
    threadgroup float shared[64];
    float largest = -INFINITY;
    for (uint c = lane; c < C; c += 64) largest = max(largest, scale * float(logits[c]));
    shared[lane] = largest;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint reach = 32; reach > 0; reach /= 2) {
        if (lane < reach) shared[lane] = max(shared[lane], shared[lane + reach]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    largest = shared[0];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float sum = 0.0f;
    for (uint c = lane; c < C; c += 64) sum += exp(scale * float(logits[c]) - largest);
    shared[lane] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint reach = 32; reach > 0; reach /= 2) {
        if (lane < reach) shared[lane] += shared[lane + reach];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    sum = shared[0];
    for (uint c = lane; c < C; c += 64) result[c] = T(exp(scale * float(logits[c]) - largest) / sum);
}
