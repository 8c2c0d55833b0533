/* ksearch
[tunables]
SIMDGROUPS = { values = [1, 2, 4, 8, 16], default = 16 }

[defines]
T = { type = "x" }
C = "C"
HAS_Z = "has_z"
WIDTH = "C % 4 == 0 ? 4 : 1"

[[dispatch]]
kernel = "gated_rms_norm"
grid = ["R", 1, 1]
threadgroup = ["32 * SIMDGROUPS", 1, 1]
*/
// Gated RMS norm along rows, one threadgroup per row.
// Strategies: four elements per load; a simdgroup per row; a threadgroup per row; the gated row in registers.

#include <metal_stdlib>
using namespace metal;

// Rows are moved four elements at a time where every row starts aligned (C is a multiple of 4), else one at a time.
#if WIDTH == 4
using Wide = float4;

inline Wide load(device const T* p) { return Wide(*(device const vec<T, 4>*)p); }
inline Wide load_weight(device const float* p) { return *(device const float4*)p; }
inline void save(device T* p, Wide x) { *(device vec<T, 4>*)p = vec<T, 4>(x); }
inline float total(Wide x) { return (x.x + x.y) + (x.z + x.w); }
#else
using Wide = float;

inline Wide load(device const T* p) { return Wide(*p); }
inline Wide load_weight(device const float* p) { return *p; }
inline void save(device T* p, Wide x) { *p = T(x); }
inline float total(Wide x) { return x; }
#endif

// The input after its gate.
inline Wide gated(device const T* x, device const T* z)
{
    const Wide value = load(x);
    if (!HAS_Z) {
        return value;
    }
    const Wide gate = load(z);
    return value * gate / (1.0f + exp(-gate));
}

kernel void gated_rms_norm(
    device const T* x [[buffer(0)]],
    device const T* z [[buffer(1)]],
    device const float* weight [[buffer(2)]],
    device T* out [[buffer(3)]],
    constant uint& R [[buffer(4)]],
    constant float& eps [[buffer(5)]],
    uint row [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    const uint first = thread_index * WIDTH;
    constexpr uint STRIDE = 32 * SIMDGROUPS * WIDTH;
    threadgroup float shared[SIMDGROUPS];
    device const T* values = x + row * C;
    device const T* gates = z + row * C;
    device T* normed = out + row * C;
    float squares = 0.0f;
    // The gated row is made once and kept. Places past its end hold zero.
    constexpr uint PIECES = (C + STRIDE - 1) / STRIDE;
    Wide kept[PIECES];
    #pragma unroll
    for (uint i = 0; i < PIECES; ++i) {
        const uint c = first + i * STRIDE;
        kept[i] = c < C ? gated(values + c, gates + c) : Wide(0.0f);
        squares += total(kept[i] * kept[i]);
    }
    squares = simd_sum(squares);
    if (lane == 0) {
        shared[simdgroup] = squares;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    squares = simd_sum(lane < SIMDGROUPS ? shared[lane] : 0.0f);
    const float factor = rsqrt(squares / float(C) + eps);
    #pragma unroll
    for (uint i = 0; i < PIECES; ++i) {
        const uint c = first + i * STRIDE;
        if (c < C) {
            save(normed + c, load_weight(weight + c) * (factor * kept[i]));
        }
    }
}
