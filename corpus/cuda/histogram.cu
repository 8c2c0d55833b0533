// Histogram of bytes: private counts per block in shared memory, merged into the result with global atomics.
#include <cuda_runtime.h>

#define BINS 256

__global__ void histogram(const unsigned char* __restrict__ data, unsigned int* __restrict__ counts, int n)
{
    __shared__ unsigned int local[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x) {
        local[i] = 0;
    }
    __syncthreads();

    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        atomicAdd(&local[data[i]], 1u);
    }
    __syncthreads();

    for (int i = threadIdx.x; i < BINS; i += blockDim.x) {
        if (local[i] != 0) {
            atomicAdd(&counts[i], local[i]);
        }
    }
}

void histogram256(const unsigned char* data, unsigned int* counts, int n)
{
    unsigned char* d_data;
    unsigned int* d_counts;
    cudaMalloc(&d_data, n);
    cudaMalloc(&d_counts, BINS * sizeof(unsigned int));
    cudaMemcpy(d_data, data, n, cudaMemcpyHostToDevice);
    cudaMemset(d_counts, 0, BINS * sizeof(unsigned int));

    const int threads = 256;
    const int blocks = min(64, (n + threads - 1) / threads);
    histogram<<<blocks, threads>>>(d_data, d_counts, n);

    cudaMemcpy(counts, d_counts, BINS * sizeof(unsigned int), cudaMemcpyDeviceToHost);
    cudaFree(d_data);
    cudaFree(d_counts);
}
