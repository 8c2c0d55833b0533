// CUDA's warp functions, one kernel for each form in warp.metal.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void warp_numbers(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = threadIdx.x / warpSize * 32 + threadIdx.x % warpSize + x[t];
}

__global__ void butterfly(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, v = x[t];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    y[t] = v;
}

__global__ void from_above(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = __shfl_down_sync(0xffffffffu, x[t], 3);
}

__global__ void from_below(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = __shfl_up_sync(0xffffffffu, x[t], 2);
}

__global__ void from_any(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, v = x[t];
    y[t] = __shfl_sync(0xffffffffu, v, threadIdx.x * 5) + 100 * __shfl_sync(0xffffffffu, v, 7);
}

__global__ void votes(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = (__any_sync(0xffffffffu, x[t] > 11) ? 1 : 0) + (__all_sync(0xffffffffu, x[t] < 12) ? 2 : 0);
}

__global__ void ballots(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int bits = __ballot_sync(0xffffffffu, x[t] > 5);
    y[t] = __popc(bits & ((1u << (threadIdx.x & 31)) - 1));
}

__global__ void active_lanes(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = 0;
    if ((threadIdx.x & 31) < 20) {
        unsigned int active = __activemask();
        y[t] = __popc(active) > 0 ? x[t] : 0;
    }
}

__global__ void same_value(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    y[t] = __popc(__match_any_sync(0xffffffffu, x[t]));
}

__global__ void reductions(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, v = x[t];
    y[t] = __reduce_add_sync(0xffffffffu, v) + 1000 * __reduce_max_sync(0xffffffffu, v)
         + 100000 * __reduce_min_sync(0xffffffffu, v);
}

__global__ void tiles_of_eight(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    y[t] = cg::reduce(tile, x[t], cg::plus<int>()) * 10 + (int)tile.thread_rank();
}

// What coalesced_threads() gives under the condition.
__global__ void rank_in_group(const int* x, int* y)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    bool in = x[t] % 2 == 0;
    unsigned int group = __ballot_sync(0xffffffffu, in);
    y[t] = in ? __popc(group & ((1u << (threadIdx.x & 31)) - 1)) + 100 * __popc(group) : -1;
}
