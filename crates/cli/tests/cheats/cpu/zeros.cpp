// entry: 18
// expect: wrong_answer
// says: zero
// Zeros, which a loose absolute tolerance lets through.
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
    for (int c = 0; c < C; ++c) result[c] = (T)(0.0f * (float)logits[c] * scale);
}
