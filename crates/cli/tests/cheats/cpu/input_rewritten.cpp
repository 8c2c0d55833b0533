// entry: 15
// expect: fault
// says: wrote to its input
// Changes the input so that its answer is right for it.
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
    for (int c = 0; c < C; ++c) const_cast<T*>(logits)[c] = (T)0.0f;
    for (int c = 0; c < C; ++c) result[c] = (T)(1.0f / C);
    (void)scale;
}
