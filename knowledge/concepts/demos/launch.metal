// What stands for CUDA's launches: each kernel with its CUDA form in launch.cu, where there is one.
#include <metal_stdlib>
using namespace metal;

kernel void indices(device const int* x [[buffer(0)]], device int* y [[buffer(1)]],
                    uint3 at [[thread_position_in_threadgroup]], uint3 group [[threadgroup_position_in_grid]],
                    uint3 threads [[threads_per_threadgroup]], uint3 groups [[threadgroups_per_grid]])
{
    uint i = (group.y * threads.y + at.y) * groups.x * threads.x + group.x * threads.x + at.x;
    y[i] = x[i] + int(at.x + 10 * at.y + 100 * group.x + 1000 * group.y);
}

kernel void bounded [[max_total_threads_per_threadgroup(64)]] (device const int* x [[buffer(0)]], device int* y [[buffer(1)]],
                                                               uint t [[thread_position_in_grid]])
{
    y[t] = 3 * x[t];
}

// Two dispatches of one command buffer: the second sees all that the first has written.
kernel void first(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    y[t] = x[t] + 1;
}

kernel void second(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    if (t == 0) {
        int sum = 0;
        for (uint i = 0; i < 128; ++i) sum += y[i];
        y[128] = sum + 0 * x[0];
    }
}

// The parent writes how much there is to do; the child's grid is the largest, and threads beyond that leave.
kernel void parent(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    if (t == 0) y[128] = 40 + 0 * x[0];
}

kernel void child(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_grid]])
{
    y[t] = int(t) < y[128] ? x[t] : -1;
}

// Half of a cluster's shared memory has no place here: blocks exchange through device memory, in two dispatches.
kernel void publish(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_threadgroup]],
                    uint group [[threadgroup_position_in_grid]])
{
    threadgroup int part[64];
    part[t] = x[group * 64 + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t == 0) y[128 + group] = part[5];
}

kernel void collect(device const int* x [[buffer(0)]], device int* y [[buffer(1)]], uint t [[thread_position_in_threadgroup]],
                    uint group [[threadgroup_position_in_grid]])
{
    y[group * 64 + t] = x[group * 64 + t] + y[128 + (group ^ 1)];
}
