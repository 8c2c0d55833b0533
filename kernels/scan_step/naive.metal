/* ksearch
[defines]
T = { type = "x" }
STATES = "states"
DT_SOFTPLUS = "dt_softplus"
HAS_D = "has_D"
HAS_Z = "has_z"
HAS_DT_BIAS = "has_dt_bias"

[[dispatch]]
kernel = "scan_step_naive"
grid = ["ceil_div(dim, 32)", "batch", 1]
threadgroup = [32, 1, 1]
*/
// One step of the selective scan, one thread per channel.

#include <metal_stdlib>
using namespace metal;

kernel void scan_step_naive(
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
    uint3 position [[thread_position_in_grid]])
{
    const uint channel = position.x;
    const uint b = position.y;
    if (channel >= dim) {
        return;
    }
    const uint row = b * dim + channel;
    const float input = float(x[row]);
    float step = float(dt[row]);
    if (HAS_DT_BIAS) {
        step += dt_bias[channel];
    }
    if (DT_SOFTPLUS) {
        step = step > 20.0f ? step : log(1.0f + exp(step));
    }
    float y = HAS_D ? D[channel] * input : 0.0f;
    for (uint n = 0; n < STATES; ++n) {
        const float decay = exp(step * A[channel * STATES + n]);
        const float moved = decay * state[row * STATES + n] + step * float(B[b * STATES + n]) * input;
        new_state[row * STATES + n] = moved;
        y += moved * float(C[b * STATES + n]);
    }
    if (HAS_Z) {
        const float gate = float(z[row]);
        y *= gate / (1.0f + exp(-gate));
    }
    out[row] = T(y);
}
