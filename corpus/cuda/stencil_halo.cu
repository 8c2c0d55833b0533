// 2-D cross stencil of radius 2 with a shared tile and its halo; outside the grid the nearest edge value counts.
#include <cuda_runtime.h>

#define RADIUS 2
#define BX 32
#define BY 8

__constant__ float weight[RADIUS + 1] = {0.40f, 0.10f, 0.05f};

__device__ __forceinline__ int clamp_index(int i, int n)
{
    return i < 0 ? 0 : (i >= n ? n - 1 : i);
}

__global__ void stencil_halo(const float* __restrict__ in, float* __restrict__ out, int ny, int nx)
{
    __shared__ float tile[BY + 2 * RADIUS][BX + 2 * RADIUS];

    const int gx = blockIdx.x * BX + threadIdx.x;
    const int gy = blockIdx.y * BY + threadIdx.y;

    for (int y = threadIdx.y; y < BY + 2 * RADIUS; y += BY) {
        for (int x = threadIdx.x; x < BX + 2 * RADIUS; x += BX) {
            const int sy = clamp_index(blockIdx.y * BY + y - RADIUS, ny);
            const int sx = clamp_index(blockIdx.x * BX + x - RADIUS, nx);
            tile[y][x] = in[sy * nx + sx];
        }
    }
    __syncthreads();

    if (gx < nx && gy < ny) {
        const int tx = threadIdx.x + RADIUS;
        const int ty = threadIdx.y + RADIUS;
        float sum = weight[0] * tile[ty][tx];
#pragma unroll
        for (int r = 1; r <= RADIUS; ++r) {
            sum += weight[r] * (tile[ty][tx - r] + tile[ty][tx + r] + tile[ty - r][tx] + tile[ty + r][tx]);
        }
        out[gy * nx + gx] = sum;
    }
}

void stencil(const float* in, float* out, int ny, int nx)
{
    float *d_in, *d_out;
    cudaMalloc(&d_in, ny * nx * sizeof(float));
    cudaMalloc(&d_out, ny * nx * sizeof(float));
    cudaMemcpy(d_in, in, ny * nx * sizeof(float), cudaMemcpyHostToDevice);

    dim3 block(BX, BY);
    dim3 grid((nx + BX - 1) / BX, (ny + BY - 1) / BY);
    stencil_halo<<<grid, block>>>(d_in, d_out, ny, nx);

    cudaMemcpy(out, d_out, ny * nx * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
}
