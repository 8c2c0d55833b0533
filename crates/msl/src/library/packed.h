// Packed vectors: vectors with the alignment of their elements.
template <class T, int N> struct __ks_packed;
#define KS_PACKED_BODY(N) \
    typedef vec<T, N> V; \
    __ks_packed() = default; \
    __ks_packed(const __ks_packed&) = default; \
    __ks_packed(const __constant __ks_packed&) = default; \
    template <class Q, typename __ks_same<Q, __ks_packed>::type = 0> KS __ks_packed& operator=(const __constant Q& o) { return *this = Q(o); } \
    KS constexpr __ks_packed(V v) { for (int i = 0; i < N; i++) (&x)[i] = v[i]; } \
    KS operator V() const { V r; for (int i = 0; i < N; i++) r[i] = (&x)[i]; return r; } \
    KS operator V() const __constant { V r; for (int i = 0; i < N; i++) r[i] = (&x)[i]; return r; } \
    KS __global T& operator[](int i) __global& { return (&x)[i]; } \
    KS __local T& operator[](int i) __local& { return (&x)[i]; } \
    KS __private T& operator[](int i) __private& { return (&x)[i]; } \
    KS const __global T& operator[](int i) const __global& { return (&x)[i]; } \
    KS const __local T& operator[](int i) const __local& { return (&x)[i]; } \
    KS const __private T& operator[](int i) const __private& { return (&x)[i]; } \
    KS const __constant T& operator[](int i) const __constant& { return (&x)[i]; } \
    KS T operator[](int i) const&& { return (&x)[i]; } \
    KS V __v() const { return *this; } \
    KS __ks_packed& operator+=(V b) { *this = __v() + b; return *this; } \
    KS __ks_packed& operator-=(V b) { *this = __v() - b; return *this; } \
    KS __ks_packed& operator*=(V b) { *this = __v() * b; return *this; } \
    KS __ks_packed& operator/=(V b) { *this = __v() / b; return *this; }
template <class T> struct __ks_packed<T, 2> {
    T x, y;
    KS constexpr __ks_packed(T s) : x(s), y(s) {}
    KS constexpr __ks_packed(T a, T b) : x(a), y(b) {}
    KS_PACKED_BODY(2)
};
template <class T> struct __ks_packed<T, 3> {
    T x, y, z;
    KS constexpr __ks_packed(T s) : x(s), y(s), z(s) {}
    KS constexpr __ks_packed(T a, T b, T c) : x(a), y(b), z(c) {}
    KS constexpr __ks_packed(vec<T, 2> a, T c) : x(a.x), y(a.y), z(c) {}
    KS_PACKED_BODY(3)
};
template <class T> struct __ks_packed<T, 4> {
    T x, y, z, w;
    KS constexpr __ks_packed(T s) : x(s), y(s), z(s), w(s) {}
    KS constexpr __ks_packed(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
    KS constexpr __ks_packed(vec<T, 3> a, T d) : x(a.x), y(a.y), z(a.z), w(d) {}
    KS_PACKED_BODY(4)
};
#undef KS_PACKED_BODY
#define KS_PACKED(T) \
    typedef __ks_packed<T, 2> packed_##T##2; \
    typedef __ks_packed<T, 3> packed_##T##3; \
    typedef __ks_packed<T, 4> packed_##T##4;
KS_PACKED(char)
KS_PACKED(uchar)
KS_PACKED(short)
KS_PACKED(ushort)
KS_PACKED(int)
KS_PACKED(uint)
KS_PACKED(long)
KS_PACKED(half)
KS_PACKED(float)
namespace metal {
template <class T, int N> using packed_vec = __ks_packed<T, N>;
}
struct packed_bfloat2 {
    bfloat x, y;
    KS operator bfloat2() const { return bfloat2(x, y); }
    KS bfloat operator[](int i) const { return (&x)[i]; }
};
struct packed_bfloat4 {
    bfloat x, y, z, w;
    KS operator bfloat4() const { return bfloat4(x, y, z, w); }
    KS bfloat operator[](int i) const { return (&x)[i]; }
};
template <class T, int N> struct __ks_vt<__ks_packed<T, N>> {
    static constexpr int n = N;
    typedef T e;
};
template <class T, int N> struct __ks_is_record_vec<__ks_packed<T, N>> { static constexpr bool value = true; };
