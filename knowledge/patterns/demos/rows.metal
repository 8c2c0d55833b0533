// Sums of rows of 1024: in registers and across the simdgroup, and through threadgroup memory.
#include <metal_stdlib>
using namespace metal;

kernel void row_sums_registers(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                               uint t [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                               uint simd [[simdgroup_index_in_threadgroup]], uint row [[threadgroup_position_in_grid]])
{
    threadgroup float part[4];
    float sum = 0;
    for (uint c = t; c < 1024; c += 128) sum += x[row * 1024 + c];
    sum = simd_sum(sum);
    if (lane == 0) part[simd] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) y[row] = part[0] + part[1] + part[2] + part[3];
}

kernel void row_sums_tree(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                          uint t [[thread_position_in_threadgroup]], uint row [[threadgroup_position_in_grid]])
{
    threadgroup float part[128];
    float sum = 0;
    for (uint c = t; c < 1024; c += 128) sum += x[row * 1024 + c];
    part[t] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint n = 64; n > 0; n /= 2) {
        if (t < n) part[t] += part[t + n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) y[row] = part[0];
}
