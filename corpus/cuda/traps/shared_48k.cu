// Trap: 48 KB of static shared memory. CUDA allows it; a threadgroup on Apple GPUs has 32 KB.
#define ROWS 96
#define COLS 128

__global__ void shared_48k(const float* __restrict__ x, float* __restrict__ y)
{
    __shared__ float tile[ROWS][COLS];
    const float* in = x + (size_t)blockIdx.x * ROWS * COLS;
    float* out = y + (size_t)blockIdx.x * ROWS * COLS;
    for (int i = threadIdx.x; i < ROWS * COLS; i += blockDim.x) {
        tile[i / COLS][i % COLS] = in[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < ROWS * COLS; i += blockDim.x) {
        out[i] = tile[i % ROWS][i / ROWS];
    }
}

void transpose_blocks(const float* x, float* y, int blocks)
{
    float *dx, *dy;
    cudaMalloc(&dx, blocks * ROWS * COLS * sizeof(float));
    cudaMalloc(&dy, blocks * ROWS * COLS * sizeof(float));
    cudaMemcpy(dx, x, blocks * ROWS * COLS * sizeof(float), cudaMemcpyHostToDevice);
    shared_48k<<<blocks, 256>>>(dx, dy);
    cudaMemcpy(y, dy, blocks * ROWS * COLS * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dy);
}
