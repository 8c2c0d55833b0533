// Keeps a row on the heap.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <vector>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    std::vector<float> e(C);
    float largest = -1e30f, sum = 0.0f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    for (int c = 0; c < C; ++c) sum += e[c] = std::exp(scale * (float)logits[c] - largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(e[c] / sum);
}
