// Trap: a barrier over the whole grid, made of a counter that every block waits on. It needs all blocks to be resident
// at once, which Metal never promises.
__device__ void wait_for_all(unsigned int* arrived, unsigned int blocks)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        volatile unsigned int* watch = arrived;
        while (*watch < blocks) {
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void grid_barrier(const float* __restrict__ x, float* scratch, float* __restrict__ y,
                             unsigned int* arrived, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        scratch[i] = 2.0f * x[i];
    }
    wait_for_all(arrived, gridDim.x);
    if (i < n) {
        y[i] = scratch[n - 1 - i];
    }
}

void double_and_reverse(const float* x, float* y, int n)
{
    float *dx, *dscratch, *dy;
    unsigned int* darrived;
    cudaMalloc(&dx, n * sizeof(float));
    cudaMalloc(&dscratch, n * sizeof(float));
    cudaMalloc(&dy, n * sizeof(float));
    cudaMalloc(&darrived, sizeof(unsigned int));
    cudaMemcpy(dx, x, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemset(darrived, 0, sizeof(unsigned int));
    grid_barrier<<<(n + 255) / 256, 256>>>(dx, dscratch, dy, darrived, n);
    cudaMemcpy(y, dy, n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dscratch);
    cudaFree(dy);
    cudaFree(darrived);
}
