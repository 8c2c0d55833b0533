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

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void ssd_naive(
    const T* x, const T* dt, const float* A, const T* B, const T* C, const float* D, const float* dt_bias,
    const float* initial_state, T* out, float* final_state, int L, int heads, int P, int groups)
{
    const int p = blockIdx.x * blockDim.x + threadIdx.x;
    const int head = blockIdx.y;
    const int b = blockIdx.z;
    if (p >= P) {
        return;
    }
    const int group = head / (heads / groups);
    const size_t held = (((size_t)b * heads + head) * P + p) * STATES;
    float state[STATES];
    for (int n = 0; n < STATES; ++n) {
        state[n] = HAS_INITIAL_STATE ? initial_state[held + n] : 0.0f;
    }
    for (int l = 0; l < L; ++l) {
        const size_t at = ((size_t)b * L + l) * heads + head;
        float step = float(dt[at]);
        if (HAS_DT_BIAS) {
            step += dt_bias[head];
        }
        if (DT_SOFTPLUS) {
            // ln(1 + e^x), which is x itself to within f32 where e^x would lose the 1.
            step = step > 20.0f ? step : log1pf(expf(step));
        }
        const float decay = expf(step * A[head]);
        const float input = float(x[at * P + p]);
        const T* B_row = B + (((size_t)b * L + l) * groups + group) * STATES;
        const T* C_row = C + (((size_t)b * L + l) * groups + group) * STATES;
        float y = HAS_D ? D[head] * input : 0.0f;
        for (int n = 0; n < STATES; ++n) {
            state[n] = decay * state[n] + step * input * float(B_row[n]);
            y += state[n] * float(C_row[n]);
        }
        out[at * P + p] = T(y);
    }
    if (HAS_FINAL_STATE) {
        for (int n = 0; n < STATES; ++n) {
            final_state[held + n] = state[n];
        }
    }
}
