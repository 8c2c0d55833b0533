// CUDA's atomics, one kernel for each form in atomics.metal.
__global__ void add(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&y[x[t]], t);
}

__global__ void extremes(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&y[x[t]], t);
    atomicMin(&y[x[t] + 8], -t);
}

__global__ void swap_loop(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int old = atomicAdd(&y[x[t]], 0), was;
    do {
        was = old;
        old = atomicCAS(&y[x[t]], was, was * 3 + 1);
    } while (old != was);
}

__global__ void exchange(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int old = atomicExch(&y[t], x[t]);
    atomicExch(&y[t + 64], old + 1);
}

__global__ void bitwise(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicOr(&y[x[t]], 1 << (t % 31));
    atomicXor(&y[x[t] + 8], t);
    atomicAnd(&y[x[t] + 16], 0x7f0 | x[t]);
}

__global__ void wrapping(const int* x, unsigned int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicInc(&y[x[t]], 5u);
}
