// Row softmax: one warp per row, four rows per block, one pass with a running maximum and a running sum.
#include <cuda_runtime.h>
#include <math.h>

#define FULL_MASK 0xffffffffu
#define WARPS_PER_BLOCK 4

__inline__ __device__ float warp_max(float v)
{
    for (int offset = 16; offset > 0; offset >>= 1) {
        v = fmaxf(v, __shfl_xor_sync(FULL_MASK, v, offset));
    }
    return v;
}

__inline__ __device__ float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset >>= 1) {
        v += __shfl_xor_sync(FULL_MASK, v, offset);
    }
    return v;
}

__global__ void __launch_bounds__(WARPS_PER_BLOCK * 32)
softmax_warp(const float* __restrict__ x, float* __restrict__ y, int rows, int cols)
{
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.x * WARPS_PER_BLOCK + warp;
    if (row >= rows) return;

    const float* in = x + row * cols;
    float* out = y + row * cols;

    float m = -INFINITY;
    float s = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        const float v = __ldg(in + c);
        const float next = fmaxf(m, v);
        s = s * __expf(m - next) + __expf(v - next);
        m = next;
    }
    // A lane without an element holds -inf and adds nothing.
    const float top = warp_max(m);
    const float part = (m == -INFINITY) ? 0.0f : s * __expf(m - top);
    const float inv = 1.0f / warp_sum(part);

    for (int c = lane; c < cols; c += 32) {
        out[c] = __expf(__ldg(in + c) - top) * inv;
    }
}

void softmax(const float* x, float* y, int rows, int cols)
{
    float *dx, *dy;
    cudaMalloc(&dx, rows * cols * sizeof(float));
    cudaMalloc(&dy, rows * cols * sizeof(float));
    cudaMemcpy(dx, x, rows * cols * sizeof(float), cudaMemcpyHostToDevice);

    const int blocks = (rows + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK;
    softmax_warp<<<blocks, WARPS_PER_BLOCK * 32>>>(dx, dy, rows, cols);

    cudaMemcpy(y, dy, rows * cols * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dy);
}
