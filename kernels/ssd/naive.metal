/* ksearch
[defines]
T = { type = "x" }
STATES = "states"
DT_SOFTPLUS = "dt_softplus"
HAS_D = "has_D"
HAS_DT_BIAS = "has_dt_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"

[[dispatch]]
kernel = "ssd_naive"
grid = ["ceil_div(P, 32)", "heads", "batch"]
threadgroup = [32, 1, 1]
*/
// Mamba-2's scan, one thread per position in a head: walks through time with its states in private memory.

#include <metal_stdlib>
using namespace metal;

kernel void ssd_naive(
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
    uint3 position [[thread_position_in_grid]])
{
    const uint p = position.x;
    const uint head = position.y;
    const uint b = position.z;
    if (p >= P) {
        return;
    }
    const uint group = head / (heads / groups);
    const uint held = ((b * heads + head) * P + p) * STATES;
    float state[STATES];
    for (uint n = 0; n < STATES; ++n) {
        state[n] = HAS_INITIAL_STATE ? initial_state[held + n] : 0.0f;
    }
    for (uint l = 0; l < L; ++l) {
        const uint at = (b * L + l) * heads + head;
        float step = float(dt[at]);
        if (HAS_DT_BIAS) {
            step += dt_bias[head];
        }
        if (DT_SOFTPLUS) {
            step = step > 20.0f ? step : log(1.0f + exp(step));
        }
        const float decay = exp(step * A[head]);
        const float input = float(x[at * P + p]);
        device const T* B_row = B + ((b * L + l) * groups + group) * STATES;
        device const T* C_row = C + ((b * L + l) * groups + group) * STATES;
        float y = HAS_D ? D[head] * input : 0.0f;
        for (uint n = 0; n < STATES; ++n) {
            state[n] = decay * state[n] + step * input * float(B_row[n]);
            y += state[n] * float(C_row[n]);
        }
        out[at * P + p] = T(y);
    }
    if (HAS_FINAL_STATE) {
        for (uint n = 0; n < STATES; ++n) {
            final_state[held + n] = state[n];
        }
    }
}
