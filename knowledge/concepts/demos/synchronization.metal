// What stands for CUDA's barriers and fences: each kernel with its CUDA form in synchronization.cu, where there is one.
#include <metal_stdlib>
using namespace metal;

#define BLOCK device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_threadgroup]], \
    uint group [[threadgroup_position_in_grid]]

kernel void barrier_of_block(BLOCK)
{
    threadgroup int tile[64];
    tile[t] = x[group * 64 + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[group * 64 + t] = tile[(t * 7 + 3) % 64];
}

// The same without the barrier: threads of the other simdgroup may not have written yet.
kernel void without_barrier(BLOCK)
{
    threadgroup int tile[64];
    tile[t] = x[group * 64 + t];
    y[group * 64 + t] = tile[(t * 7 + 3) % 64];
}

kernel void counted_barrier(BLOCK, uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]])
{
    threadgroup int part[2];
    int ones = simd_sum(x[group * 64 + t] > 5 ? 1 : 0);
    if (lane == 0) part[simd] = ones;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[group * 64 + t] = part[0] + part[1];
}

kernel void barrier_of_warp(BLOCK, uint lane [[thread_index_in_simdgroup]])
{
    threadgroup int tile[64];
    tile[t] = x[group * 64 + t];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    y[group * 64 + t] = tile[t - lane + (lane * 5 + 1) % 32];
}

// Device memory that threads of one block exchange: the barrier orders it when told to.
kernel void fenced(BLOCK)
{
    y[group * 64 + t] = x[group * 64 + t];
    threadgroup_barrier(mem_flags::mem_device);
    int other = y[group * 64 + (t + 1) % 64];
    threadgroup_barrier(mem_flags::mem_device);
    y[group * 64 + t] = other;
}

// A barrier over the grid is the end of a dispatch.
kernel void before(BLOCK, uint lane [[thread_index_in_simdgroup]])
{
    int sum = simd_sum(x[group * 64 + t]);
    if (lane == 0) y[128 + group * 2 + t / 32] = sum;
}

kernel void after(BLOCK)
{
    y[group * 64 + t] = x[group * 64 + t] * (y[128] + y[129] + y[130] + y[131]);
}

// Producers and consumers become two steps that all simdgroups take, with one barrier a tile.
kernel void same_work(BLOCK)
{
    threadgroup int tile[64];
    int sum = 0;
    for (uint k = 0; k < 2; ++k) {
        tile[t] = x[k * 64 + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += tile[63 - t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    y[group * 64 + t] = sum;
}
