/* ksearch
[defines]
STATES = "states"

[[dispatch]]
kernel = "ssd_reference"
grid = ["ceil_div(P, 32)", "heads", "batch"]
threadgroup = [32, 1, 1]
*/
#include <metal_stdlib>
using namespace metal;

kernel void ssd_reference(
    device const double* x [[buffer(0)]],
    device const double* dt [[buffer(1)]],
    device const double* A [[buffer(2)]],
    device const double* B [[buffer(3)]],
    device const double* C [[buffer(4)]],
    device const double* D [[buffer(5)]],
    device const double* dt_bias [[buffer(6)]],
    device const double* initial_state [[buffer(7)]],
    device double* out [[buffer(8)]],
    device double* final_state [[buffer(9)]],
    constant uint& L [[buffer(10)]],
    constant uint& heads [[buffer(11)]],
    constant uint& P [[buffer(12)]],
    constant uint& groups [[buffer(13)]],
    constant uint& dt_softplus [[buffer(14)]],
    constant uint& has_D [[buffer(15)]],
    constant uint& has_dt_bias [[buffer(16)]],
    constant uint& has_initial_state [[buffer(17)]],
    constant uint& has_final_state [[buffer(18)]],
    uint3 position [[thread_position_in_grid]])
{
    const uint p = position.x, head = position.y, b = position.z;
    if (p >= P) {
        return;
    }
    const uint group = head / (heads / groups);
    const uint held = ((b * heads + head) * P + p) * STATES;
    double state[STATES];
    for (uint n = 0; n < STATES; ++n) {
        state[n] = has_initial_state ? initial_state[held + n] : 0.0;
    }
    for (uint l = 0; l < L; ++l) {
        const uint at = (b * L + l) * heads + head;
        double step = dt[at] + (has_dt_bias ? dt_bias[head] : 0.0);
        if (dt_softplus) {
            step = max(step, 0.0) + log1p(exp(-fabs(step)));
        }
        const double input = x[at * P + p];
        const uint row = ((b * L + l) * groups + group) * STATES;
        double y = has_D ? D[head] * input : 0.0;
        for (uint n = 0; n < STATES; ++n) {
            state[n] = exp(step * A[head]) * state[n] + step * input * B[row + n];
            y += state[n] * C[row + n];
        }
        out[at * P + p] = y;
    }
    if (has_final_state) {
        for (uint n = 0; n < STATES; ++n) {
            final_state[held + n] = state[n];
        }
    }
}
