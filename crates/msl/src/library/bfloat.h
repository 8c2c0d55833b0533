// bfloat: 16 bits of a float. It converts to float by itself, and from float only when asked, as in MSL.
KS_PURE int __ks_f32_to_bf16(float x);
KS constexpr ushort __ks_bf16_bits(float x) {
    if (__builtin_is_constant_evaluated()) {
        uint u = __builtin_bit_cast(uint, x);
        return x != x ? 0x7fc0 : (ushort)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
    }
    return (ushort)__ks_f32_to_bf16(x);
}

struct bfloat;
// In a signature a trait has a name of its own: clang 16 cannot mangle the builtin.
template <class T> struct __ks_is_class { static constexpr bool value = __is_class(T); };
template <class T> struct __ks_is_integral { static constexpr bool value = __is_integral(T); };
template <class T> struct __ks_float_only {};
template <> struct __ks_float_only<float> { typedef int type; };
template <class T, bool I = __ks_is_integral<T>::value> struct __ks_not_float { typedef int type; };
template <class T> struct __ks_not_float<T, true> {};
template <> struct __ks_not_float<float> {};
template <> struct __ks_not_float<bfloat> {};
template <class T, bool I = __ks_is_integral<T>::value> struct __ks_integral {};
template <class T> struct __ks_integral<T, true> { typedef int type; };
template <bool B> struct __ks_if {};
template <> struct __ks_if<true> { typedef int type; };

template <class T> struct __ks_is_bf { static constexpr bool value = false; };
template <> struct __ks_is_bf<bfloat> { static constexpr bool value = true; };
template <> struct __ks_is_bf<__private bfloat> { static constexpr bool value = true; };
template <> struct __ks_is_bf<__global bfloat> { static constexpr bool value = true; };
template <> struct __ks_is_bf<__local bfloat> { static constexpr bool value = true; };

struct bfloat {
    ushort __bits;
    bfloat() = default;
    constexpr bfloat(const bfloat&) = default;
    constexpr bfloat(const __constant bfloat&) = default;
    constexpr bfloat(const __constant bfloat&) __constant = default;
    constexpr bfloat(const bfloat&) __constant = default;
    template <class Q, typename __ks_same<Q, bfloat>::type = 0> KS bfloat& operator=(const __constant Q& o) { return *this = Q(o); }
    KS constexpr explicit bfloat(float x) : __bits(__ks_bf16_bits(x)) {}
    KS constexpr explicit bfloat(float x) __constant : __bits(__ks_bf16_bits(x)) {}
    KS constexpr explicit bfloat(half x) : __bits(__ks_bf16_bits((float)x)) {}
    template <class I, class = typename __ks_if<__ks_is_integral<I>::value>::type> KS constexpr bfloat(I x) : __bits(__ks_bf16_bits((float)x)) {}
    template <class I, class = typename __ks_if<__ks_is_integral<I>::value>::type> KS constexpr bfloat(I x) __constant : __bits(__ks_bf16_bits((float)x)) {}
    // A record that converts to a number.
    template <class C, typename __ks_if<__ks_is_class<C>::value && !__ks_is_bf<C>::value>::type = 0> KS explicit bfloat(C x) : bfloat((float)x) {}
    template <class C, typename __ks_if<__ks_is_class<C>::value && !__ks_is_bf<C>::value>::type = 0> KS bfloat& operator=(C& x) { return *this = bfloat((float)x); }
    KS constexpr float __f() const { return __builtin_bit_cast(float, (uint)__bits << 16); }
    // To float by itself, to anything else when asked.
    template <class F, typename __ks_float_only<F>::type = 0> KS constexpr operator F() const { return __f(); }
    template <class F, typename __ks_float_only<F>::type = 0> KS constexpr operator F() const __constant { return __builtin_bit_cast(float, (uint)__bits << 16); }
    template <class T, typename __ks_not_float<T>::type = 0> KS constexpr explicit operator T() const __constant { return (T)__builtin_bit_cast(float, (uint)__bits << 16); }
    template <class I, typename __ks_integral<I>::type = 0> KS constexpr operator I() const { return (I)__f(); }
    template <class I, typename __ks_integral<I>::type = 0> KS bfloat& operator=(I x) { return *this = bfloat(x); }
    template <class T, typename __ks_not_float<T>::type = 0> KS constexpr explicit operator T() const { return (T)__f(); }
#define KS_BF_SET(op) \
    template <class T> KS bfloat& operator op##=(T b) { *this = bfloat(__f() op (float)b); return *this; }
    KS_BF_SET(+)
    KS_BF_SET(-)
    KS_BF_SET(*)
    KS_BF_SET(/)
#undef KS_BF_SET
    KS constexpr bfloat operator-() const { return __builtin_bit_cast(bfloat, (ushort)(__bits ^ 0x8000)); }
    KS constexpr bfloat operator+() const { return *this; }
    KS bfloat& operator++() { return *this += 1.0f; }
    KS bfloat& operator--() { return *this -= 1.0f; }
    KS bfloat operator++(int) { bfloat r = *this; *this += 1.0f; return r; }
    KS bfloat operator--(int) { bfloat r = *this; *this -= 1.0f; return r; }
};
#define KS_BF_INTO(op) \
    template <class T, typename __ks_if<!__ks_is_class<T>::value>::type = 0> KS T& operator op##=(T& a, bfloat b) { a = a op b.__f(); return a; }
KS_BF_INTO(+)
KS_BF_INTO(-)
KS_BF_INTO(*)
KS_BF_INTO(/)
#undef KS_BF_INTO
// What an operation with bfloat gives: bfloat with an integer, float with a float.
template <class T, bool I = __ks_is_integral<T>::value> struct __ks_bf_with {};
template <class T> struct __ks_bf_with<T, true> { typedef bfloat type; };
template <> struct __ks_bf_with<float, false> { typedef float type; };
template <> struct __ks_bf_with<half, false> { typedef float type; };
#define KS_BF_OP(op) \
    KS constexpr bfloat operator op(bfloat a, bfloat b) { return bfloat(a.__f() op b.__f()); } \
    template <class T> KS constexpr typename __ks_bf_with<T>::type operator op(bfloat a, T b) { return (typename __ks_bf_with<T>::type)(a.__f() op (float)b); } \
    template <class T> KS constexpr typename __ks_bf_with<T>::type operator op(T a, bfloat b) { return (typename __ks_bf_with<T>::type)((float)a op b.__f()); } \
    template <class T, int N> KS vec<T, N> operator op(vec<T, N> a, bfloat b) { return a op (T)b.__f(); } \
    template <class T, int N> KS vec<T, N> operator op(bfloat a, vec<T, N> b) { return (T)a.__f() op b; }
KS_BF_OP(+)
KS_BF_OP(-)
KS_BF_OP(*)
KS_BF_OP(/)
#undef KS_BF_OP
#define KS_BF_CMP(op) \
    KS constexpr bool operator op(bfloat a, bfloat b) { return a.__f() op b.__f(); } \
    template <class T, class = typename __ks_bf_with<T>::type> KS constexpr bool operator op(bfloat a, T b) { return a.__f() op (float)b; } \
    template <class T, class = typename __ks_bf_with<T>::type> KS constexpr bool operator op(T a, bfloat b) { return (float)a op b.__f(); }
KS_BF_CMP(==)
KS_BF_CMP(!=)
KS_BF_CMP(<)
KS_BF_CMP(>)
KS_BF_CMP(<=)
KS_BF_CMP(>=)
#undef KS_BF_CMP

// An integer beside a bfloat in a conditional: it becomes whatever the other branch is.
struct __ks_any_integer {
    long v;
    template <class T> KS constexpr operator T() const { return (T)v; }
};
template <class T> KS constexpr T __ks_branch(T x) { return x; }
#define KS_BRANCH(T) KS constexpr __ks_any_integer __ks_branch(T x) { return {(long)x}; }
KS_BRANCH(int)
KS_BRANCH(uint)
KS_BRANCH(long)
KS_BRANCH(short)
KS_BRANCH(ushort)
#undef KS_BRANCH

// Vectors of what cannot be an element of a built-in vector.
template <int N> struct __ks_bfvec;
#define KS_BFVEC_BODY(N) \
    __ks_bfvec() = default; \
    __ks_bfvec(const __ks_bfvec&) = default; \
    __ks_bfvec(const __constant __ks_bfvec&) = default; \
    template <class Q, typename __ks_same<Q, __ks_bfvec>::type = 0> KS __ks_bfvec& operator=(const __constant Q& o) { return *this = Q(o); } \
    KS __ks_bfvec(bfloat s) { for (int i = 0; i < N; i++) (&x)[i] = s; } \
    KS explicit __ks_bfvec(vec<float, N> v) { for (int i = 0; i < N; i++) (&x)[i] = bfloat((float)v[i]); } \
    KS explicit __ks_bfvec(vec<half, N> v) { for (int i = 0; i < N; i++) (&x)[i] = bfloat((float)v[i]); } \
    KS operator vec<float, N>() const { vec<float, N> r; for (int i = 0; i < N; i++) r[i] = (float)(&x)[i]; return r; } \
    KS operator vec<float, N>() const __constant { vec<float, N> r; for (int i = 0; i < N; i++) r[i] = (float)(&x)[i]; return r; } \
    KS bfloat& operator[](int i) { return (&x)[i]; } \
    KS const bfloat& operator[](int i) const { return (&x)[i]; } \
    KS const __constant bfloat& operator[](int i) const __constant { return (&x)[i]; } \
    KS friend __ks_bfvec operator+(__ks_bfvec a, __ks_bfvec b) { return __ks_bfvec((vec<float, N>)a + (vec<float, N>)b); } \
    KS friend __ks_bfvec operator-(__ks_bfvec a, __ks_bfvec b) { return __ks_bfvec((vec<float, N>)a - (vec<float, N>)b); } \
    KS friend __ks_bfvec operator*(__ks_bfvec a, __ks_bfvec b) { return __ks_bfvec((vec<float, N>)a * (vec<float, N>)b); } \
    KS friend __ks_bfvec operator/(__ks_bfvec a, __ks_bfvec b) { return __ks_bfvec((vec<float, N>)a / (vec<float, N>)b); } \
    template <class S, typename __ks_if<!__ks_is_class<S>::value>::type = 0> KS __ks_bfvec& operator=(S s) { for (int i = 0; i < N; i++) (&x)[i] = bfloat((float)s); return *this; } \
    KS __ks_bfvec& operator+=(__ks_bfvec b) { return *this = *this + b; } \
    KS __ks_bfvec& operator-=(__ks_bfvec b) { return *this = *this - b; } \
    KS __ks_bfvec& operator*=(__ks_bfvec b) { return *this = *this * b; }
template <> struct alignas(4) __ks_bfvec<2> {
    bfloat x, y;
    KS __ks_bfvec(bfloat a, bfloat b) : x(a), y(b) {}
    KS_BFVEC_BODY(2)
};
template <> struct alignas(8) __ks_bfvec<3> {
    bfloat x, y, z;
    KS __ks_bfvec(bfloat a, bfloat b, bfloat c) : x(a), y(b), z(c) {}
    KS_BFVEC_BODY(3)
};
template <> struct alignas(8) __ks_bfvec<4> {
    bfloat x, y, z, w;
    KS __ks_bfvec(bfloat a, bfloat b, bfloat c, bfloat d) : x(a), y(b), z(c), w(d) {}
    KS __ks_bfvec(__ks_bfvec<2> a, __ks_bfvec<2> b) : x(a.x), y(a.y), z(b.x), w(b.y) {}
    KS_BFVEC_BODY(4)
};
#undef KS_BFVEC_BODY
typedef __ks_bfvec<2> bfloat2;
typedef __ks_bfvec<3> bfloat3;
typedef __ks_bfvec<4> bfloat4;

// `vec<T, N>` where nothing has to be deduced from it.
template <class T, int N> struct __ks_vec { typedef T type __attribute__((ext_vector_type(N))); };
template <int N> struct __ks_vec<bool, N> { typedef __ks_bvec<N> type; };
template <int N> struct __ks_vec<bfloat, N> { typedef __ks_bfvec<N> type; };
template <class T, int N> struct __ks_vec<const T, N> { typedef const typename __ks_vec<T, N>::type type; };
template <class T, int N> using __ks_vec_t = typename __ks_vec<T, N>::type;
namespace metal {
using ::__ks_vec_t;
}
template <int N> struct __ks_vt<__ks_bfvec<N>> {
    static constexpr int n = N;
    typedef bfloat e;
};
template <int N> struct __ks_is_record_vec<__ks_bfvec<N>> { static constexpr bool value = true; };
