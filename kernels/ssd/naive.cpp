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
grid = [1]
threadgroup = [1]
*/
// Mamba-2's scan, one position of a head after another: walks through time with its states.

#include <cmath>

extern "C" void ssd_naive(
    const T* x, const T* dt, const float* A, const T* B, const T* C, const float* D, const float* dt_bias,
    const float* initial_state, T* out, float* final_state, int batch, int L, int heads, int P, int groups)
{
    for (long row = 0; row < (long)batch * heads * P; ++row) {
        const long b = row / P / heads, p = row % P;
        const int head = (int)(row / P % heads), group = head / (heads / groups);
        float state[STATES];
        for (int n = 0; n < STATES; ++n) {
            state[n] = HAS_INITIAL_STATE ? initial_state[row * STATES + n] : 0.0f;
        }
        for (int t = 0; t < L; ++t) {
            const long at = (b * L + t) * heads + head;
            float step = (float)dt[at] + (HAS_DT_BIAS ? dt_bias[head] : 0.0f);
            if (DT_SOFTPLUS) {
                step = step > 20.0f ? step : std::log1p(std::exp(step));
            }
            const float decay = std::exp(step * A[head]), input = (float)x[at * P + p];
            const T* B_row = B + ((b * L + t) * groups + group) * STATES;
            const T* C_row = C + ((b * L + t) * groups + group) * STATES;
            float y = HAS_D ? D[head] * input : 0.0f;
            for (int n = 0; n < STATES; ++n) {
                state[n] = decay * state[n] + step * input * (float)B_row[n];
                y += state[n] * (float)C_row[n];
            }
            out[at * P + p] = (T)y;
        }
        if (HAS_FINAL_STATE) {
            for (int n = 0; n < STATES; ++n) {
                final_state[row * STATES + n] = state[n];
            }
        }
    }
}
