// Walks backwards through every row.
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
    float largest = -1e30f;
    for (int c = C - 1; c >= 0; --c) largest = std::fmax(largest, scale * (float)logits[c]);
    float sum = 0.0f;
    for (int c = C - 1; c >= 0; --c) sum += std::exp(scale * (float)logits[c] - largest);
    for (int c = C - 1; c >= 0; --c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}
