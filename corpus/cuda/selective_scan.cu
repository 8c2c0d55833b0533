// Mamba-1 selective scan, forward: one block per (batch, channel). The sequence is walked in chunks; inside a chunk the
// recurrence h = a * h + b is an inclusive scan of the pairs (a, b) over the block, one state after the other.
#include <cuda_runtime.h>
#include <math.h>

constexpr int THREADS = 128;
constexpr int ITEMS = 4;
constexpr int CHUNK = THREADS * ITEMS;
constexpr int WARPS = THREADS / 32;
constexpr int MAX_STATE = 16;

// First (a0, b0), then (a1, b1): h -> a1 * (a0 * h + b0) + b1.
__device__ __forceinline__ float2 combine(float2 first, float2 second)
{
    return make_float2(first.x * second.x, second.x * first.y + second.y);
}

__device__ __forceinline__ float2 warp_inclusive_scan(float2 v, int lane)
{
#pragma unroll
    for (int delta = 1; delta < 32; delta <<= 1) {
        float2 left;
        left.x = __shfl_up_sync(0xffffffff, v.x, delta);
        left.y = __shfl_up_sync(0xffffffff, v.y, delta);
        if (lane >= delta) {
            v = combine(left, v);
        }
    }
    return v;
}

__global__ void __launch_bounds__(THREADS)
selective_scan(const float* __restrict__ u, const float* __restrict__ delta, const float* __restrict__ A,
               const float* __restrict__ B, const float* __restrict__ C, const float* __restrict__ D,
               const float* __restrict__ z, const float* __restrict__ delta_bias, float* __restrict__ out,
               int dim, int L, int N)
{
    __shared__ float2 warp_total[WARPS];
    __shared__ float2 carry[MAX_STATE];

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const int d = blockIdx.x;
    const int b = blockIdx.y;

    const int row = (b * dim + d) * L;
    const float bias = delta_bias[d];
    const float skip = D[d];

    if (tid < N) {
        carry[tid] = make_float2(1.0f, 0.0f);
    }
    __syncthreads();

    for (int start = 0; start < L; start += CHUNK) {
        float dt[ITEMS], x[ITEMS], y[ITEMS];
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int t = start + tid * ITEMS + i;
            if (t < L) {
                const float raw = delta[row + t] + bias;
                dt[i] = raw > 20.0f ? raw : log1pf(expf(raw));
                x[i] = u[row + t];
            } else {
                dt[i] = 0.0f;
                x[i] = 0.0f;
            }
            y[i] = skip * x[i];
        }

        for (int n = 0; n < N; ++n) {
            const float a = A[d * N + n] * 1.4426950408889634f;
            const int bn = (b * N + n) * L;
            float2 item[ITEMS];
            float2 mine = make_float2(1.0f, 0.0f);
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                const int t = start + tid * ITEMS + i;
                const float bt = t < L ? B[bn + t] : 0.0f;
                item[i] = make_float2(exp2f(dt[i] * a), dt[i] * bt * x[i]);
                mine = combine(mine, item[i]);
            }

            const float2 scanned = warp_inclusive_scan(mine, lane);
            if (lane == 31) {
                warp_total[warp] = scanned;
            }
            __syncthreads();

            float2 before = carry[n];
            for (int w = 0; w < warp; ++w) {
                before = combine(before, warp_total[w]);
            }
            float2 left;
            left.x = __shfl_up_sync(0xffffffff, scanned.x, 1);
            left.y = __shfl_up_sync(0xffffffff, scanned.y, 1);
            float h = lane == 0 ? before.y : combine(before, left).y;
#pragma unroll
            for (int i = 0; i < ITEMS; ++i) {
                h = item[i].x * h + item[i].y;
                const int t = start + tid * ITEMS + i;
                y[i] += h * (t < L ? C[bn + t] : 0.0f);
            }
            __syncthreads();
            if (tid == THREADS - 1) {
                carry[n] = combine(before, scanned);
            }
        }

#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int t = start + tid * ITEMS + i;
            if (t < L) {
                const float gate = z[row + t];
                out[row + t] = y[i] * gate / (1.0f + expf(-gate));
            }
        }
        __syncthreads();
    }
}

void selective_scan_forward(const float* u, const float* delta, const float* A, const float* B, const float* C,
                            const float* D, const float* z, const float* delta_bias, float* out, int batch, int dim,
                            int L, int N)
{
    float *du, *ddelta, *dA, *dB, *dC, *dD, *dz, *dbias, *dout;
    cudaMalloc(&du, batch * dim * L * sizeof(float));
    cudaMalloc(&ddelta, batch * dim * L * sizeof(float));
    cudaMalloc(&dA, dim * N * sizeof(float));
    cudaMalloc(&dB, batch * N * L * sizeof(float));
    cudaMalloc(&dC, batch * N * L * sizeof(float));
    cudaMalloc(&dD, dim * sizeof(float));
    cudaMalloc(&dz, batch * dim * L * sizeof(float));
    cudaMalloc(&dbias, dim * sizeof(float));
    cudaMalloc(&dout, batch * dim * L * sizeof(float));
    cudaMemcpy(du, u, batch * dim * L * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(ddelta, delta, batch * dim * L * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dA, A, dim * N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, batch * N * L * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dC, C, batch * N * L * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dD, D, dim * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dz, z, batch * dim * L * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dbias, delta_bias, dim * sizeof(float), cudaMemcpyHostToDevice);

    dim3 grid(dim, batch);
    selective_scan<<<grid, THREADS>>>(du, ddelta, dA, dB, dC, dD, dz, dbias, dout, dim, L, N);

    cudaMemcpy(out, dout, batch * dim * L * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(du);
    cudaFree(ddelta);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
    cudaFree(dD);
    cudaFree(dz);
    cudaFree(dbias);
    cudaFree(dout);
}
