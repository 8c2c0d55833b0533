/* ksearch
[defines]
T = { type = "u" }
STATES = "states"
DELTA_SOFTPLUS = "delta_softplus"
HAS_D = "has_D"
HAS_Z = "has_z"
HAS_DELTA_BIAS = "has_delta_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"

[[dispatch]]
kernel = "selective_scan_naive"
grid = ["ceil_div(dim, 32)", "batch", 1]
threadgroup = [32, 1, 1]
*/
// Mamba-1 selective scan, one thread per channel: walks through time with the channel's state in private memory.

#include <metal_stdlib>
using namespace metal;

kernel void selective_scan_naive(
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
    uint3 position [[thread_position_in_grid]])
{
    const uint channel = position.x;
    const uint batch = position.y;
    if (channel >= dim) {
        return;
    }
    const uint row = batch * dim + channel;
    const uint group = channel / (dim / groups);
    device const T* B_group = B + (batch * groups + group) * STATES * L;
    device const T* C_group = C + (batch * groups + group) * STATES * L;

    float state[STATES];
    for (uint n = 0; n < STATES; ++n) {
        state[n] = HAS_INITIAL_STATE ? initial_state[row * STATES + n] : 0.0f;
    }
    for (uint l = 0; l < L; ++l) {
        const float input = float(u[row * L + l]);
        float dt = float(delta[row * L + l]);
        if (HAS_DELTA_BIAS) {
            dt += delta_bias[channel];
        }
        if (DELTA_SOFTPLUS) {
            // ln(1 + e^x), which is x itself to within f32 where e^x would lose the 1.
            dt = dt > 20.0f ? dt : log(1.0f + exp(dt));
        }
        float y = HAS_D ? D[channel] * input : 0.0f;
        for (uint n = 0; n < STATES; ++n) {
            const float decay = exp(dt * A[channel * STATES + n]);
            state[n] = decay * state[n] + dt * float(B_group[n * L + l]) * input;
            y += state[n] * float(C_group[n * L + l]);
        }
        if (HAS_Z) {
            const float gate = float(z[row * L + l]);
            y *= gate / (1.0f + exp(-gate));
        }
        out[row * L + l] = T(y);
    }
    if (HAS_FINAL_STATE) {
        for (uint n = 0; n < STATES; ++n) {
            final_state[row * STATES + n] = state[n];
        }
    }
}
