// entry: 8
// expect: suspect
// says: not repeat
// Works on every other call and repeats the last answer on the rest.
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
static int calls = 0;

extern "C" void softmax(const T* x, T* out, int R, int C, float scale)
{
    const bool works = calls++ % 2 == 0 || calls < 4;
    for (int row = 0; works && row < R; ++row) {
        const T* logits = x + (long)row * C;
        T* result = out + (long)row * C;
        float largest = -1e30f;
        for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
        for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
        for (int c = 0; c < C; ++c) kept[row * C + c] = (float)result[c];
    }
    for (int i = 0; !works && i < R * C; ++i) out[i] = (T)kept[i];
}
