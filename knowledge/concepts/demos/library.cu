// The work of library.metal in plain CUDA.
__global__ void block_reduce(const int* x, int* y)
{
    __shared__ int part[128];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 128 + t];
    __syncthreads();
    for (int n = 64; n > 0; n /= 2) {
        if (t < n) part[t] += part[t + n];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = part[0];
}

__global__ void squares(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < 8) {
        int sum = 0;
        for (int i = 0; i < 32; i++) sum += x[t * 32 + i] * x[t * 32 + i];
        y[t] = sum;
    }
}

__global__ void total(const int* x, int* y)
{
    int sum = 0;
    for (int i = 0; i < 8; i++) sum += y[i];
    y[8] = sum + 0 * x[0];
}
