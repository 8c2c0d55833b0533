// The ABI of the machine (see ksearch_msl::abi) for kernels written in OpenCL C++, and names that read like MSL.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define PURE __attribute__((const, nothrow))
#define CONV __attribute__((convergent, nothrow))
extern "C" {
int __ks_sr(int) PURE;
void __ks_threadgroup_barrier(int) CONV;
void __ks_simdgroup_barrier(int) CONV;
void __ks_fence(int, int, int) CONV;
int __ks_shuffle_i32(int, int) CONV;
int __ks_shuffle_xor_i32(int, int) CONV;
int __ks_shuffle_up_i32(int, int) CONV;
int __ks_shuffle_down_i32(int, int) CONV;
float __ks_shuffle_xor_f32(float, int) CONV;
float __ks_broadcast_f32(float, int) CONV;
float __ks_broadcast_first_f32(float) CONV;
float __ks_simd_sum_f32(float) CONV;
float __ks_simd_max_f32(float) CONV;
float __ks_simd_prefix_exclusive_sum_f32(float) CONV;
int __ks_simd_sum_i32(int) CONV;
unsigned __ks_simd_max_u32(unsigned) CONV;
float __ks_quad_sum_f32(float) CONV;
unsigned long __ks_ballot(int) CONV;
unsigned long __ks_active_mask() CONV;
int __ks_simd_is_first() CONV;
typedef float ks_f2 __attribute__((ext_vector_type(2)));
ks_f2 __ks_mma_8x8(ks_f2, ks_f2, ks_f2, int) CONV;
float __ks_exp_f32(float) PURE;
float __ks_exp2_f32(float) PURE;
float __ks_log2_f32(float) PURE;
float __ks_rsqrt_f32(float) PURE;
float __ks_sin_f32(float) PURE;
float __ks_div_f32(float, float) PURE;
void __ks_trap(int) __attribute__((noreturn));
}
typedef unsigned uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef unsigned long ulong;
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float3 __attribute__((ext_vector_type(3)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef half half4 __attribute__((ext_vector_type(4)));
typedef uint uint4 __attribute__((ext_vector_type(4)));
#define INFINITY __builtin_inff()
#define device __global
#define threadgroup __local
#define kernel extern "C" __kernel
#define tid __ks_sr(0)
#define gid __ks_sr(19)
#define group __ks_sr(3)
#define lane __ks_sr(12)
#define simd __ks_sr(13)
#define nsimd __ks_sr(14)
#define barrier_tg() __ks_threadgroup_barrier(2)
#define atomic_add(p, v) __opencl_atomic_fetch_add((volatile device atomic_uint*)(p), (uint)(v), 0, 2)
#define atomic_add_tg(p, v) __opencl_atomic_fetch_add((volatile threadgroup atomic_uint*)(p), (uint)(v), 0, 1)
#define atomic_load_tg(p) __opencl_atomic_load((volatile threadgroup atomic_uint*)(p), 0, 1)
#define atomic_store_tg(p, v) __opencl_atomic_store((volatile threadgroup atomic_uint*)(p), (uint)(v), 0, 1)
#define atomic_load_dev(p) __opencl_atomic_load((volatile device atomic_uint*)(p), 0, 2)
#define atomic_store_dev(p, v) __opencl_atomic_store((volatile device atomic_uint*)(p), (uint)(v), 0, 2)
