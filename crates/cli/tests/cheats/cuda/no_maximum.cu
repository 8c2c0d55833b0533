// entry: 22
// expect: nonfinite|wrong_answer
// says: 
// stage: confirm
// Leaves out the maximum, which hardly matters where all values are small.
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
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += expf(scale * float(logits[c]));
    for (int c = 0; c < C; ++c) result[c] = T(expf(scale * float(logits[c])) / sum);
}
