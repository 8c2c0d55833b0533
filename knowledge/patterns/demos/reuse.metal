// C = A B with 128x128 matrices: one result a thread, and four results that share each loaded operand.
#include <metal_stdlib>
using namespace metal;

kernel void product_reuse(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                          device float* c [[buffer(2)]], uint2 g [[thread_position_in_grid]])
{
    uint row = g.y * 4;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint k = 0; k < 128; ++k) {
        float v = b[k * 128 + g.x];
        s0 = fma(a[row * 128 + k], v, s0);
        s1 = fma(a[(row + 1) * 128 + k], v, s1);
        s2 = fma(a[(row + 2) * 128 + k], v, s2);
        s3 = fma(a[(row + 3) * 128 + k], v, s3);
    }
    c[row * 128 + g.x] = s0;
    c[(row + 1) * 128 + g.x] = s1;
    c[(row + 2) * 128 + g.x] = s2;
    c[(row + 3) * 128 + g.x] = s3;
}

kernel void product_plain(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                          device float* c [[buffer(2)]], uint2 g [[thread_position_in_grid]])
{
    float s = 0;
    for (uint k = 0; k < 128; ++k) s = fma(a[g.y * 128 + k], b[k * 128 + g.x], s);
    c[g.y * 128 + g.x] = s;
}
