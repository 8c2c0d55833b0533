// Templates, function constants, threadgroup memory, simd reductions and a host_name instantiation each.
#include <metal_stdlib>
using namespace metal;

constant uint width [[function_constant(0)]];
constant bool squared [[function_constant(1)]];
constant uint lanes = 32;

template <typename T, int N>
[[kernel]] void reduce(const device T* in [[buffer(0)]],
                       device T* out [[buffer(1)]],
                       constant const uint& n [[buffer(2)]],
                       device atomic_uint* done [[buffer(3)]],
                       threadgroup T* extra [[threadgroup(0)]],
                       uint tid [[thread_index_in_threadgroup]],
                       uint3 group [[threadgroup_position_in_grid]],
                       ushort lane [[thread_index_in_simdgroup]],
                       ushort sg [[simdgroup_index_in_threadgroup]]) {
    threadgroup T partial[N][2];
    threadgroup uint count;
    T acc = T(0);
    for (uint i = group.x * width + tid; i < min(n, (group.x + 1) * width); i += lanes * N) {
        T x = in[i];
        acc += squared ? x * x : x;
    }
    acc = simd_sum(acc);
    if (lane == 0) {
        partial[sg][0] = acc;
        extra[sg] = acc;
    }
    if (tid == 0) count = N;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        T total = 0;
#pragma unroll
        for (int i = 0; i < N; ++i) total += partial[i][0];
        out[group.x] = total;
        atomic_fetch_add_explicit(done, count, memory_order_relaxed);
    }
}

#define instantiate(name, T, N) \
    template [[host_name("reduce_" #name)]] [[kernel]] decltype(reduce<T, N>) reduce<T, N>;

instantiate(f32_4, float, 4)
instantiate(f16_8, half, 8)
