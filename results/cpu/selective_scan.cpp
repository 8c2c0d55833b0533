/* ksearch
[tunables]
CHUNK = { values = [32, 64, 128, 256], default = 256 }

[defines]
T = { type = "u" }
STATES = "states"
ROW = "ceil_div(states, 16) * 16"
DELTA_SOFTPLUS = "delta_softplus"
HAS_D = "has_D"
HAS_Z = "has_z"
HAS_DELTA_BIAS = "has_delta_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"
ALONE = 0

[scratch]
packed = "4 * batch * groups * L * 2 * ROW"

[[dispatch]]
kernel = "pack_inputs"
grid = ["ceil_div(L, 256)", "groups", "batch"]
threadgroup = [1, 1, 1]

[[dispatch]]
kernel = "selective_scan"
grid = ["ceil_div(dim / groups, 4)", "groups", "batch"]
threadgroup = [1, 1, 1]
*/
// Mamba-1 selective scan, W channels at a time: a vector holds one state of each.
// Strategies: channels shared out to threads; b and c by time step; simd over channels; powers of two by a
// polynomial; transposes in registers.

#include <utility>

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

// Rows and columns of a W by W block change places, in log2(W) rounds of pairwise exchanges.
template <int S, int... J> static inline vf low_halves(vf a, vf b, std::integer_sequence<int, J...>)
{
    return __builtin_shufflevector(a, b, (J / S % 2 == 0 ? J : W + J - S)...);
}
template <int S, int... J> static inline vf high_halves(vf a, vf b, std::integer_sequence<int, J...>)
{
    return __builtin_shufflevector(a, b, (J / S % 2 == 0 ? J + S : W + J)...);
}
template <int S> static inline void exchange(vf* r)
{
    using Lanes = std::make_integer_sequence<int, W>;
    for (int i = 0; i < W; ++i) {
        if (i / S % 2 == 0) {
            const vf a = r[i], b = r[i + S];
            r[i] = low_halves<S>(a, b, Lanes{});
            r[i + S] = high_halves<S>(a, b, Lanes{});
        }
    }
}
static inline void transpose(vf* r)
{
    if constexpr (W == 16) exchange<8>(r);
    if constexpr (W >= 8) exchange<4>(r);
    exchange<2>(r);
    exchange<1>(r);
}

#define LOG2E 1.44269504f

// B and C of 256 steps, turned: a row of states of B, then one of C, for every step.
extern "C" void pack_inputs(
    const T* B, const T* C, float* packed, int groups, int L, int group_x, int group_y, int group_z)
{
    const long group = (long)group_z * groups + group_y;
    const T* from_b = B + group * STATES * L;
    const T* from_c = C + group * STATES * L;
    float* to = packed + group * L * 2 * ROW;
    const int first = group_x * 256, last = first + 256 < L ? first + 256 : L;
    for (int n = 0; n < ROW; ++n) {
        for (int t = first; t < last; ++t) {
            to[(long)t * 2 * ROW + n] = n < STATES ? (float)from_b[(long)n * L + t] : 0.0f;
            to[(long)t * 2 * ROW + ROW + n] = n < STATES ? (float)from_c[(long)n * L + t] : 0.0f;
        }
    }
}

// ln(1 + y) for y >= 0: exponent and a polynomial of the mantissa, corrected for the rounding of 1 + y.
static inline vf log_of_one_plus(vf y)
{
    const vf w = 1.0f + y;
    const vi bits = (vi)w - 0x3f3504f3;
    const vf m = (vf)((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
    vf p = m * 7.0376836e-2f - 1.1514610e-1f;
    p = p * m + 1.1676998e-1f;
    p = p * m - 1.2420141e-1f;
    p = p * m + 1.4249323e-1f;
    p = p * m - 1.6668057e-1f;
    p = p * m + 2.0000714e-1f;
    p = p * m - 2.4999994e-1f;
    p = p * m + 3.3333331e-1f;
    const vf log = __builtin_convertvector(bits >> 23, vf) * 0.693147181f + (m + m * m * (p * m - 0.5f));
    const vf rounded = w - 1.0f;
    return rounded == 0.0f ? y : log * (y / rounded);
}

// Steps of W rows as columns: out[t * W + c] = rows[c * stride + t].
static inline void to_columns(const T* rows, long stride, int channels, int steps, float* out)
{
    int t = 0;
    if (channels == W) {
        for (; t + W <= steps; t += W) {
            vf block[W];
            for (int c = 0; c < W; ++c) {
                block[c] = load(rows + c * stride + t);
            }
            transpose(block);
            for (int i = 0; i < W; ++i) {
                store(out + (t + i) * W, block[i]);
            }
        }
    }
    for (int c = 0; c < W; ++c) {
        for (int s = t; s < steps; ++s) {
            out[s * W + c] = c < channels ? (float)rows[c * stride + s] : 0.0f;
        }
    }
}

static inline void to_rows(const float* columns, long stride, int channels, int steps, T* rows)
{
    int t = 0;
    if (channels == W) {
        for (; t + W <= steps; t += W) {
            vf block[W];
            for (int i = 0; i < W; ++i) {
                block[i] = load(columns + (t + i) * W);
            }
            transpose(block);
            for (int c = 0; c < W; ++c) {
                store(rows + c * stride + t, block[c]);
            }
        }
    }
    for (int c = 0; c < channels; ++c) {
        for (int s = t; s < steps; ++s) {
            rows[c * stride + s] = (T)columns[s * W + c];
        }
    }
}

// `channels` channels from `channel` on, row `row` of all sequences.
static void block_of_channels(
    const T* u, const T* delta, const float* A, const float* packed, const float* D, const T* z,
    const float* delta_bias, const float* initial_state, T* out, float* final_state,
    long row, int channel, int channels, int L)
{
    alignas(64) float turned[STATES * W], bias[W] = {}, skip[W] = {};
    vf rates[STATES], state[STATES];
    for (int n = 0; n < STATES; ++n) {
        for (int c = 0; c < W; ++c) {
            turned[n * W + c] = c < channels ? LOG2E * A[(channel + c) * STATES + n] : 0.0f;
        }
        rates[n] = load(turned + n * W);
        for (int c = 0; c < W; ++c) {
            turned[n * W + c] = HAS_INITIAL_STATE && c < channels ? initial_state[(row + c) * STATES + n] : 0.0f;
        }
        state[n] = load(turned + n * W);
    }
    for (int c = 0; c < channels; ++c) {
        bias[c] = HAS_DELTA_BIAS ? delta_bias[channel + c] : 0.0f;
        skip[c] = HAS_D ? D[channel + c] : 0.0f;
    }
    alignas(64) float steps_dt[CHUNK * W], steps_u[CHUNK * W], gates[CHUNK * W];
    for (int start = 0; start < L; start += CHUNK) {
        const int steps = L - start < CHUNK ? L - start : CHUNK;
        const long at = row * L + start;
        to_columns(delta + at, L, channels, steps, steps_dt);
        to_columns(u + at, L, channels, steps, steps_u);
        if (HAS_Z) {
            to_columns(z + at, L, channels, steps, gates);
        }
        for (int t = 0; t < steps; ++t) {
            vf dt = load(steps_dt + t * W) + load(bias);
            if (DELTA_SOFTPLUS) {
                dt = dt > 20.0f ? dt : log_of_one_plus(power_of_two(dt * LOG2E));
            }
            store(steps_dt + t * W, dt);
            if (HAS_Z) {
                const vf gate = load(gates + t * W);
                store(gates + t * W, gate / (1.0f + power_of_two(gate * -LOG2E)));
            }
        }
        for (int t = 0; t < steps; ++t) {
            const float* b = packed + (long)(start + t) * 2 * ROW;
            const float* c = b + ROW;
            const vf dt = load(steps_dt + t * W), input = load(steps_u + t * W), scaled = dt * input;
            // Two sums, so that the additions of one step do not wait for each other.
            vf even = load(skip) * input, odd = {};
            for (int n = 0; n < STATES; ++n) {
                state[n] = power_of_two(dt * rates[n]) * state[n] + scaled * b[n];
                if (n % 2 == 0) {
                    even += state[n] * c[n];
                } else {
                    odd += state[n] * c[n];
                }
            }
            const vf y = even + odd;
            store(steps_u + t * W, HAS_Z ? y * load(gates + t * W) : y);
        }
        to_rows(steps_u, L, channels, steps, out + at);
    }
    if (HAS_FINAL_STATE) {
        for (int n = 0; n < STATES; ++n) {
            for (int c = 0; c < channels; ++c) {
                final_state[(row + c) * STATES + n] = state[n][c];
            }
        }
    }
}

extern "C" void selective_scan(
    const T* u, const T* delta, const float* A, const float* packed, const float* D, const T* z,
    const float* delta_bias, const float* initial_state, T* out, float* final_state,
    int batch, int dim, int groups, int L, int group_x, int group_y, int group_z)
{
    const int per_group = dim / groups;
    // One block of channels of one group, or everything where one call does it all.
    const int first_pair = ALONE ? 0 : group_z * groups + group_y;
    const int last_pair = ALONE ? batch * groups : first_pair + 1;
    for (int pair = first_pair; pair < last_pair; ++pair) {
        const int last = ALONE ? per_group : (group_x + 1) * W;
        for (int start = group_x * W; start < per_group && start < last; start += W) {
            const int channel = pair % groups * per_group + start;
            const int channels = per_group - start < W ? per_group - start : W;
            const long row = (long)(pair / groups) * dim + channel;
            block_of_channels(u, delta, A, packed + (long)pair * L * 2 * ROW, D, z, delta_bias, initial_state, out,
                final_state, row, channel, channels, L);
        }
    }
}
