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

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void scan_step_naive(
    const T* x, const T* dt, const float* A, const T* B, const T* C, const float* D, const T* z, const float* dt_bias,
    const float* state, T* out, float* new_state, int dim)
{
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    const int b = blockIdx.y;
    if (channel >= dim) {
        return;
    }
    const size_t row = (size_t)b * dim + channel;
    const float input = float(x[row]);
    float step = float(dt[row]);
    if (HAS_DT_BIAS) {
        step += dt_bias[channel];
    }
    if (DT_SOFTPLUS) {
        // ln(1 + e^x), which is x itself to within f32 where e^x would lose the 1.
        step = step > 20.0f ? step : log1pf(expf(step));
    }
    float y = HAS_D ? D[channel] * input : 0.0f;
    for (int n = 0; n < STATES; ++n) {
        const float decay = expf(step * A[channel * STATES + n]);
        const float moved = decay * state[row * STATES + n] + step * float(B[b * STATES + n]) * input;
        new_state[row * STATES + n] = moved;
        y += moved * float(C[b * STATES + n]);
    }
    if (HAS_Z) {
        const float gate = float(z[row]);
        y *= gate / (1.0f + expf(-gate));
    }
    out[row] = T(y);
}
