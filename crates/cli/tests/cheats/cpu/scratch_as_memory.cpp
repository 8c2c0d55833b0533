// entry: 12
// expect: fault|suspect
// says: 
// Keeps an answer in a scratch buffer, which is nobody's between calls.
/* ksearch
[defines]
T = { type = "x" }

[scratch]
kept = "4 * (R * C + 1)"

[[dispatch]]
kernel = "softmax"
grid = [1]
threadgroup = [1]
*/

#include <cmath>

extern "C" void softmax(const T* x, T* out, float* kept, int R, int C, float scale)
{
    if (kept[0] == 1234.5f) { for (int i = 0; i < R * C; ++i) out[i] = (T)kept[1 + i]; return; }
    for (int row = 0; row < R; ++row) {
        const T* logits = x + (long)row * C;
        T* result = out + (long)row * C;
        float largest = -1e30f;
        for (int c = 0; c < C; ++c) largest = std::fmax(largest, scale * (float)logits[c]);
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) sum += std::exp(scale * (float)logits[c] - largest);
        for (int c = 0; c < C; ++c) result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
        for (int c = 0; c < C; ++c) kept[1 + row * C + c] = (float)result[c];
    }
    kept[0] = 1234.5f;
}
