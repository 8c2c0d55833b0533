// entry: 19
// expect: wrong_answer
// says: allowed error
// Never reads `scale`, which is 1 on the timed shapes.
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
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, (float)logits[c]);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += std::exp((float)logits[c] - largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp((float)logits[c] - largest) / sum);
    (void)scale;
}
