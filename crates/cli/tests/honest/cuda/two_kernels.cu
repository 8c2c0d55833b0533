// Weights by one kernel, division by another.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
sums = "4 * R"

[[dispatch]]
kernel = "sum_up"
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]

[[dispatch]]
kernel = "softmax"
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]
*/

#include <cuda_fp16.h>

extern "C" __global__ void sum_up(const T* x, float* sums, int R, int C, float scale)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) {
        return;
    }
    const T* logits = x + (size_t)row * C;
    float largest = -3.0e38f;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, scale * float(logits[c]));
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += expf(scale * float(logits[c]) - largest);
    sums[row] = sum;
}

extern "C" __global__ void softmax(const T* x, T* out, int R, int C, float scale, const float* sums)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) {
        return;
    }
    const T* logits = x + (size_t)row * C;
    T* result = out + (size_t)row * C;
    float largest = -3.0e38f;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, scale * float(logits[c]));
    const float sum = sums[row];
    for (int c = 0; c < C; ++c) result[c] = T(expf(scale * float(logits[c]) - largest) / sum);
}
