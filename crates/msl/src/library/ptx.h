// What the library calls, on NVIDIA GPUs: special registers, barriers, shuffles and votes as PTX instructions, and
// mathematics from the hardware's base-2 functions. A simdgroup is a warp.
#define KS_ASM __asm__ volatile
#define KS_ON extern "C" inline __attribute__((always_inline, nodebug))
extern "C" __attribute__((nothrow, const)) uint __ks_grid(int axis);
extern "C" __attribute__((nothrow, const)) __local void* __ks_dynamic();

#define KS_SREG(name, reg) KS uint name() { uint r; __asm__("mov.u32 %0, %%" reg ";" : "=r"(r)); return r; }
KS_SREG(__ks_tid_x, "tid.x")
KS_SREG(__ks_tid_y, "tid.y")
KS_SREG(__ks_tid_z, "tid.z")
KS_SREG(__ks_cta_x, "ctaid.x")
KS_SREG(__ks_cta_y, "ctaid.y")
KS_SREG(__ks_cta_z, "ctaid.z")
KS_SREG(__ks_ntid_x, "ntid.x")
KS_SREG(__ks_ntid_y, "ntid.y")
KS_SREG(__ks_ntid_z, "ntid.z")
KS_SREG(__ks_ncta_x, "nctaid.x")
KS_SREG(__ks_ncta_y, "nctaid.y")
KS_SREG(__ks_ncta_z, "nctaid.z")
#undef KS_SREG
// Threads of this threadgroup along an axis: fewer at the edge of the grid.
KS uint __ks_extent(uint n, uint group, uint grid) { uint left = grid - group * n; return left < n ? left : n; }
KS uint __ks_linear() { return (__ks_tid_z() * __ks_ntid_y() + __ks_tid_y()) * __ks_ntid_x() + __ks_tid_x(); }
KS_ON int __ks_sr(int id) {
    switch (id) {
    case 0: return __ks_tid_x();
    case 1: return __ks_tid_y();
    case 2: return __ks_tid_z();
    case 3: return __ks_cta_x();
    case 4: return __ks_cta_y();
    case 5: return __ks_cta_z();
    case 6: return __ks_extent(__ks_ntid_x(), __ks_cta_x(), __ks_grid(0));
    case 7: return __ks_extent(__ks_ntid_y(), __ks_cta_y(), __ks_grid(1));
    case 8: return __ks_extent(__ks_ntid_z(), __ks_cta_z(), __ks_grid(2));
    case 9: return __ks_ncta_x();
    case 10: return __ks_ncta_y();
    case 11: return __ks_ncta_z();
    case 12: return __ks_linear() & 31;
    case 13: return __ks_linear() >> 5;
    case 14: return (__ks_ntid_x() * __ks_ntid_y() * __ks_ntid_z() + 31) >> 5;
    case 15: return __ks_linear();
    case 16: return __ks_grid(0);
    case 17: return __ks_grid(1);
    case 18: return __ks_grid(2);
    case 19: return __ks_cta_x() * __ks_ntid_x() + __ks_tid_x();
    case 20: return __ks_cta_y() * __ks_ntid_y() + __ks_tid_y();
    default: return __ks_cta_z() * __ks_ntid_z() + __ks_tid_z();
    }
}
// Is this thread past the end of the grid?
KS bool __ks_outside() { return (uint)__ks_sr(19) >= __ks_grid(0) || (uint)__ks_sr(20) >= __ks_grid(1) || (uint)__ks_sr(21) >= __ks_grid(2); }

KS uint __ks_mask() { uint m; KS_ASM("activemask.b32 %0;" : "=r"(m)); return m; }
KS_ON void __ks_threadgroup_barrier(int) { KS_ASM("bar.sync 0;" ::: "memory"); }
KS_ON void __ks_simdgroup_barrier(int) { KS_ASM("bar.warp.sync %0;" ::"r"(__ks_mask()) : "memory"); }
KS_ON void __ks_fence(int, int, int scope) {
    if (scope >= 3) KS_ASM("membar.gl;" ::: "memory");
    else KS_ASM("membar.cta;" ::: "memory");
}

#define KS_SHFL(name, mode, clamp) KS int name(int v, int n) { int r; KS_ASM("shfl.sync." mode ".b32 %0, %1, %2, " clamp ", %3;" : "=r"(r) : "r"(v), "r"(n), "r"(__ks_mask())); return r; }
KS_SHFL(__ks_shfl_idx, "idx", "31")
KS_SHFL(__ks_shfl_xor, "bfly", "31")
KS_SHFL(__ks_shfl_up, "up", "0")
KS_SHFL(__ks_shfl_down, "down", "31")
#undef KS_SHFL
KS_ON int __ks_shuffle_i32(int v, int n) { return __ks_shfl_idx(v, n); }
KS_ON int __ks_shuffle_xor_i32(int v, int n) { return __ks_shfl_xor(v, n); }
KS_ON int __ks_shuffle_up_i32(int v, int n) { return __ks_shfl_up(v, n); }
KS_ON int __ks_shuffle_down_i32(int v, int n) { return __ks_shfl_down(v, n); }
KS_ON int __ks_shuffle_rotate_up_i32(int v, int n) { return __ks_shfl_idx(v, (__ks_sr(12) - n) & 31); }
KS_ON int __ks_shuffle_rotate_down_i32(int v, int n) { return __ks_shfl_idx(v, (__ks_sr(12) + n) & 31); }
KS_ON int __ks_shuffle_fill_up_i32(int v, int f, int d, int m) {
    int at = __ks_sr(12) % m, base = __ks_sr(12) - at;
    int from = at - d;
    int a = __ks_shfl_idx(v, base + (from & 31)), b = __ks_shfl_idx(f, base + ((from + m) & 31));
    return from >= 0 ? a : b;
}
KS_ON int __ks_shuffle_fill_down_i32(int v, int f, int d, int m) {
    int at = __ks_sr(12) % m, base = __ks_sr(12) - at;
    int from = at + d;
    int a = __ks_shfl_idx(v, base + (from & 31)), b = __ks_shfl_idx(f, base + ((from - m) & 31));
    return from < m ? a : b;
}
KS_ON int __ks_broadcast_i32(int v, int n) { return __ks_shfl_idx(v, n); }
KS_ON int __ks_broadcast_first_i32(int v) { return __ks_shfl_idx(v, __builtin_ctz(__ks_mask())); }
KS_ON int __ks_quad_shuffle_i32(int v, int n) { return __ks_shfl_idx(v, (__ks_sr(12) & 28) + (n & 3)); }
KS_ON int __ks_quad_shuffle_xor_i32(int v, int n) { return __ks_shfl_xor(v, n & 3); }
KS_ON int __ks_quad_shuffle_up_i32(int v, int n) { return __ks_shfl_idx(v, (__ks_sr(12) & 28) + ((__ks_sr(12) - n) & 3)); }
KS_ON int __ks_quad_shuffle_down_i32(int v, int n) { return __ks_shfl_idx(v, (__ks_sr(12) & 28) + ((__ks_sr(12) + n) & 3)); }
KS_ON int __ks_quad_broadcast_i32(int v, int n) { return __ks_shfl_idx(v, (__ks_sr(12) & 28) + (n & 3)); }
KS_ON ulong __ks_ballot(int p) {
    uint r;
    KS_ASM("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }" : "=r"(r) : "r"(p), "r"(__ks_mask()));
    return r;
}
KS_ON ulong __ks_active_mask() { return __ks_mask(); }
KS_ON int __ks_simd_is_first() { return (__ks_mask() & ((1u << __ks_sr(12)) - 1)) == 0; }

// Reductions and scans over the lanes that are active.
KS float __ks_lane(float v, int n) { return __builtin_bit_cast(float, __ks_shfl_idx(__builtin_bit_cast(int, v), n)); }
KS int __ks_lane(int v, int n) { return __ks_shfl_idx(v, n); }
KS uint __ks_lane(uint v, int n) { return (uint)__ks_shfl_idx((int)v, n); }
#define KS_OP(name, expr) struct __ks_op_##name { template <class T> KS static T of(T a, T b) { return expr; } };
KS_OP(sum, a + b)
KS_OP(product, a * b)
KS_OP(min, metal::min(a, b))
KS_OP(max, metal::max(a, b))
KS_OP(and, a & b)
KS_OP(or, a | b)
KS_OP(xor, a ^ b)
#undef KS_OP
template <class O, int W, class T> KS T __ks_reduce(T v, T neutral) {
    uint mask = __ks_mask(), lane = __ks_sr(12);
    T r = v;
    for (int d = 1; d < W; d *= 2) {
        T other = __ks_lane(r, lane ^ d);
        r = O::of(r, (mask >> (lane ^ d)) & 1 ? other : neutral);
    }
    return r;
}
template <class O, int W, class T> KS T __ks_scan(T v, T neutral, bool exclusive) {
    uint mask = __ks_mask(), lane = __ks_sr(12), at = lane % W;
    T r = v;
    for (int d = 1; d < W; d *= 2) {
        T other = __ks_lane(r, lane - d);
        if (at >= d && ((mask >> (lane - d)) & 1)) r = O::of(other, r);
    }
    if (!exclusive) return r;
    T before = __ks_lane(r, lane - 1);
    return at == 0 ? neutral : before;
}
#define KS_RED_PTX(group, W, op, T, S, neutral) KS_ON T __ks_##group##_##op##_##S(T v) { return __ks_reduce<__ks_op_##op, W>(v, (T)(neutral)); }
#define KS_REDU_PTX(group, W, op, T, S, neutral) KS_ON int __ks_##group##_##op##_##S(T v) { return (int)__ks_reduce<__ks_op_##op, W>(v, (T)(neutral)); }
#define KS_SCAN_PTX(group, W, op, T, S, R, neutral) \
    KS_ON R __ks_##group##_prefix_inclusive_##op##_##S(T v) { return (R)__ks_scan<__ks_op_##op, W>(v, (T)(neutral), false); } \
    KS_ON R __ks_##group##_prefix_exclusive_##op##_##S(T v) { return (R)__ks_scan<__ks_op_##op, W>(v, (T)(neutral), true); }
#define KS_GROUP_PTX(group, W) \
    KS_RED_PTX(group, W, sum, float, f32, 0) KS_RED_PTX(group, W, product, float, f32, 1) \
    KS_RED_PTX(group, W, min, float, f32, __builtin_huge_valf()) KS_RED_PTX(group, W, max, float, f32, -__builtin_huge_valf()) \
    KS_RED_PTX(group, W, sum, int, i32, 0) KS_RED_PTX(group, W, product, int, i32, 1) \
    KS_RED_PTX(group, W, min, int, i32, 2147483647) KS_RED_PTX(group, W, max, int, i32, -2147483647 - 1) \
    KS_RED_PTX(group, W, and, int, i32, -1) KS_RED_PTX(group, W, or, int, i32, 0) KS_RED_PTX(group, W, xor, int, i32, 0) \
    KS_REDU_PTX(group, W, sum, uint, u32, 0) KS_REDU_PTX(group, W, product, uint, u32, 1) \
    KS_REDU_PTX(group, W, min, uint, u32, 0xffffffffu) KS_REDU_PTX(group, W, max, uint, u32, 0) \
    KS_REDU_PTX(group, W, and, uint, u32, 0xffffffffu) KS_REDU_PTX(group, W, or, uint, u32, 0) KS_REDU_PTX(group, W, xor, uint, u32, 0) \
    KS_SCAN_PTX(group, W, sum, float, f32, float, 0) KS_SCAN_PTX(group, W, product, float, f32, float, 1) \
    KS_SCAN_PTX(group, W, sum, int, i32, int, 0) KS_SCAN_PTX(group, W, product, int, i32, int, 1) \
    KS_SCAN_PTX(group, W, sum, uint, u32, int, 0) KS_SCAN_PTX(group, W, product, uint, u32, int, 1)
KS_GROUP_PTX(simd, 32)
KS_GROUP_PTX(quad, 4)

// Mathematics.
#define KS_HW(name, op) KS float __ks_hw_##name(float x) { float r; __asm__(op " %0, %1;" : "=f"(r) : "f"(x)); return r; }
KS_HW(ex2, "ex2.approx.ftz.f32")
KS_HW(lg2, "lg2.approx.f32")
KS_HW(rsqrt, "rsqrt.approx.f32")
KS_HW(sqrt, "sqrt.rn.f32")
KS_HW(rcp, "rcp.rn.f32")
#undef KS_HW
KS float __ks_div_rn(float x, float y) { float r; __asm__("div.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y)); return r; }
// 2^x with its whole part in the exponent, so that the hardware's function sees a small argument.
KS float __ks_m_exp2(float x) {
    if (x != x) return x;
    float c = __builtin_fmaxf(__builtin_fminf(x, 130.0f), -152.0f);
    float n = __builtin_rintf(c);
    return metal::ldexp(__ks_hw_ex2(c - n), (int)n);
}
KS float __ks_m_exp(float x) {
    if (x != x) return x;
    float c = __builtin_fmaxf(__builtin_fminf(x, 90.0f), -105.0f);
    float n = __builtin_rintf(c * 1.44269504089f);
    float f = __builtin_fmaf(n, -0.693359375f, c);
    f = __builtin_fmaf(n, 2.12194440e-4f, f);
    return metal::ldexp(__ks_hw_ex2(f * 1.44269504089f), (int)n);
}
KS float __ks_m_exp10(float x) { return __ks_m_exp2(x * 3.32192809489f); }
KS float __ks_m_log2(float x) { return __ks_hw_lg2(x); }
KS float __ks_m_log(float x) {
    // Near 1 the hardware's relative error grows: a series there.
    float t = x - 1.0f;
    if (__builtin_fabsf(t) < 0.09f) {
        float s = t / (x + 1.0f), q = s * s;
        return 2.0f * s * __builtin_fmaf(q, __builtin_fmaf(q, __builtin_fmaf(q, 0.142857142857f, 0.2f), 0.333333333333f), 1.0f);
    }
    return __ks_hw_lg2(x) * 0.693147180560f;
}
KS float __ks_m_log10(float x) { return __ks_m_log(x) * 0.434294481903f; }
// sin and cos of x by reduction to [-pi/4, pi/4] in three parts and polynomials there.
KS float __ks_m_trig(float x, int shift) {
    float k = __builtin_rintf(x * 0.636619772368f);
    float r = __builtin_fmaf(k, -1.57079601287841796875f, x);
    r = __builtin_fmaf(k, -3.1391647326017846e-7f, r);
    r = __builtin_fmaf(k, -5.3903025299577648e-15f, r);
    int q = ((int)k + shift) & 3;
    float s = r * r;
    float sine = __builtin_fmaf(r * s, __builtin_fmaf(s, __builtin_fmaf(s, -1.9515295891e-4f, 8.3321608736e-3f), -1.6666654611e-1f), r);
    float cosine = __builtin_fmaf(s * s, __builtin_fmaf(s, __builtin_fmaf(s, 2.443315711809948e-5f, -1.388731625493765e-3f), 4.166664568298827e-2f), __builtin_fmaf(s, -0.5f, 1.0f));
    float v = (q & 1) ? cosine : sine;
    return (q & 2) ? -v : v;
}
KS float __ks_m_sin(float x) { return __ks_m_trig(x, 0); }
KS float __ks_m_cos(float x) { return __ks_m_trig(x, 1); }
KS float __ks_m_tan(float x) { return __ks_m_trig(x, 0) / __ks_m_trig(x, 1); }
KS float __ks_m_sinpi(float x) { float r = x - 2.0f * __builtin_rintf(x * 0.5f); return __ks_m_sin(r * 3.14159265359f); }
KS float __ks_m_cospi(float x) { float r = x - 2.0f * __builtin_rintf(x * 0.5f); return __ks_m_cos(r * 3.14159265359f); }
KS float __ks_m_tanpi(float x) { return __ks_m_sinpi(x) / __ks_m_cospi(x); }
KS float __ks_m_atan(float x) {
    float a = __builtin_fabsf(x);
    float base = a > 2.414213562373095f ? 1.57079632679f : a > 0.4142135623730950f ? 0.785398163397f : 0.0f;
    float t = a > 2.414213562373095f ? -1.0f / a : a > 0.4142135623730950f ? (a - 1.0f) / (a + 1.0f) : a;
    float z = t * t;
    float y = base + __builtin_fmaf(__builtin_fmaf(__builtin_fmaf(__builtin_fmaf(8.05374449538e-2f, z, -1.38776856032e-1f), z, 1.99777106478e-1f), z, -3.33329491539e-1f) * z, t, t);
    return __builtin_copysignf(y, x);
}
KS float __ks_m_atan2(float y, float x) {
    if (x != x || y != y) return x + y;
    if (x == 0.0f && y == 0.0f) return __builtin_copysignf(metal::signbit(x) ? 3.14159265359f : 0.0f, y);
    if (metal::isinf(x) && metal::isinf(y)) return __builtin_copysignf(x > 0.0f ? 0.785398163397f : 2.35619449019f, y);
    float a = __ks_m_atan(__builtin_fabsf(y) / __builtin_fabsf(x));
    return __builtin_copysignf(metal::signbit(x) ? 3.14159265359f - a : a, y);
}
KS float __ks_m_asin(float x) {
    float a = __builtin_fabsf(x);
    bool big = a > 0.5f;
    float z = big ? 0.5f * (1.0f - a) : a * a;
    float s = big ? __ks_hw_sqrt(z) : a;
    float p = __builtin_fmaf(__builtin_fmaf(__builtin_fmaf(__builtin_fmaf(__builtin_fmaf(4.2163199048e-2f, z, 2.4181311049e-2f), z, 4.5470025998e-2f), z, 7.4953002686e-2f), z, 1.6666752422e-1f) * z, s, s);
    return __builtin_copysignf(big ? 1.57079632679f - 2.0f * p : p, x);
}
KS float __ks_m_acos(float x) { return x < -0.5f ? 3.14159265359f - 2.0f * __ks_m_asin(__ks_hw_sqrt(0.5f * (1.0f + x))) : x > 0.5f ? 2.0f * __ks_m_asin(__ks_hw_sqrt(0.5f * (1.0f - x))) : 1.57079632679f - __ks_m_asin(x); }
KS float __ks_m_expm1(float x) {
    if (__builtin_fabsf(x) < 0.35f) return x * __builtin_fmaf(x, __builtin_fmaf(x, __builtin_fmaf(x, __builtin_fmaf(x, __builtin_fmaf(x, 1.98412698e-4f, 1.38888889e-3f), 8.33333333e-3f), 4.16666667e-2f), 0.166666667f), 0.5f) * x + x;
    return __ks_m_exp(x) - 1.0f;
}
KS float __ks_m_sinh(float x) { float a = __builtin_fabsf(x); float e = __ks_m_expm1(a); float r = a > 88.0f ? __ks_m_exp(0.5f * a) * 0.5f * __ks_m_exp(0.5f * a) : 0.5f * (e + e / (e + 1.0f)); return __builtin_copysignf(r, x); }
KS float __ks_m_cosh(float x) { float a = __builtin_fabsf(x); if (a > 88.0f) return __ks_m_exp(0.5f * a) * 0.5f * __ks_m_exp(0.5f * a); float e = __ks_m_exp(a); return 0.5f * (e + 1.0f / e); }
KS float __ks_m_tanh(float x) { float a = __builtin_fabsf(x); float e = __ks_m_expm1(2.0f * __builtin_fminf(a, 20.0f)); return x != x ? x : __builtin_copysignf(e / (e + 2.0f), x); }
KS float __ks_m_log1p(float x) { float u = 1.0f + x; return u == 1.0f ? x : __ks_m_log(u) * (x / (u - 1.0f)); }
KS float __ks_m_asinh(float x) { float a = __builtin_fabsf(x); return __builtin_copysignf(a > 1e9f ? __ks_m_log(a) + 0.693147180560f : __ks_m_log1p(a + a * a / (1.0f + __ks_hw_sqrt(a * a + 1.0f))), x); }
KS float __ks_m_acosh(float x) { return x > 1e9f ? __ks_m_log(x) + 0.693147180560f : __ks_m_log1p(x - 1.0f + __ks_hw_sqrt((x - 1.0f) * (x + 1.0f))); }
KS float __ks_m_atanh(float x) { return 0.5f * __ks_m_log1p(2.0f * x / (1.0f - x)); }
KS float __ks_m_powr(float x, float y) { return x == 0.0f && y > 0.0f ? 0.0f : __ks_m_exp2(y * __ks_hw_lg2(x)); }
KS float __ks_m_pow(float x, float y) {
    if (y == 0.0f || x == 1.0f) return 1.0f;
    if (x != x || y != y) return x + y;
    bool whole = __builtin_truncf(y) == y;
    bool odd = whole && __builtin_fabsf(y) < 16777216.0f && ((int)y & 1);
    if (x == 0.0f) { float r = y > 0.0f ? 0.0f : __builtin_huge_valf(); return odd ? __builtin_copysignf(r, x) : r; }
    if (x < 0.0f && !whole) return __builtin_nanf("");
    float r = __ks_m_exp2(y * __ks_hw_lg2(__builtin_fabsf(x)));
    return x < 0.0f && odd ? -r : r;
}
KS float __ks_m_fmod(float x, float y) {
    float a = __builtin_fabsf(x), b = __builtin_fabsf(y);
    if (!(b > 0.0f) || !metal::isfinite(a)) return __builtin_nanf("");
    if (b > 3.4028234e38f) return x;
    for (int i = 0; a >= b && i < 300; i++) {
        // The largest multiple of b by a power of two that still fits.
        int e = metal::ilogb(a) - metal::ilogb(b);
        float m = metal::ldexp(b, e);
        if (m > a) m = metal::ldexp(b, e - 1);
        a -= m;
    }
    return __builtin_copysignf(a, x);
}
KS float __ks_m_sqrt(float x) { return __ks_hw_sqrt(x); }
KS float __ks_m_rsqrt(float x) { return __ks_hw_rsqrt(x); }
KS float __ks_m_rcp(float x) { return __ks_hw_rcp(x); }
KS float __ks_m_div(float x, float y) { return __ks_div_rn(x, y); }
#define KS_M1_PTX(n) KS_ON float __ks_##n##_f32(float x) { return __ks_m_##n(x); } KS_ON float __ks_precise_##n##_f32(float x) { return __ks_m_##n(x); }
#define KS_M2_PTX(n) KS_ON float __ks_##n##_f32(float x, float y) { return __ks_m_##n(x, y); } KS_ON float __ks_precise_##n##_f32(float x, float y) { return __ks_m_##n(x, y); }
KS_EACH1(KS_M1_PTX)
KS_M1_PTX(rcp)
KS_EACH2(KS_M2_PTX)
KS_M2_PTX(div)
KS_ON int __ks_f32_to_bf16(float x) {
    uint u = __builtin_bit_cast(uint, x);
    return x != x ? 0x7fc0 : (int)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

// One 8x8 product out of shuffles: lane k of a row's pair holds A[row][k], and a row of B lies in four lanes.
KS_ON float2 __ks_mma_8x8(float2 a, float2 b, float2 c, int kind) {
    uint lane = __ks_sr(12), quad = lane / 4;
    uint row = (quad & 4) + (lane / 2) % 4, col = (quad & 2) * 2 + (lane % 2) * 2;
    float2 r = c;
    for (uint k = 0; k < 8; k++) {
        uint pair = k & 6;
        uint left = ((row & 4) << 2) + (row & 3) * 2 + ((pair & 4) << 1) + ((pair & 2) >> 1);
        uint right = ((k & 4) << 2) + (k & 3) * 2 + ((col & 4) << 1) + ((col & 2) >> 1);
        float x = __ks_lane(a.x, left), y = __ks_lane(a.y, left);
        float s = (k & 1) ? y : x;
        r.x = __builtin_fmaf(s, __ks_lane(b.x, right), r.x);
        r.y = __builtin_fmaf(s, __ks_lane(b.y, right), r.y);
    }
    if (kind == 1) { r.x = (float)(half)r.x; r.y = (float)(half)r.y; }
    if (kind == 2) { r.x = (float)bfloat(r.x); r.y = (float)bfloat(r.y); }
    return r;
}
