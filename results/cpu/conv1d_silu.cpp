/* ksearch
[tunables]
TIME = { values = [16, 32, 64, 128, 256], default = 64 }

[defines]
T = { type = "x" }
K = "K"
SILU = "silu"
HAS_BIAS = "has_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"
ALONE = 0

[[dispatch]]
kernel = "conv1d_silu"
grid = ["ceil_div(L, TIME)", "batch", 1]
threadgroup = [1, 1, 1]
*/
// Causal depthwise convolution with SiLU.
// Strategies: blocks of time shared out to threads; simd over channels; a window of inputs in registers; powers of
// two by a polynomial.

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

// Inputs of time `t`, which may lie before the first; null where there are none.
static inline const T* row_at(const T* x, const T* initial_state, long b, int t, int L, int dim)
{
    if (t >= 0) {
        return x + (b * L + t) * dim;
    }
    return HAS_INITIAL_STATE ? initial_state + (b * (K - 1) + t + K - 1) * dim : nullptr;
}

static void one_channel(
    const T* x, const float* weight, const float* bias, const T* initial_state, T* out,
    long b, int d, int from, int to, int L, int dim)
{
    for (int t = from; t < to; ++t) {
        float y = HAS_BIAS ? bias[d] : 0.0f;
        for (int k = 0; k < K; ++k) {
            const T* row = row_at(x, initial_state, b, t + k - (K - 1), L, dim);
            y += row ? weight[(long)d * K + k] * (float)row[d] : 0.0f;
        }
        out[(b * L + t) * dim + d] = (T)(SILU ? y / (1.0f + std::exp(-y)) : y);
    }
}

// W channels from `d` on.
static void channels(
    const T* x, const float* weight, const float* bias, const T* initial_state, T* out,
    long b, int d, int from, int to, int L, int dim)
{
    vf taps[K];
    for (int k = 0; k < K; ++k) {
        for (int c = 0; c < W; ++c) {
            taps[k][c] = weight[(long)(d + c) * K + k];
        }
    }
    const vf start = HAS_BIAS ? load(bias + d) : vf{};
    const auto input = [&](int t) {
        const T* row = row_at(x, initial_state, b, t, L, dim);
        return row ? load(row + d) : vf{};
    };
    vf held[K] = {};
    for (int k = 1; k < K; ++k) {
        held[k] = input(from + k - K);
    }
    for (int t = from; t < to; ++t) {
        vf y = start;
        for (int k = 1; k < K; ++k) {
            held[k - 1] = held[k];
        }
        held[K - 1] = load(x + (b * L + t) * dim + d);
        for (int k = 0; k < K; ++k) {
            y += taps[k] * held[k];
        }
        if (SILU) {
            y = y / (1.0f + power_of_two(y * -LOG2E));
        }
        store(out + (b * L + t) * dim + d, y);
    }
}

extern "C" void conv1d_silu(
    const T* x, const float* weight, const float* bias, const T* initial_state, T* out, T* final_state,
    int batch, int L, int dim, int group_x, int group_y)
{
    // A block of time of one sequence, or everything where one call does it all.
    const int first = ALONE ? 0 : group_y, last = ALONE ? batch : group_y + 1;
    const int from = ALONE ? 0 : group_x * TIME;
    const int to = ALONE || from + TIME > L ? L : from + TIME;
    for (long b = first; b < last; ++b) {
        int d = 0;
        for (; d + W <= dim; d += W) {
            channels(x, weight, bias, initial_state, out, b, d, from, to, L, dim);
        }
        for (; d < dim; ++d) {
            one_channel(x, weight, bias, initial_state, out, b, d, from, to, L, dim);
        }
        if (HAS_FINAL_STATE && from == 0) {
            for (int t = 0; t < K - 1; ++t) {
                const T* row = row_at(x, initial_state, b, L - (K - 1) + t, L, dim);
                for (int c = 0; c < dim; ++c) {
                    final_state[(b * (K - 1) + t) * dim + c] = row ? row[c] : (T)0.0f;
                }
            }
        }
    }
}
