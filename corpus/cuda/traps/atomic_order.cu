// Trap: the position of each kept element is the order in which blocks reach the counter, which no machine promises.
__global__ void atomic_order(const float* __restrict__ x, float* __restrict__ kept, int* __restrict__ count, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.0f) {
        const int slot = atomicAdd(count, 1);
        kept[slot] = x[i];
    }
}

void keep_positive(const float* x, float* kept, int* count, int n)
{
    float *dx, *dkept;
    int* dcount;
    cudaMalloc(&dx, n * sizeof(float));
    cudaMalloc(&dkept, n * sizeof(float));
    cudaMalloc(&dcount, sizeof(int));
    cudaMemcpy(dx, x, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(dkept, 0, n * sizeof(float));
    cudaMemset(dcount, 0, sizeof(int));
    atomic_order<<<(n + 127) / 128, 128>>>(dx, dkept, dcount, n);
    cudaMemcpy(kept, dkept, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(count, dcount, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dkept);
    cudaFree(dcount);
}
