// C = A B with 64x64 matrices of float on 8x8 simdgroup matrices, and which element a lane holds.
#include <metal_stdlib>
using namespace metal;

kernel void product_tiles(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                          device float* c [[buffer(2)]], uint2 group [[threadgroup_position_in_grid]])
{
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (uint k = 0; k < 64; k += 8) {
        simdgroup_float8x8 left, right;
        simdgroup_load(left, a + group.y * 8 * 64 + k, 64);
        simdgroup_load(right, b + k * 64 + group.x * 8, 64);
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, c + group.y * 8 * 64 + group.x * 8, 64);
}

kernel void product_loops(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                          device float* c [[buffer(2)]], uint2 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]])
{
    for (uint i = lane; i < 64; i += 32) {
        uint row = group.y * 8 + i / 8, col = group.x * 8 + i % 8;
        float s = 0;
        for (uint k = 0; k < 64; ++k) s += a[row * 64 + k] * b[k * 64 + col];
        c[row * 64 + col] = s;
    }
}

// Lane `l` of a simdgroup holds elements (row, col) and (row, col + 1) of an 8x8 matrix.
kernel void lane_layout(device int* where [[buffer(0)]], uint lane [[thread_index_in_simdgroup]])
{
    uint quad = lane / 4;
    uint row = (quad & 4) + (lane / 2) % 4;
    uint col = (quad & 2) * 2 + (lane % 2) * 2;
    threadgroup float m[64];
    m[lane] = lane;
    m[lane + 32] = lane + 32;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 tile;
    simdgroup_load(tile, m, 8);
    where[lane * 2] = int(tile.thread_elements()[0]) - int(row * 8 + col);
    where[lane * 2 + 1] = int(tile.thread_elements()[1]) - int(row * 8 + col + 1);
}
