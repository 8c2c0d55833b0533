// Has a kernel of its own for narrow rows.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
when = "C > 8"

[[dispatch]]
kernel = "narrow"
grid = [1]
threadgroup = [1]
when = "C <= 8"
*/

#include <cmath>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    float largest = -1e30f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}

extern "C" void narrow(const T* x, T* out, int R, int C, float scale)
{
    for (int row = 0; row < R; ++row) {
        const T* logits = x + (long)row * C;
        T* result = out + (long)row * C;
        float largest = -1e30f;
        for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
        for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
    }
}
