// Top-k of each row: one block per row, k rounds of an arg-max reduction. Ties go to the smaller column. The chosen
// elements are marked in a bit set in shared memory, so the input stays as it is.
#include <cuda_runtime.h>
#include <float.h>

#define THREADS 128

struct Best {
    float value;
    int index;
};

__device__ __forceinline__ Best better(Best a, Best b)
{
    return (b.value > a.value || (b.value == a.value && b.index < a.index)) ? b : a;
}

__device__ __forceinline__ Best warp_best(Best v)
{
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        Best other;
        other.value = __shfl_xor_sync(0xffffffff, v.value, mask);
        other.index = __shfl_xor_sync(0xffffffff, v.index, mask);
        v = better(v, other);
    }
    return v;
}

__global__ void top_k(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ indices, int cols,
                      int k)
{
    extern __shared__ unsigned int taken[];
    __shared__ Best partial[THREADS / 32];

    const int words = (cols + 31) / 32;
    for (int w = threadIdx.x; w < words; w += THREADS) {
        taken[w] = 0;
    }
    __syncthreads();

    const float* row = x + (size_t)blockIdx.x * cols;
    for (int round = 0; round < k; ++round) {
        Best best = {-FLT_MAX, 0x7fffffff};
        for (int c = threadIdx.x; c < cols; c += THREADS) {
            if (!(taken[c >> 5] & (1u << (c & 31)))) {
                Best here = {row[c], c};
                best = better(best, here);
            }
        }
        best = warp_best(best);
        if ((threadIdx.x & 31) == 0) {
            partial[threadIdx.x >> 5] = best;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < THREADS / 32; ++w) {
                best = better(best, partial[w]);
            }
            values[blockIdx.x * k + round] = best.value;
            indices[blockIdx.x * k + round] = best.index;
            taken[best.index >> 5] |= 1u << (best.index & 31);
        }
        __syncthreads();
    }
}

void top_k_rows(const float* x, float* values, int* indices, int rows, int cols, int k)
{
    float *dx, *dvalues;
    int* dindices;
    cudaMalloc(&dx, rows * cols * sizeof(float));
    cudaMalloc(&dvalues, rows * k * sizeof(float));
    cudaMalloc(&dindices, rows * k * sizeof(int));
    cudaMemcpy(dx, x, rows * cols * sizeof(float), cudaMemcpyHostToDevice);

    const size_t shared = (cols + 31) / 32 * sizeof(unsigned int);
    top_k<<<rows, THREADS, shared>>>(dx, dvalues, dindices, cols, k);

    cudaMemcpy(values, dvalues, rows * k * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(indices, dindices, rows * k * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dvalues);
    cudaFree(dindices);
}
