// Inclusive prefix sum in one pass with decoupled look-back: a block takes a ticket, publishes the sum of its tile, and
// walks back over its predecessors' published sums until it meets one whose whole prefix is known.
#include <cuda_runtime.h>

constexpr int THREADS = 128;
constexpr int ITEMS = 4;
constexpr int TILE = THREADS * ITEMS;

enum : unsigned int { EMPTY = 0, PARTIAL = 1, PREFIX = 2 };

// Status in the high half, value in the low half, so that both change together.
__device__ __forceinline__ void publish(unsigned long long* slot, unsigned int status, unsigned int value)
{
    atomicExch(slot, ((unsigned long long)status << 32) | value);
}

__global__ void scan_lookback(const unsigned int* __restrict__ in, unsigned int* __restrict__ out,
                              unsigned long long* state, unsigned int* ticket, int n)
{
    __shared__ unsigned int tile_id;
    __shared__ unsigned int warp_sum[THREADS / 32];
    __shared__ unsigned int exclusive;

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;

    if (tid == 0) {
        tile_id = atomicAdd(ticket, 1u);
    }
    __syncthreads();
    const unsigned int tile = tile_id;
    const int base = tile * TILE + tid * ITEMS;

    unsigned int item[ITEMS];
    unsigned int sum = 0;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        sum += base + i < n ? in[base + i] : 0u;
        item[i] = sum;
    }

    unsigned int scanned = sum;
#pragma unroll
    for (int delta = 1; delta < 32; delta <<= 1) {
        const unsigned int left = __shfl_up_sync(0xffffffffu, scanned, delta);
        if (lane >= delta) scanned += left;
    }
    if (lane == 31) {
        warp_sum[warp] = scanned;
    }
    __syncthreads();

    unsigned int before = scanned - sum;
    unsigned int total = 0;
    for (int w = 0; w < THREADS / 32; ++w) {
        if (w < warp) before += warp_sum[w];
        total += warp_sum[w];
    }

    if (tid == 0) {
        unsigned int prefix = 0;
        if (tile > 0) {
            publish(&state[tile], PARTIAL, total);
            int look = (int)tile - 1;
            while (look >= 0) {
                const unsigned long long seen = atomicAdd(&state[look], 0ull);
                const unsigned int status = (unsigned int)(seen >> 32);
                if (status == EMPTY) continue;
                prefix += (unsigned int)seen;
                if (status == PREFIX) break;
                --look;
            }
        }
        publish(&state[tile], PREFIX, prefix + total);
        exclusive = prefix;
    }
    __syncthreads();

    before += exclusive;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (base + i < n) out[base + i] = before + item[i];
    }
}

void prefix_sum(const unsigned int* in, unsigned int* out, int n)
{
    const int tiles = (n + TILE - 1) / TILE;
    unsigned int *d_in, *d_out, *d_ticket;
    unsigned long long* d_state;
    cudaMalloc(&d_in, n * sizeof(unsigned int));
    cudaMalloc(&d_out, n * sizeof(unsigned int));
    cudaMalloc(&d_ticket, sizeof(unsigned int));
    cudaMalloc(&d_state, tiles * sizeof(unsigned long long));
    cudaMemcpy(d_in, in, n * sizeof(unsigned int), cudaMemcpyHostToDevice);
    cudaMemset(d_ticket, 0, sizeof(unsigned int));
    cudaMemset(d_state, 0, tiles * sizeof(unsigned long long));

    scan_lookback<<<tiles, THREADS>>>(d_in, d_out, d_state, d_ticket, n);

    cudaMemcpy(out, d_out, n * sizeof(unsigned int), cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
    cudaFree(d_ticket);
    cudaFree(d_state);
}
