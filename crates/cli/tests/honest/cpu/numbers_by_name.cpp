// Takes wide and struct-free scalars of unusual types.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>

extern "C" void softmax(const T* x, T* out, unsigned long C, double scale, long group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    float largest = -1e30f;
    for (unsigned long c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    float sum = 0.0f;
    for (unsigned long c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
    for (unsigned long c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}
