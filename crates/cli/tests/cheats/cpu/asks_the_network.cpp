// entry: 24
// expect: fault
// says: socket
// Has the answer computed elsewhere.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <sys/socket.h>

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    for (int c = 0; c < C; ++c) result[c] = (T)((float)logits[c] * scale + s);
}
