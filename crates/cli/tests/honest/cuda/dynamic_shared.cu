// The same, the shared memory given by the launch.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R", 1, 1]
threadgroup = [64, 1, 1]
[dispatch.args]
shared = { threadgroup = 256 }
*/

#include <cuda_fp16.h>

extern "C" __global__ void softmax(const T* x, T* out, int R, int C, float scale)
{
    const int row = blockIdx.x;
    const T* logits = x + (size_t)row * C;
    T* result = out + (size_t)row * C;
    extern __shared__ float shared[];
    float largest = -3.0e38f;
    for (int c = threadIdx.x; c < C; c += 64) largest = fmaxf(largest, scale * float(logits[c]));
    shared[threadIdx.x] = largest;
    __syncthreads();
    for (int reach = 32; reach > 0; reach /= 2) {
        if (threadIdx.x < reach) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + reach]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = threadIdx.x; c < C; c += 64) sum += expf(scale * float(logits[c]) - largest);
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int reach = 32; reach > 0; reach /= 2) {
        if (threadIdx.x < reach) shared[threadIdx.x] = shared[threadIdx.x] + shared[threadIdx.x + reach];
        __syncthreads();
    }
    sum = shared[0];
    __syncthreads();
    for (int c = threadIdx.x; c < C; c += 64) result[c] = T(expf(scale * float(logits[c]) - largest) / sum);
}
