// Trap: launch bounds ask for 2048 threads in a block. Neither CUDA nor Metal launches more than 1024.
__global__ void __launch_bounds__(2048) block_2048(const float* __restrict__ x, float* __restrict__ y, int n)
{
    const int i = blockIdx.x * 2048 + threadIdx.x;
    if (i < n) {
        y[i] = x[i] * x[i];
    }
}

void square(const float* x, float* y, int n)
{
    float *dx, *dy;
    cudaMalloc(&dx, n * sizeof(float));
    cudaMalloc(&dy, n * sizeof(float));
    cudaMemcpy(dx, x, n * sizeof(float), cudaMemcpyHostToDevice);
    block_2048<<<(n + 2047) / 2048, 2048>>>(dx, dy, n);
    cudaMemcpy(y, dy, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dy);
}
