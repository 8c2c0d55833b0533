/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "rows"
grid = ["R"]
threadgroup = [32]
*/
// Never ends.

#include <cuda_fp16.h>

extern "C" __global__ void rows(const T* x, T* out, int C) {
    while (clock64() >= 0) {
    }
    out[(size_t)blockIdx.x * C] = x[0];
}
