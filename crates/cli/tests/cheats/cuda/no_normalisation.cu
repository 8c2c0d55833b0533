// entry: 22
// expect: wrong_answer
// says: allowed error
// Leaves out the division.
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
    float largest = -3.0e38f;
    for (int c = 0; c < C; ++c) largest = fmaxf(largest, scale * float(logits[c]));
    for (int c = 0; c < C; ++c) result[c] = T(expf(scale * float(logits[c]) - largest));
}
