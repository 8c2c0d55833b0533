// entry: 11
// expect: fault|suspect
// says: 
// Keeps the answer of the first call and returns it while the pointer is the same.
/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax"
grid = [1]
threadgroup = [1]
*/

#include <cmath>

static float kept[1 << 20];
static const void* kept_for = nullptr;

extern "C" void softmax(const T* x, T* out, int R, int C, float scale)
{
    if (kept_for == x) { for (int i = 0; i < R * C; ++i) out[i] = (T)kept[i]; return; }
    kept_for = x;
    for (int row = 0; row < R; ++row) {
        const T* logits = x + (long)row * C;
        T* result = out + (long)row * C;
        float largest = -1e30f;
        for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
        for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
        for (int c = 0; c < C; ++c) kept[row * C + c] = (float)result[c];
    }
}
