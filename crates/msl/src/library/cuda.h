// What CUDA C++ device code is compiled with: types, indices, mathematics, synchronisation and communication in a warp,
// atomics. Pointers are generic here, as they are in CUDA. Written against the functions that the machine offers.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define KS inline __attribute__((always_inline, nodebug))
#define KS_C extern "C" __attribute__((nothrow))
#define KS_PURE extern "C" __attribute__((nothrow, const))
#define KS_CONV extern "C" __attribute__((nothrow, convergent))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ssize_t;
typedef long ptrdiff_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef decltype(nullptr) nullptr_t;

// The machine.
KS_PURE int __ks_sr(int id);
KS_CONV void __ks_threadgroup_barrier(int flags);
KS_CONV void __ks_simdgroup_barrier(int flags);
KS_C void __ks_fence(int flags, int order, int scope);
KS_CONV int __ks_shuffle_i32(int v, int lane);
KS_CONV ulong __ks_ballot(int p);
KS_CONV ulong __ks_active_mask();
KS_C void __ks_trap(int code);

// Shared memory declared inside a function, and the block that the launch sizes.
KS_C __attribute__((const)) __local void* __ks_tg_alloc(uint id, ulong bytes, ulong align);
template <class T, int I, int A = 1> KS T& __ks_tg() {
    return *(T*)(__local T*)__ks_tg_alloc(I, sizeof(T), alignof(T) > A ? alignof(T) : A);
}
KS_C __attribute__((const)) __local void* __ks_dynamic();

// Arguments of kernels.
KS_C void __ks_meta(uint entry, uint param, uint bytes);
template <class T> struct __ks_size { static constexpr uint value = sizeof(T); };
template <> struct __ks_size<void> { static constexpr uint value = 0; };
template <> struct __ks_size<const void> { static constexpr uint value = 0; };
template <uint K, uint I> struct __ks_pointer {
    __global void* p;
    template <class T> KS operator __generic T*() const __private { __ks_meta(K, I, __ks_size<T>::value); return (__generic T*)(__global T*)p; }
};
template <uint K, uint I> struct __ks_value {
    __constant void* p;
    template <class T> KS operator T() const __private { __ks_meta(K, I, sizeof(T)); return *(const __constant T*)p; }
};

// `reinterpret_cast`, which C++ for OpenCL does not let change between private and generic pointers.
template <class T> struct __ks_rc {
    template <class U> static KS T f(U x) { return (T)x; }
};
template <class T> struct __ks_rc<T&> {
    template <class U> static KS T& f(U& x) { return *(T*)&x; }
};

// Vector types are plain structures of aligned elements.
#define KS_VECTOR(T, N, A2, A4) \
    struct N##1 { T x; }; \
    struct __attribute__((aligned(A2))) N##2 { T x, y; }; \
    struct N##3 { T x, y, z; }; \
    struct __attribute__((aligned(A4))) N##4 { T x, y, z, w; }; \
    KS N##1 make_##N##1(T x) { return {x}; } \
    KS N##2 make_##N##2(T x, T y) { return {x, y}; } \
    KS N##3 make_##N##3(T x, T y, T z) { return {x, y, z}; } \
    KS N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
KS_VECTOR(signed char, char, 2, 4)
KS_VECTOR(unsigned char, uchar, 2, 4)
KS_VECTOR(short, short, 4, 8)
KS_VECTOR(unsigned short, ushort, 4, 8)
KS_VECTOR(int, int, 8, 16)
KS_VECTOR(unsigned int, uint, 8, 16)
KS_VECTOR(long, long, 16, 16)
KS_VECTOR(unsigned long, ulong, 16, 16)
KS_VECTOR(long, longlong, 16, 16)
KS_VECTOR(unsigned long, ulonglong, 16, 16)
KS_VECTOR(float, float, 8, 16)
KS_VECTOR(double, double, 16, 16)
struct dim3 {
    unsigned int x, y, z;
    KS constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    KS dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    KS operator uint3() const { return {x, y, z}; }
};
KS uint3 __ks_thread_index() { return {(uint)__ks_sr(0), (uint)__ks_sr(1), (uint)__ks_sr(2)}; }
KS uint3 __ks_block_index() { return {(uint)__ks_sr(3), (uint)__ks_sr(4), (uint)__ks_sr(5)}; }
KS dim3 __ks_block_size() { return dim3(__ks_sr(6), __ks_sr(7), __ks_sr(8)); }
KS dim3 __ks_grid_size() { return dim3(__ks_sr(9), __ks_sr(10), __ks_sr(11)); }

// Half precision: a value that converts to and from float; arithmetic rounds to half after each operation.
typedef half __half;
struct __attribute__((aligned(4))) __half2 { __half x, y; };
typedef __half2 half2;
KS __half __float2half(float x) { return (__half)x; }
KS __half __float2half_rn(float x) { return (__half)x; }
KS float __half2float(__half x) { return (float)x; }
KS __half __int2half_rn(int x) { return (__half)x; }
KS __half2 __floats2half2_rn(float a, float b) { return {(__half)a, (__half)b}; }
KS __half2 __float2half2_rn(float a) { return {(__half)a, (__half)a}; }
KS __half2 __halves2half2(__half a, __half b) { return {a, b}; }
KS __half2 make_half2(__half a, __half b) { return {a, b}; }
KS __half2 __half2half2(__half a) { return {a, a}; }
KS float2 __half22float2(__half2 v) { return {(float)v.x, (float)v.y}; }
KS __half2 __float22half2_rn(float2 v) { return {(__half)v.x, (__half)v.y}; }
KS __half __low2half(__half2 v) { return v.x; }
KS __half __high2half(__half2 v) { return v.y; }
KS float __low2float(__half2 v) { return v.x; }
KS float __high2float(__half2 v) { return v.y; }
#define KS_H2(name, op) \
    KS __half name(__half a, __half b) { return a op b; } \
    KS __half2 name##2(__half2 a, __half2 b) { return {(__half)(a.x op b.x), (__half)(a.y op b.y)}; }
KS_H2(__hadd, +)
KS_H2(__hsub, -)
KS_H2(__hmul, *)
KS_H2(__hdiv, /)
#undef KS_H2
KS __half2 __h2div(__half2 a, __half2 b) { return {(__half)(a.x / b.x), (__half)(a.y / b.y)}; }
KS __half __hfma(__half a, __half b, __half c) { return (__half)__builtin_fma((double)a, (double)b, (double)c); }
KS __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
KS __half __hneg(__half a) { return -a; }
KS __half __habs(__half a) { return a < (__half)0.0f ? -a : a; }
KS bool __hlt(__half a, __half b) { return a < b; }
KS bool __hgt(__half a, __half b) { return a > b; }
KS bool __hle(__half a, __half b) { return a <= b; }
KS bool __hge(__half a, __half b) { return a >= b; }
KS bool __heq(__half a, __half b) { return a == b; }
KS __half __hmax(__half a, __half b) { return (__half)__builtin_fmaxf(a, b); }
KS __half __hmin(__half a, __half b) { return (__half)__builtin_fminf(a, b); }
KS_PURE int __ks_f32_to_bf16(float);
struct __nv_bfloat16 {
    unsigned short __x;
    __nv_bfloat16() = default;
    KS __nv_bfloat16(float v) : __x((unsigned short)__ks_f32_to_bf16(v)) {}
    KS operator float() const { return __builtin_bit_cast(float, (uint)__x << 16); }
};
KS __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
KS float __bfloat162float(__nv_bfloat16 v) { return (float)v; }

// Mathematics. Names with an f, and those without for float, have CUDA's default accuracy; `__name` the fast one.
#define KS_D1(n) KS_PURE float __ks_##n##_f32(float); KS_PURE float __ks_precise_##n##_f32(float); KS_PURE double __ks_##n##_f64(double);
#define KS_D2(n) KS_PURE float __ks_##n##_f32(float, float); KS_PURE float __ks_precise_##n##_f32(float, float); KS_PURE double __ks_##n##_f64(double, double);
#define KS_EACH1(M) M(exp) M(exp2) M(exp10) M(log) M(log2) M(log10) M(sin) M(cos) M(tan) M(asin) M(acos) M(atan) M(sinh) M(cosh) M(tanh) M(asinh) M(acosh) M(atanh) M(sqrt) M(rsqrt) M(sinpi) M(cospi)
#define KS_EACH2(M) M(pow) M(fmod) M(atan2)
KS_EACH1(KS_D1)
KS_EACH2(KS_D2)
KS_D2(div)
#define KS_M1(n) KS float n##f(float x) { return __ks_precise_##n##_f32(x); } KS float n(float x) { return __ks_precise_##n##_f32(x); } KS double n(double x) { return __ks_##n##_f64(x); } KS double n(int x) { return __ks_##n##_f64((double)x); }
#define KS_M2(n) KS float n##f(float x, float y) { return __ks_precise_##n##_f32(x, y); } KS float n(float x, float y) { return __ks_precise_##n##_f32(x, y); } KS double n(double x, double y) { return __ks_##n##_f64(x, y); }
KS_EACH1(KS_M1)
KS_EACH2(KS_M2)
KS float pow(float x, int y) { return powf(x, (float)y); }
// Through double where the machine has no float form.
#define KS_WIDE1(n) KS_PURE double __ks_##n##_f64(double); KS float n##f(float x) { return (float)__ks_##n##_f64((double)x); } KS float n(float x) { return n##f(x); } KS double n(double x) { return __ks_##n##_f64(x); }
KS_WIDE1(erf)
KS_WIDE1(erfc)
KS_WIDE1(erfinv)
KS_WIDE1(lgamma)
KS_WIDE1(tgamma)
KS_WIDE1(expm1)
KS_WIDE1(log1p)
KS_WIDE1(cbrt)
KS_PURE double __ks_hypot_f64(double, double);
KS float hypotf(float x, float y) { return (float)__ks_hypot_f64((double)x, (double)y); }
KS double hypot(double x, double y) { return __ks_hypot_f64(x, y); }
KS float normcdff(float x) { return (float)(0.5 * __ks_erfc_f64(-(double)x * 0.70710678118654752440)); }
KS void sincosf(float x, float* s, float* c) { *s = sinf(x); *c = cosf(x); }
KS void __sincosf(float x, float* s, float* c) { *s = __ks_sin_f32(x); *c = __ks_cos_f32(x); }
#define KS_FAST1(n) KS float __##n##f(float x) { return __ks_##n##_f32(x); }
KS_FAST1(exp)
KS_FAST1(exp10)
KS_FAST1(log)
KS_FAST1(log2)
KS_FAST1(log10)
KS_FAST1(sin)
KS_FAST1(cos)
KS_FAST1(tan)
KS float __powf(float x, float y) { return __ks_pow_f32(x, y); }
KS float __fdividef(float x, float y) { return x / y; }
KS float fdividef(float x, float y) { return x / y; }
KS float __frcp_rn(float x) { return 1.0f / x; }
KS float __fsqrt_rn(float x) { return __ks_precise_sqrt_f32(x); }
KS float __frsqrt_rn(float x) { return __ks_precise_rsqrt_f32(x); }
KS float __fadd_rn(float a, float b) { return a + b; }
KS float __fsub_rn(float a, float b) { return a - b; }
KS float __fmul_rn(float a, float b) { return a * b; }
KS float __fdiv_rn(float a, float b) { return a / b; }
KS float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#define KS_B1(n) KS float n##f(float x) { return __builtin_##n##f(x); } KS float n(float x) { return __builtin_##n##f(x); } KS double n(double x) { return __builtin_##n(x); }
KS_B1(fabs)
KS_B1(floor)
KS_B1(ceil)
KS_B1(trunc)
KS_B1(rint)
KS_B1(round)
KS float nearbyintf(float x) { return __builtin_rintf(x); }
#define KS_B2(n) KS float n##f(float x, float y) { return __builtin_##n##f(x, y); } KS float n(float x, float y) { return __builtin_##n##f(x, y); } KS double n(double x, double y) { return __builtin_##n(x, y); }
KS_B2(fmax)
KS_B2(fmin)
KS_B2(copysign)
KS float fdimf(float x, float y) { return x > y ? x - y : 0.0f; }
KS float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KS float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KS double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
KS float ldexpf(float x, int e) { return (float)((double)x * __ks_exp2_f64((double)e)); }
KS float scalbnf(float x, int e) { return ldexpf(x, e); }
KS float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
KS bool isnan(float x) { return x != x; }
KS bool isnan(double x) { return x != x; }
KS bool isinf(float x) { return __builtin_fabsf(x) == __builtin_huge_valf(); }
KS bool isinf(double x) { return __builtin_fabs(x) == __builtin_huge_val(); }
KS bool isfinite(float x) { return __builtin_fabsf(x) < __builtin_huge_valf(); }
KS bool isfinite(double x) { return __builtin_fabs(x) < __builtin_huge_val(); }
KS bool signbit(float x) { return __builtin_bit_cast(int, x) < 0; }
KS int abs(int x) { return x < 0 ? -x : x; }
KS long abs(long x) { return x < 0 ? -x : x; }
KS float abs(float x) { return __builtin_fabsf(x); }
KS double abs(double x) { return __builtin_fabs(x); }
KS long labs(long x) { return x < 0 ? -x : x; }
KS long llabs(long x) { return x < 0 ? -x : x; }
#define KS_MINMAX(T) KS T min(T a, T b) { return b < a ? b : a; } KS T max(T a, T b) { return a < b ? b : a; }
KS_MINMAX(int)
KS_MINMAX(unsigned int)
KS_MINMAX(long)
KS_MINMAX(unsigned long)
#define KS_MIXED(A, B, R) KS R min(A a, B b) { return min((R)a, (R)b); } KS R max(A a, B b) { return max((R)a, (R)b); } KS R min(B a, A b) { return min((R)a, (R)b); } KS R max(B a, A b) { return max((R)a, (R)b); }
KS_MIXED(int, unsigned int, unsigned int)
KS_MIXED(int, long, long)
KS_MIXED(int, unsigned long, unsigned long)
KS_MIXED(unsigned int, long, long)
KS_MIXED(unsigned int, unsigned long, unsigned long)
KS_MIXED(long, unsigned long, unsigned long)
KS float min(float a, float b) { return __builtin_fminf(a, b); }
KS float max(float a, float b) { return __builtin_fmaxf(a, b); }
KS double min(double a, double b) { return __builtin_fmin(a, b); }
KS double max(double a, double b) { return __builtin_fmax(a, b); }
KS double min(float a, double b) { return __builtin_fmin((double)a, b); }
KS double max(float a, double b) { return __builtin_fmax((double)a, b); }
KS double min(double a, float b) { return __builtin_fmin(a, (double)b); }
KS double max(double a, float b) { return __builtin_fmax(a, (double)b); }
namespace std {
using ::abs;
using ::ceil;
using ::cos;
using ::exp;
using ::fabs;
using ::floor;
using ::fma;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::log;
using ::max;
using ::min;
using ::pow;
using ::size_t;
using ::sin;
using ::sqrt;
using ::tanh;
}

// Integers and bits.
KS int __popc(unsigned int x) { return __builtin_popcount(x); }
KS int __popcll(unsigned long x) { return __builtin_popcountl(x); }
KS int __clz(int x) { return x == 0 ? 32 : __builtin_clz((uint)x); }
KS int __clzll(long x) { return x == 0 ? 64 : __builtin_clzl((ulong)x); }
KS int __ffs(int x) { return x == 0 ? 0 : __builtin_ctz((uint)x) + 1; }
KS int __ffsll(long x) { return x == 0 ? 0 : __builtin_ctzl((ulong)x) + 1; }
KS unsigned int __brev(unsigned int x) { return __builtin_bitreverse32(x); }
KS unsigned long __brevll(unsigned long x) { return __builtin_bitreverse64(x); }
KS int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
KS unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffffu) * (b & 0xffffffu); }
KS int __mulhi(int a, int b) { return (int)(((long)a * (long)b) >> 32); }
KS unsigned int __umulhi(unsigned int a, unsigned int b) { return (uint)(((ulong)a * (ulong)b) >> 32); }
KS unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int n) { n &= 31; return n == 0 ? hi : (hi << n) | (lo >> (32 - n)); }
KS unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int n) { n &= 31; return n == 0 ? lo : (hi << (32 - n)) | (lo >> n); }
KS unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int s) {
    ulong v = (ulong)b << 32 | a;
    uint r = 0;
    for (int i = 0; i < 4; i++) r |= (uint)((v >> (((s >> (4 * i)) & 7) * 8)) & 255) << (8 * i);
    return r;
}
KS float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
KS int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
KS float __uint_as_float(unsigned int x) { return __builtin_bit_cast(float, x); }
KS unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
KS double __longlong_as_double(long x) { return __builtin_bit_cast(double, x); }
KS long __double_as_longlong(double x) { return __builtin_bit_cast(long, x); }
KS int __float2int_rn(float x) { return (int)__builtin_rintf(x); }
KS int __float2int_rz(float x) { return (int)x; }
KS int __float2int_rd(float x) { return (int)__builtin_floorf(x); }
KS int __float2int_ru(float x) { return (int)__builtin_ceilf(x); }
KS unsigned int __float2uint_rn(float x) { return (unsigned int)__builtin_rintf(x); }
KS unsigned int __float2uint_rz(float x) { return (unsigned int)x; }
KS float __int2float_rn(int x) { return (float)x; }
KS float __uint2float_rn(unsigned int x) { return (float)x; }

// Loads and stores with a hint are loads and stores.
#define KS_LOAD_HINT(n) template <class T> KS T n(const __generic T* p) { return *p; }
KS_LOAD_HINT(__ldg)
KS_LOAD_HINT(__ldcs)
KS_LOAD_HINT(__ldcg)
KS_LOAD_HINT(__ldca)
KS_LOAD_HINT(__ldlu)
#define KS_STORE_HINT(n) template <class T> KS void n(__generic T* p, T v) { *p = v; }
KS_STORE_HINT(__stcs)
KS_STORE_HINT(__stcg)
KS_STORE_HINT(__stwb)
KS_STORE_HINT(__stwt)

// Order.
KS void __syncthreads() { __ks_threadgroup_barrier(3); }
KS void __threadfence() { __ks_fence(3, 5, 3); }
KS void __threadfence_block() { __ks_fence(3, 5, 2); }
KS void __threadfence_system() { __ks_fence(3, 5, 3); }

// A lane that calls must be in the mask: the machine stops here otherwise. Lanes that the mask names and that are
// elsewhere cannot be told from those that have returned, which is allowed; reading one of them is a fault of its own.
KS void __ks_named(unsigned int mask) {
    if ((mask >> __ks_sr(12) & 1) == 0) __ks_trap(1);
}
KS void __syncwarp(unsigned int mask = 0xffffffffu) { __ks_named(mask); __ks_simdgroup_barrier(3); }
KS unsigned int __activemask() { return (unsigned int)__ks_active_mask(); }
KS unsigned int __ballot_sync(unsigned int mask, int p) { __ks_named(mask); return (unsigned int)__ks_ballot(p != 0) & mask; }
KS int __all_sync(unsigned int mask, int p) { __ks_named(mask); return ((unsigned int)__ks_ballot(p == 0) & mask) == 0; }
KS int __any_sync(unsigned int mask, int p) { __ks_named(mask); return ((unsigned int)__ks_ballot(p != 0) & mask) != 0; }

// Moves any value as 32-bit words.
template <class T> KS T __ks_move(T v, int lane) {
    if constexpr (sizeof(T) == 1) {
        return __builtin_bit_cast(T, (unsigned char)__ks_shuffle_i32((int)__builtin_bit_cast(unsigned char, v), lane));
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bit_cast(T, (unsigned short)__ks_shuffle_i32((int)__builtin_bit_cast(unsigned short, v), lane));
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(T, __ks_shuffle_i32(__builtin_bit_cast(int, v), lane));
    } else {
        struct __words { int w[sizeof(T) / 4]; };
        __words s = __builtin_bit_cast(__words, v);
        for (int i = 0; i < (int)(sizeof(T) / 4); i++) s.w[i] = __ks_shuffle_i32(s.w[i], lane);
        return __builtin_bit_cast(T, s);
    }
}
// Past the edge of its segment of `width` lanes a lane keeps its own value.
template <class T> KS T __shfl_sync(unsigned int mask, T v, int from, int width = 32) {
    __ks_named(mask);
    int lane = __ks_sr(12);
    return __ks_move(v, (lane & ~(width - 1)) | (from & (width - 1)));
}
template <class T> KS T __shfl_up_sync(unsigned int mask, T v, unsigned int delta, int width = 32) {
    __ks_named(mask);
    int lane = __ks_sr(12), at = lane & (width - 1);
    return __ks_move(v, at >= (int)delta ? lane - (int)delta : lane);
}
template <class T> KS T __shfl_down_sync(unsigned int mask, T v, unsigned int delta, int width = 32) {
    __ks_named(mask);
    int lane = __ks_sr(12), at = lane & (width - 1);
    return __ks_move(v, at + (int)delta < width ? lane + (int)delta : lane);
}
template <class T> KS T __shfl_xor_sync(unsigned int mask, T v, int lanes, int width = 32) {
    __ks_named(mask);
    int lane = __ks_sr(12), from = lane ^ lanes;
    return __ks_move(v, (from & ~(width - 1)) <= (lane & ~(width - 1)) ? from & 31 : lane);
}
template <class T> KS unsigned int __match_any_sync(unsigned int mask, T v) {
    __ks_named(mask);
    unsigned int r = 0;
    for (int i = 0; i < 32; i++) {
        if ((mask >> i) & 1) r |= (unsigned int)(__ks_move(v, i) == v) << i;
    }
    return r;
}
#define KS_WARP_REDUCE(name, T, combine) \
    KS T name(unsigned int mask, T v) { \
        __ks_named(mask); \
        T r = v; \
        bool first = true; \
        for (int i = 0; i < 32; i++) { \
            if ((mask >> i) & 1) { T x = __ks_move(v, i); r = first ? x : combine; first = false; } \
        } \
        return r; \
    }
KS_WARP_REDUCE(__reduce_add_sync, int, r + x)
KS_WARP_REDUCE(__reduce_add_sync, unsigned int, r + x)
KS_WARP_REDUCE(__reduce_min_sync, int, min(r, x))
KS_WARP_REDUCE(__reduce_min_sync, unsigned int, min(r, x))
KS_WARP_REDUCE(__reduce_max_sync, int, max(r, x))
KS_WARP_REDUCE(__reduce_max_sync, unsigned int, max(r, x))
KS_WARP_REDUCE(__reduce_and_sync, unsigned int, r & x)
KS_WARP_REDUCE(__reduce_or_sync, unsigned int, r | x)
KS_WARP_REDUCE(__reduce_xor_sync, unsigned int, r ^ x)

// Atomics.
#define KS_RMW(T) \
    KS T atomicAdd(T* p, T v) { return __atomic_fetch_add(p, v, 0); } \
    KS T atomicSub(T* p, T v) { return __atomic_fetch_sub(p, v, 0); } \
    KS T atomicExch(T* p, T v) { return __atomic_exchange_n(p, v, 0); } \
    KS T atomicMin(T* p, T v) { return __atomic_fetch_min(p, v, 0); } \
    KS T atomicMax(T* p, T v) { return __atomic_fetch_max(p, v, 0); } \
    KS T atomicAnd(T* p, T v) { return __atomic_fetch_and(p, v, 0); } \
    KS T atomicOr(T* p, T v) { return __atomic_fetch_or(p, v, 0); } \
    KS T atomicXor(T* p, T v) { return __atomic_fetch_xor(p, v, 0); } \
    KS T atomicCAS(T* p, T e, T d) { return __sync_val_compare_and_swap(p, e, d); }
KS_RMW(int)
KS_RMW(unsigned int)
KS_RMW(unsigned long)
KS_RMW(long)
KS float atomicAdd(float* p, float v) { return __atomic_fetch_add(p, v, 0); }
KS float atomicExch(float* p, float v) { return __builtin_bit_cast(float, __atomic_exchange_n((int*)p, __builtin_bit_cast(int, v), 0)); }
KS double atomicAdd(double* p, double v) {
    long* q = (long*)p;
    long old = __atomic_load_n(q, 0), was;
    do { was = old; old = __sync_val_compare_and_swap(q, was, __builtin_bit_cast(long, __builtin_bit_cast(double, was) + v)); } while (old != was);
    return __builtin_bit_cast(double, old);
}
KS unsigned int atomicInc(unsigned int* p, unsigned int limit) {
    unsigned int old = __atomic_load_n(p, 0), was;
    do { was = old; old = __sync_val_compare_and_swap(p, was, was >= limit ? 0u : was + 1u); } while (old != was);
    return old;
}
KS unsigned int atomicDec(unsigned int* p, unsigned int limit) {
    unsigned int old = __atomic_load_n(p, 0), was;
    do { was = old; old = __sync_val_compare_and_swap(p, was, was == 0u || was > limit ? limit : was - 1u); } while (old != was);
    return old;
}

// Votes of the block, through a word of shared memory.
KS int __syncthreads_count(int p) {
    unsigned int* word = (unsigned int*)(__local unsigned int*)__ks_tg_alloc(1000000, 4, 4);
    if (__ks_sr(15) == 0) *word = 0;
    __syncthreads();
    if (p) atomicAdd(word, 1u);
    __syncthreads();
    unsigned int n = *word;
    __syncthreads();
    return (int)n;
}
KS int __syncthreads_or(int p) { return __syncthreads_count(p != 0) != 0; }
KS int __syncthreads_and(int p) { return __syncthreads_count(p == 0) == 0; }

// Cooperative groups: the block, and tiles of a warp.
namespace cooperative_groups {
struct thread_block {
    KS static void sync() { __syncthreads(); }
    KS static unsigned int thread_rank() { return (unsigned int)__ks_sr(15); }
    KS static unsigned int size() { return (unsigned int)(__ks_sr(6) * __ks_sr(7) * __ks_sr(8)); }
    KS static unsigned int num_threads() { return size(); }
    KS static uint3 thread_index() { return __ks_thread_index(); }
    KS static uint3 group_index() { return __ks_block_index(); }
};
KS thread_block this_thread_block() { return {}; }
KS void sync(thread_block) { __syncthreads(); }
template <unsigned int N> struct thread_block_tile {
    KS static unsigned int mask() { return N >= 32 ? 0xffffffffu : ((1u << (N & 31)) - 1u) << (__ks_sr(12) & ~(int)(N - 1) & 31); }
    KS static void sync() { __syncwarp(); }
    KS static unsigned int thread_rank() { return (unsigned int)__ks_sr(12) & (N - 1); }
    KS static constexpr unsigned int size() { return N; }
    KS static constexpr unsigned int num_threads() { return N; }
    KS static unsigned int meta_group_rank() { return (unsigned int)__ks_sr(15) / N; }
    KS static unsigned int meta_group_size() { return (thread_block::size() + N - 1) / N; }
    template <class T> KS T shfl(T v, int from) const { return __shfl_sync(mask(), v, from, N); }
    template <class T> KS T shfl_up(T v, unsigned int d) const { return __shfl_up_sync(mask(), v, d, N); }
    template <class T> KS T shfl_down(T v, unsigned int d) const { return __shfl_down_sync(mask(), v, d, N); }
    template <class T> KS T shfl_xor(T v, int d) const { return __shfl_xor_sync(mask(), v, d, N); }
    KS unsigned int ballot(int p) const { return __ballot_sync(mask(), p) >> (__ks_sr(12) & ~(int)(N - 1) & 31); }
    KS int any(int p) const { return __any_sync(mask(), p); }
    KS int all(int p) const { return __all_sync(mask(), p); }
};
template <unsigned int N> KS thread_block_tile<N> tiled_partition(thread_block) { return {}; }
template <class T> struct plus { KS T operator()(T a, T b) const { return a + b; } };
template <class T> struct greater { KS T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct less { KS T operator()(T a, T b) const { return b < a ? b : a; } };
template <unsigned int N, class T, class F> KS T reduce(thread_block_tile<N> g, T v, F f) {
    for (unsigned int d = N / 2; d > 0; d /= 2) v = f(v, g.shfl_xor(v, (int)d));
    return v;
}
}
