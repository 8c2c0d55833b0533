// What stands for CUDA's memory spaces and accesses: each kernel with its CUDA form in memory.cu, where CUDA runs here.
#include <metal_stdlib>
using namespace metal;

kernel void static_shared(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                          uint t [[thread_position_in_threadgroup]], uint group [[threadgroup_position_in_grid]])
{
    threadgroup float tile[64];
    tile[t] = x[group * 64 + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[group * 64 + t] = tile[63 - t];
}

kernel void dynamic_shared_memory(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                                  threadgroup float* shared [[threadgroup(0)]],
                                  uint t [[thread_position_in_threadgroup]], uint group [[threadgroup_position_in_grid]])
{
    shared[t] = x[group * 64 + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[group * 64 + t] = shared[(t + 1) % 64];
}

constant float weights[4] = {0.5f, 1.0f, 2.0f, 4.0f};

kernel void constants(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    y[t] = x[t] * weights[t % 4];
}

kernel void plain_loads(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    y[t] = x[t] + x[255 - t];
}

kernel void vectors(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    float4 v = ((device const float4*)x)[t];
    ((device float4*)y)[t] = v.wzyx * 2.0f;
}

// A counter at file scope becomes a buffer.
kernel void counted(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], device atomic_uint* count [[buffer(2)]],
                    uint t [[thread_position_in_grid]])
{
    y[t] = x[t];
    if (x[t] > 100.0f) atomic_fetch_add_explicit(count, 1u, memory_order_relaxed);
}

// tex1D with linear filtering and clamped addresses, between elements t / 2.
kernel void interpolated(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    float at = float(t) * 0.5f;
    int low = int(floor(at));
    float a = x[clamp(low, 0, 255)], b = x[clamp(low + 1, 0, 255)];
    y[t] = a + (at - float(low)) * (b - a);
}

// Two tiles: the next one is loaded into registers before the present one is used.
kernel void two_buffers(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                        uint t [[thread_position_in_threadgroup]])
{
    threadgroup float tile[2][64];
    tile[0][t] = x[t];
    float sum = 0;
    for (uint k = 0; k < 4; ++k) {
        float next = k + 1 < 4 ? x[(k + 1) * 64 + t] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < 64; ++i) sum += tile[k % 2][i] * float(i == t || i == 0);
        tile[(k + 1) % 2][t] = next;
    }
    y[t] = sum;
}

// A 8x8 box of a 10x20 matrix at row 6, column 16: what lies outside reads as zero, as the bulk copy fills it.
kernel void box(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], uint t [[thread_position_in_threadgroup]])
{
    threadgroup float tile[64];
    uint row = 6 + t / 8, col = 16 + t % 8;
    tile[t] = row < 10 && col < 20 ? x[row * 20 + col] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = tile[t % 8 * 8 + t / 8];
}
