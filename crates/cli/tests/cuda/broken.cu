/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "rows"
grid = ["R"]
threadgroup = [32]
*/
// Does not compile.

#include <cuda_fp16.h>

extern "C" __global__ void rows(const T* x, T* out) {
    out[0] = nothing;
}
