// Matrix transpose through a shared tile with one column of padding, so that neither side has bank conflicts.
#include <cuda_runtime.h>

const int TILE = 32;
const int ROWS = 8;

__global__ void transpose_padded(float* __restrict__ out, const float* __restrict__ in, int height, int width)
{
    __shared__ float tile[TILE][TILE + 1];

    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (x < width && y + j < height) {
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
        }
    }
    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) {
        if (x < height && y + j < width) {
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
        }
    }
}

void transpose(const float* in, float* out, int height, int width)
{
    float *d_in, *d_out;
    cudaMalloc(&d_in, height * width * sizeof(float));
    cudaMalloc(&d_out, height * width * sizeof(float));
    cudaMemcpy(d_in, in, height * width * sizeof(float), cudaMemcpyHostToDevice);

    dim3 grid((width + TILE - 1) / TILE, (height + TILE - 1) / TILE);
    dim3 block(TILE, ROWS);
    transpose_padded<<<grid, block>>>(d_out, d_in, height, width);

    cudaMemcpy(out, d_out, height * width * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
}
