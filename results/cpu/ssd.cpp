/* ksearch
[tunables]
POSITIONS = { values = [16, 32, 64, 128], default = 128 }

[defines]
T = { type = "x" }
STATES = "states"
DT_SOFTPLUS = "dt_softplus"
HAS_D = "has_D"
HAS_DT_BIAS = "has_dt_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"
ALONE = 0

[[dispatch]]
kernel = "ssd"
grid = ["ceil_div(P, POSITIONS)", "heads", "batch"]
threadgroup = [1, 1, 1]
*/
// Mamba-2's scan: walks through time with the states of a block of positions in the first cache.
// Strategies: heads and positions shared out to threads; simd over positions.

#include <cmath>

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

static inline vf power_of_two(vf x)
{
    for (int i = 0; i < W; ++i) x[i] = __builtin_exp2f(x[i]);
    return x;
}

#define BLOCK (POSITIONS < 256 ? POSITIONS : 256)

// Positions from..to of one head of one sequence; at most BLOCK of them.
static void block(
    const T* x, const T* dt, const float* A, const T* B, const T* C, const float* D, const float* dt_bias,
    const float* initial_state, T* out, float* final_state,
    long b, int head, int from, int to, int L, int heads, int P, int groups)
{
    const int count = to - from, group = head / (heads / groups);
    const long held = ((b * heads + head) * P + from) * STATES;
    // State n of the positions of a block, a row of them for every n; lanes past the last one compute and are left.
    constexpr int ROW = (BLOCK + W - 1) / W * W;
    alignas(64) float state[STATES * ROW];
    for (int n = 0; n < STATES; ++n) {
        for (int p = 0; p < ROW; ++p) {
            state[n * ROW + p] = HAS_INITIAL_STATE && p < count ? initial_state[held + (long)p * STATES + n] : 0.0f;
        }
    }
    alignas(64) float b_row[STATES], c_row[STATES];
    for (int t = 0; t < L; ++t) {
        const long at = (b * L + t) * heads + head;
        float step = (float)dt[at] + (HAS_DT_BIAS ? dt_bias[head] : 0.0f);
        if (DT_SOFTPLUS) {
            step = step > 20.0f ? step : std::log1p(std::exp(step));
        }
        const float decay = std::exp(step * A[head]), skip = HAS_D ? D[head] : 0.0f;
        const T* b_from = B + ((b * L + t) * groups + group) * STATES;
        const T* c_from = C + ((b * L + t) * groups + group) * STATES;
        for (int n = 0; n < STATES; ++n) {
            b_row[n] = (float)b_from[n];
            c_row[n] = (float)c_from[n];
        }
        const T* inputs = x + at * P + from;
        T* outputs = out + at * P + from;
        alignas(64) float row[ROW] = {};
        for (int p = 0; p < count; ++p) {
            row[p] = (float)inputs[p];
        }
        for (int p = 0; p < count; p += W) {
            const vf input = load(row + p), scaled = step * input;
            vf even = skip * input, odd = {};
            for (int n = 0; n < STATES; ++n) {
                const vf now = decay * load(state + n * ROW + p) + scaled * b_row[n];
                store(state + n * ROW + p, now);
                if (n % 2 == 0) {
                    even += now * c_row[n];
                } else {
                    odd += now * c_row[n];
                }
            }
            store(row + p, even + odd);
        }
        for (int p = 0; p < count; ++p) {
            outputs[p] = (T)row[p];
        }
    }
    if (HAS_FINAL_STATE) {
        for (int p = 0; p < count; ++p) {
            for (int n = 0; n < STATES; ++n) {
                final_state[held + (long)p * STATES + n] = state[n * ROW + p];
            }
        }
    }
}

extern "C" void ssd(
    const T* x, const T* dt, const float* A, const T* B, const T* C, const float* D, const float* dt_bias,
    const float* initial_state, T* out, float* final_state,
    int batch, int L, int heads, int P, int groups, int group_x, int group_y, int group_z)
{
    // One block of positions, or everything where one call does it all.
    const int first_pair = ALONE ? 0 : group_z * heads + group_y;
    const int last_pair = ALONE ? batch * heads : first_pair + 1;
    for (int pair = first_pair; pair < last_pair; ++pair) {
        const int last = ALONE ? P : (group_x + 1) * BLOCK;
        for (int from = ALONE ? 0 : group_x * BLOCK; from < P && from < last; from += BLOCK) {
            const int to = from + BLOCK < P ? from + BLOCK : P;
            block(x, dt, A, B, C, D, dt_bias, initial_state, out, final_state, pair / heads, pair % heads, from, to,
                L, heads, P, groups);
        }
    }
}
