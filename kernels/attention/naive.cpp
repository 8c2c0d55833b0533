/* ksearch
[defines]
T = { type = "q" }
D = "D"

[[dispatch]]
kernel = "attention_naive"
grid = [1]
threadgroup = [1]
*/
// Scaled dot-product attention, one query row after another: a pass over the keys for the largest logit, a second one
// for the weighted sum of the values.

#include <cmath>

extern "C" void attention_naive(
    const T* q, const T* k, const T* v, T* out,
    int B, int Hq, int Hkv, int Lq, int Lk, float scale, int causal)
{
    for (int head = 0; head < B * Hq; ++head) {
        const int kv_head = head / Hq * Hkv + head % Hq / (Hq / Hkv);
        const T* keys = k + (long)kv_head * Lk * D;
        const T* values = v + (long)kv_head * Lk * D;
        for (int i = 0; i < Lq; ++i) {
            const T* query = q + ((long)head * Lq + i) * D;
            T* result = out + ((long)head * Lq + i) * D;
            // The mask is aligned at the bottom right: the last query sees every key.
            const int visible = causal ? i + Lk - Lq + 1 : Lk;
            float largest = -INFINITY;
            for (int j = 0; j < visible; ++j) {
                float logit = 0.0f;
                for (int d = 0; d < D; ++d) {
                    logit += (float)query[d] * (float)keys[(long)j * D + d];
                }
                largest = std::fmax(largest, scale * logit);
            }
            float sum = 0.0f;
            float weighted[D] = {};
            for (int j = 0; j < visible; ++j) {
                float logit = 0.0f;
                for (int d = 0; d < D; ++d) {
                    logit += (float)query[d] * (float)keys[(long)j * D + d];
                }
                const float weight = std::exp(scale * logit - largest);
                sum += weight;
                for (int d = 0; d < D; ++d) {
                    weighted[d] += weight * (float)values[(long)j * D + d];
                }
            }
            for (int d = 0; d < D; ++d) {
                result[d] = (T)(weighted[d] / sum);
            }
        }
    }
}
