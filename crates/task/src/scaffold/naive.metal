/* ksearch
# The launch recipe. Expressions may use the task's symbols and the tunables.

# [tunables]                    values that the search sweeps; also macros of the source
# BLOCK = { values = [32, 64, 128], default = 64 }

[defines]
T = { type = "x" }

# [scratch]                     buffers beside the task's tensors, in bytes
# partial = "4 * R"

[[dispatch]]
kernel = "scaled_add_naive"
# Threadgroups, then threads in each.
grid = ["ceil_div(R, 64)", 1, 1]
threadgroup = [64, 1, 1]
# Parameters are bound by name; others are stated:
# args = { n = "R * C", tmp = { scratch = "partial" }, shared = { threadgroup = 4096 } }
*/
// One thread per row.

#include <metal_stdlib>
using namespace metal;

kernel void scaled_add_naive(
    device const T* x [[buffer(0)]],
    device const float* w [[buffer(1)]],
    device T* out [[buffer(2)]],
    constant uint& R [[buffer(3)]],
    constant uint& C [[buffer(4)]],
    constant float& alpha [[buffer(5)]],
    uint row [[thread_position_in_grid]])
{
    if (row >= R) {
        return;
    }
    for (uint c = 0; c < C; ++c) {
        out[row * C + c] = T(alpha * float(x[row * C + c]) + w[c]);
    }
}
