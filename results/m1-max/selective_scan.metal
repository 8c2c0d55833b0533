/* ksearch
[tunables]
CHUNK = { values = [4, 8, 16], default = 8 }
SIMDGROUPS = { values = [2, 4, 8], default = 2 }

[defines]
T = { type = "u" }
STATES = "states"
DELTA_SOFTPLUS = "delta_softplus"
HAS_D = "has_D"
HAS_Z = "has_z"
HAS_DELTA_BIAS = "has_delta_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"
WIDTH = "L % 4 == 0 ? 4 : 1"
SHARE = 1

[[dispatch]]
kernel = "selective_scan"
grid = ["dim / SHARE", "batch", 1]
threadgroup = ["32 * SIMDGROUPS", 1, 1]
*/
// Mamba-1 selective scan, lanes over time. A step maps the state x to a x + b, and such maps compose associatively:
// each lane composes CHUNK neighbouring steps, the simdgroup scans over its lanes, and each lane then replays its steps
// from the state it starts with. A simdgroup takes 32 CHUNK steps of one channel at a time.
// Strategies: states and rates in registers; four time steps per load; chunked parallel scan over time; split the
// states over simdgroups.

#include <metal_stdlib>
using namespace metal;

// Moves WIDTH neighbouring time steps: four where every row starts aligned (L is a multiple of 4), else one.
inline void load(thread float* x, device const T* p)
{
#if WIDTH == 4
    const float4 steps = float4(*(device const vec<T, 4>*)p);
    x[0] = steps.x;
    x[1] = steps.y;
    x[2] = steps.z;
    x[3] = steps.w;
#else
    x[0] = float(*p);
#endif
}

inline void save(device T* p, thread const float* x)
{
#if WIDTH == 4
    *(device vec<T, 4>*)p = vec<T, 4>(float4(x[0], x[1], x[2], x[3]));
#else
    *p = T(x[0]);
#endif
}

inline float rate_of(float a) { return a; }
inline float decay_of(float dt, float rate) { return exp(dt * rate); }

inline float step_size(float delta, float bias)
{
    float dt = delta + bias;
    if (DELTA_SOFTPLUS) {
        // ln(1 + e^x), which is x itself to within f32 where e^x would lose the 1.
        dt = dt > 20.0f ? dt : log(1.0f + exp(dt));
    }
    return dt;
}

inline float gated(float y, float z) { return y * z / (1.0f + exp(-z)); }

kernel void selective_scan(
    device const T* u [[buffer(0)]],
    device const T* delta [[buffer(1)]],
    device const float* A [[buffer(2)]],
    device const T* B [[buffer(3)]],
    device const T* C [[buffer(4)]],
    device const float* D [[buffer(5)]],
    device const T* z [[buffer(6)]],
    device const float* delta_bias [[buffer(7)]],
    device const float* initial_state [[buffer(8)]],
    device T* out [[buffer(9)]],
    device float* final_state [[buffer(10)]],
    constant uint& dim [[buffer(11)]],
    constant uint& groups [[buffer(12)]],
    constant uint& L [[buffer(13)]],
    uint3 group [[threadgroup_position_in_grid]],
    uint simdgroup [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]])
{
    constexpr uint SEGMENT = 32 * CHUNK;
    constexpr uint WORDS = (STATES + 31) / 32;
    const uint first_channel = group.x * SHARE;
    const uint batch = group.y;
    // All channels of this threadgroup belong to one group.
    const uint shared_group = first_channel / (dim / groups);
    device const T* B_group = B + (batch * groups + shared_group) * STATES * L;
    device const T* C_group = C + (batch * groups + shared_group) * STATES * L;
    // What each simdgroup adds to the output: its share of the states.
    threadgroup float partial[SIMDGROUPS * SHARE * SEGMENT];

    // Lane m of word w holds state 32 w + m at the end of the segment before.
    float carry[SHARE][WORDS];
    #pragma unroll
    for (uint k = 0; k < SHARE; ++k) {
        #pragma unroll
        for (uint w = 0; w < WORDS; ++w) {
            const uint n = w * 32 + lane;
            carry[k][w] = HAS_INITIAL_STATE && n < STATES
                ? initial_state[(batch * dim + first_channel + k) * STATES + n]
                : 0.0f;
        }
    }

    for (uint start = 0; start < L; start += SEGMENT) {
        const uint first = start + lane * CHUNK;
        // Steps past the end have a size of zero: they leave the state as it is.
        float dt[SHARE][CHUNK], input[SHARE][CHUNK], y[SHARE][CHUNK];
        #pragma unroll
        for (uint k = 0; k < SHARE; ++k) {
            const uint channel = first_channel + k;
            const uint row = batch * dim + channel;
            const float bias = HAS_DELTA_BIAS ? delta_bias[channel] : 0.0f;
            const float skip = HAS_D && simdgroup == 0 ? D[channel] : 0.0f;
            #pragma unroll
            for (uint i = 0; i < CHUNK; i += WIDTH) {
                float step_u[WIDTH], step_delta[WIDTH];
                if (first + i < L) {
                    load(step_u, u + row * L + first + i);
                    load(step_delta, delta + row * L + first + i);
                }
                #pragma unroll
                for (uint e = 0; e < WIDTH; ++e) {
                    dt[k][i + e] = first + i < L ? step_size(step_delta[e], bias) : 0.0f;
                    input[k][i + e] = first + i < L ? dt[k][i + e] * step_u[e] : 0.0f;
                    y[k][i + e] = first + i < L ? skip * step_u[e] : 0.0f;
                }
            }
        }

        #pragma unroll
        for (uint w = 0; w < WORDS; ++w) {
            for (uint m = simdgroup; m < min(32u, STATES - w * 32); m += SIMDGROUPS) {
                const uint n = w * 32 + m;
                float b[CHUNK], c[CHUNK];
                #pragma unroll
                for (uint i = 0; i < CHUNK; i += WIDTH) {
                    if (first + i < L) {
                        load(b + i, B_group + n * L + first + i);
                        load(c + i, C_group + n * L + first + i);
                    } else {
                        #pragma unroll
                        for (uint e = 0; e < WIDTH; ++e) {
                            b[i + e] = 0.0f;
                            c[i + e] = 0.0f;
                        }
                    }
                }
                #pragma unroll
                for (uint k = 0; k < SHARE; ++k) {
                    const float rate = rate_of(A[(first_channel + k) * STATES + n]);
                    // The map of this lane's steps together: x to product x + offset.
                    float decay[CHUNK];
                    float product = 1.0f;
                    float offset = 0.0f;
                    #pragma unroll
                    for (uint i = 0; i < CHUNK; ++i) {
                        decay[i] = decay_of(dt[k][i], rate);
                        product *= decay[i];
                        offset = decay[i] * offset + input[k][i] * b[i];
                    }
                    // Inclusive scan over the lanes; the identity map comes in from below.
                    #pragma unroll
                    for (ushort distance = 1; distance < 32; distance *= 2) {
                        const float earlier_product = simd_shuffle_and_fill_up(product, 1.0f, distance);
                        const float earlier_offset = simd_shuffle_and_fill_up(offset, 0.0f, distance);
                        offset = product * earlier_offset + offset;
                        product *= earlier_product;
                    }
                    const float before = simd_broadcast(carry[k][w], ushort(m));
                    const float after = product * before + offset;
                    const float last = simd_broadcast(after, ushort(31));
                    carry[k][w] = lane == m ? last : carry[k][w];
                    // A lane starts where the one before it ended.
                    float state = simd_shuffle_and_fill_up(after, before, ushort(1));
                    #pragma unroll
                    for (uint i = 0; i < CHUNK; ++i) {
                        state = decay[i] * state + input[k][i] * b[i];
                        y[k][i] += state * c[i];
                    }
                }
            }
        }

        #pragma unroll
        for (uint k = 0; k < SHARE; ++k) {
            #pragma unroll
            for (uint i = 0; i < CHUNK; ++i) {
                partial[(simdgroup * SHARE + k) * SEGMENT + i * 32 + lane] = y[k][i];
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        // Every thread finishes some of the steps: step i of lane p lies at place 32 i + p.
        for (uint place = simdgroup * 32 + lane; place < SHARE * SEGMENT; place += SIMDGROUPS * 32) {
            const uint l = start + place % 32 * CHUNK + place % SEGMENT / 32;
            if (l < L) {
                float sum = 0.0f;
                #pragma unroll
                for (uint s = 0; s < SIMDGROUPS; ++s) {
                    sum += partial[s * SHARE * SEGMENT + place];
                }
                const uint at = (batch * dim + first_channel + place / SEGMENT) * L + l;
                out[at] = T(HAS_Z ? gated(sum, float(z[at])) : sum);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (HAS_FINAL_STATE) {
        #pragma unroll
        for (uint k = 0; k < SHARE; ++k) {
            #pragma unroll
            for (uint w = 0; w < WORDS; ++w) {
                const uint n = w * 32 + lane;
                if (n < STATES && n % 32 % SIMDGROUPS == simdgroup) {
                    final_state[(batch * dim + first_channel + k) * STATES + n] = carry[k][w];
                }
            }
        }
    }
}
