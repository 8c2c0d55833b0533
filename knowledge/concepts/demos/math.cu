// CUDA's functions of numbers, one kernel for each form in math.metal.
__global__ void fast_functions(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = __expf(x[t]) + __logf(x[t] + 2.0f) + __sinf(x[t]);
}

__global__ void functions(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[t];
    y[t] = tanhf(v) + rsqrtf(v + 2.0f) + log1pf(expf(v)) + fmaf(v, v, 1.0f);
}

__global__ void rounded(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[t] * 3.7f;
    y[t] = (float)(__float2int_rn(v) + 10 * __float2int_rd(v) + 100 * __float2int_ru(v) + 1000 * __float2int_rz(v));
}

__global__ void bits(const float* x, float* y)
{
    unsigned int t = blockIdx.x * blockDim.x + threadIdx.x, v = t * 2654435761u;
    y[t] = (float)(__popc(v) + 100 * __clz(v) + 10000 * __ffs(v) + (__brev(v) & 7u)) + 0.0f * x[t];
}

__global__ void products(const float* x, float* y)
{
    unsigned int t = blockIdx.x * blockDim.x + threadIdx.x, v = t * 2654435761u;
    y[t] = (float)(__umulhi(v, 40503u) % 1000u + 1000u * ((v & 0xffffffu) * (t & 0xffffffu) % 1000u)) + 0.0f * x[t];
}

__global__ void bits_as_number(const float* x, float* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int bits = __float_as_uint(x[t]);
    y[t] = __uint_as_float(bits ^ 0x80000000u) + (float)(bits >> 23 & 255u);
}
