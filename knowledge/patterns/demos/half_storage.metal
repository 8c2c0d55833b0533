// Weighted sums of rows held as half: widened in registers and summed in float, or summed in float from floats.
#include <metal_stdlib>
using namespace metal;

kernel void sums_of_halves(device const half* h [[buffer(0)]], device float* y [[buffer(1)]],
                           uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                           uint group [[threadgroup_position_in_grid]])
{
    uint row = group * 8 + simd;
    float sum = 0;
    device const half4* p = (device const half4*)(h + row * 1024);
    for (uint c = lane; c < 256; c += 32) {
        float4 v = float4(p[c]);
        sum += v.x + v.y + v.z + v.w;
    }
    sum = simd_sum(sum);
    if (lane == 0) y[row] = sum;
}

kernel void sums_of_floats(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                           uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                           uint group [[threadgroup_position_in_grid]])
{
    uint row = group * 8 + simd;
    float sum = 0;
    device const float4* p = (device const float4*)(x + row * 1024);
    for (uint c = lane; c < 256; c += 32) {
        float4 v = p[c];
        sum += v.x + v.y + v.z + v.w;
    }
    sum = simd_sum(sum);
    if (lane == 0) y[row] = sum;
}
