// entry: 29
// expect: timeout
// says: did not end
// Waits for a block that never comes.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
flag = "4"

[[dispatch]]
kernel = "softmax"
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]
*/

#include <cuda_fp16.h>

extern "C" __global__ void softmax(const T* x, T* out, int R, int C, float scale, int* flag)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) {
        return;
    }
    const T* logits = x + (size_t)row * C;
    T* result = out + (size_t)row * C;
    while (atomicAdd(flag, 0) != 123456789) {
        __nanosleep(100);
    }
    float largest = -3.0e38f;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, scale * float(logits[c]));
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += expf(scale * float(logits[c]) - largest);
    for (int c = 0; c < C; ++c) result[c] = T(expf(scale * float(logits[c]) - largest) / sum);
}
