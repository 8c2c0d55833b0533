// CUDA's launches, one kernel for each form in launch.metal that the simulator's CUDA knows.
__global__ void indices(const int* x, int* y)
{
    int i = (blockIdx.y * blockDim.y + threadIdx.y) * gridDim.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + threadIdx.x + 10 * threadIdx.y + 100 * blockIdx.x + 1000 * blockIdx.y;
}

__global__ void __launch_bounds__(64) bounded(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = 3 * x[t];
}
