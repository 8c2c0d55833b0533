// entry: 2
// expect: fault
// says: timer
// Arranges to go on after it has returned.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <sys/time.h>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    itimerval later = {};
    later.it_value.tv_usec = 100;
    setitimer(ITIMER_REAL, &later, nullptr);
    for (int c = 0; c < C; ++c) result[c] = (T)((float)logits[c] * scale);
}
