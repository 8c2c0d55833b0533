// Vectors: constructors, conversions, swizzles, comparisons, packed loads, bit casts.
#include <metal_stdlib>
using namespace metal;

constant float4 weights = float4(0.1, 0.2, 0.3, 0.4);

kernel void vectors(device const half4* h [[buffer(0)]],
                    device const float* f [[buffer(1)]],
                    device float4* out [[buffer(2)]],
                    device uint4* bits [[buffer(3)]],
                    uint i [[thread_position_in_grid]]) {
    float4 a = float4(h[i]);
    float4 b = (float4)h[i + 1] * 2.0f;
    float4 c(f[0], f[1], a.xy);
    float3 d = float3(a.x, b.yz);
    float4 e = float4(d, 1.0);
    bool4 m = a < b;
    e += float4(a < b);
    e = select(e, c, m && (c > float4(0)));
    if (any(a == b) || all(isfinite(c))) e.xyz = cross(d, c.xyz);
    e.zw = fma(e.xy, weights.zw, float2(dot(a, b)));
    out[i] = clamp(e, 0.0f, 1.0f) + mix(a, b, 0.5f) + static_cast<float4>(int4(a));
    bits[i] = as_type<uint4>(e) ^ uint4(popcount(uint(i)), clz(i), reverse_bits(i), 7u);
}
