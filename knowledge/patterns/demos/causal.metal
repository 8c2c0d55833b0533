// Masked sums, y[r] = sum of x[c] for c <= r over 512 columns: whole blocks above the diagonal left out, or masked.
#include <metal_stdlib>
using namespace metal;

kernel void skip_blocks(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                        uint row [[thread_position_in_grid]], uint group [[threadgroup_position_in_grid]])
{
    float sum = 0;
    uint last = min(512u, (group + 1) * 32);
    for (uint c = 0; c < last; ++c) sum += c <= row ? x[c] : 0.0f;
    y[row] = sum;
}

kernel void mask_all(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                     uint row [[thread_position_in_grid]])
{
    float sum = 0;
    for (uint c = 0; c < 512; ++c) sum += c <= row ? x[c] : 0.0f;
    y[row] = sum;
}
