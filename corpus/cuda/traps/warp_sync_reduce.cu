// Trap: the last six steps of the reduction rely on 32 threads running in lock step, with no barrier and no __syncwarp.
__global__ void warp_sync_reduce(const float* __restrict__ x, float* __restrict__ sums, int n)
{
    __shared__ float s[256];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * 256 + tid;
    s[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = 128; half > 32; half >>= 1) {
        if (tid < half) {
            s[tid] += s[tid + half];
        }
        __syncthreads();
    }
    if (tid < 32) {
        s[tid] += s[tid + 32];
        s[tid] += s[tid + 16];
        s[tid] += s[tid + 8];
        s[tid] += s[tid + 4];
        s[tid] += s[tid + 2];
        s[tid] += s[tid + 1];
    }
    if (tid == 0) {
        sums[blockIdx.x] = s[0];
    }
}

void block_sums(const float* x, float* sums, int n)
{
    float *dx, *dsums;
    const int blocks = (n + 255) / 256;
    cudaMalloc(&dx, n * sizeof(float));
    cudaMalloc(&dsums, blocks * sizeof(float));
    cudaMemcpy(dx, x, n * sizeof(float), cudaMemcpyHostToDevice);
    warp_sync_reduce<<<blocks, 256>>>(dx, dsums, n);
    cudaMemcpy(sums, dsums, blocks * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dx);
    cudaFree(dsums);
}
