// entry: 26
// expect: fault
// says: past the end of `x`
// Reads behind the input and is lucky.
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
    float s = 0.0f;
    for (int i = 0; i < (1 << 20); ++i) s += (float)x[i];
    float largest = -1e30f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
    result[0] += (T)(0.0f * s);
}
