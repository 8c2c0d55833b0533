// Layer norm: one block per row. Mean and variance by a reduction in two stages: inside each warp by shuffles, then
// over the warps' results through shared memory.
#include <cuda_runtime.h>

template <int THREADS>
__device__ float block_sum(float v)
{
    __shared__ float partial[THREADS / 32];
    __shared__ float total;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    for (int offset = 16; offset > 0; offset /= 2) {
        v += __shfl_down_sync(0xffffffffu, v, offset);
    }
    if (lane == 0) {
        partial[warp] = v;
    }
    __syncthreads();
    if (warp == 0) {
        v = lane < THREADS / 32 ? partial[lane] : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2) {
            v += __shfl_down_sync(0xffffffffu, v, offset);
        }
        if (lane == 0) {
            total = v;
        }
    }
    __syncthreads();
    const float result = total;
    __syncthreads();
    return result;
}

template <typename T, int THREADS>
__global__ void __launch_bounds__(THREADS)
layer_norm(const T* __restrict__ x, const T* __restrict__ gamma, const T* __restrict__ beta, T* __restrict__ y,
           int cols, float eps)
{
    const T* in = x + (size_t)blockIdx.x * cols;
    T* out = y + (size_t)blockIdx.x * cols;

    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += THREADS) {
        sum += (float)in[c];
    }
    const float mean = block_sum<THREADS>(sum) / cols;

    float square = 0.0f;
    for (int c = threadIdx.x; c < cols; c += THREADS) {
        const float d = (float)in[c] - mean;
        square += d * d;
    }
    const float rstd = rsqrtf(block_sum<THREADS>(square) / cols + eps);

    for (int c = threadIdx.x; c < cols; c += THREADS) {
        out[c] = (T)(((float)in[c] - mean) * rstd * (float)gamma[c] + (float)beta[c]);
    }
}

void layer_norm_forward(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols, float eps)
{
    float *dx, *dgamma, *dbeta, *dy;
    cudaMalloc(&dx, rows * cols * sizeof(float));
    cudaMalloc(&dgamma, cols * sizeof(float));
    cudaMalloc(&dbeta, cols * sizeof(float));
    cudaMalloc(&dy, rows * cols * sizeof(float));
    cudaMemcpy(dx, x, rows * cols * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dgamma, gamma, cols * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dbeta, beta, cols * sizeof(float), cudaMemcpyHostToDevice);

    layer_norm<float, 256><<<rows, 256>>>(dx, dgamma, dbeta, dy, cols, eps);

    cudaMemcpy(y, dy, rows * cols * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dgamma);
    cudaFree(dbeta);
    cudaFree(dy);
}
