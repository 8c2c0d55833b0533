// Spreads its grid over three axes.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["ceil_div(R, 4)", 2, 2]
threadgroup = [1]
*/

#include <cmath>

extern "C" void softmax(const T* x, T* out, int R, int C, float scale, int group_x, int group_y, int group_z)
{
    const int row = 4 * group_x + 2 * group_y + group_z;
    if (row >= R) return;
    const T* logits = x + (long)row * C;
    T* result = out + (long)row * C;
    float largest = -1e30f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}
