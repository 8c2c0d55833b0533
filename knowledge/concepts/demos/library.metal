// What stands for parts of CUDA's libraries; library.cu has the same written out in CUDA.
#include <metal_stdlib>
using namespace metal;

// cub::BlockReduce: a value a simdgroup in threadgroup memory, then the same over those.
kernel void block_reduce(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                         uint group [[threadgroup_position_in_grid]])
{
    threadgroup int part[4];
    int sum = simd_sum(x[t]);
    if (lane == 0) part[simd] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd == 0) {
        sum = simd_sum(lane < 4 ? part[lane] : 0);
        if (lane == 0) y[group] = sum;
    }
}

// thrust::transform_reduce: partial sums of squares, one a threadgroup; a second dispatch adds them.
kernel void squares(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]])
{
    int sum = simd_sum(x[t] * x[t]);
    if (lane == 0) y[t / 32] = sum;
}

kernel void total(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint lane [[thread_index_in_simdgroup]])
{
    int sum = lane < 8 ? y[lane] : 0;
    sum = simd_sum(sum);
    if (lane == 0) y[8] = sum + 0 * x[0];
}

// CuTe's layout (4, (2, 8)) : (2, (1, 8)) written out as index arithmetic.
kernel void layout(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_threadgroup]])
{
    uint row = t % 4, inner = t / 4 % 2, outer = t / 8;
    y[t] = x[row * 2 + inner + outer * 8];
}
