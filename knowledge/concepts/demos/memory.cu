// CUDA's memory spaces and accesses, one kernel for each form in memory.metal that the simulator's CUDA knows.
__global__ void static_shared(const float* x, float* y)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
}

__constant__ float weights[4] = {0.5f, 1.0f, 2.0f, 4.0f};

__global__ void constants(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = x[t] * weights[t % 4];
}

__global__ void plain_loads(const float* __restrict__ x, float* __restrict__ y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = __ldg(x + t) + __ldg(&x[255 - t]);
}

__global__ void hinted_loads(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __stcs(y + t, __ldcs(x + t) + __ldcg(&x[255 - t]));
}

__global__ void vectors(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = reinterpret_cast<const float4*>(x)[t];
    reinterpret_cast<float4*>(y)[t] = make_float4(v.w * 2.0f, v.z * 2.0f, v.y * 2.0f, v.x * 2.0f);
}

__global__ void two_buffers(const float* x, float* y)
{
    float sum = 0.0f;
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 64; i++) sum += x[k * 64 + i] * (i == threadIdx.x || i == 0 ? 1.0f : 0.0f);
    }
    y[threadIdx.x] = sum;
}
