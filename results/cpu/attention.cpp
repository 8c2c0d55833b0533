/* ksearch
[tunables]
BLOCK_Q = { values = [8, 16, 32, 64, 96], default = 8 }
ROWS = { values = [2, 4, 6, 8], default = 6 }
BLOCK_K = { values = [64, 128, 256, 512, 1024], default = 1024 }

[defines]
T = { type = "q" }
D = "D"
CAUSAL = "causal"
BLOCK_ROWS = "ceil_div(BLOCK_Q, ROWS) * ROWS"
ALONE = 0

[scratch]
packed = "4 * B * Hkv * ceil_div(Lk, 64) * 64 * D"

[[dispatch]]
kernel = "pack_keys"
grid = ["ceil_div(Lk, 64)", "Hkv", "B"]
threadgroup = [1, 1, 1]

[[dispatch]]
kernel = "attention"
grid = ["ceil_div(Lq, BLOCK_ROWS)", "Hq", "B"]
threadgroup = [1, 1, 1]

[[require]]
expr = "D % 16 == 0"
why = "rows are divided into vectors of up to sixteen elements"
*/
// Scaled dot-product attention in tiles: a block of query rows against blocks of keys, logits along keys.
// Strategies: blocks of rows shared out to threads; one pass with a running maximum; keys transposed once, simd over
// keys; several rows in registers; larger blocks of keys; powers of two by a polynomial; only keys that are seen.

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
// Vectors of a tile: as many as leave registers for the rows' accumulators.
#if W == 8
#define VECTORS 2
#else
#define VECTORS 4
#endif
// Keys of a packed block, which stand as D rows of KEYS.
#define KEYS (VECTORS * W)

// Keys group_x * 64 and on, as blocks of KEYS; keys beyond the last are zeros.
extern "C" void pack_keys(const T* k, float* packed, int Hkv, int Lk, int group_x, int group_y, int group_z)
{
    const long head = (long)group_z * Hkv + group_y;
    const T* keys = k + head * Lk * D;
    float* to = packed + (head * ((Lk + 63) / 64) + group_x) * 64 * D;
    for (int j = 0; j < 64; j += W) {
        for (int d = 0; d < D; d += W) {
            vf rows[W];
            for (int i = 0; i < W; ++i) {
                const int key = group_x * 64 + j + i;
                rows[i] = key < Lk ? load(keys + (long)key * D + d) : vf{};
            }
            transpose(rows);
            for (int i = 0; i < W; ++i) {
                store(to + (j / KEYS * D + d + i) * KEYS + j % KEYS, rows[i]);
            }
        }
    }
}

// Logits of ROWS rows and one block of keys.
static inline __attribute__((always_inline)) void products(const float* queries, const float* keys, float* logits)
{
    vf sums[ROWS][VECTORS] = {};
    for (int d = 0; d < D; ++d) {
        vf key[VECTORS];
        for (int v = 0; v < VECTORS; ++v) {
            key[v] = load(keys + d * KEYS + v * W);
        }
        for (int r = 0; r < ROWS; ++r) {
            const vf query = splat(queries[r * D + d]);
            for (int v = 0; v < VECTORS; ++v) {
                sums[r][v] += query * key[v];
            }
        }
    }
    for (int r = 0; r < ROWS; ++r) {
        for (int v = 0; v < VECTORS; ++v) {
            store(logits + r * BLOCK_K + v * W, sums[r][v]);
        }
    }
}

// Adds the weighted values of `count` keys to ROWS rows, N vectors of the head at a time.
template <int N> static inline __attribute__((always_inline)) void
weigh(const float* weights, const T* values, int count, float* result)
{
    vf sums[ROWS][N];
    for (int r = 0; r < ROWS; ++r) {
        for (int v = 0; v < N; ++v) {
            sums[r][v] = load(result + r * D + v * W);
        }
    }
    for (int j = 0; j < count; ++j) {
        vf value[N];
        for (int v = 0; v < N; ++v) {
            value[v] = load(values + (long)j * D + v * W);
        }
        for (int r = 0; r < ROWS; ++r) {
            const vf weight = splat(weights[r * BLOCK_K + j]);
            for (int v = 0; v < N; ++v) {
                sums[r][v] += weight * value[v];
            }
        }
    }
    for (int r = 0; r < ROWS; ++r) {
        for (int v = 0; v < N; ++v) {
            store(result + r * D + v * W, sums[r][v]);
        }
    }
}

static void block_of_rows(
    const T* q, const float* packed, const T* values, T* out, int first, int Lq, int Lk, float scale)
{
    const int rows = Lq - first < BLOCK_ROWS ? Lq - first : BLOCK_ROWS;
    alignas(64) float queries[BLOCK_ROWS * D], result[BLOCK_ROWS * D], logits[BLOCK_ROWS * BLOCK_K];
    float largest[BLOCK_ROWS], sum[BLOCK_ROWS];
    for (int r = 0; r < BLOCK_ROWS; ++r) {
        largest[r] = -1e30f;
        sum[r] = 0.0f;
        for (int d = 0; d < D; d += W) {
            // In powers of two: e^x = 2^(x log2 e).
            store(queries + r * D + d, r < rows ? load(q + (long)(first + r) * D + d) * (scale * LOG2E) : vf{});
            store(result + r * D + d, vf{});
        }
    }
    const int seen = CAUSAL ? first + rows + Lk - Lq : Lk;
    for (int start = 0; start < seen; start += BLOCK_K) {
        const int count = seen - start < BLOCK_K ? seen - start : BLOCK_K;
        const int padded = (count + KEYS - 1) / KEYS * KEYS;
        for (int j = 0; j < padded; j += KEYS) {
            for (int r = 0; r < BLOCK_ROWS; r += ROWS) {
                products(queries + r * D, packed + (long)(start + j) * D, logits + r * BLOCK_K + j);
            }
        }
        for (int r = 0; r < rows; ++r) {
            float* row = logits + r * BLOCK_K;
            int visible = count;
            if (CAUSAL) {
                const int mine = first + r + Lk - Lq + 1 - start;
                visible = mine < 0 ? 0 : mine < count ? mine : count;
            }
            for (int j = visible; j < padded; ++j) {
                row[j] = -1e30f;
            }
            vf most = splat(largest[r]);
            for (int j = 0; j < padded; j += W) {
                most = larger(most, load(row + j));
            }
            const float now = largest_of(most);
            vf total = {};
            for (int j = 0; j < padded; j += W) {
                const vf weight = power_of_two(load(row + j) - now);
                total += weight;
                store(row + j, weight);
            }
            const float factor = power_of_two(splat(largest[r] - now))[0];
            sum[r] = sum[r] * factor + sum_of(total);
            if (now != largest[r]) {
                for (int d = 0; d < D; d += W) {
                    store(result + r * D + d, load(result + r * D + d) * factor);
                }
            }
            largest[r] = now;
        }
        for (int r = 0; r < BLOCK_ROWS; r += ROWS) {
            const float* weights = logits + r * BLOCK_K;
            const T* from = values + (long)start * D;
            constexpr int whole = D / W / VECTORS * VECTORS, rest = D / W - whole;
            for (int d = 0; d < whole; d += VECTORS) {
                weigh<VECTORS>(weights, from + d * W, count, result + r * D + d * W);
            }
            if constexpr (rest > 0) {
                weigh<rest>(weights, from + whole * W, count, result + r * D + whole * W);
            }
        }
    }
    for (int r = 0; r < rows; ++r) {
        const float factor = 1.0f / sum[r];
        for (int d = 0; d < D; d += W) {
            store(out + (long)(first + r) * D + d, load(result + r * D + d) * factor);
        }
    }
}

extern "C" void attention(
    const T* q, const float* packed, const T* v, T* out,
    int B, int Hq, int Hkv, int Lq, int Lk, float scale,
    int group_x, int group_y, int group_z)
{
    // One block of rows of one head, or everything where one call does it all.
    const int first_head = ALONE ? 0 : group_z * Hq + group_y;
    const int last_head = ALONE ? B * Hq : first_head + 1;
    for (int head = first_head; head < last_head; ++head) {
        const int kv_head = head / Hq * Hkv + head % Hq / (Hq / Hkv);
        const float* keys = packed + (long)kv_head * ((Lk + 63) / 64) * 64 * D;
        const T* values = v + (long)kv_head * Lk * D;
        const long rows = (long)head * Lq * D;
        const int last = ALONE ? Lq : group_x * BLOCK_ROWS + 1;
        for (int first = group_x * BLOCK_ROWS; first < last; first += BLOCK_ROWS) {
            block_of_rows(q + rows, keys, values, out + rows, first, Lq, Lk, scale);
        }
    }
}
