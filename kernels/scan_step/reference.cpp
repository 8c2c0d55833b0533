/* ksearch
[[dispatch]]
kernel = "scan_step_reference"
grid = ["ceil_div(dim, 32)", "batch", 1]
threadgroup = [32, 1, 1]
*/
#include <metal_stdlib>
using namespace metal;

kernel void scan_step_reference(
    device const double* x [[buffer(0)]],
    device const double* dt [[buffer(1)]],
    device const double* A [[buffer(2)]],
    device const double* B [[buffer(3)]],
    device const double* C [[buffer(4)]],
    device const double* D [[buffer(5)]],
    device const double* z [[buffer(6)]],
    device const double* dt_bias [[buffer(7)]],
    device const double* state [[buffer(8)]],
    device double* out [[buffer(9)]],
    device double* new_state [[buffer(10)]],
    constant uint& dim [[buffer(11)]],
    constant uint& states [[buffer(12)]],
    constant uint& dt_softplus [[buffer(13)]],
    constant uint& has_D [[buffer(14)]],
    constant uint& has_z [[buffer(15)]],
    constant uint& has_dt_bias [[buffer(16)]],
    uint3 position [[thread_position_in_grid]])
{
    const uint channel = position.x, b = position.y;
    if (channel >= dim) {
        return;
    }
    const uint row = b * dim + channel;
    double step = dt[row] + (has_dt_bias ? dt_bias[channel] : 0.0);
    if (dt_softplus) {
        step = max(step, 0.0) + log1p(exp(-fabs(step)));
    }
    double y = has_D ? D[channel] * x[row] : 0.0;
    for (uint n = 0; n < states; ++n) {
        const double moved =
            exp(step * A[channel * states + n]) * state[row * states + n] + step * B[b * states + n] * x[row];
        new_state[row * states + n] = moved;
        y += moved * C[b * states + n];
    }
    out[row] = has_z ? y * z[row] / (1.0 + exp(-z[row])) : y;
}
