// y = 2 x, four elements an instruction and one.
#include <metal_stdlib>
using namespace metal;

kernel void four(device const float4* x [[buffer(0)]], device float4* y [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    y[i] = 2.0f * x[i];
}

kernel void one(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    y[i] = 2.0f * x[i];
}
