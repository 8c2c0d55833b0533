/* ksearch
[tunables]
LANES = { values = [4, 8, 16, 32], default = 16 }

[defines]
T = { type = "x" }
STATES = "states"
DT_SOFTPLUS = "dt_softplus"
HAS_D = "has_D"
HAS_DT_BIAS = "has_dt_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"
WIDTH = "states % 4 == 0 ? 4 : 1"
ROWS = 1

[[dispatch]]
kernel = "ssd"
grid = ["ceil_div(P, 32 / LANES * ROWS)", "heads", "batch"]
threadgroup = [32, 1, 1]
*/
// Mamba-2's scan, a team of LANES lanes per position in a head: each lane walks through time with every LANES-th piece of
// the states in registers, and outputs are summed over the team by shuffles.
// Strategies: four states per load; a team of lanes over the states; step sizes and decays by one lane for all.

#include <metal_stdlib>
using namespace metal;

// States are moved four at a time where every row of B and C starts aligned (their number is a multiple of 4), else one
// at a time.
#if WIDTH == 4
using Wide = float4;

inline Wide load(device const T* p) { return Wide(*(device const vec<T, 4>*)p); }
inline Wide load_state(device const float* p) { return *(device const float4*)p; }
inline void save_state(device float* p, Wide x) { *(device float4*)p = x; }
inline float total(Wide x) { return (x.x + x.y) + (x.z + x.w); }
#else
using Wide = float;

inline Wide load(device const T* p) { return Wide(*p); }
inline Wide load_state(device const float* p) { return *p; }
inline void save_state(device float* p, Wide x) { *p = x; }
inline float total(Wide x) { return x; }
#endif

inline float step_size(float dt, float bias)
{
    float step = dt + bias;
    if (DT_SOFTPLUS) {
        // ln(1 + e^x), which is x itself to within f32 where e^x would lose the 1.
        step = step > 20.0f ? step : log(1.0f + exp(step));
    }
    return step;
}

// Sum over the team: a butterfly that leaves the total in each lane.
inline float team_sum(float x)
{
    #pragma unroll
    for (uint mask = LANES / 2; mask > 0; mask /= 2) {
        x += simd_shuffle_xor(x, ushort(mask));
    }
    return x;
}

kernel void ssd(
    device const T* x [[buffer(0)]],
    device const T* dt [[buffer(1)]],
    device const float* A [[buffer(2)]],
    device const T* B [[buffer(3)]],
    device const T* C [[buffer(4)]],
    device const float* D [[buffer(5)]],
    device const float* dt_bias [[buffer(6)]],
    device const float* initial_state [[buffer(7)]],
    device T* out [[buffer(8)]],
    device float* final_state [[buffer(9)]],
    constant uint& L [[buffer(10)]],
    constant uint& heads [[buffer(11)]],
    constant uint& P [[buffer(12)]],
    constant uint& groups [[buffer(13)]],
    uint3 threadgroup_at [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]])
{
    constexpr uint TEAMS = 32 / LANES;
    constexpr uint STRIDE = LANES * WIDTH;
    constexpr uint PIECES = (STATES + STRIDE - 1) / STRIDE;
    const uint part = lane % LANES;
    const uint first = (threadgroup_at.x * TEAMS + lane / LANES) * ROWS;
    const uint head = threadgroup_at.y;
    const uint b = threadgroup_at.z;
    const uint shared_group = head / (heads / groups);
    const float bias = HAS_DT_BIAS ? dt_bias[head] : 0.0f;
    const float skip = HAS_D ? D[head] : 0.0f;
    const float rate = A[head];

    // Positions past the last repeat it, so that shuffles stay whole, and store nothing.
    uint p[ROWS];
    Wide state[ROWS][PIECES];
    #pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
        p[r] = min(first + r, P - 1);
        #pragma unroll
        for (uint i = 0; i < PIECES; ++i) {
            const uint n = part * WIDTH + i * STRIDE;
            state[r][i] = HAS_INITIAL_STATE && n < STATES
                ? load_state(initial_state + ((b * heads + head) * P + p[r]) * STATES + n)
                : Wide(0.0f);
        }
    }

    for (uint start = 0; start < L; start += 32) {
    // Each lane prepares one of the next 32 steps for all.
    const uint mine = min(start + lane, L - 1);
    const float own_step = step_size(float(dt[(b * L + mine) * heads + head]), bias);
    const float own_decay = exp(own_step * rate);
    const uint end = min(start + 32, L);
    for (uint l = start; l < end; ++l) {
        const uint at = (b * L + l) * heads + head;
        const float step = simd_broadcast(own_step, ushort(l - start));
        const float decay = simd_broadcast(own_decay, ushort(l - start));
        device const T* B_row = B + ((b * L + l) * groups + shared_group) * STATES;
        device const T* C_row = C + ((b * L + l) * groups + shared_group) * STATES;
        float input[ROWS];
        Wide y[ROWS];
        #pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
            input[r] = float(x[at * P + p[r]]);
            y[r] = Wide(0.0f);
        }
        #pragma unroll
        for (uint i = 0; i < PIECES; ++i) {
            const uint n = part * WIDTH + i * STRIDE;
            const Wide in = n < STATES ? step * load(B_row + n) : Wide(0.0f);
            const Wide weight = n < STATES ? load(C_row + n) : Wide(0.0f);
            #pragma unroll
            for (uint r = 0; r < ROWS; ++r) {
                state[r][i] = decay * state[r][i] + input[r] * in;
                y[r] += state[r][i] * weight;
            }
        }
        #pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
            const float sum = team_sum(total(y[r]));
            if (part == 0 && first + r < P) {
                out[at * P + p[r]] = T(sum + skip * input[r]);
            }
        }
    }
    }

    if (HAS_FINAL_STATE) {
        #pragma unroll
        for (uint r = 0; r < ROWS; ++r) {
            #pragma unroll
            for (uint i = 0; i < PIECES; ++i) {
                const uint n = part * WIDTH + i * STRIDE;
                if (n < STATES && first + r < P) {
                    save_state(final_state + ((b * heads + head) * P + p[r]) * STATES + n, state[r][i]);
                }
            }
        }
    }
}
