// entry: 21
// expect: wrong_answer
// says: allowed error
// Computes in 16 bits whatever it is asked for.
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
    const T* logits = x + (long)group_x * C;
    T* result = out + (long)group_x * C;
    _Float16 largest = -60000.0f;
    for (int c = 0; c < C; ++c) { const _Float16 v = (_Float16)(scale * (float)logits[c]); if (v > largest) largest = v; }
    _Float16 sum = 0.0f;
    for (int c = 0; c < C; ++c) sum += (_Float16)std::exp((float)((_Float16)(scale * (float)logits[c]) - largest));
    for (int c = 0; c < C; ++c) result[c] = (T)((_Float16)std::exp((float)((_Float16)(scale * (float)logits[c]) - largest)) / sum);
}
