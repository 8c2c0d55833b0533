/* ksearch
[defines]
T = { type = "x" }
STATES = "states"
POSITIONS = "P"
DT_SOFTPLUS = "dt_softplus"
HAS_D = "has_D"
HAS_DT_BIAS = "has_dt_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"

[tunables]
CHUNK = { values = [32, 64, 128, 256], default = 32 }

[scratch]
states = "4 * batch * heads * ceil_div(L, CHUNK) * ceil_div(P, 64) * 64 * ceil_div(states, 32) * 32"
kept = "4 * batch * heads * ceil_div(L, CHUNK)"

[[dispatch]]
kernel = "ssd_chunks"
grid = ["ceil_div(L, CHUNK) * ceil_div(states, 32)", "heads * ceil_div(P, 64)", "batch"]
threadgroup = [128, 1, 1]

[[dispatch]]
kernel = "ssd_pass"
grid = ["ceil_div(P, 64) * ceil_div(states, 32) * 16", "heads", "batch"]
threadgroup = [128, 1, 1]

[[dispatch]]
kernel = "ssd_outputs"
grid = ["ceil_div(L, CHUNK) * (CHUNK / 32)", "heads * ceil_div(P, 64)", "batch"]
threadgroup = [128, 1, 1]
*/
// Mamba-2's scan in chunks of CHUNK steps on 8x8 matrices. Within a chunk the output is a masked product,
// y = (decays o (C B^T)) x; what came before enters as C times the state ahead of the chunk. Three kernels: what each
// chunk adds to the state, the pass over the chunks, the outputs.

#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// A threadgroup of four simdgroups takes ROWS steps by BLOCK positions, STEP states at a time. Rows of tiles in
// threadgroup memory lie four further apart, so that eight rows lie in different banks. Loops are unrolled only as far as
// registers last.
constant constexpr uint ROWS = 32, BLOCK = 64, STEP = 32, THREADS = 128;
constant constexpr uint FAR = BLOCK + 4, NEAR = STEP + 4;
// Positions and states with what fills up the last tiles: zeros.
constant constexpr uint WIDTH = (POSITIONS + BLOCK - 1) / BLOCK * BLOCK;
constant constexpr uint DEPTH = (STATES + STEP - 1) / STEP * STEP;
constant constexpr uint BLOCKS = WIDTH / BLOCK;

inline float step_size(float dt, float bias)
{
    float step = dt + bias;
    if (DT_SOFTPLUS) {
        // ln(1 + e^x), which is x itself to within f32 where e^x would lose the 1.
        step = step > 20.0f ? step : log(1.0f + exp(step));
    }
    return step;
}

// Step sizes of `count` steps of a chunk from `from` on, and the exponents of the decay from the chunk's start to the end of
// each step. Steps past the end of the sequence have size zero. One simdgroup does it.
inline void prepare(threadgroup float* steps, threadgroup float* decays, device const T* dt, uint from, uint count,
                    uint L, uint heads, uint head, float bias, float rate, uint lane)
{
    float before = 0.0f;
    for (uint i = 0; i < count; i += 32) {
        const uint l = from + i + lane;
        const float step = l < L ? step_size(float(dt[l * heads + head]), bias) : 0.0f;
        const float sum = before + simd_prefix_inclusive_sum(step * rate);
        steps[i + lane] = step;
        decays[i + lane] = sum;
        before = simd_broadcast(sum, ushort(31));
    }
}

kernel void ssd_chunks(
    device const T* x [[buffer(0)]],
    device const T* dt [[buffer(1)]],
    device const float* A [[buffer(2)]],
    device const T* B [[buffer(3)]],
    device const float* dt_bias [[buffer(4)]],
    device float* states [[buffer(5)]],
    device float* kept [[buffer(6)]],
    constant uint& L [[buffer(7)]],
    constant uint& heads [[buffer(8)]],
    constant uint& P [[buffer(9)]],
    constant uint& groups [[buffer(10)]],
    uint3 at [[threadgroup_position_in_grid]],
    uint thread_ [[thread_index_in_threadgroup]],
    uint simdgroup_ [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]])
{
    threadgroup float steps[CHUNK], decays[CHUNK];
    threadgroup float inputs[ROWS * FAR], rows[ROWS * NEAR];
    const uint chunks = (L + CHUNK - 1) / CHUNK;
    const uint chunk = at.x / (DEPTH / STEP), n0 = at.x % (DEPTH / STEP) * STEP;
    const uint head = at.y / BLOCKS, p0 = at.y % BLOCKS * BLOCK, b = at.z;
    const uint group = head / (heads / groups);
    const uint from = chunk * CHUNK;
    if (simdgroup_ == 0) {
        prepare(steps, decays, dt + b * L * heads, from, CHUNK, L, heads, head, HAS_DT_BIAS ? dt_bias[head] : 0.0f,
                A[head] * M_LOG2E_F, lane);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float last = decays[CHUNK - 1];
    const uint index = (b * heads + head) * chunks + chunk;
    if (thread_ == 0 && n0 == 0 && p0 == 0) {
        kept[index] = exp2(last);
    }

    // A simdgroup makes 32 positions by 16 states.
    const uint pp = simdgroup_ / 2 * 32, nn = simdgroup_ % 2 * 16;
    simdgroup_matrix<float, 8, 8> sums[4][2];
    #pragma unroll
    for (uint i = 0; i < 4; ++i) {
        #pragma unroll
        for (uint j = 0; j < 2; ++j) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    for (uint l0 = 0; l0 < CHUNK && from + l0 < L; l0 += ROWS) {
        #pragma unroll 4
        for (uint i = thread_; i < ROWS * BLOCK; i += THREADS) {
            const uint r = i / BLOCK, p = p0 + i % BLOCK, l = from + l0 + r;
            const float weight = steps[l0 + r] * exp2(last - decays[l0 + r]);
            inputs[r * FAR + i % BLOCK] = l < L && p < P ? weight * float(x[((b * L + l) * heads + head) * P + p]) : 0.0f;
        }
        #pragma unroll 4
        for (uint i = thread_; i < ROWS * STEP; i += THREADS) {
            const uint r = i / STEP, n = n0 + i % STEP, l = from + l0 + r;
            rows[r * NEAR + i % STEP] =
                l < L && n < STATES ? float(B[((b * L + l) * groups + group) * STATES + n]) : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        #pragma unroll 1
        for (uint k = 0; k < ROWS; k += 8) {
            simdgroup_matrix<float, 8, 8> left[4], right[2];
            #pragma unroll
            for (uint i = 0; i < 4; ++i) {
                simdgroup_load(left[i], inputs + k * FAR + pp + 8 * i, FAR, ulong2(0, 0), true);
            }
            #pragma unroll
            for (uint j = 0; j < 2; ++j) {
                simdgroup_load(right[j], rows + k * NEAR + nn + 8 * j, NEAR);
            }
            #pragma unroll
            for (uint i = 0; i < 4; ++i) {
                #pragma unroll
                for (uint j = 0; j < 2; ++j) {
                    simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    device float* to = states + (ulong(index) * WIDTH + p0 + pp) * DEPTH + n0 + nn;
    #pragma unroll
    for (uint i = 0; i < 4; ++i) {
        #pragma unroll
        for (uint j = 0; j < 2; ++j) {
            simdgroup_store(sums[i][j], to + 8 * i * DEPTH + 8 * j, DEPTH);
        }
    }
}

// Turns what each chunk adds into the state ahead of it: a thread an element of the state.
kernel void ssd_pass(
    device const float* initial_state [[buffer(0)]],
    device float* states [[buffer(1)]],
    device const float* kept [[buffer(2)]],
    device float* final_state [[buffer(3)]],
    constant uint& L [[buffer(4)]],
    constant uint& heads [[buffer(5)]],
    constant uint& P [[buffer(6)]],
    uint3 at [[threadgroup_position_in_grid]],
    uint thread_ [[thread_index_in_threadgroup]])
{
    const uint chunks = (L + CHUNK - 1) / CHUNK;
    const uint element = at.x * THREADS + thread_, p = element / DEPTH, n = element % DEPTH;
    const uint sequence = at.z * heads + at.y;
    const bool real = p < P && n < STATES;
    const uint place = (sequence * P + p) * STATES + n;
    float state = HAS_INITIAL_STATE && real ? initial_state[place] : 0.0f;
    for (uint chunk = 0; chunk < chunks; ++chunk) {
        device float* own = states + ulong(sequence * chunks + chunk) * WIDTH * DEPTH + element;
        const float added = *own;
        *own = state;
        state = kept[sequence * chunks + chunk] * state + added;
    }
    if (HAS_FINAL_STATE && real) {
        final_state[place] = state;
    }
}

kernel void ssd_outputs(
    device const T* x [[buffer(0)]],
    device const T* dt [[buffer(1)]],
    device const float* A [[buffer(2)]],
    device const T* B [[buffer(3)]],
    device const T* C [[buffer(4)]],
    device const float* D [[buffer(5)]],
    device const float* dt_bias [[buffer(6)]],
    device const float* states [[buffer(7)]],
    device T* out [[buffer(8)]],
    constant uint& L [[buffer(9)]],
    constant uint& heads [[buffer(10)]],
    constant uint& P [[buffer(11)]],
    constant uint& groups [[buffer(12)]],
    uint3 at [[threadgroup_position_in_grid]],
    uint thread_ [[thread_index_in_threadgroup]],
    uint simdgroup_ [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]])
{
    threadgroup float steps[CHUNK], decays[CHUNK], scores[ROWS * NEAR];
    // Rows of C and of B, then rows of x, then the outputs.
    threadgroup float room[2 * ROWS * NEAR];
    threadgroup float* asked = room;
    threadgroup float* rows = room + ROWS * NEAR;
    const uint chunks = (L + CHUNK - 1) / CHUNK;
    const uint chunk = at.x / (CHUNK / ROWS), own = at.x % (CHUNK / ROWS) * ROWS;
    const uint head = at.y / BLOCKS, p0 = at.y % BLOCKS * BLOCK, b = at.z;
    const uint group = head / (heads / groups);
    const uint from = chunk * CHUNK;
    if (from + own >= L) {
        return;
    }
    if (simdgroup_ == 0) {
        prepare(steps, decays, dt + b * L * heads, from, own + ROWS, L, heads, head, HAS_DT_BIAS ? dt_bias[head] : 0.0f,
                A[head] * M_LOG2E_F, lane);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // A simdgroup makes all 32 steps by 16 positions.
    const uint pp = simdgroup_ * 16;
    simdgroup_matrix<float, 8, 8> sums[4][2];
    #pragma unroll
    for (uint i = 0; i < 4; ++i) {
        #pragma unroll
        for (uint j = 0; j < 2; ++j) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    if (HAS_INITIAL_STATE || chunk > 0) {
        // What came before: C times the state ahead of the chunk, then decayed row by row: rows of C are, at once.
        device const float* state = states + (ulong((b * heads + head) * chunks + chunk) * WIDTH + p0 + pp) * DEPTH;
        for (uint n0 = 0; n0 < DEPTH; n0 += STEP) {
            #pragma unroll 4
            for (uint i = thread_; i < ROWS * STEP; i += THREADS) {
                const uint r = i / STEP, n = n0 + i % STEP, l = from + own + r;
                asked[r * NEAR + i % STEP] = l < L && n < STATES
                    ? exp2(decays[own + r]) * float(C[((b * L + l) * groups + group) * STATES + n])
                    : 0.0f;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            #pragma unroll 1
            for (uint k = 0; k < STEP; k += 8) {
                simdgroup_matrix<float, 8, 8> left[4], right[2];
                #pragma unroll
                for (uint i = 0; i < 4; ++i) {
                    simdgroup_load(left[i], asked + 8 * i * NEAR + k, NEAR);
                }
                #pragma unroll
                for (uint j = 0; j < 2; ++j) {
                    simdgroup_load(right[j], state + 8 * j * DEPTH + n0 + k, DEPTH, ulong2(0, 0), true);
                }
                #pragma unroll
                for (uint i = 0; i < 4; ++i) {
                    #pragma unroll
                    for (uint j = 0; j < 2; ++j) {
                        simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
                    }
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
    }

    for (uint s0 = 0; s0 <= own; s0 += ROWS) {
        // C B^T of 32 steps by 32: a simdgroup 32 by 8.
        simdgroup_matrix<float, 8, 8> products[4];
        #pragma unroll
        for (uint i = 0; i < 4; ++i) {
            products[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
        for (uint n0 = 0; n0 < DEPTH; n0 += STEP) {
            #pragma unroll 4
            for (uint i = thread_; i < ROWS * STEP; i += THREADS) {
                const uint r = i / STEP, n = n0 + i % STEP, l = from + own + r, s = from + s0 + r;
                const uint to = r * NEAR + i % STEP;
                asked[to] = l < L && n < STATES ? float(C[((b * L + l) * groups + group) * STATES + n]) : 0.0f;
                rows[to] = s < L && n < STATES ? float(B[((b * L + s) * groups + group) * STATES + n]) : 0.0f;
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
            #pragma unroll 1
            for (uint k = 0; k < STEP; k += 8) {
                simdgroup_matrix<float, 8, 8> left, right;
                simdgroup_load(right, rows + simdgroup_ * 8 * NEAR + k, NEAR, ulong2(0, 0), true);
                #pragma unroll
                for (uint i = 0; i < 4; ++i) {
                    simdgroup_load(left, asked + 8 * i * NEAR + k, NEAR);
                    simdgroup_multiply_accumulate(products[i], left, right, products[i]);
                }
            }
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }
        #pragma unroll
        for (uint i = 0; i < 4; ++i) {
            simdgroup_store(products[i], scores + 8 * i * NEAR + simdgroup_ * 8, NEAR);
        }
        #pragma unroll 4
        for (uint i = thread_; i < ROWS * BLOCK; i += THREADS) {
            const uint r = i / BLOCK, p = p0 + i % BLOCK, s = from + s0 + r;
            room[r * FAR + i % BLOCK] =
                s < L && p < P ? steps[s0 + r] * float(x[((b * L + s) * heads + head) * P + p]) : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // Decays from step to step; nothing comes from later ones.
        #pragma unroll 4
        for (uint i = thread_; i < ROWS * ROWS; i += THREADS) {
            const uint l = i / ROWS, s = i % ROWS;
            threadgroup float* score = scores + l * NEAR + s;
            *score = s0 + s <= own + l ? *score * exp2(decays[own + l] - decays[s0 + s]) : 0.0f;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        #pragma unroll 1
        for (uint k = 0; k < ROWS; k += 8) {
            simdgroup_matrix<float, 8, 8> left[4], right[2];
            #pragma unroll
            for (uint i = 0; i < 4; ++i) {
                simdgroup_load(left[i], scores + 8 * i * NEAR + k, NEAR);
            }
            #pragma unroll
            for (uint j = 0; j < 2; ++j) {
                simdgroup_load(right[j], room + k * FAR + pp + 8 * j, FAR);
            }
            #pragma unroll
            for (uint i = 0; i < 4; ++i) {
                #pragma unroll
                for (uint j = 0; j < 2; ++j) {
                    simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
                }
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    #pragma unroll
    for (uint i = 0; i < 4; ++i) {
        #pragma unroll
        for (uint j = 0; j < 2; ++j) {
            simdgroup_store(sums[i][j], room + 8 * i * FAR + pp + 8 * j, FAR);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float skip = HAS_D ? D[head] : 0.0f;
    #pragma unroll 4
    for (uint i = thread_; i < ROWS * BLOCK; i += THREADS) {
        const uint r = i / BLOCK, p = p0 + i % BLOCK, l = from + own + r;
        if (l < L && p < P) {
            const uint to = ((b * L + l) * heads + head) * P + p;
            out[to] = T(room[r * FAR + i % BLOCK] + skip * float(x[to]));
        }
    }
}
