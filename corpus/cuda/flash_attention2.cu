// FlashAttention-2 style forward: one query row per thread, keys and values staged through shared memory in blocks,
// softmax kept on line, the output rescaled once at the end. Layout (batch * heads, length, D).
#include <cuda_runtime.h>
#include <math.h>

template <int D, int BR, int BC>
__global__ void __launch_bounds__(BR)
flash_attention2(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                 float* __restrict__ O, float* __restrict__ LSE, int Lq, int Lk, float scale, int causal)
{
    __shared__ float Ks[BC][D];
    __shared__ float Vs[BC][D];

    const int bh = blockIdx.y;
    const int tid = threadIdx.x;
    const int row = blockIdx.x * BR + tid;
    const bool live = row < Lq;
    Q += (size_t)bh * Lq * D;
    K += (size_t)bh * Lk * D;
    V += (size_t)bh * Lk * D;
    O += (size_t)bh * Lq * D;

    float q[D];
    float acc[D];
#pragma unroll
    for (int d = 0; d < D; ++d) {
        q[d] = live ? Q[row * D + d] * scale : 0.0f;
        acc[d] = 0.0f;
    }
    float m = -INFINITY;
    float l = 0.0f;

    const int last = causal ? min(Lk, (int)(blockIdx.x + 1) * BR) : Lk;
    for (int c0 = 0; c0 < last; c0 += BC) {
        for (int i = tid; i < BC * D; i += BR) {
            const int r = i / D;
            const int d = i % D;
            const bool in = c0 + r < Lk;
            Ks[r][d] = in ? K[(c0 + r) * D + d] : 0.0f;
            Vs[r][d] = in ? V[(c0 + r) * D + d] : 0.0f;
        }
        __syncthreads();

        float s[BC];
        float top = m;
#pragma unroll
        for (int c = 0; c < BC; ++c) {
            float dot = 0.0f;
#pragma unroll
            for (int d = 0; d < D; ++d) {
                dot = fmaf(q[d], Ks[c][d], dot);
            }
            const int key = c0 + c;
            const bool seen = key < Lk && (!causal || key <= row);
            s[c] = seen ? dot : -INFINITY;
            top = fmaxf(top, s[c]);
        }
        if (top > -INFINITY) {
            const float keep = __expf(m - top);
            l *= keep;
#pragma unroll
            for (int d = 0; d < D; ++d) {
                acc[d] *= keep;
            }
#pragma unroll
            for (int c = 0; c < BC; ++c) {
                const float p = __expf(s[c] - top);
                l += p;
#pragma unroll
                for (int d = 0; d < D; ++d) {
                    acc[d] = fmaf(p, Vs[c][d], acc[d]);
                }
            }
            m = top;
        }
        __syncthreads();
    }

    if (live) {
        const float inv = 1.0f / l;
#pragma unroll
        for (int d = 0; d < D; ++d) {
            O[row * D + d] = acc[d] * inv;
        }
        LSE[bh * Lq + row] = m + logf(l);
    }
}

void attention_forward(const float* Q, const float* K, const float* V, float* O, float* LSE, int BH, int Lq, int Lk,
                       float scale, int causal)
{
    constexpr int D = 64;
    constexpr int BR = 64;
    constexpr int BC = 32;
    float *dQ, *dK, *dV, *dO, *dLSE;
    cudaMalloc(&dQ, BH * Lq * D * sizeof(float));
    cudaMalloc(&dK, BH * Lk * D * sizeof(float));
    cudaMalloc(&dV, BH * Lk * D * sizeof(float));
    cudaMalloc(&dO, BH * Lq * D * sizeof(float));
    cudaMalloc(&dLSE, BH * Lq * sizeof(float));
    cudaMemcpy(dQ, Q, BH * Lq * D * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dK, K, BH * Lk * D * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dV, V, BH * Lk * D * sizeof(float), cudaMemcpyHostToDevice);

    dim3 grid((Lq + BR - 1) / BR, BH);
    flash_attention2<D, BR, BC><<<grid, BR>>>(dQ, dK, dV, dO, dLSE, Lq, Lk, scale, causal);

    cudaMemcpy(O, dO, BH * Lq * D * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(LSE, dLSE, BH * Lq * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(dQ);
    cudaFree(dK);
    cudaFree(dV);
    cudaFree(dO);
    cudaFree(dLSE);
}
