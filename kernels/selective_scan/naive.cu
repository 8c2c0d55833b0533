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

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void selective_scan_naive(
    const T* u, const T* delta, const float* A, const T* B, const T* C, const float* D, const T* z,
    const float* delta_bias, const float* initial_state, T* out, float* final_state, int dim, int groups, int L)
{
    const int channel = blockIdx.x * blockDim.x + threadIdx.x;
    const int batch = blockIdx.y;
    if (channel >= dim) {
        return;
    }
    const size_t row = (size_t)batch * dim + channel;
    const int group = channel / (dim / groups);
    const T* B_group = B + (size_t)(batch * groups + group) * STATES * L;
    const T* C_group = C + (size_t)(batch * groups + group) * STATES * L;

    float state[STATES];
    for (int n = 0; n < STATES; ++n) {
        state[n] = HAS_INITIAL_STATE ? initial_state[row * STATES + n] : 0.0f;
    }
    for (int l = 0; l < L; ++l) {
        const float input = float(u[row * L + l]);
        float dt = float(delta[row * L + l]);
        if (HAS_DELTA_BIAS) {
            dt += delta_bias[channel];
        }
        if (DELTA_SOFTPLUS) {
            // ln(1 + e^x), which is x itself to within f32 where e^x would lose the 1.
            dt = dt > 20.0f ? dt : log1pf(expf(dt));
        }
        float y = HAS_D ? D[channel] * input : 0.0f;
        for (int n = 0; n < STATES; ++n) {
            const float decay = expf(dt * A[channel * STATES + n]);
            state[n] = decay * state[n] + dt * float(B_group[n * L + l]) * input;
            y += state[n] * float(C_group[n * L + l]);
        }
        if (HAS_Z) {
            const float gate = float(z[row * L + l]);
            y *= gate / (1.0f + expf(-gate));
        }
        out[row * L + l] = T(y);
    }
    if (HAS_FINAL_STATE) {
        for (int n = 0; n < STATES; ++n) {
            final_state[row * STATES + n] = state[n];
        }
    }
}
