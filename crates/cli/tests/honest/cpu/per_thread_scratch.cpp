// Gives every thread a row of scratch by its number.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
tmp = "4 * C * 256"

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>

extern "C" void softmax(const T* x, T* out, float* tmp, int C, float scale, int group_x, int thread)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    float* e = tmp + (long)thread * C;
    float largest = -1e30f, sum = 0.0f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    for (int c = 0; c < C; ++c) sum += e[c] = std::exp(scale * (float)logits[c] - largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(e[c] / sum);
}
