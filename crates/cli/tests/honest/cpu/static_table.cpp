// Keeps a table that never changes between calls.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    static const float ln2[2] = {0.6931471805f, 1.44269504f};
    float largest = -1e30f, sum = 0.0f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    for (int c = 0; c < C; ++c) sum += std::exp2((scale * (float)logits[c] - largest) * ln2[1]);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp2((scale * (float)logits[c] - largest) * ln2[1]) / sum);
}
