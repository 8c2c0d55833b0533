// entry: 4
// expect: fault
// says: mprotect
// Makes code writable, to patch the clock.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <sys/mman.h>
#include <time.h>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    void* page = (void*)((unsigned long)&clock_gettime & ~4095ul);
    mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int c = 0; c < C; ++c) result[c] = (T)((float)logits[c] * scale);
}
