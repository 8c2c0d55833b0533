// Simdgroup and quadgroup functions.
KS_CONV int __ks_shuffle_i32(int v, int lane);
KS_CONV int __ks_shuffle_xor_i32(int v, int mask);
KS_CONV int __ks_shuffle_up_i32(int v, int delta);
KS_CONV int __ks_shuffle_down_i32(int v, int delta);
KS_CONV int __ks_shuffle_rotate_up_i32(int v, int delta);
KS_CONV int __ks_shuffle_rotate_down_i32(int v, int delta);
KS_CONV int __ks_shuffle_fill_up_i32(int v, int fill, int delta, int modulo);
KS_CONV int __ks_shuffle_fill_down_i32(int v, int fill, int delta, int modulo);
KS_CONV int __ks_broadcast_i32(int v, int lane);
KS_CONV int __ks_broadcast_first_i32(int v);
KS_CONV int __ks_quad_shuffle_i32(int v, int lane);
KS_CONV int __ks_quad_shuffle_xor_i32(int v, int mask);
KS_CONV int __ks_quad_shuffle_up_i32(int v, int delta);
KS_CONV int __ks_quad_shuffle_down_i32(int v, int delta);
KS_CONV int __ks_quad_broadcast_i32(int v, int lane);
KS_CONV ulong __ks_ballot(int p);
KS_CONV ulong __ks_active_mask();
KS_CONV int __ks_simd_is_first();

namespace metal {
// Moves any value as 32-bit words.
#define KS_MOVE(name, params, call, pre) \
    template <class T> KS T name(T v params) { \
        if constexpr (__ks_vt<T>::n > 0) { \
            T r = v; \
            for (int i = 0; i < __ks_vt<T>::n; i++) r[i] = name((typename __ks_vt<T>::e)v[i] pre); \
            return r; \
        } else if constexpr (sizeof(T) == 1) { \
            uchar w = __builtin_bit_cast(uchar, v); \
            return __builtin_bit_cast(T, (uchar)call((int)w)); \
        } else if constexpr (sizeof(T) == 2) { \
            ushort w = __builtin_bit_cast(ushort, v); \
            return __builtin_bit_cast(T, (ushort)call((int)w)); \
        } else if constexpr (sizeof(T) == 4) { \
            return __builtin_bit_cast(T, call(__builtin_bit_cast(int, v))); \
        } else { \
            struct __words { int w[sizeof(T) / 4]; }; \
            __words s = __builtin_bit_cast(__words, v); \
            for (int i = 0; i < (int)(sizeof(T) / 4); i++) s.w[i] = call(s.w[i]); \
            return __builtin_bit_cast(T, s); \
        } \
    }
#define KS_COMMA ,
#define KS_CALL(w) __ks_shuffle_i32(w, n)
KS_MOVE(simd_shuffle, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_shuffle_xor_i32(w, n)
KS_MOVE(simd_shuffle_xor, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_shuffle_up_i32(w, n)
KS_MOVE(simd_shuffle_up, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_shuffle_down_i32(w, n)
KS_MOVE(simd_shuffle_down, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_shuffle_rotate_up_i32(w, n)
KS_MOVE(simd_shuffle_rotate_up, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_shuffle_rotate_down_i32(w, n)
KS_MOVE(simd_shuffle_rotate_down, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_broadcast_i32(w, n)
KS_MOVE(simd_broadcast, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_broadcast_first_i32(w)
KS_MOVE(simd_broadcast_first, , KS_CALL, )
#undef KS_CALL
#define KS_CALL(w) __ks_quad_shuffle_i32(w, n)
KS_MOVE(quad_shuffle, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_quad_shuffle_xor_i32(w, n)
KS_MOVE(quad_shuffle_xor, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_quad_shuffle_up_i32(w, n)
KS_MOVE(quad_shuffle_up, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_quad_shuffle_down_i32(w, n)
KS_MOVE(quad_shuffle_down, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#define KS_CALL(w) __ks_quad_broadcast_i32(w, n)
KS_MOVE(quad_broadcast, KS_COMMA ushort n, KS_CALL, KS_COMMA n)
#undef KS_CALL
#undef KS_MOVE
template <class T> KS T quad_broadcast_first(T v) { return quad_broadcast(v, (ushort)0); }

#define KS_FILL(name) \
    template <class T> KS T name(T v, T f, ushort delta, ushort modulo = 32); \
    KS int __ks_##name##_w(int v, int f, int d, int m);
template <bool UP> KS int __ks_fill(int v, int f, int d, int m) { return UP ? __ks_shuffle_fill_up_i32(v, f, d, m) : __ks_shuffle_fill_down_i32(v, f, d, m); }
template <bool UP, class T> KS T __ks_fill_any(T v, T f, int d, int m) {
    if constexpr (__ks_vt<T>::n > 0) {
        T r = v;
        for (int i = 0; i < __ks_vt<T>::n; i++) r[i] = __ks_fill_any<UP>((typename __ks_vt<T>::e)v[i], (typename __ks_vt<T>::e)f[i], d, m);
        return r;
    } else if constexpr (sizeof(T) == 1) {
        return __builtin_bit_cast(T, (uchar)__ks_fill<UP>(__builtin_bit_cast(uchar, v), __builtin_bit_cast(uchar, f), d, m));
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bit_cast(T, (ushort)__ks_fill<UP>(__builtin_bit_cast(ushort, v), __builtin_bit_cast(ushort, f), d, m));
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(T, __ks_fill<UP>(__builtin_bit_cast(int, v), __builtin_bit_cast(int, f), d, m));
    } else {
        struct __words { int w[sizeof(T) / 4]; };
        __words a = __builtin_bit_cast(__words, v), b = __builtin_bit_cast(__words, f);
        for (int i = 0; i < (int)(sizeof(T) / 4); i++) a.w[i] = __ks_fill<UP>(a.w[i], b.w[i], d, m);
        return __builtin_bit_cast(T, a);
    }
}
template <class T> KS T simd_shuffle_and_fill_up(T v, T f, ushort d, ushort m = 32) { return __ks_fill_any<true>(v, f, d, m); }
template <class T> KS T simd_shuffle_and_fill_down(T v, T f, ushort d, ushort m = 32) { return __ks_fill_any<false>(v, f, d, m); }
template <class T> KS T quad_shuffle_and_fill_up(T v, T f, ushort d, ushort m = 4) { return __ks_fill_any<true>(v, f, d, m); }
template <class T> KS T quad_shuffle_and_fill_down(T v, T f, ushort d, ushort m = 4) { return __ks_fill_any<false>(v, f, d, m); }
#undef KS_FILL

// Reductions and scans.
#define KS_RED_DECL(group, op) \
    KS_CONV float __ks_##group##_##op##_f32(float v); \
    KS_CONV int __ks_##group##_##op##_i32(int v); \
    KS_CONV int __ks_##group##_##op##_u32(uint v);
#define KS_RED_INT(group, op) \
    KS int group##_##op(int v) { return __ks_##group##_##op##_i32(v); } \
    KS uint group##_##op(uint v) { return (uint)__ks_##group##_##op##_u32(v); } \
    KS short group##_##op(short v) { return (short)__ks_##group##_##op##_i32(v); } \
    KS ushort group##_##op(ushort v) { return (ushort)__ks_##group##_##op##_u32(v); } \
    KS char group##_##op(char v) { return (char)__ks_##group##_##op##_i32(v); } \
    KS uchar group##_##op(uchar v) { return (uchar)__ks_##group##_##op##_u32(v); } \
    template <class T, int N> KS vec<T, N> group##_##op(vec<T, N> v) { vec<T, N> r; for (int i = 0; i < N; i++) r[i] = group##_##op((T)v[i]); return r; }
#define KS_RED(group, op) \
    KS_RED_DECL(group, op) \
    KS float group##_##op(float v) { return __ks_##group##_##op##_f32(v); } \
    KS half group##_##op(half v) { return (half)__ks_##group##_##op##_f32((float)v); } \
    KS_RED_INT(group, op)
#define KS_REDI(group, op) KS_RED_DECL(group, op) KS_RED_INT(group, op)
KS_RED(simd, sum)
KS_RED(simd, product)
KS_RED(simd, min)
KS_RED(simd, max)
KS_REDI(simd, and)
KS_REDI(simd, or)
KS_REDI(simd, xor)
KS_RED(simd, prefix_inclusive_sum)
KS_RED(simd, prefix_exclusive_sum)
KS_RED(simd, prefix_inclusive_product)
KS_RED(simd, prefix_exclusive_product)
KS_RED(quad, sum)
KS_RED(quad, product)
KS_RED(quad, min)
KS_RED(quad, max)
KS_REDI(quad, and)
KS_REDI(quad, or)
KS_REDI(quad, xor)
KS_RED(quad, prefix_inclusive_sum)
KS_RED(quad, prefix_exclusive_sum)
KS_RED(quad, prefix_inclusive_product)
KS_RED(quad, prefix_exclusive_product)

#ifdef KS_DOUBLE
// Lane after lane, in groups of W: a value of 64 bits moves as two words, and a lane that does not run is left out.
template <int W> struct __ks_lanes {
    ulong active = __ks_active_mask();
    int lane = __ks_sr(12), base = __ks_sr(12) & ~(W - 1);
};
#define KS_RED64(group, W, op, start, combine) \
    KS double group##_##op(double v) { \
        __ks_lanes<W> at; \
        double r = start; \
        for (int i = 0; i < W; i++) { \
            double x = simd_shuffle(v, (ushort)(at.base + i)); \
            if ((at.active >> (at.base + i)) & 1) r = combine; \
        } \
        return r; \
    }
#define KS_SCAN64(group, W, op, start, until, combine) \
    KS double group##_prefix_##op(double v) { \
        __ks_lanes<W> at; \
        double r = start; \
        for (int i = 0; i < W; i++) { \
            double x = simd_shuffle(v, (ushort)(at.base + i)); \
            if (((at.active >> (at.base + i)) & 1) && at.base + i until at.lane) r = combine; \
        } \
        return r; \
    }
#define KS_GROUP64(group, W) \
    KS_RED64(group, W, sum, 0.0, r + x) \
    KS_RED64(group, W, product, 1.0, r * x) \
    KS_RED64(group, W, min, __builtin_huge_val(), __builtin_fmin(r, x)) \
    KS_RED64(group, W, max, -__builtin_huge_val(), __builtin_fmax(r, x)) \
    KS_SCAN64(group, W, inclusive_sum, 0.0, <=, r + x) \
    KS_SCAN64(group, W, exclusive_sum, 0.0, <, r + x) \
    KS_SCAN64(group, W, inclusive_product, 1.0, <=, r * x) \
    KS_SCAN64(group, W, exclusive_product, 1.0, <, r * x)
KS_GROUP64(simd, 32)
KS_GROUP64(quad, 4)
#endif

struct simd_vote {
    typedef ulong vote_t;
    vote_t v;
    simd_vote() = default;
    simd_vote(const simd_vote&) = default;
    KS explicit constexpr simd_vote(vote_t m) : v(m) {}
    KS explicit operator vote_t() const { return v; }
    KS bool all() const { return v == 0xffffffffu; }
    KS bool any() const { return v != 0; }
    KS friend simd_vote operator&(simd_vote a, simd_vote b) { return simd_vote(a.v & b.v); }
    KS friend simd_vote operator|(simd_vote a, simd_vote b) { return simd_vote(a.v | b.v); }
    KS friend simd_vote operator^(simd_vote a, simd_vote b) { return simd_vote(a.v ^ b.v); }
    KS friend simd_vote operator~(simd_vote a) { return simd_vote(~a.v & 0xffffffffu); }
};
typedef simd_vote quad_vote;
KS simd_vote simd_ballot(bool p) { return simd_vote(__ks_ballot(p)); }
KS simd_vote simd_active_threads_mask() { return simd_vote(__ks_active_mask()); }
KS bool simd_all(bool p) { return __ks_ballot(!p) == 0; }
KS bool simd_any(bool p) { return __ks_ballot(p) != 0; }
KS bool simd_is_first() { return __ks_simd_is_first() != 0; }
KS bool simd_is_helper_thread() { return false; }
KS ulong __ks_quad_mask(ulong m) { return (m >> (__ks_sr(12) & 28)) & 15; }
KS quad_vote quad_ballot(bool p) { return quad_vote(__ks_quad_mask(__ks_ballot(p))); }
KS quad_vote quad_active_threads_mask() { return quad_vote(__ks_quad_mask(__ks_active_mask())); }
KS bool quad_all(bool p) { return __ks_quad_mask(__ks_ballot(!p)) == 0; }
KS bool quad_any(bool p) { return __ks_quad_mask(__ks_ballot(p)) != 0; }
KS bool quad_is_first() { ulong m = __ks_quad_mask(__ks_active_mask()); return (m & ((1ul << (__ks_sr(12) & 3)) - 1)) == 0; }
}
