// CUDA's number types, one kernel for each form in types.metal that the simulator's CUDA knows.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void halves(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __half a = __float2half(x[t]), b = __float2half(0.1f);
    y[t] = __half2float(__hmul(a, b)) + __half2float(__hadd(a, b));
}

__global__ void pairs(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 s = __hadd2(__floats2half2_rn(x[t], x[63 - t]), __floats2half2_rn(0.5f, 0.25f));
    y[t] = __low2float(s) * 4.0f + __high2float(s);
}

__global__ void brain(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = __bfloat162float(__float2bfloat16(x[t] * 0.37f));
}

__global__ void compensated(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 16777216.0;
    for (int i = 0; i < 64; i++) sum += 0.125 + 0.0 * x[i];
    y[t] = (float)(sum - 16777216.0);
}

__global__ void wide(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    long long product = (long long)(100000 + t) * 100000LL;
    y[t] = (float)(product / 1000000LL) + 0.0f * x[t];
}
