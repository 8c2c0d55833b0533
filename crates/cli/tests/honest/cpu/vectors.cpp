// Works on the compiler's vector types and handles the tail apart.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>

typedef float f8 __attribute__((vector_size(32)));

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    float largest = -1e30f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    f8 sums = {};
    int c = 0;
    for (; c + 8 <= C; c += 8) {
        f8 v;
        for (int i = 0; i < 8; ++i) v[i] = std::exp(scale * (float)logits[c + i] - largest);
        sums += v;
    }
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i) sum += sums[i];
    for (; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
    for (c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}
