// Names that Apple's own headers use and some sources call directly. The last argument of the mathematical ones says
// how precise they are.
#define KS_INT1(n) template <class T> KS T __metal_##n(T x) { return metal::n(x); } template <class T> KS T __metal_##n(T x, int precise) { return precise ? metal::precise::n(x) : metal::n(x); }
#define KS_INT2(n) template <class T> KS T __metal_##n(T x, T y, int precise) { return precise ? metal::precise::n(x, y) : metal::n(x, y); }
#define KS_SAME1(n, f) template <class T> KS T __metal_##n(T x, int) { return metal::f(x); } template <class T> KS T __metal_##n(T x) { return metal::f(x); }
#define KS_SAME2(n, f) template <class T> KS T __metal_##n(T x, T y, int) { return metal::f(x, y); } template <class T> KS T __metal_##n(T x, T y) { return metal::f(x, y); }
KS_INT1(exp)
KS_INT1(exp2)
KS_INT1(exp10)
KS_INT1(log)
KS_INT1(log2)
KS_INT1(log10)
KS_INT1(sin)
KS_INT1(cos)
KS_INT1(tan)
KS_INT1(asin)
KS_INT1(acos)
KS_INT1(atan)
KS_INT1(sinh)
KS_INT1(cosh)
KS_INT1(tanh)
KS_INT1(asinh)
KS_INT1(acosh)
KS_INT1(atanh)
KS_INT1(sqrt)
KS_INT1(rsqrt)
KS_INT1(sinpi)
KS_INT1(cospi)
KS_INT1(tanpi)
KS_INT2(pow)
KS_INT2(powr)
KS_INT2(fmod)
KS_INT2(atan2)
KS_INT2(divide)
KS_SAME1(fabs, fabs)
KS_SAME1(floor, floor)
KS_SAME1(ceil, ceil)
KS_SAME1(trunc, trunc)
KS_SAME1(rint, rint)
KS_SAME1(round, round)
KS_SAME1(fract, fract)
KS_SAME2(fmin, fmin)
KS_SAME2(fmax, fmax)
KS_SAME2(copysign, copysign)
KS_SAME2(fdim, fdim)
KS_SAME2(nextafter, nextafter)
template <class T> KS T __metal_fma(T x, T y, T z) { return metal::fma(x, y, z); }
template <class T> KS T __metal_fmin3(T x, T y, T z, int) { return metal::min3(x, y, z); }
template <class T> KS T __metal_fmax3(T x, T y, T z, int) { return metal::max3(x, y, z); }
template <class T> KS T __metal_fmedian3(T x, T y, T z, int) { return metal::median3(x, y, z); }
template <class T> KS T __metal_ldexp(T x, int k, int) { return metal::ldexp(x, k); }
template <class T> KS T __metal_frexp(T x, __private int& e, int) { return metal::frexp(x, e); }
template <class T> KS T __metal_frexp(T x, __private int* e) { return metal::frexp(x, *e); }
template <class T> KS T __metal_frexp(T x, __private int* e, int) { return metal::frexp(x, *e); }
template <class T> KS int __metal_ilogb(T x, int) { return metal::ilogb(x); }
template <class T> KS T __metal_sincos(T x, __private T& c, int) { return metal::sincos(x, c); }
template <class T> KS T __metal_modf(T x, __private T* i, int) { return metal::modf(x, *i); }
#define KS_SHUF(n) template <class T> KS T __metal_simd_##n(T v, ushort k) { return metal::simd_##n(v, k); }
KS_SHUF(shuffle)
KS_SHUF(shuffle_xor)
KS_SHUF(shuffle_up)
KS_SHUF(shuffle_down)
KS_SHUF(shuffle_rotate_up)
KS_SHUF(shuffle_rotate_down)
KS_SHUF(broadcast)
template <class T> KS T __metal_simd_shuffle_and_fill_up(T v, T f, ushort d, ushort m) { return metal::simd_shuffle_and_fill_up(v, f, d, m); }
template <class T> KS T __metal_simd_shuffle_and_fill_down(T v, T f, ushort d, ushort m) { return metal::simd_shuffle_and_fill_down(v, f, d, m); }
#define KS_REDU(n) template <class T> KS T __metal_simd_##n(T v) { return metal::simd_##n(v); }
KS_REDU(sum)
KS_REDU(product)
KS_REDU(min)
KS_REDU(max)
KS_REDU(prefix_inclusive_sum)
KS_REDU(prefix_exclusive_sum)
KS_REDU(prefix_inclusive_product)
KS_REDU(prefix_exclusive_product)
template <class T> KS T __metal_simd_xor(T v) { return (T)metal::simd_xor((int)v); }
template <class T> KS T __metal_get_thread_index_in_simdgroup(T) { return (T)__ks_sr(12); }
template <class T> KS T __metal_get_simdgroup_index_in_threadgroup(T) { return (T)__ks_sr(13); }
template <class T> KS T __metal_get_threads_per_simdgroup(T) { return (T)32; }
template <class T> KS T __metal_get_simdgroup_size(T) { return (T)32; }
KS ushort __metal_get_simdgroup_size() { return 32; }

// Copies that a simdgroup makes together. They are carried out at once, lane by lane, so waiting for them is nothing.
struct _simdgroup_event_t;
template <class W, class D, class S> KS void __ks_copy_tile(D dst, ulong dst_row, ulong2 dst_size, S src, ulong src_row, ulong2 src_size, ulong words, int edge) {
    ulong total = dst_size.x * dst_size.y * words;
    for (ulong i = __ks_sr(12); i < total; i += 32) {
        ulong w = i % words, x = i / words % dst_size.x, y = i / words / dst_size.x;
        ulong sx = x, sy = y;
        if (edge) {
            sx = sx < src_size.x ? sx : src_size.x - 1;
            sy = sy < src_size.y ? sy : src_size.y - 1;
        }
        W v = 0;
        if (sx < src_size.x && sy < src_size.y) v = src[(sy * src_row + sx) * words + w];
        dst[(y * dst_row + x) * words + w] = v;
    }
}
#define KS_ASYNC(TO, FROM) \
    KS __private _simdgroup_event_t* __metal_simdgroup_async_copy_2d(ulong size, ulong align, TO void* dst, ulong dst_row, ulong, ulong2 dst_size, const FROM void* src, ulong src_row, ulong, ulong2 src_size, long2, int clamp) { \
        if (size % 4 == 0 && align >= 4) __ks_copy_tile<uint>((TO uint*)dst, dst_row, dst_size, (const FROM uint*)src, src_row, src_size, size / 4, clamp); \
        else if (size % 2 == 0 && align >= 2) __ks_copy_tile<ushort>((TO ushort*)dst, dst_row, dst_size, (const FROM ushort*)src, src_row, src_size, size / 2, clamp); \
        else __ks_copy_tile<uchar>((TO uchar*)dst, dst_row, dst_size, (const FROM uchar*)src, src_row, src_size, size, clamp); \
        return nullptr; \
    } \
    KS __private _simdgroup_event_t* __metal_simdgroup_async_copy_1d(ulong size, ulong align, TO void* dst, const FROM void* src, ulong n) { \
        return __metal_simdgroup_async_copy_2d(size, align, dst, n, 1, (ulong2)(n, 1), src, n, 1, (ulong2)(n, 1), (long2)0, 0); \
    }
KS_ASYNC(__local, __global)
KS_ASYNC(__global, __local)
KS void __metal_wait_simdgroup_events(int, __private _simdgroup_event_t**) {}
