// Leaves sums in a scratch buffer for a second kernel.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
sums = "8 * R"

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]

[[dispatch]]
kernel = "divide"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>

extern "C" void softmax(const T* x, float* sums, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    float largest = -1e30f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
    sums[2 * group_x] = largest;
    sums[2 * group_x + 1] = sum;
}

extern "C" void divide(const T* x, T* out, const float* sums, int C, float scale, int group_x)
{
    for (int c = 0; c < C; ++c) {
        const long i = (long)group_x * C + c;
        out[i] = (T)(std::exp(scale * (float)x[i] - sums[2 * group_x]) / sums[2 * group_x + 1]);
    }
}
