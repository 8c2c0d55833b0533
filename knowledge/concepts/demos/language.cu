// Parts of CUDA C++ beside their forms in language.metal.
__device__ int sum_to(int n) { int sum = 0; for (; n > 0; n /= 2) sum += n; return sum; }

__global__ void function_object(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, by = 3;
    auto f = [by](int v) { return v * by + 1; };
    y[t] = f(x[t]);
}

__global__ void loop_for_recursion(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = sum_to(x[t] + t);
}

__global__ void hints(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    #pragma unroll
    for (int i = 0; i < 8; i++) sum += x[(t + i) % 64];
    __builtin_assume(sum >= 0);
    y[t] = sum / 2;
}
