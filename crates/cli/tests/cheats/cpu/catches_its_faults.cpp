// entry: 4
// expect: fault
// says: rt_sigaction
// Installs handlers, so that faults do not show.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <csignal>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    signal(SIGSEGV, SIG_IGN);
    for (int c = 0; c < C; ++c) result[c] = (T)((float)logits[c] * scale);
}
