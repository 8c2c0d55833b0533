// What MLX's rules come to in a kernel: a grid of threads, strides, names.
#include <metal_stdlib>
using namespace metal;

// dispatchThreads rounded up to full threadgroups: the last threads have nothing to do, but take part in the barrier.
kernel void rounded_up(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                       uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]])
{
    threadgroup float tile[64];
    tile[t] = i < 200 ? x[i] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (i < 200) y[i] = tile[t] + tile[0];
}

// ensure_row_contiguous=False: a transposed view, read through its shape and strides.
kernel void strided(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    const int x_shape[2] = {8, 16}, x_strides[2] = {1, 8};
    uint at = i / x_shape[1] * x_strides[0] + i % x_shape[1] * x_strides[1];
    y[i] = x[at];
}

// A helper that takes pointers of both address spaces that MLX may choose.
template <typename P> float twice(P p, uint i) { return 2.0f * p[i]; }

kernel void either_pointer(device const float* x [[buffer(0)]], constant float* few [[buffer(1)]], device float* y [[buffer(2)]],
                           uint i [[thread_position_in_grid]])
{
    y[i] = twice(x, i) + twice(few, i % 4);
}
