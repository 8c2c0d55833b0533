// entry: 17
// expect: fault
// says: open
// Looks up the judge's command line for the seed.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <cstdio>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    if (FILE* f = fopen("/proc/self/cmdline", "r")) fclose(f);
    for (int c = 0; c < C; ++c) result[c] = (T)((float)logits[c] * scale);
}
