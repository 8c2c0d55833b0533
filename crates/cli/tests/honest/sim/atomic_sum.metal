// Sums by atomic additions, in whatever order they come.
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
    threadgroup atomic_float total;
    if (lane == 0) atomic_store_explicit(&total, 0.0f, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float largest = -INFINITY;
    for (uint c = 0; c < C; ++c) largest = max(largest, scale * float(logits[c]));
    float part = 0.0f;
    for (uint c = lane; c < C; c += 64) part += exp(scale * float(logits[c]) - largest);
    atomic_fetch_add_explicit(&total, part, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float sum = atomic_load_explicit(&total, memory_order_relaxed);
    for (uint c = lane; c < C; c += 64) result[c] = T(exp(scale * float(logits[c]) - largest) / sum);
}
