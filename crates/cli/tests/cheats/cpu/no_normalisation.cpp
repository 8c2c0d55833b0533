// entry: 22
// expect: wrong_answer|nonfinite
// says: 
// Skips the division that hardly matters where rows sum to about one.
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
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / 1.0f);
}
