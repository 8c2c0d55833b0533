/* ksearch
[tunables]
ROWS = { values = [1, 2, 4, 8, 16, 32], default = 32 }

[defines]
T = { type = "x" }
HAS_Z = "has_z"
KEPT = "C <= 16384 ? C : 0"
ALONE = 0

[[dispatch]]
kernel = "gated_rms_norm"
grid = ["ceil_div(R, ROWS)", 1, 1]
threadgroup = [1, 1, 1]
*/
// Gated RMS norm.
// Strategies: rows shared out to threads; simd along rows; the gated row kept; powers of two by a polynomial.

#include <cmath>

#define LOG2E 1.44269504f

#if defined(__AVX512F__)
#define W 16
#elif defined(__AVX2__)
#define W 8
#else
#define W 4
#endif

typedef float vf __attribute__((vector_size(W * 4)));
typedef int vi __attribute__((vector_size(W * 4)));
typedef _Float16 vh __attribute__((vector_size(W * 2)));

static inline vf splat(float x) { return x - vf{}; }
static inline vf load(const float* p) { vf v; __builtin_memcpy(&v, p, sizeof v); return v; }
static inline vf load(const _Float16* p) { vh v; __builtin_memcpy(&v, p, sizeof v); return __builtin_convertvector(v, vf); }
static inline void store(float* p, vf v) { __builtin_memcpy(p, &v, sizeof v); }
static inline void store(_Float16* p, vf v) { const vh h = __builtin_convertvector(v, vh); __builtin_memcpy(p, &h, sizeof h); }
#if defined(__clang__) || __GNUC__ >= 13
// The upper half of a float; rounded to nearest, ties to even.
typedef unsigned short vs __attribute__((vector_size(W * 2)));
typedef unsigned vu __attribute__((vector_size(W * 4)));
static inline vf load(const __bf16* p) { vs v; __builtin_memcpy(&v, p, sizeof v); return (vf)(__builtin_convertvector(v, vu) << 16); }
static inline void store(__bf16* p, vf v)
{
    const vu bits = (vu)v;
    const vs v16 = __builtin_convertvector((bits + 0x7fff + ((bits >> 16) & 1)) >> 16, vs);
    __builtin_memcpy(p, &v16, sizeof v16);
}
#endif
static inline vf larger(vf a, vf b) { return a > b ? a : b; }
static inline float largest_of(vf v) { float m = v[0]; for (int i = 1; i < W; ++i) m = m > v[i] ? m : v[i]; return m; }
static inline float sum_of(vf v) { float s = v[0]; for (int i = 1; i < W; ++i) s += v[i]; return s; }

// 2^x to within 2e-7 of it: exact at 0, at least 2^-126.
static inline vf power_of_two(vf x)
{
    x = larger(x, splat(-126.0f));
    // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
    const vf shifted = x + 12582912.0f;
    const vf r = x - (shifted - 12582912.0f);
    vf p = r * 1.3333558e-3f + 9.6181291e-3f;
    p = p * r + 5.5504109e-2f;
    p = p * r + 2.4022651e-1f;
    p = p * r + 6.9314718e-1f;
    p = p * r + 1.0f;
    return (vf)((vi)p + ((vi)shifted << 23));
}

static inline vf gated(vf value, vf gate) { return value * gate / (1.0f + power_of_two(gate * -LOG2E)); }

static inline float gated(const T* x, const T* z, int c)
{
    const float value = (float)x[c];
    if (!HAS_Z) {
        return value;
    }
    const float gate = (float)z[c];
    return value * gate / (1.0f + std::exp(-gate));
}

static void one_row(const T* x, const T* z, const float* weight, T* out, int C, float eps)
{
    alignas(64) float row[KEPT + 1];
    float squares = 0.0f;
    int c = 0;
    vf even = {}, odd = {};
    for (; c + 2 * W <= C; c += 2 * W) {
        vf a = load(x + c), b = load(x + c + W);
        if (HAS_Z) {
            a = gated(a, load(z + c));
            b = gated(b, load(z + c + W));
        }
        if (KEPT) {
            store(row + c, a);
            store(row + c + W, b);
        }
        even += a * a;
        odd += b * b;
    }
    squares = sum_of(even + odd);
    for (; c < C; ++c) {
        const float g = gated(x, z, c);
        if (KEPT) {
            row[c] = g;
        }
        squares += g * g;
    }
    const float factor = 1.0f / std::sqrt(squares / (float)C + eps);
    c = 0;
    for (; c + W <= C; c += W) {
        vf g = KEPT ? load(row + c) : load(x + c);
        if (!KEPT && HAS_Z) {
            g = gated(g, load(z + c));
        }
        store(out + c, load(weight + c) * factor * g);
    }
    for (; c < C; ++c) {
        const float g = KEPT ? row[c] : gated(x, z, c);
        out[c] = (T)(weight[c] * factor * g);
    }
}

extern "C" void gated_rms_norm(
    const T* x, const T* z, const float* weight, T* out, int R, int C, float eps, int group_x)
{
    // A few rows, or everything where one call does it all.
    const long first = ALONE ? 0 : (long)group_x * ROWS;
    const long last = ALONE || first + ROWS > R ? R : first + ROWS;
    for (long row = first; row < last; ++row) {
        one_row(x + row * C, HAS_Z ? z + row * C : z, weight, out + row * C, C, eps);
    }
}
