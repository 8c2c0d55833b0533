// entry: 29
// expect: timeout
// says: did not end
// Never returns.
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
    volatile bool go = true;
    while (go) {}
    result[0] = (T)((float)logits[0] * scale);
}
