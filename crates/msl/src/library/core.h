// Types, vectors and conversions that are part of the language, and what the pre-pass's rewritings call.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
// References are compiled with a `double`; MSL itself has none. What stands in `KS_DBL(...)` is theirs.
#ifdef KS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define KS_DBL(...) __VA_ARGS__
#else
#define KS_DBL(...)
#endif
#define KS inline __attribute__((always_inline, nodebug))
#define KS_C extern "C" __attribute__((nothrow))
#define KS_PURE extern "C" __attribute__((nothrow, const))
#define KS_CONV extern "C" __attribute__((nothrow, convergent))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
typedef ulong size_t;
typedef long ptrdiff_t;
typedef long intptr_t;
typedef ulong uintptr_t;
typedef decltype(nullptr) nullptr_t;

#define KS_VECTORS(T) \
    typedef T T##2 __attribute__((ext_vector_type(2))); \
    typedef T T##3 __attribute__((ext_vector_type(3))); \
    typedef T T##4 __attribute__((ext_vector_type(4)));
#define KS_USING(T) using ::T##2; using ::T##3; using ::T##4;
KS_VECTORS(char)
KS_VECTORS(uchar)
KS_VECTORS(short)
KS_VECTORS(ushort)
KS_VECTORS(int)
KS_VECTORS(uint)
KS_VECTORS(long)
KS_VECTORS(ulong)
KS_VECTORS(half)
KS_VECTORS(float)
KS_DBL(KS_VECTORS(double))

namespace metal {
KS_USING(char)
KS_USING(uchar)
KS_USING(short)
KS_USING(ushort)
KS_USING(int)
KS_USING(uint)
KS_USING(long)
KS_USING(ulong)
KS_USING(half)
KS_USING(float)
using ::uchar;
using ::ushort;
using ::uint;
using ::ulong;
using ::int8_t;
using ::uint8_t;
using ::int16_t;
using ::uint16_t;
using ::int32_t;
using ::uint32_t;
using ::int64_t;
using ::uint64_t;
using ::size_t;
using ::ptrdiff_t;
template <class T, int N> using vec = T __attribute__((ext_vector_type(N)));
}
using metal::vec;

template <class A, class B> struct __ks_same {};
template <class A> struct __ks_same<A, A> { typedef int type; };

// A vector of bool is a record: one byte an element, true is 1.
template <int N> struct __ks_bvec;
#define KS_BVEC_OPS(N) \
    bool operator[](int i) const { return (&x)[i]; } \
    bool& operator[](int i) { return (&x)[i]; } \
    KS friend __ks_bvec operator!(__ks_bvec a) { __ks_bvec r(false); for (int i = 0; i < N; i++) r[i] = !a[i]; return r; } \
    KS friend __ks_bvec operator~(__ks_bvec a) { return !a; } \
    KS friend __ks_bvec operator&&(__ks_bvec a, __ks_bvec b) { __ks_bvec r(false); for (int i = 0; i < N; i++) r[i] = a[i] && b[i]; return r; } \
    KS friend __ks_bvec operator||(__ks_bvec a, __ks_bvec b) { __ks_bvec r(false); for (int i = 0; i < N; i++) r[i] = a[i] || b[i]; return r; } \
    KS friend __ks_bvec operator&(__ks_bvec a, __ks_bvec b) { return a && b; } \
    KS friend __ks_bvec operator|(__ks_bvec a, __ks_bvec b) { return a || b; } \
    KS friend __ks_bvec operator^(__ks_bvec a, __ks_bvec b) { __ks_bvec r(false); for (int i = 0; i < N; i++) r[i] = a[i] != b[i]; return r; } \
    KS friend __ks_bvec operator!=(__ks_bvec a, __ks_bvec b) { return a ^ b; } \
    KS friend __ks_bvec operator==(__ks_bvec a, __ks_bvec b) { return !(a ^ b); }
template <> struct __ks_bvec<2> {
    bool x, y;
    __ks_bvec() = default;
    __ks_bvec(const __ks_bvec&) = default;
    __ks_bvec(const __constant __ks_bvec&) = default;
    template <class Q, typename __ks_same<Q, __ks_bvec>::type = 0> KS __ks_bvec& operator=(const __constant Q& o) { return *this = Q(o); }
    KS constexpr __ks_bvec(bool s) : x(s), y(s) {}
    KS constexpr __ks_bvec(bool a, bool b) : x(a), y(b) {}
    template <class T> KS __ks_bvec(vec<T, 2> v) : x(v.x != 0), y(v.y != 0) {}
    KS_BVEC_OPS(2)
};
template <> struct __ks_bvec<3> {
    bool x, y, z, __pad;
    __ks_bvec() = default;
    __ks_bvec(const __ks_bvec&) = default;
    __ks_bvec(const __constant __ks_bvec&) = default;
    template <class Q, typename __ks_same<Q, __ks_bvec>::type = 0> KS __ks_bvec& operator=(const __constant Q& o) { return *this = Q(o); }
    KS constexpr __ks_bvec(bool s) : x(s), y(s), z(s), __pad(false) {}
    KS constexpr __ks_bvec(bool a, bool b, bool c) : x(a), y(b), z(c), __pad(false) {}
    template <class T> KS __ks_bvec(vec<T, 3> v) : x(v.x != 0), y(v.y != 0), z(v.z != 0), __pad(false) {}
    KS_BVEC_OPS(3)
};
template <> struct __ks_bvec<4> {
    bool x, y, z, w;
    __ks_bvec() = default;
    __ks_bvec(const __ks_bvec&) = default;
    __ks_bvec(const __constant __ks_bvec&) = default;
    template <class Q, typename __ks_same<Q, __ks_bvec>::type = 0> KS __ks_bvec& operator=(const __constant Q& o) { return *this = Q(o); }
    KS constexpr __ks_bvec(bool s) : x(s), y(s), z(s), w(s) {}
    KS constexpr __ks_bvec(bool a, bool b, bool c, bool d) : x(a), y(b), z(c), w(d) {}
    template <class T> KS __ks_bvec(vec<T, 4> v) : x(v.x != 0), y(v.y != 0), z(v.z != 0), w(v.w != 0) {}
    KS_BVEC_OPS(4)
};
#undef KS_BVEC_OPS
typedef __ks_bvec<2> bool2;
typedef __ks_bvec<3> bool3;
typedef __ks_bvec<4> bool4;
namespace metal {
KS_USING(bool)
}
#undef KS_USING

// Element type and width of a vector; width 0 for everything else.
template <class T> struct __ks_vt {
    static constexpr int n = 0;
    typedef T e;
};
template <class T, int N> struct __ks_vt<T __attribute__((ext_vector_type(N)))> {
    static constexpr int n = N;
    typedef T e;
};
template <int N> struct __ks_vt<__ks_bvec<N>> {
    static constexpr int n = N;
    typedef bool e;
};
template <class T> struct __ks_is_bvec { static constexpr bool value = false; };
template <int N> struct __ks_is_bvec<__ks_bvec<N>> { static constexpr bool value = true; };
// Vectors that are records.
template <class T> struct __ks_is_record_vec { static constexpr bool value = false; };
template <int N> struct __ks_is_record_vec<__ks_bvec<N>> { static constexpr bool value = true; };
template <class T> struct __ks_bare { typedef T type; };
template <class T> struct __ks_bare<const T> { typedef T type; };
template <class T> struct __ks_bare<__private T> { typedef T type; };
template <class T> struct __ks_bare<const __private T> { typedef T type; };

namespace metal {
template <class T> struct vec_elements { static constexpr __constant int value = __ks_vt<T>::n > 0 ? __ks_vt<T>::n : 1; };
}

// Element K of the arguments laid end to end.
template <class E, int K, class A, class... B> KS constexpr E __ks_at(A a, B... rest) {
    constexpr int n = __ks_vt<A>::n;
    if constexpr (n == 0 && K == 0) return (E)a;
    else if constexpr (K < n) return (E)a[K];
    else return __ks_at<E, K - (n == 0 ? 1 : n)>(rest...);
}

// What a conversion `V(a...)` of MSL means.
template <class Q, class... A> KS constexpr Q __ks_make(A... a) {
    typedef typename __ks_bare<Q>::type V;
    typedef typename __ks_vt<V>::e E;
    constexpr int N = __ks_vt<V>::n;
    if constexpr (N == 0 || __ks_is_record_vec<V>::value) {
        return V(a...);
    } else if constexpr (sizeof...(A) == 0) {
        return V{};
    } else if constexpr (sizeof...(A) == 1) {
        if constexpr (((__ks_vt<A>::n == N && !__ks_is_record_vec<A>::value) && ...)) {
            return (__builtin_convertvector(a, V), ...);
        } else if constexpr (((__ks_vt<A>::n == 0 && !__is_class(A)) && ...)) {
            return V((E)a...);
        } else if constexpr (((__ks_is_record_vec<A>::value) && ...)) {
            if constexpr (N == 2) return V{__ks_at<E, 0>(a...), __ks_at<E, 1>(a...)};
            else if constexpr (N == 3) return V{__ks_at<E, 0>(a...), __ks_at<E, 1>(a...), __ks_at<E, 2>(a...)};
            else return V{__ks_at<E, 0>(a...), __ks_at<E, 1>(a...), __ks_at<E, 2>(a...), __ks_at<E, 3>(a...)};
        } else {
            return (static_cast<V>(a), ...);
        }
    } else if constexpr (((__ks_vt<A>::n == 0) && ...)) {
        static_assert(sizeof...(A) == N, "a vector needs as many values as it has elements");
        return V{(E)a...};
    } else {
        static_assert((((__ks_vt<A>::n == 0) ? 1 : __ks_vt<A>::n) + ...) == N, "a vector needs as many values as it has elements");
        if constexpr (N == 2) return V{__ks_at<E, 0>(a...), __ks_at<E, 1>(a...)};
        else if constexpr (N == 3) return V{__ks_at<E, 0>(a...), __ks_at<E, 1>(a...), __ks_at<E, 2>(a...)};
        else return V{__ks_at<E, 0>(a...), __ks_at<E, 1>(a...), __ks_at<E, 2>(a...), __ks_at<E, 3>(a...)};
    }
}

// A scalar beside a vector counts as one of its elements, whatever its own rank.
template <class T> struct __ks_loose { T v; };
template <class T> KS constexpr T __ks_scalar(T x) { return x; }
KS constexpr __ks_loose<float> __ks_scalar(float x) { return {x}; }
KS_DBL(KS constexpr __ks_loose<double> __ks_scalar(double x) { return {x}; })
#define KS_LOOSE(op) \
    template <class T, int N, class S> KS vec<T, N> operator op(vec<T, N> a, __ks_loose<S> b) { return a op (T)b.v; } \
    template <class T, int N, class S> KS vec<T, N> operator op(__ks_loose<S> a, vec<T, N> b) { return (T)a.v op b; } \
    template <class S> KS S operator op(S a, __ks_loose<S> b) { return a op b.v; } \
    template <class S> KS S operator op(__ks_loose<S> a, S b) { return a.v op b; } \
    template <class V, class S> KS V& operator op##=(V& a, __ks_loose<S> b) { a = a op b; return a; }
KS_LOOSE(+)
KS_LOOSE(-)
KS_LOOSE(*)
KS_LOOSE(/)
#undef KS_LOOSE
template <class V, class T> KS constexpr V __ks_like(T x) {
    if constexpr (__ks_vt<T>::n == 0 && __ks_vt<V>::n > 0) return (V)(typename __ks_vt<V>::e)x;
    else return x;
}
// A list in braces as an argument: a vector of as many elements.
template <class... A> struct __ks_list_of;
template <class A, class B> struct __ks_list_of<A, B> {
    A a; B b;
    template <class T> KS operator vec<T, 2>() const { return vec<T, 2>{(T)a, (T)b}; }
};
template <class A, class B, class C> struct __ks_list_of<A, B, C> {
    A a; B b; C c;
    template <class T> KS operator vec<T, 3>() const { return vec<T, 3>{(T)a, (T)b, (T)c}; }
};
template <class A, class B, class C, class D> struct __ks_list_of<A, B, C, D> {
    A a; B b; C c; D d;
    template <class T> KS operator vec<T, 4>() const { return vec<T, 4>{(T)a, (T)b, (T)c, (T)d}; }
};
template <class... A> KS __ks_list_of<A...> __ks_list(A... a) { return {a...}; }
// The object a constructor works on, which is a thread's.
template <class T> KS __private T* __ks_this(__generic T* p) { return (__private T*)p; }
// A distance for a pointer.
template <class T> KS constexpr auto __ks_offset(T x) {
    if constexpr (__is_class(T)) return (long)x;
    else return x;
}
// The value of an object in any memory.
template <class T> KS constexpr T __ks_value(T x) { return x; }

// The result of a comparison as MSL has it.
KS constexpr bool __ks_mask(bool b) { return b; }
template <int N> KS __ks_bvec<N> __ks_mask(vec<char, N> v) { return __ks_bvec<N>(v); }
template <int N> KS __ks_bvec<N> __ks_mask(vec<short, N> v) { return __ks_bvec<N>(v); }
template <int N> KS __ks_bvec<N> __ks_mask(vec<int, N> v) { return __ks_bvec<N>(v); }
template <int N> KS __ks_bvec<N> __ks_mask(vec<long, N> v) { return __ks_bvec<N>(v); }
template <class T> KS constexpr T __ks_mask(T v) { return v; }

// Threadgroup memory declared inside a function.
// Not `malloc`: that would promise that no barrier lets another thread's writes in, and loads would move over barriers.
KS_C __attribute__((const)) __local void* __ks_tg_alloc(uint id, ulong bytes, ulong align);
template <class T, int I, int A = 1> KS __local T& __ks_tg() {
    return *(__local T*)__ks_tg_alloc(I, sizeof(T), alignof(T) > A ? alignof(T) : A);
}

// Arguments of entry points: raw pointers that become what the kernel declares, and tell their size on the way.
KS_C void __ks_meta(uint entry, uint param, uint bytes);
template <class T> struct __ks_size { static constexpr uint value = sizeof(T); };
template <> struct __ks_size<void> { static constexpr uint value = 0; };
template <> struct __ks_size<const void> { static constexpr uint value = 0; };
#define KS_ARG(L, SPACE) \
    template <uint K, uint I> struct __ks_ptr_##L { \
        SPACE void* p; \
        template <class T> KS operator SPACE T*() const __private { __ks_meta(K, I, __ks_size<T>::value); return (SPACE T*)p; } \
    }; \
    template <uint K, uint I> struct __ks_ref_##L { \
        SPACE void* p; \
        template <class T> KS operator SPACE T&() const __private { __ks_meta(K, I, sizeof(T)); return *(SPACE T*)p; } \
    };
KS_ARG(g, __global)
KS_ARG(c, __constant)
KS_ARG(l, __local)
#undef KS_ARG
KS_PURE int __ks_sr(int id);

namespace metal {
template <class T, class U> KS constexpr T as_type(U v) {
    static_assert(sizeof(T) == sizeof(U), "as_type needs types of the same size");
    return __builtin_bit_cast(T, v);
}
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2, mem_texture = 4, mem_threadgroup_imageblock = 8, mem_object_data = 16 };
KS constexpr mem_flags operator|(mem_flags a, mem_flags b) { return (mem_flags)((int)a | (int)b); }
KS constexpr mem_flags operator&(mem_flags a, mem_flags b) { return (mem_flags)((int)a & (int)b); }
enum memory_order { memory_order_relaxed = 0, memory_order_acquire = 2, memory_order_release = 3, memory_order_acq_rel = 4, memory_order_seq_cst = 5 };
enum thread_scope { thread_scope_thread = 0, thread_scope_simdgroup = 1, thread_scope_threadgroup = 2, thread_scope_device = 3 };
}
using metal::as_type;
KS_CONV void __ks_threadgroup_barrier(int flags);
KS_CONV void __ks_simdgroup_barrier(int flags);
KS_C void __ks_fence(int flags, int order, int scope);
namespace metal {
KS void threadgroup_barrier(mem_flags f) { __ks_threadgroup_barrier((int)f); }
KS void threadgroup_barrier(mem_flags f, thread_scope) { __ks_threadgroup_barrier((int)f); }
KS void simdgroup_barrier(mem_flags f) { __ks_simdgroup_barrier((int)f); }
KS void simdgroup_barrier(mem_flags f, thread_scope) { __ks_simdgroup_barrier((int)f); }
KS void atomic_thread_fence(mem_flags f, memory_order o, thread_scope s = thread_scope_device) { __ks_fence((int)f, o, s); }
}

// <metal_logging>: what a kernel logs goes nowhere.
namespace metal {
#define KS_LOG(n) \
    template <class... A> KS void n(const __constant char*, A...) const {} \
    template <class... A> KS void n(const __constant char*, A...) const __constant {}
struct os_log {
    KS constexpr os_log(const __constant char*, const __constant char*) __constant {}
    KS constexpr os_log(const __constant char*, const __constant char*) {}
    KS_LOG(log)
    KS_LOG(log_debug)
    KS_LOG(log_info)
    KS_LOG(log_error)
    KS_LOG(log_fault)
};
#undef KS_LOG
static constexpr const __constant os_log os_log_default = os_log("", "");
}
namespace simd = metal;
