// Sums a row by halves.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>

static float total(const T* x, int n, float scale, float largest)
{
    if (n == 1) return std::exp(scale * (float)x[0] - largest);
    return total(x, n / 2, scale, largest) + total(x + n / 2, n - n / 2, scale, largest);
}

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    float largest = -1e30f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    const float sum = total(logits, C, scale, largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}
