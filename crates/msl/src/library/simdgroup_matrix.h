// simdgroup_matrix: an 8x8 matrix in which every lane holds two neighbouring elements of a row.
KS_CONV float2 __ks_mma_8x8(float2 a, float2 b, float2 c, int kind);

namespace metal {
template <class T> struct __ks_mma_kind;
template <> struct __ks_mma_kind<float> { static constexpr int value = 0; };
template <> struct __ks_mma_kind<half> { static constexpr int value = 1; };
template <> struct __ks_mma_kind<bfloat> { static constexpr int value = 2; };

// Row and first column of the lane's two elements.
KS uint2 __ks_frag_at() {
    uint lane = __ks_sr(12), quad = lane / 4;
    return (uint2)((quad & 2) * 2 + (lane % 2) * 2, (quad & 4) + (lane / 2) % 4);
}
template <class D, class A, class B, class C> KS __ks_vec_t<D, 2> __ks_mma(A a, B b, C c) {
    float2 r = __ks_mma_8x8((float2)((float)a[0], (float)a[1]), (float2)((float)b[0], (float)b[1]), (float2)((float)c[0], (float)c[1]), __ks_mma_kind<D>::value);
    __ks_vec_t<D, 2> d;
    d[0] = (D)r[0];
    d[1] = (D)r[1];
    return d;
}

template <class T, int C, int R> struct simdgroup_matrix {
    static_assert(C == 8 && R == 8, "a simdgroup_matrix has 8 rows and 8 columns");
    typedef __ks_vec_t<T, 2> storage_type;
    storage_type __t;
    simdgroup_matrix() = default;
    simdgroup_matrix(const simdgroup_matrix&) = default;
    KS explicit simdgroup_matrix(T d) {
        uint2 at = __ks_frag_at();
        __t[0] = at.x == at.y ? d : (T)0;
        __t[1] = at.x + 1 == at.y ? d : (T)0;
    }
    KS __private storage_type& thread_elements() __private { return __t; }
    KS const __private storage_type& thread_elements() const __private { return __t; }
};
#define KS_SIMDGROUP_MATRIX(T) typedef simdgroup_matrix<T, 8, 8> simdgroup_##T##8x8;
KS_SIMDGROUP_MATRIX(float)
KS_SIMDGROUP_MATRIX(half)
KS_SIMDGROUP_MATRIX(bfloat)

template <class T, int C = 8, int R = 8> KS simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T v) { simdgroup_matrix<T, C, R> m; m.__t[0] = v; m.__t[1] = v; return m; }
template <class T, int C = 8, int R = 8> KS simdgroup_matrix<T, C, R> make_diagonal_simdgroup_matrix(T v) { return simdgroup_matrix<T, C, R>(v); }

#define KS_FRAG(SPACE) \
    template <class T> KS void simdgroup_load(__private simdgroup_matrix<T, 8, 8>& m, const SPACE T* p, ulong stride = 8, ulong2 origin = (ulong2)0, bool transpose = false) { \
        uint2 at = __ks_frag_at(); \
        if (transpose) { \
            const SPACE T* q = p + (origin.y + at.x) * stride + origin.x + at.y; \
            m.__t[0] = q[0]; \
            m.__t[1] = q[stride]; \
        } else { \
            const SPACE T* q = p + (origin.y + at.y) * stride + origin.x + at.x; \
            m.__t[0] = q[0]; \
            m.__t[1] = q[1]; \
        } \
    } \
    template <class T> KS void simdgroup_load(__private simdgroup_matrix<T, 8, 8>& m, const volatile SPACE T* p, ulong stride = 8, ulong2 origin = (ulong2)0, bool transpose = false) { simdgroup_load(m, (const SPACE T*)p, stride, origin, transpose); } \
    template <class T> KS void simdgroup_store(simdgroup_matrix<T, 8, 8> m, SPACE T* p, ulong stride = 8, ulong2 origin = (ulong2)0, bool transpose = false) { \
        uint2 at = __ks_frag_at(); \
        if (transpose) { \
            SPACE T* q = p + (origin.y + at.x) * stride + origin.x + at.y; \
            q[0] = m.__t[0]; \
            q[stride] = m.__t[1]; \
        } else { \
            SPACE T* q = p + (origin.y + at.y) * stride + origin.x + at.x; \
            q[0] = m.__t[0]; \
            q[1] = m.__t[1]; \
        } \
    } \
    template <class T> KS void simdgroup_store(simdgroup_matrix<T, 8, 8> m, volatile SPACE T* p, ulong stride = 8, ulong2 origin = (ulong2)0, bool transpose = false) { simdgroup_store(m, (SPACE T*)p, stride, origin, transpose); }
KS_FRAG(__global)
KS_FRAG(__local)
#undef KS_FRAG
template <class T> KS void simdgroup_load(__private simdgroup_matrix<T, 8, 8>& m, const __constant T* p, ulong stride = 8, ulong2 origin = (ulong2)0, bool transpose = false) {
    uint2 at = __ks_frag_at();
    ulong x = transpose ? at.y : at.x, y = transpose ? at.x : at.y;
    const __constant T* q = p + (origin.y + y) * stride + origin.x + x;
    m.__t[0] = q[0];
    m.__t[1] = q[transpose ? stride : 1];
}

template <class D, class A, class B, class C> KS void simdgroup_multiply_accumulate(__private simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c) { d.__t = __ks_mma<D>(a.__t, b.__t, c.__t); }
template <class D, class A, class B> KS void simdgroup_multiply(__private simdgroup_matrix<D, 8, 8>& d, simdgroup_matrix<A, 8, 8> a, simdgroup_matrix<B, 8, 8> b) { d.__t = __ks_mma<D>(a.__t, b.__t, (float2)0.0f); }
template <class T> KS simdgroup_matrix<T, 8, 8> operator*(simdgroup_matrix<T, 8, 8> a, simdgroup_matrix<T, 8, 8> b) { simdgroup_matrix<T, 8, 8> d; simdgroup_multiply(d, a, b); return d; }
}

// The intrinsics behind it; an operand is the lane's two elements.
template <class A, class B, class C, class D> KS C __metal_simdgroup_matrix_8x8_multiply_accumulate(A a, B b, C c, D) { return metal::__ks_mma<typename __ks_vt<C>::e>(a, b, c); }
template <class A, class B, class D> KS D __metal_simdgroup_matrix_8x8_multiply(A a, B b, D) { return metal::__ks_mma<typename __ks_vt<D>::e>(a, b, (float2)0.0f); }
#define KS_RAW(SPACE) \
    template <class T> KS __ks_vec_t<T, 2> __metal_simdgroup_matrix_8x8_load(const SPACE T* p, ulong stride, ulong2 origin, bool transpose) { metal::simdgroup_matrix<T, 8, 8> m; metal::simdgroup_load(m, p, stride, origin, transpose); return m.__t; } \
    template <class V, class T> KS void __metal_simdgroup_matrix_8x8_store(V v, SPACE T* p, ulong stride, ulong2 origin, bool transpose) { metal::simdgroup_matrix<T, 8, 8> m; m.__t = v; metal::simdgroup_store(m, p, stride, origin, transpose); }
KS_RAW(__global)
KS_RAW(__local)
#undef KS_RAW
