// C = A * B, row-major, any size. The tile edge is chosen by the host, so both tiles live in dynamic shared memory.
#include <cuda_runtime.h>

__global__ void matmul_tiled(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C,
                             int M, int N, int K)
{
    extern __shared__ float tiles[];
    const int T = blockDim.x;
    float* As = tiles;
    float* Bs = tiles + T * T;

    const int row = blockIdx.y * T + threadIdx.y;
    const int col = blockIdx.x * T + threadIdx.x;

    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        const int ka = k0 + threadIdx.x;
        const int kb = k0 + threadIdx.y;
        As[threadIdx.y * T + threadIdx.x] = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        Bs[threadIdx.y * T + threadIdx.x] = (kb < K && col < N) ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k) {
            acc += As[threadIdx.y * T + k] * Bs[k * T + threadIdx.x];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        C[row * N + col] = acc;
    }
}

void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMemcpy(dA, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, K * N * sizeof(float), cudaMemcpyHostToDevice);

    const int T = 16;
    dim3 block(T, T);
    dim3 grid((N + T - 1) / T, (M + T - 1) / T);
    size_t shared = 2 * T * T * sizeof(float);
    matmul_tiled<<<grid, block, shared>>>(dA, dB, dC, M, N, K);

    cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
}
