// Mathematics: <metal_math>, <metal_common>, <metal_geometric>, <metal_relational>, <metal_integer>.
#ifdef KS_PRECISE
#define KS_FAST(n) __ks_precise_##n##_f32
#else
#define KS_FAST(n) __ks_##n##_f32
#endif
#define KS_D1(n) KS_PURE float __ks_##n##_f32(float); KS_PURE float __ks_precise_##n##_f32(float); KS_DBL(KS_PURE double __ks_##n##_f64(double);)
#define KS_D2(n) KS_PURE float __ks_##n##_f32(float, float); KS_PURE float __ks_precise_##n##_f32(float, float); KS_DBL(KS_PURE double __ks_##n##_f64(double, double);)
#define KS_EACH1(M) M(exp) M(exp2) M(exp10) M(log) M(log2) M(log10) M(sin) M(cos) M(tan) M(asin) M(acos) M(atan) M(sinh) M(cosh) M(tanh) M(asinh) M(acosh) M(atanh) M(sqrt) M(rsqrt) M(sinpi) M(cospi) M(tanpi)
#define KS_EACH2(M) M(pow) M(powr) M(fmod) M(atan2)
KS_EACH1(KS_D1)
KS_EACH2(KS_D2)
KS_D2(div)
KS_D1(rcp)
// Functions that MSL does not have and references need.
#define KS_EXTRA1(M) M(erf) M(erfc) M(erfinv) M(lgamma) M(tgamma) M(expm1) M(log1p) M(cbrt)
#define KS_EXTRA2(M) M(hypot)
#define KS_DD1(n) KS_PURE double __ks_##n##_f64(double);
#define KS_DD2(n) KS_PURE double __ks_##n##_f64(double, double);
KS_DBL(KS_EXTRA1(KS_DD1) KS_EXTRA2(KS_DD2))

namespace metal {
// Vectors element by element, one function for each type, so that a scalar beside a vector counts for all its elements.
#define KS_FLOATS(M, n) M(n, float, 2) M(n, float, 3) M(n, float, 4) M(n, half, 2) M(n, half, 3) M(n, half, 4) KS_DBL(M(n, double, 2) M(n, double, 3) M(n, double, 4))
#define KS_INTS_OF(M, n, T) M(n, T, 2) M(n, T, 3) M(n, T, 4)
#define KS_INTS(M, n) KS_INTS_OF(M, n, char) KS_INTS_OF(M, n, uchar) KS_INTS_OF(M, n, short) KS_INTS_OF(M, n, ushort) KS_INTS_OF(M, n, int) KS_INTS_OF(M, n, uint) KS_INTS_OF(M, n, long) KS_INTS_OF(M, n, ulong)
#define KS_MAP1(n, T, N) KS T##N n(T##N x) { T##N r; for (int i = 0; i < N; i++) r[i] = n((T)x[i]); return r; }
#define KS_MAP2(n, T, N) KS T##N n(T##N x, T##N y) { T##N r; for (int i = 0; i < N; i++) r[i] = n((T)x[i], (T)y[i]); return r; }
#define KS_MAP3(n, T, N) KS T##N n(T##N x, T##N y, T##N z) { T##N r; for (int i = 0; i < N; i++) r[i] = n((T)x[i], (T)y[i], (T)z[i]); return r; }
#define KS_V1(n) KS_FLOATS(KS_MAP1, n)
#define KS_V2(n) KS_FLOATS(KS_MAP2, n)
#define KS_V3(n) KS_FLOATS(KS_MAP3, n)
#define KS_VI1(n) KS_INTS(KS_MAP1, n)
#define KS_VI2(n) KS_INTS(KS_MAP2, n)
#define KS_VI3(n) KS_INTS(KS_MAP3, n)

#define KS_M1(n) KS float n(float x) { return KS_FAST(n)(x); } KS half n(half x) { return (half)KS_FAST(n)((float)x); } KS_DBL(KS double n(double x) { return __ks_##n##_f64(x); }) KS_V1(n)
#define KS_M2(n) KS float n(float x, float y) { return KS_FAST(n)(x, y); } KS half n(half x, half y) { return (half)KS_FAST(n)((float)x, (float)y); } KS_DBL(KS double n(double x, double y) { return __ks_##n##_f64(x, y); }) KS_V2(n)
KS_EACH1(KS_M1)
KS_EACH2(KS_M2)
namespace fast {
#define KS_F1(n) KS float n(float x) { return __ks_##n##_f32(x); } KS half n(half x) { return (half)__ks_##n##_f32((float)x); } KS_DBL(KS double n(double x) { return __ks_##n##_f64(x); }) KS_V1(n)
#define KS_F2(n) KS float n(float x, float y) { return __ks_##n##_f32(x, y); } KS half n(half x, half y) { return (half)__ks_##n##_f32((float)x, (float)y); } KS_DBL(KS double n(double x, double y) { return __ks_##n##_f64(x, y); }) KS_V2(n)
KS_EACH1(KS_F1)
KS_EACH2(KS_F2)
#undef KS_F1
#undef KS_F2
}
namespace precise {
#define KS_P1(n) KS float n(float x) { return __ks_precise_##n##_f32(x); } KS half n(half x) { return (half)__ks_precise_##n##_f32((float)x); } KS_DBL(KS double n(double x) { return __ks_##n##_f64(x); }) KS_V1(n)
#define KS_P2(n) KS float n(float x, float y) { return __ks_precise_##n##_f32(x, y); } KS half n(half x, half y) { return (half)__ks_precise_##n##_f32((float)x, (float)y); } KS_DBL(KS double n(double x, double y) { return __ks_##n##_f64(x, y); }) KS_V2(n)
KS_EACH1(KS_P1)
KS_EACH2(KS_P2)
#undef KS_P1
#undef KS_P2
}

// Functions that are single LLVM operations: the same at every precision.
#define KS_B1(n, b) KS float n(float x) { return __builtin_##b##f(x); } KS half n(half x) { return (half)__builtin_##b##f16((_Float16)x); } KS_DBL(KS double n(double x) { return __builtin_##b(x); }) KS_V1(n)
#define KS_B2(n, b) KS float n(float x, float y) { return __builtin_##b##f(x, y); } KS half n(half x, half y) { return (half)__builtin_##b##f16((_Float16)x, (_Float16)y); } KS_DBL(KS double n(double x, double y) { return __builtin_##b(x, y); }) KS_V2(n)
#define KS_BUILTINS \
    KS_B1(fabs, fabs) \
    KS_B1(floor, floor) \
    KS_B1(ceil, ceil) \
    KS_B1(trunc, trunc) \
    KS_B1(rint, rint) \
    KS_B1(round, round) \
    KS_B2(fmin, fmin) \
    KS_B2(fmax, fmax) \
    KS_B2(copysign, copysign) \
    KS float abs(float x) { return __builtin_fabsf(x); } \
    KS half abs(half x) { return (half)__builtin_fabsf16((_Float16)x); } \
    KS_DBL(KS double abs(double x) { return __builtin_fabs(x); }) \
    KS float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); } \
    KS half fma(half x, half y, half z) { return (half)__builtin_fmaf16((_Float16)x, (_Float16)y, (_Float16)z); } \
    KS_DBL(KS double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }) \
    KS_V3(fma) \
    KS float min(float x, float y) { return __builtin_fminf(x, y); } \
    KS half min(half x, half y) { return (half)__builtin_fminf16((_Float16)x, (_Float16)y); } \
    KS float max(float x, float y) { return __builtin_fmaxf(x, y); } \
    KS half max(half x, half y) { return (half)__builtin_fmaxf16((_Float16)x, (_Float16)y); } \
    KS_DBL(KS double min(double x, double y) { return __builtin_fmin(x, y); }) \
    KS_DBL(KS double max(double x, double y) { return __builtin_fmax(x, y); }) \
    KS float fract(float x) { return __builtin_fminf(x - __builtin_floorf(x), 0x1.fffffep-1f); } \
    KS half fract(half x) { return (half)__builtin_fminf((float)x - __builtin_floorf((float)x), 0x1.ffcp-1f); } \
    KS_DBL(KS double fract(double x) { return __builtin_fmin(x - __builtin_floor(x), 0x1.fffffffffffffp-1); }) \
    KS_V1(fract) \
    KS float fdim(float x, float y) { return x > y ? x - y : (x != x || y != y) ? x + y : 0.0f; } \
    KS half fdim(half x, half y) { return x > y ? x - y : (x != x || y != y) ? x + y : (half)0; } \
    KS_DBL(KS double fdim(double x, double y) { return x > y ? x - y : (x != x || y != y) ? x + y : 0.0; }) \
    KS_V2(fdim)
KS_BUILTINS
#define KS_CLAMP1(T) KS T clamp(T x, T lo, T hi) { return min(max(x, lo), hi); }
#define KS_CLAMP \
    KS_V2(min) \
    KS_V2(max) \
    KS_V1(abs) \
    KS_CLAMP1(float) \
    KS_CLAMP1(half) \
    KS_DBL(KS_CLAMP1(double)) \
    KS_V3(clamp) \
    KS float saturate(float x) { return clamp(x, 0.0f, 1.0f); } \
    KS half saturate(half x) { return clamp(x, (half)0, (half)1); } \
    KS_DBL(KS double saturate(double x) { return clamp(x, 0.0, 1.0); }) \
    KS_V1(saturate)
#define KS_I2(T) KS constexpr T min(T x, T y) { return y < x ? y : x; } KS constexpr T max(T x, T y) { return x < y ? y : x; }
KS_I2(char)
KS_I2(uchar)
KS_I2(short)
KS_I2(ushort)
KS_I2(int)
KS_I2(uint)
KS_I2(long)
KS_I2(ulong)
#define KS_ABS(T, U) KS T abs(T x) { return x < 0 ? (T)-x : x; } KS U abs(U x) { return x; } KS U absdiff(T x, T y) { return x > y ? (U)((U)x - (U)y) : (U)((U)y - (U)x); } KS U absdiff(U x, U y) { return x > y ? x - y : y - x; }
KS_ABS(char, uchar)
KS_ABS(short, ushort)
KS_ABS(int, uint)
KS_ABS(long, ulong)
KS_CLAMP
KS_VI2(min)
KS_VI2(max)
KS_VI1(abs)
KS_VI2(absdiff)
KS_CLAMP1(char)
KS_CLAMP1(uchar)
KS_CLAMP1(short)
KS_CLAMP1(ushort)
KS_CLAMP1(int)
KS_CLAMP1(uint)
KS_CLAMP1(long)
KS_CLAMP1(ulong)
KS_VI3(clamp)
namespace fast { KS_BUILTINS KS_CLAMP }
namespace precise { KS_BUILTINS KS_CLAMP }
#undef KS_BUILTINS

KS float divide(float x, float y) { return KS_FAST(div)(x, y); }
KS half divide(half x, half y) { return x / y; }
KS_DBL(KS double divide(double x, double y) { return x / y; })
KS_V2(divide)
namespace fast { KS float divide(float x, float y) { return __ks_div_f32(x, y); } KS half divide(half x, half y) { return x / y; } KS_DBL(KS double divide(double x, double y) { return x / y; }) KS_V2(divide) }
namespace precise { KS float divide(float x, float y) { return __ks_precise_div_f32(x, y); } KS half divide(half x, half y) { return (half)__ks_precise_div_f32((float)x, (float)y); } KS_DBL(KS double divide(double x, double y) { return x / y; }) KS_V2(divide) }

#define KS_SINCOSV(n, T, N) KS T##N sincos(T##N x, __private T##N& c) { c = cos(x); return sin(x); }
#define KS_SINCOS(F) \
    KS float sincos(float x, __private float& c) { c = F(cos)(x); return F(sin)(x); } \
    KS half sincos(half x, __private half& c) { c = (half)F(cos)((float)x); return (half)F(sin)((float)x); } \
    KS_DBL(KS double sincos(double x, __private double& c) { c = __ks_cos_f64(x); return __ks_sin_f64(x); }) \
    KS_FLOATS(KS_SINCOSV, F)
KS_SINCOS(KS_FAST)
#define KS_NAME(n) __ks_##n##_f32
namespace fast { KS_SINCOS(KS_NAME) }
#undef KS_NAME
#define KS_NAME(n) __ks_precise_##n##_f32
namespace precise { KS_SINCOS(KS_NAME) }
#undef KS_NAME
#undef KS_SINCOS

// Relational.
KS bool isnan(float x) { return x != x; }
KS bool isnan(half x) { return x != x; }
KS bool isinf(float x) { return __builtin_fabsf(x) == __builtin_huge_valf(); }
KS bool isinf(half x) { return isinf((float)x); }
KS bool isfinite(float x) { return __builtin_fabsf(x) < __builtin_huge_valf(); }
KS bool isfinite(half x) { return isfinite((float)x); }
KS bool isnormal(float x) { return isfinite(x) && __builtin_fabsf(x) >= 0x1p-126f; }
KS bool isnormal(half x) { return isfinite(x) && __builtin_fabsf((float)x) >= 0x1p-14f; }
KS bool signbit(float x) { return as_type<int>(x) < 0; }
KS bool signbit(half x) { return as_type<short>(x) < 0; }
#ifdef KS_DOUBLE
KS bool isnan(double x) { return x != x; }
KS bool isinf(double x) { return __builtin_fabs(x) == __builtin_huge_val(); }
KS bool isfinite(double x) { return __builtin_fabs(x) < __builtin_huge_val(); }
KS bool isnormal(double x) { return isfinite(x) && __builtin_fabs(x) >= 0x1p-1022; }
KS bool signbit(double x) { return as_type<long>(x) < 0; }
#define KS_X1(n) KS double n(double x) { return __ks_##n##_f64(x); }
#define KS_X2(n) KS double n(double x, double y) { return __ks_##n##_f64(x, y); }
KS_EXTRA1(KS_X1)
KS_EXTRA2(KS_X2)
// A float beside a double is one.
#define KS_BESIDE(n) \
    template <class T, typename __ks_same<T, float>::type = 0> KS double n(double x, T y) { return n(x, (double)y); } \
    template <class T, typename __ks_same<T, float>::type = 0> KS double n(T x, double y) { return n((double)x, y); }
KS_BESIDE(min)
KS_BESIDE(max)
KS_BESIDE(fmin)
KS_BESIDE(fmax)
KS_BESIDE(pow)
KS_BESIDE(fmod)
KS_BESIDE(atan2)
#endif
#define KS_R1(n) template <class T, int N> KS __ks_bvec<N> n(vec<T, N> x) { __ks_bvec<N> r(false); for (int i = 0; i < N; i++) r[i] = n((T)x[i]); return r; }
KS_R1(isnan)
KS_R1(isinf)
KS_R1(isfinite)
KS_R1(isnormal)
KS_R1(signbit)
#undef KS_R1
template <class T> KS auto isunordered(T x, T y) { return isnan(x) || isnan(y); }
template <class T> KS auto isordered(T x, T y) { return !isunordered(x, y); }
template <int N> KS bool any(__ks_bvec<N> v) { bool r = false; for (int i = 0; i < N; i++) r |= v[i]; return r; }
template <int N> KS bool all(__ks_bvec<N> v) { bool r = true; for (int i = 0; i < N; i++) r &= v[i]; return r; }
template <class T, int N> KS bool any(vec<T, N> v) { return any(__ks_bvec<N>(v)); }
template <class T, int N> KS bool all(vec<T, N> v) { return all(__ks_bvec<N>(v)); }
KS bool any(bool v) { return v; }
KS bool all(bool v) { return v; }
template <class T> KS T select(T a, T b, bool c) { if (c) return b; return a; }
template <class T, int N> KS vec<T, N> select(vec<T, N> a, vec<T, N> b, __ks_bvec<N> c) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = c[i] ? b[i] : a[i]; return r; }
template <class T, class C, int N> KS vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<C, N> c) { return select(a, b, __ks_bvec<N>(c)); }

// Common.
#define KS_COMMON(T) \
    KS T mix(T x, T y, T a) { return x + (y - x) * a; } \
    KS T sign(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == (T)0 ? x : (T)0; } \
    KS T step(T edge, T x) { return x < edge ? (T)0 : (T)1; } \
    KS T smoothstep(T a, T b, T x) { T t = saturate((x - a) / (b - a)); return t * t * ((T)3 - (T)2 * t); } \
    KS T degrees(T x) { return x * (T)57.29577951308232; } \
    KS T radians(T x) { return x * (T)0.017453292519943295; }
KS_COMMON(float)
KS_COMMON(half)
KS_DBL(KS_COMMON(double))
#undef KS_COMMON
KS_V3(mix)
KS_V1(sign)
KS_V2(step)
KS_V3(smoothstep)
KS_V1(degrees)
KS_V1(radians)
template <class T> KS T min3(T x, T y, T z) { return min(x, min(y, z)); }
template <class T> KS T max3(T x, T y, T z) { return max(x, max(y, z)); }
template <class T> KS T median3(T x, T y, T z) { return max(min(x, y), min(max(x, y), z)); }
template <class T> KS T fmin3(T x, T y, T z) { return min3(x, y, z); }
template <class T> KS T fmax3(T x, T y, T z) { return max3(x, y, z); }
template <class T> KS T fmedian3(T x, T y, T z) { return median3(x, y, z); }
template <class T> KS T mad(T x, T y, T z) { return x * y + z; }
KS float ldexp(float x, int k) {
    // Two steps, so that no exponent overflows on the way.
    int h = k / 2;
    int a = h < -126 ? -126 : h > 127 ? 127 : h;
    int b = (k - h) < -126 ? -126 : (k - h) > 127 ? 127 : (k - h);
    return x * as_type<float>((a + 127) << 23) * as_type<float>((b + 127) << 23);
}
KS half ldexp(half x, int k) { return (half)ldexp((float)x, k); }
#ifdef KS_DOUBLE
KS double ldexp(double x, int k) {
    int h = k / 2;
    long a = h < -1022 ? -1022 : h > 1023 ? 1023 : h;
    long b = (k - h) < -1022 ? -1022 : (k - h) > 1023 ? 1023 : (k - h);
    return x * as_type<double>((a + 1023) << 52) * as_type<double>((b + 1023) << 52);
}
KS double frexp(double x, __private int& e) {
    double m = __builtin_fabs(x) < 0x1p-1022 ? x * 0x1p64 : x;
    long u = as_type<long>(m);
    int raw = (int)(u >> 52) & 2047;
    if (x == 0.0 || raw == 2047) { e = 0; return x; }
    e = raw - 1022 - (m == x ? 0 : 64);
    return as_type<double>((u & (long)0x800ffffffffffffful) | 0x3fe0000000000000l);
}
KS int ilogb(double x) { int e; frexp(x, e); return x == 0.0 ? (-2147483647 - 1) : isfinite(x) ? e - 1 : 2147483647; }
KS double modf(double x, __private double& w) { w = __builtin_trunc(x); return isinf(x) ? __builtin_copysign(0.0, x) : x - w; }
#endif
template <class T, int N> KS vec<T, N> ldexp(vec<T, N> x, vec<int, N> k) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = ldexp((T)x[i], k[i]); return r; }
KS float frexp(float x, __private int& e) {
    float m = __builtin_fabsf(x) < 0x1p-126f ? x * 0x1p64f : x;
    int u = as_type<int>(m);
    int raw = (u >> 23) & 255;
    if (x == 0.0f || raw == 255) { e = 0; return x; }
    e = raw - 126 - (m == x ? 0 : 64);
    return as_type<float>((u & (int)0x807fffff) | 0x3f000000);
}
KS half frexp(half x, __private int& e) { return (half)frexp((float)x, e); }
KS int ilogb(float x) { int e; frexp(x, e); return x == 0.0f ? (-2147483647 - 1) : isfinite(x) ? e - 1 : 2147483647; }
KS int ilogb(half x) { return ilogb((float)x); }
KS float modf(float x, __private float& w) { w = __builtin_truncf(x); return isinf(x) ? __builtin_copysignf(0.0f, x) : x - w; }
KS half modf(half x, __private half& w) { float f; half r = (half)modf((float)x, f); w = (half)f; return r; }
template <class T, int N> KS vec<T, N> modf(vec<T, N> x, __private vec<T, N>& w) { vec<T, N> r; for (int i = 0; i < N; i++) { T f; r[i] = modf((T)x[i], f); w[i] = f; } return r; }
KS float nextafter(float x, float y) {
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    int u = as_type<int>(x);
    if (x == 0.0f) return as_type<float>((int)((as_type<int>(y) & (int)0x80000000) | 1));
    return as_type<float>(u + (((x < y) == (x > 0.0f)) ? 1 : -1));
}

// Geometric.
#define KS_DOT(n, T, N) KS T dot(T##N x, T##N y) { T r = x[0] * y[0]; for (int i = 1; i < N; i++) r += x[i] * y[i]; return r; }
KS_FLOATS(KS_DOT, dot)
KS_INTS(KS_DOT, dot)
#undef KS_DOT
KS float3 cross(float3 a, float3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }
KS half3 cross(half3 a, half3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }
KS_DBL(KS double3 cross(double3 a, double3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; })
#define KS_GEO(n, T, N) \
    KS T length_squared(T##N x) { return dot(x, x); } \
    KS T length(T##N x) { return sqrt(dot(x, x)); } \
    KS T distance_squared(T##N x, T##N y) { return length_squared(x - y); } \
    KS T distance(T##N x, T##N y) { return length(x - y); } \
    KS T##N normalize(T##N x) { return x * rsqrt(dot(x, x)); }
KS_FLOATS(KS_GEO, all)
#define KS_GEO2(n, T, N) \
    KS T##N reflect(T##N i, T##N n) { return i - n * ((T)2 * dot(n, i)); } \
    KS T##N refract(T##N i, T##N n, T eta) { T d = dot(n, i); T k = (T)1 - eta * eta * ((T)1 - d * d); return k < (T)0 ? (T##N)(T)0 : i * eta - n * (eta * d + sqrt(k)); } \
    KS T##N faceforward(T##N n, T##N i, T##N r) { return dot(r, i) < (T)0 ? n : -n; }
KS_FLOATS(KS_GEO2, all)
#undef KS_GEO2
namespace fast { KS_FLOATS(KS_GEO, all) }
namespace precise { KS_FLOATS(KS_GEO, all) }
#undef KS_GEO

// Integer.
#define KS_BITS(T, U, S, W) \
    KS T popcount(T x) { return (T)__builtin_popcount##S((U)x); } \
    KS T clz(T x) { return x == 0 ? (T)W : (T)(__builtin_clz##S((U)x) - (int)(sizeof(KS_WIDE_##S) * 8 - W)); } \
    KS T ctz(T x) { return x == 0 ? (T)W : (T)__builtin_ctz##S((U)x); } \
    KS T reverse_bits(T x) { return (T)__builtin_bitreverse##W((U)x); } \
    KS T rotate(T x, T n) { return (T)__builtin_rotateleft##W((U)x, (U)n); } \
    KS T extract_bits(T x, uint o, uint n) { return n == 0 ? (T)0 : (T)((T)((U)x << (W - o - n)) >> (W - n)); } \
    KS T insert_bits(T x, T v, uint o, uint n) { U m = n == 0 ? (U)0 : (U)((U)((U)~(U)0 >> (W - n)) << o); return (T)(((U)x & (U)~m) | (((U)v << o) & m)); } \
    KS T hadd(T x, T y) { return (T)((x & y) + ((x ^ y) >> 1)); } \
    KS T rhadd(T x, T y) { return (T)((x | y) - ((x ^ y) >> 1)); }

#define KS_WIDE_ uint
#define KS_WIDE_l ulong
// Narrow types would be widened before a saturating operation.
#define KS_SAT_NARROW(T, LO, HI) \
    KS T addsat(T x, T y) { return (T)clamp((int)x + (int)y, LO, HI); } \
    KS T subsat(T x, T y) { return (T)clamp((int)x - (int)y, LO, HI); }
KS_SAT_NARROW(char, -128, 127)
KS_SAT_NARROW(uchar, 0, 255)
KS_SAT_NARROW(short, -32768, 32767)
KS_SAT_NARROW(ushort, 0, 65535)
#undef KS_SAT_NARROW
#define KS_SAT(T) \
    KS T addsat(T x, T y) { return __builtin_elementwise_add_sat(x, y); } \
    KS T subsat(T x, T y) { return __builtin_elementwise_sub_sat(x, y); }
KS_SAT(int)
KS_SAT(uint)
KS_SAT(long)
KS_SAT(ulong)
#undef KS_SAT
KS_BITS(char, uchar, , 8)
KS_BITS(uchar, uchar, , 8)
KS_BITS(short, ushort, , 16)
KS_BITS(ushort, ushort, , 16)
KS_BITS(int, uint, , 32)
KS_BITS(uint, uint, , 32)
KS_BITS(long, ulong, l, 64)
KS_BITS(ulong, ulong, l, 64)
KS_VI1(popcount)
KS_VI1(clz)
KS_VI1(ctz)
KS_VI1(reverse_bits)
KS_VI2(rotate)
KS_VI2(hadd)
KS_VI2(rhadd)
KS_VI2(addsat)
KS_VI2(subsat)
#undef KS_BITS
KS int mulhi(int x, int y) { return (int)(((long)x * (long)y) >> 32); }
KS uint mulhi(uint x, uint y) { return (uint)(((ulong)x * (ulong)y) >> 32); }
KS short mulhi(short x, short y) { return (short)(((int)x * (int)y) >> 16); }
KS ushort mulhi(ushort x, ushort y) { return (ushort)(((uint)x * (uint)y) >> 16); }
KS ulong mulhi(ulong x, ulong y) {
    ulong a = x >> 32, b = x & 0xffffffffu, c = y >> 32, d = y & 0xffffffffu;
    ulong m = a * d + ((b * d) >> 32);
    return a * c + (m >> 32) + (((m & 0xffffffffu) + b * c) >> 32);
}
KS long mulhi(long x, long y) { return (long)mulhi((ulong)x, (ulong)y) - (x < 0 ? y : 0) - (y < 0 ? x : 0); }
KS char mulhi(char x, char y) { return (char)(((int)x * (int)y) >> 8); }
KS uchar mulhi(uchar x, uchar y) { return (uchar)(((uint)x * (uint)y) >> 8); }
KS_VI2(mulhi)
template <class T> KS T madhi(T x, T y, T z) { return mulhi(x, y) + z; }
KS int mul24(int x, int y) { return ((x << 8) >> 8) * ((y << 8) >> 8); }
KS uint mul24(uint x, uint y) { return (x & 0xffffffu) * (y & 0xffffffu); }
KS int mad24(int x, int y, int z) { return mul24(x, y) + z; }
KS uint mad24(uint x, uint y, uint z) { return mul24(x, y) + z; }
}
