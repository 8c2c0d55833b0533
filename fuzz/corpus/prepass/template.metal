#include <metal_stdlib>
using namespace metal;
constant bool wide [[function_constant(0)]];
template <typename T, int N>
[[kernel]] void scale(device const T* x [[buffer(0)]], device T* y [[buffer(1)]], constant float& s [[buffer(2)]],
                      uint3 i [[thread_position_in_grid]]) {
  threadgroup T tile[N];
  tile[i.x % N] = x[i.x] * T(s);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i.x] = wide ? tile[0] : tile[i.x % N];
}
template [[host_name("scale_f16_32")]] [[kernel]] void scale<half, 32>(device const half*, device half*, constant float&, uint3);
