// Uses templates and lambdas.
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
    const auto fold = [=](auto start, auto f) { auto a = start; for (int c = 0; c < C; ++c) a = f(a, scale * (float)logits[c]); return a; };
    const float largest = fold(-1e30f, [](float a, float b) { return std::fmax(a, b); });
    const float sum = fold(0.0f, [=](float a, float b) { return a + std::exp(b - largest); });
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}
