// entry: 19
// expect: wrong_answer|not_observed
// says: 
// stage: held_out
// Works on the shapes the search shows and on no other.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]
*/

#include <cuda_fp16.h>

extern "C" __global__ void softmax(const T* x, T* out, int R, int C, float scale)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) {
        return;
    }
    const T* logits = x + (size_t)row * C;
    T* result = out + (size_t)row * C;
    if (C != 512 && C != 256 && C != 131) {
        for (int c = 0; c < C; ++c) result[c] = T(1.0f / float(C));
        return;
    }
    float largest = -3.0e38f;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, scale * float(logits[c]));
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += expf(scale * float(logits[c]) - largest);
    for (int c = 0; c < C; ++c) result[c] = T(expf(scale * float(logits[c]) - largest) / sum);
}
