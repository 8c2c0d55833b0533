// Kernels of the Metal backend, in the layout in which the model's activations lie: one row a token, channels side by
// side. Compiled at load with the model's sizes: D_MODEL, D_INNER, D_STATE, DT_RANK, TAPS, CHANNELS (of the convolution),
// HEAD_DIM, HEADS, GROUPS, PITCH (of the first projection's rows), EPS, DT_LEAST, DT_MOST, ELEM (0 float, 1 half, 2 bfloat).

#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

#if ELEM == 0
typedef float E;
#elif ELEM == 1
typedef half E;
#else
typedef bfloat E;
#endif

constant constexpr float LOG2E = 1.44269504f;

inline float silu(float x) { return x / (1.0f + exp2(-x * LOG2E)); }

// log(1 + e^x), which is x where e^x would not fit.
inline float softplus(float x) { return x > 20.0f ? x : log(1.0f + exp2(x * LOG2E)); }

// --- rows -------------------------------------------------------------------------------------------------------------

// hidden[row] = table[ids[row]]. A threadgroup a row.
kernel void embed(device const E* table [[buffer(0)]], device const uint* ids [[buffer(1)]],
                  device float* hidden [[buffer(2)]], uint row [[threadgroup_position_in_grid]],
                  uint t [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]])
{
    device const E* from = table + ulong(ids[row]) * D_MODEL;
    for (uint i = t; i < D_MODEL; i += threads)
        hidden[ulong(row) * D_MODEL + i] = float(from[i]);
}

// Sum over a threadgroup of at most 1024 threads; every thread gets it. `room` is free again after the next barrier.
inline float sum_of_all(float value, threadgroup float* room, uint lane, uint simdgroup_, uint simdgroups)
{
    value = simd_sum(value);
    if (lane == 0)
        room[simdgroup_] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = 0.0f;
    for (uint i = 0; i < simdgroups; ++i)
        total += room[i];
    return total;
}

// out[row] = hidden[rows[row]] / rms * weight. A threadgroup a row.
kernel void rms_norm(device const float* hidden [[buffer(0)]], device const float* weight [[buffer(1)]],
                     device E* out [[buffer(2)]], device const uint* rows [[buffer(3)]],
                     uint row [[threadgroup_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup_ [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float room[32];
    device const float* from = hidden + ulong(rows[row]) * D_MODEL;
    float squares = 0.0f;
    for (uint i = t; i < D_MODEL; i += threads)
        squares += from[i] * from[i];
    const float scale = rsqrt(sum_of_all(squares, room, lane, simdgroup_, simdgroups) / float(D_MODEL) + EPS);
    for (uint i = t; i < D_MODEL; i += threads)
        out[ulong(row) * D_MODEL + i] = E(from[i] * scale * weight[i]);
}

// y = norm(y * silu(z)) over each of GROUPS stretches. A threadgroup a row and stretch.
kernel void gated_norm(device E* y [[buffer(0)]], device const E* projected [[buffer(1)]],
                       device const float* weight [[buffer(2)]], uint2 at [[threadgroup_position_in_grid]],
                       uint t [[thread_index_in_threadgroup]], uint2 threads [[threads_per_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]], uint simdgroup_ [[simdgroup_index_in_threadgroup]],
                       uint simdgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float room[32];
    constexpr uint width = D_INNER / GROUPS;
    device E* row = y + ulong(at.y) * D_INNER + at.x * width;
    device const E* gate = projected + ulong(at.y) * PITCH + at.x * width;
    float squares = 0.0f;
    for (uint i = t; i < width; i += threads.x) {
        const float v = float(row[i]) * silu(float(gate[i]));
        squares += v * v;
    }
    const float scale = rsqrt(sum_of_all(squares, room, lane, simdgroup_, simdgroups) / float(width) + EPS);
    for (uint i = t; i < width; i += threads.x)
        row[i] = E(float(row[i]) * silu(float(gate[i])) * scale * weight[at.x * width + i]);
}

// --- products: out = x w^T, row-major -----------------------------------------------------------------------------------

struct Product {
    uint rows, outputs, depth;
    uint pitch;      // elements between rows of x
    uint out_pitch;  // elements between rows of out
};

constant constexpr uint TILE = 64, STEP = 32;
// Elements between rows of a tile in threadgroup memory: padded, so that eight rows lie in different banks.
constant constexpr uint APART = STEP + 16 / sizeof(E);

// Rows `first` and following of a matrix, 32 columns from `k0` on. Rows past the last are the last again: what comes of
// them is never written. `depth` and the pitch are multiples of four.
inline void load_tile(threadgroup E* tile, device const E* from, uint first, uint rows, uint pitch, uint k0, uint depth, uint t)
{
    for (uint i = t; i < TILE * STEP / 4; i += 256) {
        const uint r = i / (STEP / 4), k = i % (STEP / 4) * 4;
        device const E* row = from + ulong(min(first + r, rows - 1)) * pitch + k0;
        vec<E, 4> four = vec<E, 4>(E(0));
        if (k0 + k < depth)
            four = *(device const vec<E, 4>*)(row + k);
        *(threadgroup vec<E, 4>*)(tile + r * APART + k) = four;
    }
}

// A threadgroup of eight simdgroups makes a tile of 64 x 64, each of them 32 x 16 of it.
template <typename Out, bool ADD>
[[kernel]] void product(device const E* x [[buffer(0)]], device const E* w [[buffer(1)]], device Out* out [[buffer(2)]],
                        constant Product& p [[buffer(3)]], uint2 tile [[threadgroup_position_in_grid]],
                        uint t [[thread_index_in_threadgroup]], uint simdgroup_ [[simdgroup_index_in_threadgroup]])
{
    // The operands' tiles while the product is made, and its own tile afterwards.
    constexpr uint operands = 2 * TILE * APART * sizeof(E) / sizeof(float);
    threadgroup float room[operands > TILE * TILE ? operands : TILE * TILE];
    threadgroup E* xs = (threadgroup E*)room;
    threadgroup E* ws = xs + TILE * APART;
    const uint row0 = tile.y * TILE, column0 = tile.x * TILE;
    const uint r0 = simdgroup_ / 4 * 32, c0 = simdgroup_ % 4 * 16;
    simdgroup_matrix<float, 8, 8> sums[4][2];
    for (uint i = 0; i < 4; ++i)
        for (uint j = 0; j < 2; ++j)
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (uint k0 = 0; k0 < p.depth; k0 += STEP) {
        load_tile(xs, x, row0, p.rows, p.pitch, k0, p.depth, t);
        load_tile(ws, w, column0, p.outputs, p.depth, k0, p.depth, t);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < STEP; k += 8) {
            simdgroup_matrix<E, 8, 8> a[4], b[2];
            for (uint i = 0; i < 4; ++i)
                simdgroup_load(a[i], xs + (r0 + 8 * i) * APART + k, APART);
            for (uint j = 0; j < 2; ++j)
                simdgroup_load(b[j], ws + (c0 + 8 * j) * APART + k, APART, ulong2(0, 0), true);
            for (uint i = 0; i < 4; ++i)
                for (uint j = 0; j < 2; ++j)
                    simdgroup_multiply_accumulate(sums[i][j], a[i], b[j], sums[i][j]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < 4; ++i)
        for (uint j = 0; j < 2; ++j)
            simdgroup_store(sums[i][j], room + (r0 + 8 * i) * TILE + c0 + 8 * j, TILE);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < TILE * TILE; i += 256) {
        const uint row = row0 + i / TILE, column = column0 + i % TILE;
        if (row < p.rows && column < p.outputs) {
            device Out* o = out + ulong(row) * p.out_pitch + column;
            *o = ADD ? Out(float(*o) + room[i]) : Out(room[i]);
        }
    }
}

// One row of x: a simdgroup an output, four of them a threadgroup. The depth is a multiple of four.
template <typename Out, bool ADD>
[[kernel]] void product_row(device const E* x [[buffer(0)]], device const E* w [[buffer(1)]],
                            device Out* out [[buffer(2)]], constant Product& p [[buffer(3)]],
                            uint group [[threadgroup_position_in_grid]],
                            uint simdgroup_ [[simdgroup_index_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]])
{
    const uint o = group * 4 + simdgroup_;
    if (o >= p.outputs)
        return;
    device const E* row = w + ulong(o) * p.depth;
    float sum = 0.0f;
    for (uint k = 4 * lane; k < p.depth; k += 128) {
        const float4 a = float4(*(device const vec<E, 4>*)(x + k));
        const float4 b = float4(*(device const vec<E, 4>*)(row + k));
        sum += dot(a, b);
    }
    sum = simd_sum(sum);
    if (lane == 0)
        out[o] = ADD ? Out(float(out[o]) + sum) : Out(sum);
}

#define PRODUCTS(suffix, type, add)                                                          \
    template [[host_name("product_" suffix)]] [[kernel]] void product<type, add>(            \
        device const E*, device const E*, device type*, constant Product&, uint2, uint, uint); \
    template [[host_name("product_row_" suffix)]] [[kernel]] void product_row<type, add>(    \
        device const E*, device const E*, device type*, constant Product&, uint, uint, uint);
PRODUCTS("narrow", E, false)
PRODUCTS("residual", float, true)
PRODUCTS("logits", float, false)

// --- convolution --------------------------------------------------------------------------------------------------------

// Causal convolution of TAPS tokens, then SiLU. `state` holds the TAPS - 1 inputs before the first token. A thread a
// channel and stretch of eight tokens; z of the grid counts sequences.
kernel void conv(device const E* projected [[buffer(0)]], device const float* weight [[buffer(1)]],
                 device const float* bias [[buffer(2)]], device const float* state [[buffer(3)]],
                 device E* out [[buffer(4)]], constant uint& length [[buffer(5)]], constant uint& first [[buffer(6)]],
                 uint3 group [[threadgroup_position_in_grid]], uint3 t [[thread_position_in_threadgroup]],
                 uint3 threads [[threads_per_threadgroup]])
{
    const uint c = group.x * threads.x + t.x, s = group.z, from = group.y * 8;
    if (c >= CHANNELS)
        return;
    float window[TAPS];
    for (uint i = 0; i + 1 < TAPS; ++i) {
        const int token = int(from + i) - (TAPS - 1);
        window[i + 1] = token < 0 ? state[(ulong(s) * (TAPS - 1) + uint(token + TAPS - 1)) * CHANNELS + c]
                                  : float(projected[(ulong(s) * length + uint(token)) * PITCH + first + c]);
    }
    for (uint l = from; l < min(from + 8, length); ++l) {
        float sum = bias[c];
        for (uint i = 0; i + 1 < TAPS; ++i)
            window[i] = window[i + 1];
        window[TAPS - 1] = float(projected[(ulong(s) * length + l) * PITCH + first + c]);
        for (uint i = 0; i < TAPS; ++i)
            sum = fma(window[i], weight[i * CHANNELS + c], sum);
        out[(ulong(s) * length + l) * CHANNELS + c] = E(silu(sum));
    }
}

// The inputs that the next call's first tokens need. A thread a channel and sequence; each takes from later than it writes.
kernel void conv_tail(device const E* projected [[buffer(0)]], device float* state [[buffer(1)]],
                      constant uint& length [[buffer(2)]], constant uint& first [[buffer(3)]],
                      uint2 group [[threadgroup_position_in_grid]], uint2 t [[thread_position_in_threadgroup]],
                      uint2 threads [[threads_per_threadgroup]])
{
    const uint c = group.x * threads.x + t.x, s = group.y;
    if (c >= CHANNELS)
        return;
    device float* own = state + ulong(s) * (TAPS - 1) * CHANNELS + c;
    for (uint i = 0; i + 1 < TAPS; ++i) {
        const int token = int(length + i) - (TAPS - 1);
        own[i * CHANNELS] = token < 0 ? own[(i + length) * CHANNELS]
                                      : float(projected[(ulong(s) * length + uint(token)) * PITCH + first + c]);
    }
}

// --- scans: segments of `span` tokens, each from a zero state; then states carried; then all again with output ----------

struct Stretch {
    uint length;    // tokens of a sequence
    uint span;      // tokens of a segment
    uint segments;  // of a sequence
};

// The state before each segment in place of the state that the segment leaves from zero: one thread a channel and state.
kernel void scan_carry(device float* states [[buffer(0)]], device const float* sums [[buffer(1)]],
                       device const float* decay [[buffer(2)]], device const float* state [[buffer(3)]],
                       constant Stretch& w [[buffer(4)]], uint2 group [[threadgroup_position_in_grid]],
                       uint2 t [[thread_position_in_threadgroup]], uint2 threads [[threads_per_threadgroup]])
{
    const uint i = group.x * threads.x + t.x, s = group.y;
    if (i >= D_INNER * D_STATE)
        return;
    const float a = decay[i];
    float h = state[ulong(s) * D_INNER * D_STATE + i];
    for (uint g = 0; g < w.segments; ++g) {
        const ulong at = ulong(s) * w.segments + g;
        device float* own = states + at * D_INNER * D_STATE + i;
        const float from_zero = *own;
        *own = h;
        h = fma(h, exp2(sums[at * D_INNER + i / D_STATE] * a), from_zero);
    }
}

#if DT_RANK > 0
// Mamba-1: a thread a channel, all its states in registers. B and C are the same for all lanes.
struct Step {
    float delta;
    float input;
};

inline Step step_of(device const E* dt, device const E* u, ulong row, uint c, float bias)
{
    const float delta = softplus(float(dt[row * D_INNER + c]) + bias);
    return Step { delta, delta * float(u[row * D_INNER + c]) };
}

kernel void scan_segments(device const E* dt [[buffer(0)]], device const E* u [[buffer(1)]],
                          device const E* selected [[buffer(2)]], device const float* bias [[buffer(3)]],
                          device const float* decay [[buffer(4)]], device float* states [[buffer(5)]],
                          device float* sums [[buffer(6)]], constant Stretch& w [[buffer(7)]],
                          uint3 group [[threadgroup_position_in_grid]], uint3 t [[thread_position_in_threadgroup]],
                          uint3 threads [[threads_per_threadgroup]])
{
    const uint c = group.x * threads.x + t.x, s = group.z;
    if (c >= D_INNER)
        return;
    float a[D_STATE], h[D_STATE];
    for (uint n = 0; n < D_STATE; ++n) {
        a[n] = decay[c * D_STATE + n];
        h[n] = 0.0f;
    }
    float sum = 0.0f;
    const uint from = group.y * w.span, to = min(from + w.span, w.length);
    for (uint l = from; l < to; ++l) {
        const ulong row = ulong(s) * w.length + l;
        const Step x = step_of(dt, u, row, c, bias[c]);
        device const E* b = selected + row * (DT_RANK + 2 * D_STATE) + DT_RANK;
        sum += x.delta;
        for (uint n = 0; n < D_STATE; ++n)
            h[n] = fma(h[n], exp2(x.delta * a[n]), x.input * float(b[n]));
    }
    const ulong at = ulong(s) * w.segments + group.y;
    for (uint n = 0; n < D_STATE; ++n)
        states[(at * D_INNER + c) * D_STATE + n] = h[n];
    sums[at * D_INNER + c] = sum;
}

// `before` holds the state before each segment; the last segment leaves the sequence's state in `state`. y takes u's place.
kernel void scan_output(device const E* dt [[buffer(0)]], device E* u [[buffer(1)]],
                        device const E* selected [[buffer(2)]], device const float* bias [[buffer(3)]],
                        device const float* decay [[buffer(4)]], device const float* before [[buffer(5)]],
                        device float* state [[buffer(6)]], constant Stretch& w [[buffer(7)]],
                        device const float* skip [[buffer(8)]], device const E* projected [[buffer(9)]],
                        uint3 group [[threadgroup_position_in_grid]], uint3 t [[thread_position_in_threadgroup]],
                        uint3 threads [[threads_per_threadgroup]])
{
    const uint c = group.x * threads.x + t.x, s = group.z;
    if (c >= D_INNER)
        return;
    const ulong at = ulong(s) * w.segments + group.y;
    float a[D_STATE], h[D_STATE];
    for (uint n = 0; n < D_STATE; ++n) {
        a[n] = decay[c * D_STATE + n];
        h[n] = before[(at * D_INNER + c) * D_STATE + n];
    }
    const uint from = group.y * w.span, to = min(from + w.span, w.length);
    for (uint l = from; l < to; ++l) {
        const ulong row = ulong(s) * w.length + l;
        const Step x = step_of(dt, u, row, c, bias[c]);
        device const E* b = selected + row * (DT_RANK + 2 * D_STATE) + DT_RANK;
        float y = skip[c] * float(u[row * D_INNER + c]);
        for (uint n = 0; n < D_STATE; ++n) {
            h[n] = fma(h[n], exp2(x.delta * a[n]), x.input * float(b[n]));
            y = fma(h[n], float(b[D_STATE + n]), y);
        }
        u[row * D_INNER + c] = E(y * silu(float(projected[row * PITCH + D_INNER + c])));
    }
    if (group.y + 1 == w.segments)
        for (uint n = 0; n < D_STATE; ++n)
            state[(ulong(s) * D_INNER + c) * D_STATE + n] = h[n];
}
#else
// Mamba-2: a simdgroup a channel, its states over the lanes. The decay is a head's.
constant constexpr uint SLOTS = (D_STATE + 31) / 32;

inline float delta_of(device const E* projected, device const float* bias, ulong row, uint head)
{
    const float raw = float(projected[row * PITCH + D_INNER + CHANNELS + head]) + bias[head];
    return clamp(softplus(raw), DT_LEAST, DT_MOST);
}

inline void advance(thread float (&h)[SLOTS], float keep, float input, device const E* b, uint lane)
{
    for (uint k = 0; k < SLOTS; ++k) {
        const uint n = 32 * k + lane;
        if (n < D_STATE)
            h[k] = fma(h[k], keep, input * float(b[n]));
    }
}

kernel void ssd_segments(device const E* projected [[buffer(0)]], device const E* xbc [[buffer(1)]],
                         device const float* bias [[buffer(2)]], device const float* decay [[buffer(3)]],
                         device float* states [[buffer(4)]], device float* sums [[buffer(5)]],
                         constant Stretch& w [[buffer(6)]], uint3 group [[threadgroup_position_in_grid]],
                         uint simdgroup_ [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]])
{
    const uint c = group.x * 4 + simdgroup_, s = group.z;
    if (c >= D_INNER)
        return;
    const uint head = c / HEAD_DIM, of = D_INNER + head / (HEADS / GROUPS) * D_STATE;
    const float a = decay[c * D_STATE];
    float h[SLOTS];
    for (uint k = 0; k < SLOTS; ++k)
        h[k] = 0.0f;
    float sum = 0.0f;
    const uint from = group.y * w.span, to = min(from + w.span, w.length);
    for (uint l = from; l < to; ++l) {
        const ulong row = ulong(s) * w.length + l;
        const float delta = delta_of(projected, bias, row, head);
        sum += delta;
        advance(h, exp2(delta * a), delta * float(xbc[row * CHANNELS + c]), xbc + row * CHANNELS + of, lane);
    }
    const ulong at = ulong(s) * w.segments + group.y;
    for (uint k = 0; k < SLOTS; ++k)
        if (32 * k + lane < D_STATE)
            states[(at * D_INNER + c) * D_STATE + 32 * k + lane] = h[k];
    if (lane == 0)
        sums[at * D_INNER + c] = sum;
}

kernel void ssd_output(device const E* projected [[buffer(0)]], device const E* xbc [[buffer(1)]],
                       device const float* bias [[buffer(2)]], device const float* decay [[buffer(3)]],
                       device const float* before [[buffer(4)]], device float* state [[buffer(5)]],
                       constant Stretch& w [[buffer(6)]], device const float* skip [[buffer(7)]],
                       device E* y [[buffer(8)]], uint3 group [[threadgroup_position_in_grid]],
                       uint simdgroup_ [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]])
{
    const uint c = group.x * 4 + simdgroup_, s = group.z;
    if (c >= D_INNER)
        return;
    const uint head = c / HEAD_DIM, of = D_INNER + head / (HEADS / GROUPS) * D_STATE;
    const float a = decay[c * D_STATE];
    const ulong at = ulong(s) * w.segments + group.y;
    float h[SLOTS];
    for (uint k = 0; k < SLOTS; ++k)
        h[k] = 32 * k + lane < D_STATE ? before[(at * D_INNER + c) * D_STATE + 32 * k + lane] : 0.0f;
    const uint from = group.y * w.span, to = min(from + w.span, w.length);
    for (uint l = from; l < to; ++l) {
        const ulong row = ulong(s) * w.length + l;
        const float delta = delta_of(projected, bias, row, head);
        const float x = float(xbc[row * CHANNELS + c]);
        device const E* b = xbc + row * CHANNELS + of;
        advance(h, exp2(delta * a), delta * x, b, lane);
        float sum = 0.0f;
        for (uint k = 0; k < SLOTS; ++k)
            if (32 * k + lane < D_STATE)
                sum = fma(h[k], float(b[GROUPS * D_STATE + 32 * k + lane]), sum);
        sum = simd_sum(sum);
        if (lane == 0)
            y[row * D_INNER + c] = E(fma(skip[head], x, sum));
    }
    if (group.y + 1 == w.segments)
        for (uint k = 0; k < SLOTS; ++k)
            if (32 * k + lane < D_STATE)
                state[(ulong(s) * D_INNER + c) * D_STATE + 32 * k + lane] = h[k];
}
#endif
