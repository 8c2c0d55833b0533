// entry: 2
// expect: fault
// says: clone
// Works on in a process of its own.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <unistd.h>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    if (fork() == 0) { for (int c = 0; c < C; ++c) result[c] = (T)((float)logits[c] * scale); _exit(0); }
}
