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
grid = [1]
threadgroup = [1]
*/
// Mamba-1 selective scan, one channel after another: walks through time with the channel's state.

#include <cmath>

extern "C" void selective_scan_naive(
    const T* u, const T* delta, const float* A, const T* B, const T* C, const float* D, const T* z,
    const float* delta_bias, const float* initial_state, T* out, float* final_state,
    int batch, int dim, int groups, int L)
{
    for (long row = 0; row < (long)batch * dim; ++row) {
        const int channel = (int)(row % dim);
        const long group = row / dim * groups + channel / (dim / groups);
        const T* B_group = B + group * STATES * L;
        const T* C_group = C + group * STATES * L;
        float state[STATES];
        for (int n = 0; n < STATES; ++n) {
            state[n] = HAS_INITIAL_STATE ? initial_state[row * STATES + n] : 0.0f;
        }
        for (int t = 0; t < L; ++t) {
            const float input = (float)u[row * L + t];
            float dt = (float)delta[row * L + t];
            if (HAS_DELTA_BIAS) {
                dt += delta_bias[channel];
            }
            if (DELTA_SOFTPLUS) {
                dt = dt > 20.0f ? dt : std::log1p(std::exp(dt));
            }
            float y = HAS_D ? D[channel] * input : 0.0f;
            for (int n = 0; n < STATES; ++n) {
                const float decay = std::exp(dt * A[channel * STATES + n]);
                state[n] = decay * state[n] + dt * (float)B_group[(long)n * L + t] * input;
                y += state[n] * (float)C_group[(long)n * L + t];
            }
            if (HAS_Z) {
                const float gate = (float)z[row * L + t];
                y *= gate / (1.0f + std::exp(-gate));
            }
            out[row * L + t] = (T)y;
        }
        if (HAS_FINAL_STATE) {
            for (int n = 0; n < STATES; ++n) {
                final_state[row * STATES + n] = state[n];
            }
        }
    }
}
