// What stands for CUDA's atomics: each kernel with its CUDA form in atomics.cu. Results that depend on no order.
#include <metal_stdlib>
using namespace metal;

kernel void add(device const int* x [[buffer(0)]], device atomic_int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&y[x[t]], int(t), memory_order_relaxed);
}

kernel void extremes(device const int* x [[buffer(0)]], device atomic_int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    atomic_fetch_max_explicit(&y[x[t]], int(t), memory_order_relaxed);
    atomic_fetch_min_explicit(&y[x[t] + 8], -int(t), memory_order_relaxed);
}

// A product, which no instruction has: compare and swap until nobody came between.
kernel void swap_loop(device const int* x [[buffer(0)]], device atomic_int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    device atomic_int* place = &y[x[t]];
    int old = atomic_load_explicit(place, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(place, &old, old * 3 + 1, memory_order_relaxed, memory_order_relaxed)) {}
}

// Each thread of a group of one takes what is there and leaves its own.
kernel void exchange(device const int* x [[buffer(0)]], device atomic_int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    int old = atomic_exchange_explicit(&y[t], x[t], memory_order_relaxed);
    atomic_exchange_explicit(&y[t + 64], old + 1, memory_order_relaxed);
}

kernel void bitwise(device const int* x [[buffer(0)]], device atomic_int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    atomic_fetch_or_explicit(&y[x[t]], 1 << (t % 31), memory_order_relaxed);
    atomic_fetch_xor_explicit(&y[x[t] + 8], int(t), memory_order_relaxed);
    atomic_fetch_and_explicit(&y[x[t] + 16], 0x7f0 | x[t], memory_order_relaxed);
}

// Counts up and wraps at a limit.
kernel void wrapping(device const int* x [[buffer(0)]], device atomic_uint* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    device atomic_uint* place = &y[x[t]];
    uint old = atomic_load_explicit(place, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(place, &old, old >= 5u ? 0u : old + 1, memory_order_relaxed, memory_order_relaxed)) {}
}
