// entry: 23
// expect: not_observed
// says: wrote nothing
// Does nothing at all.
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
}
