/* ksearch
[defines]
T = { type = "q" }
D = "D"

[[dispatch]]
kernel = "attention_row"
grid = ["Lq", "Hq", "B"]
threadgroup = [64, 1, 1]

[[require]]
expr = "Lk <= 512"
why = "a row of logits must fit in threadgroup memory"
*/
// One threadgroup per query row: logits in threadgroup memory, then the weighted sum. Right, and not fast.
#include <metal_stdlib>
using namespace metal;

kernel void attention_row(
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
    uint3 group [[threadgroup_position_in_grid]],
    uint t [[thread_index_in_threadgroup]])
{
    threadgroup float logits[512];
    const uint i = group.x;
    const uint head = group.z * Hq + group.y;
    const uint kv_head = group.z * Hkv + group.y / (Hq / Hkv);
    device const T* query = q + (head * Lq + i) * D;
    device const T* keys = k + kv_head * Lk * D;
    device const T* values = v + kv_head * Lk * D;
    const uint visible = causal ? i + Lk - Lq + 1 : Lk;
    for (uint j = t; j < visible; j += 64) {
        float dot = 0.0f;
        for (uint d = 0; d < D; ++d) {
            dot += float(query[d]) * float(keys[j * D + d]);
        }
        logits[j] = scale * dot;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float largest = -INFINITY;
    for (uint j = 0; j < visible; ++j) {
        largest = max(largest, logits[j]);
    }
    float sum = 0.0f;
    for (uint j = 0; j < visible; ++j) {
        sum += exp(logits[j] - largest);
    }
    for (uint d = t; d < D; d += 64) {
        float weighted = 0.0f;
        for (uint j = 0; j < visible; ++j) {
            weighted += exp(logits[j] - largest) * float(values[j * D + d]);
        }
        out[(head * Lq + i) * D + d] = T(weighted / sum);
    }
}
