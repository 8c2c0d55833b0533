// Computes in double.
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
    double largest = -1e30;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, (double)scale * (float)logits[c]);
    double sum = 0.0;
    for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}
