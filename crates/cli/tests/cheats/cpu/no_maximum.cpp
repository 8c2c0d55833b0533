// entry: 22
// expect: nonfinite|wrong_answer
// says: 
// stage: confirm
// Leaves out the maximum, which hardly matters where all values are small.
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
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c]);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c]) / sum);
}
