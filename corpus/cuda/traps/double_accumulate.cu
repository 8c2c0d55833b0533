// Trap: a float dot product that accumulates in double. Metal has no double; narrowing it silently changes the answer
// where terms cancel.
__global__ void double_accumulate(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ dots,
                                  int n)
{
    __shared__ double part[256];
    const float* pa = a + (size_t)blockIdx.x * n;
    const float* pb = b + (size_t)blockIdx.x * n;
    double sum = 0.0;
    for (int i = threadIdx.x; i < n; i += 256) {
        sum += (double)pa[i] * (double)pb[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half >>= 1) {
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        dots[blockIdx.x] = (float)part[0];
    }
}

void row_dots(const float* a, const float* b, float* dots, int rows, int n)
{
    float *da, *db, *ddots;
    cudaMalloc(&da, rows * n * sizeof(float));
    cudaMalloc(&db, rows * n * sizeof(float));
    cudaMalloc(&ddots, rows * sizeof(float));
    cudaMemcpy(da, a, rows * n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, rows * n * sizeof(float), cudaMemcpyHostToDevice);
    double_accumulate<<<rows, 256>>>(da, db, ddots, n);
    cudaMemcpy(dots, ddots, rows * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(da);
    cudaFree(db);
    cudaFree(ddots);
}
