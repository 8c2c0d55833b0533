/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "rows"
grid = ["R"]
threadgroup = [32]
*/
// Writes where there is no memory.

#include <cuda_fp16.h>

extern "C" __global__ void rows(const T* x, T* out) {
    out[(1ll << 40) + threadIdx.x] = x[0];
}
