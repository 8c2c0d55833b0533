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

#include <metal_stdlib>
using namespace metal;

kernel void attention_naive(
    device const T* q [[buffer(0)]],
    device const T* k [[buffer(1)]],
    device const T* v [[buffer(2)]],
    device T* out [[buffer(3)]],
    constant uint& Hq [[buffer(4)]],
    constant uint& Hkv [[buffer(5)]],
    constant uint& Lq [[buffer(6)]],
    constant uint& Lk [[buffer(7)]],
    constant float& scale [[buffer(8)]],
    constant uint& causal [[buffer(9)]],
    uint3 position [[thread_position_in_grid]])
{
    const uint i = position.x;
    const uint head = position.y;
    const uint batch = position.z;
    if (i >= Lq) {
        return;
    }
    const uint kv_head = head / (Hq / Hkv);
    device const T* query = q + ((batch * Hq + head) * Lq + i) * D;
    device const T* keys = k + (batch * Hkv + kv_head) * Lk * D;
    device const T* values = v + (batch * Hkv + kv_head) * Lk * D;
    // The mask is aligned at the bottom right: the last query sees every key.
    const uint visible = causal ? i + Lk - Lq + 1 : Lk;

    float largest = -INFINITY;
    for (uint j = 0; j < visible; ++j) {
        float logit = 0.0f;
        for (uint d = 0; d < D; ++d) {
            logit += float(query[d]) * float(keys[j * D + d]);
        }
        largest = max(largest, scale * logit);
    }

    float sum = 0.0f;
    float weighted[D];
    for (uint d = 0; d < D; ++d) {
        weighted[d] = 0.0f;
    }
    for (uint j = 0; j < visible; ++j) {
        float logit = 0.0f;
        for (uint d = 0; d < D; ++d) {
            logit += float(query[d]) * float(keys[j * D + d]);
        }
        const float weight = exp(scale * logit - largest);
        sum += weight;
        for (uint d = 0; d < D; ++d) {
            weighted[d] += weight * float(values[j * D + d]);
        }
    }

    device T* result = out + ((batch * Hq + head) * Lq + i) * D;
    for (uint d = 0; d < D; ++d) {
        result[d] = T(weighted[d] / sum);
    }
}
