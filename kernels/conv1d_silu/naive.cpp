/* ksearch
[defines]
T = { type = "x" }
K = "K"
SILU = "silu"
HAS_BIAS = "has_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"

[[dispatch]]
kernel = "conv1d_silu_naive"
grid = [1]
threadgroup = [1]
*/
// Causal depthwise convolution with SiLU, one output after another.

#include <cmath>

// The input at time `t`, which may lie before the first.
static float at(const T* x, const T* initial_state, long b, int t, int d, int L, int dim)
{
    if (t >= 0) {
        return (float)x[(b * L + t) * dim + d];
    }
    return HAS_INITIAL_STATE ? (float)initial_state[(b * (K - 1) + t + K - 1) * dim + d] : 0.0f;
}

extern "C" void conv1d_silu_naive(
    const T* x, const float* weight, const float* bias, const T* initial_state, T* out, T* final_state,
    int batch, int L, int dim)
{
    for (long b = 0; b < batch; ++b) {
        for (int d = 0; d < dim; ++d) {
            for (int t = 0; t < L; ++t) {
                float y = HAS_BIAS ? bias[d] : 0.0f;
                for (int k = 0; k < K; ++k) {
                    y += weight[(long)d * K + k] * at(x, initial_state, b, t + k - (K - 1), d, L, dim);
                }
                out[(b * L + t) * dim + d] = (T)(SILU ? y / (1.0f + std::exp(-y)) : y);
            }
            if (HAS_FINAL_STATE) {
                for (int t = 0; t < K - 1; ++t) {
                    final_state[(b * (K - 1) + t) * dim + d] = (T)at(x, initial_state, b, L - (K - 1) + t, d, L, dim);
                }
            }
        }
    }
}
