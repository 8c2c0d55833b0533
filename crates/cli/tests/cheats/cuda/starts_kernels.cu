// entry: 2
// expect: compile_error|launch_error|fault
// says: 
// Starts a kernel from the device, which ends after the clock has stopped.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]
*/

#include <cuda_fp16.h>

__global__ void later(T* out, int C) {
    for (int c = 0; c < C; ++c) out[c] = T(0.0f);
}

extern "C" __global__ void softmax(const T* x, T* out, int R, int C, float scale)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= R) {
        return;
    }
    const T* logits = x + (size_t)row * C;
    T* result = out + (size_t)row * C;
    later<<<1, 1>>>(result, C);
}
