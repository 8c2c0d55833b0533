// Transpose of a 256x256 matrix through tiles of 32x32, with and without a padded row.
#include <metal_stdlib>
using namespace metal;

template <int STRIDE>
void transpose(device const float* x, device float* y, threadgroup float* tile, uint2 t, uint2 group)
{
    for (uint r = t.y; r < 32; r += 8) tile[r * STRIDE + t.x] = x[(group.y * 32 + r) * 256 + group.x * 32 + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint r = t.y; r < 32; r += 8) y[(group.x * 32 + r) * 256 + group.y * 32 + t.x] = tile[t.x * STRIDE + r];
}

kernel void transpose_padded(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                             uint2 t [[thread_position_in_threadgroup]], uint2 group [[threadgroup_position_in_grid]])
{
    threadgroup float tile[32 * 33];
    transpose<33>(x, y, tile, t, group);
}

kernel void transpose_plain(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                            uint2 t [[thread_position_in_threadgroup]], uint2 group [[threadgroup_position_in_grid]])
{
    threadgroup float tile[32 * 32];
    transpose<32>(x, y, tile, t, group);
}
