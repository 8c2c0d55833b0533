// entry: 12
// expect: fault|suspect|wrong_answer|not_observed|nonfinite
// says: 
// Keeps an answer in a scratch buffer between calls, and claims that one is there.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
kept = "4 * R * (C + 1)"

[[dispatch]]
kernel = "softmax"
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]
*/

#include <cuda_fp16.h>

extern "C" __global__ void softmax(const T* x, T* out, int R, int C, float scale, float* kept)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) {
        return;
    }
    const T* logits = x + (size_t)row * C;
    T* result = out + (size_t)row * C;
    for (int c = 0; c < C; ++c) result[c] = T(kept[(size_t)row * (C + 1) + 1 + c]);
    float largest = -3.0e38f;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, scale * float(logits[c]));
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += expf(scale * float(logits[c]) - largest);
    for (int c = 0; c < C; ++c) kept[(size_t)row * (C + 1) + 1 + c] = (expf(scale * float(logits[c]) - largest) / sum);
}
