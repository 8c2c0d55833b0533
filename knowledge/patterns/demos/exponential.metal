// exp(s (x - m)) for many elements: by exp, and by exp2 with s log2(e) folded in and the maximum in base 2.
#include <metal_stdlib>
using namespace metal;

kernel void powers_of_two(device const float* x [[buffer(0)]], device const float* s [[buffer(1)]], device float* y [[buffer(2)]],
                          uint i [[thread_position_in_grid]])
{
    const float scale = s[0] * M_LOG2E_F, m = scale * s[1];
    float sum = 0;
    for (uint n = 0; n < 64; ++n) sum += exp2(fma(x[i ^ n], scale, -m));
    y[i] = sum;
}

kernel void natural(device const float* x [[buffer(0)]], device const float* s [[buffer(1)]], device float* y [[buffer(2)]],
                    uint i [[thread_position_in_grid]])
{
    const float scale = s[0], m = s[1];
    float sum = 0;
    for (uint n = 0; n < 64; ++n) sum += exp(scale * (x[i ^ n] - m));
    y[i] = sum;
}
