// Computes in 64 bits.
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
    double largest = -3.0e38;
    for (int c = 0; c < C; ++c) largest = fmax(largest, double(scale) * float(logits[c]));
    double sum = 0.0;
    for (int c = 0; c < C; ++c) sum += exp(double(scale) * float(logits[c]) - largest);
    for (int c = 0; c < C; ++c) result[c] = T(float(exp(double(scale) * float(logits[c]) - largest) / sum));
}
