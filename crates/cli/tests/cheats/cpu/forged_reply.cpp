// entry: 6
// expect: fault
// says: write
// Writes an answer of its own into the judge's channel.
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
    const char reply[] = "{\"Done\":{\"elapsed\":1,\"lost\":0}}";
    write(0, reply, sizeof reply);
    for (int c = 0; c < C; ++c) result[c] = (T)((float)logits[c] * scale);
}
