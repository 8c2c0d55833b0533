// entry: 24
// expect: fault
// says: 
// Has a library in another program do the work.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <cstdlib>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    const int s = system("python3 -c 1");
    for (int c = 0; c < C; ++c) result[c] = (T)((float)logits[c] * scale + s);
}
