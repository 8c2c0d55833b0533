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
grid = [1]
threadgroup = [1]
*/
// One step of the selective scan, one channel after another.

#include <cmath>

extern "C" void scan_step_naive(
    const T* x, const T* dt, const float* A, const T* B, const T* C, const float* D, const T* z,
    const float* dt_bias, const float* state, T* out, float* new_state, int batch, int dim)
{
    for (long row = 0; row < (long)batch * dim; ++row) {
        const long b = row / dim, channel = row % dim;
        const float input = (float)x[row];
        float step = (float)dt[row] + (HAS_DT_BIAS ? dt_bias[channel] : 0.0f);
        if (DT_SOFTPLUS) {
            step = step > 20.0f ? step : std::log1p(std::exp(step));
        }
        float y = HAS_D ? D[channel] * input : 0.0f;
        for (int n = 0; n < STATES; ++n) {
            const float decay = std::exp(step * A[channel * STATES + n]);
            const float moved = decay * state[row * STATES + n] + step * (float)B[b * STATES + n] * input;
            new_state[row * STATES + n] = moved;
            y += moved * (float)C[b * STATES + n];
        }
        if (HAS_Z) {
            const float gate = (float)z[row];
            y *= gate / (1.0f + std::exp(-gate));
        }
        out[row] = (T)y;
    }
}
