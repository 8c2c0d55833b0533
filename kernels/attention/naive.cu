/* ksearch
[defines]
T = { type = "q" }
D = "D"

[[dispatch]]
kernel = "attention_naive"
grid = ["ceil_div(Lq, 64)", "Hq", "B"]
threadgroup = [64, 1, 1]
*/
// Scaled dot-product attention, one thread per query row: a pass over the keys for the largest logit, a second one for
// the weighted sum of the values.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void attention_naive(
    const T* q, const T* k, const T* v, T* out, int Hq, int Hkv, int Lq, int Lk, float scale, int causal)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int head = blockIdx.y;
    const int batch = blockIdx.z;
    if (i >= Lq) {
        return;
    }
    const int kv_head = head / (Hq / Hkv);
    const T* query = q + ((size_t)(batch * Hq + head) * Lq + i) * D;
    const T* keys = k + (size_t)(batch * Hkv + kv_head) * Lk * D;
    const T* values = v + (size_t)(batch * Hkv + kv_head) * Lk * D;
    // The mask is aligned at the bottom right: the last query sees every key.
    const int visible = causal ? i + Lk - Lq + 1 : Lk;

    float largest = -3.0e38f;
    for (int j = 0; j < visible; ++j) {
        float logit = 0.0f;
        for (int d = 0; d < D; ++d) {
            logit += float(query[d]) * float(keys[(size_t)j * D + d]);
        }
        largest = fmaxf(largest, scale * logit);
    }

    float sum = 0.0f;
    float weighted[D];
    for (int d = 0; d < D; ++d) {
        weighted[d] = 0.0f;
    }
    for (int j = 0; j < visible; ++j) {
        float logit = 0.0f;
        for (int d = 0; d < D; ++d) {
            logit += float(query[d]) * float(keys[(size_t)j * D + d]);
        }
        const float weight = expf(scale * logit - largest);
        sum += weight;
        for (int d = 0; d < D; ++d) {
            weighted[d] += weight * float(values[(size_t)j * D + d]);
        }
    }

    T* result = out + ((size_t)(batch * Hq + head) * Lq + i) * D;
    for (int d = 0; d < D; ++d) {
        result[d] = T(weighted[d] / sum);
    }
}
