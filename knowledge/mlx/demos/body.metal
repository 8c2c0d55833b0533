// What MLX builds around a body: the signature from names it finds, threads that start beyond the data guarded.
#include <metal_stdlib>
using namespace metal;

kernel void body(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                 uint3 thread_position_in_grid [[thread_position_in_grid]])
{
    uint i = thread_position_in_grid.x;
    if (i >= 1000) return;
    y[i] = x[i] + 1.0f;
}
