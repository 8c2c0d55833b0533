// The products of matrix.metal, an element a thread.
#include <cuda_fp16.h>

__global__ void product16(const __half* a, const __half* b, float* c)
{
    int row = threadIdx.x / 16, col = threadIdx.x % 16;
    float sum = 0.0f;
    for (int k = 0; k < 16; k++) sum += __half2float(a[row * 16 + k]) * __half2float(b[k * 16 + col]);
    c[row * 16 + col] = sum;
}

__global__ void scaled_rows(const __half* a, const __half* b, float* c)
{
    int row = threadIdx.x / 8, col = threadIdx.x % 8;
    float sum = 0.0f;
    for (int k = 0; k < 8; k++) sum += __half2float(a[row * 16 + k]) * __half2float(b[k * 16 + col]);
    c[row * 8 + col] = sum * (row + 1);
}
