// A scratch buffer, written before it is read.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
weights = "4 * R * C"

[[dispatch]]
kernel = "softmax"
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]
*/

#include <cuda_fp16.h>

extern "C" __global__ void softmax(const T* x, T* out, int R, int C, float scale, float* weights)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) {
        return;
    }
    const T* logits = x + (size_t)row * C;
    T* result = out + (size_t)row * C;
    float largest = -3.0e38f;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, scale * float(logits[c]));
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += weights[(size_t)row * C + c] = expf(scale * float(logits[c]) - largest);
    for (int c = 0; c < C; ++c) result[c] = T(weights[(size_t)row * C + c] / sum);
}
