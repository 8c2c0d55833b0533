// entry: 23
// expect: not_observed
// says: wrote nothing
// Does nothing at all.
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
    (void)x; (void)out; (void)C; (void)scale; (void)group_x;
}
