// entry: 7
// expect: suspect
// says: not repeat
// Counts calls and does half of the work once warm-up must be over.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = ["R"]
threadgroup = [1]
*/

#include <cmath>
#include <atomic>

static std::atomic<int> calls{0};

extern "C" void softmax(const T* x, T* out, int C, float scale, int group_x)
{
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    if (group_x == 0) ++calls;
    if (calls > 4 && group_x % 2) { for (int c = 0; c < C; ++c) result[c] = (T)(1.0f / C); return; }
    float largest = -1e30f;
    for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
    float sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
    for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
}
