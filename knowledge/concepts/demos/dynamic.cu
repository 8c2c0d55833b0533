// Shared memory that the launch sizes; its Metal form is in memory.metal.
__global__ void dynamic_shared_memory(const float* x, float* y)
{
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = tile[(threadIdx.x + 1) % 64];
}
