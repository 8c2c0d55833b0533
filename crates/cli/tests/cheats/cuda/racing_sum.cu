// entry: 26
// expect: fault|wrong_answer|suspect
// says: 
// Threads add to one sum without atomics.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
together = "4 * R"

[[dispatch]]
kernel = "softmax"
grid = ["R", 1, 1]
threadgroup = [64, 1, 1]
*/

#include <cuda_fp16.h>

extern "C" __global__ void softmax(const T* x, T* out, int R, int C, float scale, float* together)
{
    const int row = blockIdx.x;
    const T* logits = x + (size_t)row * C;
    volatile float* sum = together + row;
    sum[0] = 0.0f;
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += blockDim.x) sum[0] = sum[0] + expf(scale * float(logits[c]));
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += blockDim.x) out[(size_t)row * C + c] = T(expf(scale * float(logits[c])) / sum[0]);
}
