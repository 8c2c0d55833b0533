// entry: 26
// expect: fault|wrong_answer|nonfinite|suspect
// says: 
// Adds shared memory that nobody wrote.
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
    __shared__ float sums[64];
    volatile float* left = sums;
    float largest = -3.0e38f;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, scale * float(logits[c]));
    float sum = 1.0e-3f + fabsf(left[(threadIdx.x + 1) % 64]);
    left[threadIdx.x] = largest;
    for (int c = 0; c < C; ++c) sum += expf(scale * float(logits[c]) - largest);
    for (int c = 0; c < C; ++c) result[c] = T(expf(scale * float(logits[c]) - largest) / sum);
}
