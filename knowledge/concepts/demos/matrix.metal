// What stands for CUDA's matrix instructions; matrix.cu has the same products in plain loops.
#include <metal_stdlib>
using namespace metal;

// 16x16x16 as 2 x 2 x 2 products of 8x8, half in and float out.
kernel void product16(device const half* a [[buffer(0)]], device const half* b [[buffer(1)]], device float* c [[buffer(2)]])
{
    simdgroup_float8x8 sum[2][2];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) sum[i][j] = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (int k = 0; k < 16; k += 8)
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 2; ++j) {
                simdgroup_half8x8 left, right;
                simdgroup_load(left, a + i * 8 * 16 + k, 16);
                simdgroup_load(right, b + k * 16 + j * 8, 16);
                simdgroup_multiply_accumulate(sum[i][j], left, right, sum[i][j]);
            }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) simdgroup_store(sum[i][j], c + i * 8 * 16 + j * 8, 16);
}

// An 8x8 product whose rows are then scaled, each by its own factor: which lane holds what matters.
kernel void scaled_rows(device const half* a [[buffer(0)]], device const half* b [[buffer(1)]], device float* c [[buffer(2)]],
                        uint lane [[thread_index_in_simdgroup]])
{
    uint row = (lane / 4 & 4) + (lane / 2) % 4;
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.0f);
    simdgroup_half8x8 left, right;
    simdgroup_load(left, a, 16);
    simdgroup_load(right, b, 16);
    simdgroup_multiply_accumulate(sum, left, right, sum);
    sum.thread_elements()[0] *= float(row + 1);
    sum.thread_elements()[1] *= float(row + 1);
    simdgroup_store(sum, c, 8);
}

// Four simdgroups, each with its quarter of a 16x16 tile.
kernel void shared_tile(device const half* a [[buffer(0)]], device const half* b [[buffer(1)]], device float* c [[buffer(2)]],
                        uint simd [[simdgroup_index_in_threadgroup]])
{
    uint row = simd / 2 * 8, col = simd % 2 * 8;
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.0f);
    for (int k = 0; k < 16; k += 8) {
        simdgroup_half8x8 left, right;
        simdgroup_load(left, a + row * 16 + k, 16);
        simdgroup_load(right, b + k * 16 + col, 16);
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, c + row * 16 + col, 16);
}
