/* ksearch
[tunables]
CHANNELS = { values = [32, 64, 128, 256, 512], default = 512 }

[defines]
T = { type = "x" }
STATES = "states"
DT_SOFTPLUS = "dt_softplus"
HAS_D = "has_D"
HAS_Z = "has_z"
HAS_DT_BIAS = "has_dt_bias"
ALONE = 0

[[dispatch]]
kernel = "scan_step"
grid = ["ceil_div(dim, CHANNELS)", "batch", 1]
threadgroup = [1, 1, 1]
*/
// One step of the selective scan.
// Strategies: channels shared out to threads; simd over states; powers of two by a polynomial.

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

extern "C" void scan_step(
    const T* x, const T* dt, const float* A, const T* B, const T* C, const float* D, const T* z,
    const float* dt_bias, const float* state, T* out, float* new_state,
    int batch, int dim, int group_x, int group_y)
{
    // A block of channels of one sequence, or everything where one call does it all.
    const int first = ALONE ? 0 : group_y, last = ALONE ? batch : group_y + 1;
    const int from = ALONE ? 0 : group_x * CHANNELS;
    const int to = ALONE || from + CHANNELS > dim ? dim : from + CHANNELS;
    for (long b = first; b < last; ++b) {
        alignas(64) float b_row[STATES], c_row[STATES];
        for (int n = 0; n < STATES; ++n) {
            b_row[n] = (float)B[b * STATES + n];
            c_row[n] = (float)C[b * STATES + n];
        }
        for (int channel = from; channel < to; ++channel) {
            const long row = b * dim + channel;
            const float input = (float)x[row];
            float step = (float)dt[row] + (HAS_DT_BIAS ? dt_bias[channel] : 0.0f);
            if (DT_SOFTPLUS) {
                step = step > 20.0f ? step : std::log1p(std::exp(step));
            }
            const float scaled = step * input;
            const float* rates = A + (long)channel * STATES;
            const float* before = state + row * STATES;
            float* after = new_state + row * STATES;
            float y = HAS_D ? D[channel] * input : 0.0f;
            int n = 0;
            vf sum = {};
            for (; n + W <= STATES; n += W) {
                const vf decay = power_of_two(step * LOG2E * load(rates + n));
                const vf moved = decay * load(before + n) + scaled * load(b_row + n);
                store(after + n, moved);
                sum += moved * load(c_row + n);
            }
            y += sum_of(sum);
            for (; n < STATES; ++n) {
                const float moved = std::exp(step * rates[n]) * before[n] + scaled * b_row[n];
                after[n] = moved;
                y += moved * c_row[n];
            }
            if (HAS_Z) {
                const float gate = (float)z[row];
                y *= gate / (1.0f + std::exp(-gate));
            }
            out[row] = (T)y;
        }
    }
}
