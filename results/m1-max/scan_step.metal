/* ksearch
[tunables]
THREADS = { values = [64, 128, 256, 512], default = 128 }
LANES = { values = [2, 4, 8, 16, 32], default = 4 }
SEQUENCES = { values = [2, 4, 8], default = 2 }

[defines]
T = { type = "x" }
STATES = "states"
DT_SOFTPLUS = "dt_softplus"
HAS_D = "has_D"
HAS_Z = "has_z"
HAS_DT_BIAS = "has_dt_bias"
WIDTH = "states % 4 == 0 ? 4 : 1"

[[dispatch]]
kernel = "scan_step"
grid = ["ceil_div(dim * LANES, THREADS)", "ceil_div(batch, SEQUENCES)", 1]
threadgroup = ["THREADS", 1, 1]
*/
// One step of the selective scan, a team of LANES lanes per channel: each lane moves every LANES-th piece of the states,
// and the output is summed over the team by shuffles.
// Strategies: four states per load; a team of lanes over the states; rates shared by several sequences; larger
// threadgroups.

#include <metal_stdlib>
using namespace metal;

// States are moved four at a time where every channel's states start aligned (their number is a multiple of 4), else one
// at a time.
#if WIDTH == 4
using Wide = float4;

inline Wide load(device const float* p) { return *(device const float4*)p; }
inline void save(device float* p, Wide x) { *(device float4*)p = x; }
inline Wide load_element(device const T* p) { return Wide(*(device const vec<T, 4>*)p); }
inline float total(Wide x) { return (x.x + x.y) + (x.z + x.w); }
#else
using Wide = float;

inline Wide load(device const float* p) { return *p; }
inline void save(device float* p, Wide x) { *p = x; }
inline Wide load_element(device const T* p) { return Wide(*p); }
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

kernel void scan_step(
    device const T* x [[buffer(0)]],
    device const T* dt [[buffer(1)]],
    device const float* A [[buffer(2)]],
    device const T* B [[buffer(3)]],
    device const T* C [[buffer(4)]],
    device const float* D [[buffer(5)]],
    device const T* z [[buffer(6)]],
    device const float* dt_bias [[buffer(7)]],
    device const float* state [[buffer(8)]],
    device T* out [[buffer(9)]],
    device float* new_state [[buffer(10)]],
    constant uint& dim [[buffer(11)]],
    constant uint& batch [[buffer(12)]],
    uint3 position [[thread_position_in_grid]])
{
    const uint part = position.x % LANES;
    const uint wanted = position.x / LANES;
    // Teams past the last channel repeat it, so that shuffles stay whole, and store nothing.
    const bool real = wanted < dim;
    const uint channel = min(wanted, dim - 1);
    constexpr uint STRIDE = LANES * WIDTH;
    const float bias = HAS_DT_BIAS ? dt_bias[channel] : 0.0f;
    const float skip = HAS_D ? D[channel] : 0.0f;
    device const float* rates = A + channel * STATES;
    // The rates of a channel serve several sequences.
    constexpr uint PIECES = (STATES + STRIDE - 1) / STRIDE;
    Wide rate[PIECES];
    #pragma unroll
    for (uint i = 0; i < PIECES; ++i) {
        const uint n = part * WIDTH + i * STRIDE;
        rate[i] = n < STATES ? load(rates + n) : Wide(0.0f);
    }
    const uint end = min(batch, (position.y + 1) * SEQUENCES);
    for (uint b = position.y * SEQUENCES; b < end; ++b) {
        const uint row = b * dim + channel;
        const float input = float(x[row]);
        const float step = step_size(float(dt[row]), bias);
        const float moves = step * input;
        device const float* before = state + row * STATES;
        device float* after = new_state + row * STATES;
        device const T* B_row = B + b * STATES;
        device const T* C_row = C + b * STATES;
        Wide sums = Wide(0.0f);
        #pragma unroll
        for (uint i = 0; i < PIECES; ++i) {
            const uint n = part * WIDTH + i * STRIDE;
            if (n >= STATES) {
                break;
            }
            const Wide a = rate[i];
            const Wide decay = exp(step * a);
            const Wide moved = decay * load(before + n) + moves * load_element(B_row + n);
            if (real) {
                save(after + n, moved);
            }
            sums += moved * load_element(C_row + n);
        }
        float y = total(sums);
        #pragma unroll
        for (uint mask = LANES / 2; mask > 0; mask /= 2) {
            y += simd_shuffle_xor(y, ushort(mask));
        }
        if (real && part == 0) {
            y += skip * input;
            if (HAS_Z) {
                const float gate = float(z[row]);
                y *= gate / (1.0f + exp(-gate));
            }
            out[row] = T(y);
        }
    }
}
