/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "rows"
grid = ["R"]
threadgroup = [32]
*/
// Softmax over rows, a warp a row.

#include <cuda_fp16.h>

extern "C" __global__ void rows(const T* x, T* out, int C, float scale) {
    const T* from = x + (size_t)blockIdx.x * C;
    T* to = out + (size_t)blockIdx.x * C;
    float largest = -3.0e38f;
    for (int i = threadIdx.x; i < C; i += 32) {
        largest = fmaxf(largest, scale * float(from[i]));
    }
    for (int reach = 16; reach > 0; reach /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, reach));
    }
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += 32) {
        sum += expf(scale * float(from[i]) - largest);
    }
    for (int reach = 16; reach > 0; reach /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, reach);
    }
    for (int i = threadIdx.x; i < C; i += 32) {
        to[i] = T(expf(scale * float(from[i]) - largest) / sum);
    }
}
