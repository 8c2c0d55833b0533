// CUDA's barriers and fences, one kernel for each form in synchronization.metal that the simulator's CUDA knows.
__global__ void barrier_of_block(const int* x, int* y)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = tile[(threadIdx.x * 7 + 3) % 64];
}

__global__ void counted_barrier(const int* x, int* y)
{
    int t = blockIdx.x * 64 + threadIdx.x;
    y[t] = __syncthreads_count(x[t] > 5);
}

__global__ void barrier_of_warp(const int* x, int* y)
{
    __shared__ int tile[64];
    int t = threadIdx.x, lane = t % 32;
    tile[t] = x[blockIdx.x * 64 + t];
    __syncwarp();
    y[blockIdx.x * 64 + t] = tile[t - lane + (lane * 5 + 1) % 32];
}

__global__ void fenced(const int* x, int* y)
{
    int t = threadIdx.x, base = blockIdx.x * 64;
    y[base + t] = x[base + t];
    __threadfence_block();
    __syncthreads();
    int other = y[base + (t + 1) % 64];
    __syncthreads();
    y[base + t] = other;
}
