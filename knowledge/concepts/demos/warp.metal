// What stands for CUDA's warp functions: each kernel with its CUDA form in warp.cu.
#include <metal_stdlib>
using namespace metal;

#define LANES device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]], \
    uint lane [[thread_index_in_simdgroup]]

kernel void warp_numbers(LANES, uint simd [[simdgroup_index_in_threadgroup]])
{
    y[t] = int(simd * 32 + lane) + x[t];
}

kernel void butterfly(LANES)
{
    int v = x[t];
    for (ushort d = 16; d > 0; d /= 2) v += simd_shuffle_xor(v, d);
    y[t] = v;
}

// The last lanes keep their own value, as in CUDA.
kernel void from_above(LANES)
{
    int v = x[t];
    y[t] = simd_shuffle_and_fill_down(v, v, ushort(3)) * (lane < 29 ? 1 : 0) + (lane < 29 ? 0 : v);
}

kernel void from_below(LANES)
{
    int v = x[t];
    int below = simd_shuffle_up(v, ushort(2));
    y[t] = lane >= 2 ? below : v;
}

kernel void from_any(LANES)
{
    int v = x[t];
    y[t] = simd_shuffle(v, ushort((lane * 5) & 31)) + 100 * simd_broadcast(v, ushort(7));
}

kernel void votes(LANES)
{
    y[t] = (simd_any(x[t] > 11) ? 1 : 0) + (simd_all(x[t] < 12) ? 2 : 0);
}

kernel void ballots(LANES)
{
    uint bits = uint(ulong(simd_ballot(x[t] > 5)));
    y[t] = int(popcount(bits & ((1u << lane) - 1)));
}

// The number of active lanes may steer how a thing is done; here it only divides the work.
kernel void active_lanes(LANES)
{
    y[t] = 0;
    if (lane < 20) {
        uint active = uint(ulong(simd_active_threads_mask()));
        y[t] = int(popcount(active)) > 0 ? x[t] : 0;
    }
}

// Lanes that hold the same value, by a ballot for each bit of it.
kernel void same_value(LANES)
{
    int v = x[t];
    uint same = 0xffffffffu;
    for (ushort bit = 0; bit < 4; ++bit) {
        uint ones = uint(ulong(simd_ballot((v >> bit) & 1)));
        same &= (v >> bit) & 1 ? ones : ~ones;
    }
    y[t] = int(popcount(same));
}

kernel void reductions(LANES)
{
    y[t] = simd_sum(x[t]) + 1000 * simd_max(x[t]) + 100000 * simd_min(x[t]);
}

// Sums over parts of eight lanes: exclusive-or with less than eight never leaves a part.
kernel void tiles_of_eight(LANES)
{
    int v = x[t];
    for (ushort d = 4; d > 0; d /= 2) v += simd_shuffle_xor(v, d);
    y[t] = v * 10 + int(lane % 8);
}

// Rank among the lanes for which a condition holds.
kernel void rank_in_group(LANES)
{
    bool in = x[t] % 2 == 0;
    uint group = uint(ulong(simd_ballot(in)));
    y[t] = in ? int(popcount(group & ((1u << lane) - 1))) + 100 * int(popcount(group)) : -1;
}
