/* ksearch
[defines]
T = { type = "x" }

[[dispatch]]
kernel = "softmax_naive"
grid = [1]
threadgroup = [1]
*/
// Softmax along rows, one row after another: largest logit, sum, division.

#include <cmath>

extern "C" void softmax_naive(const T* x, T* out, int R, int C, float scale)
{
    for (int row = 0; row < R; ++row) {
        const T* logits = x + (long)row * C;
        T* result = out + (long)row * C;
        float largest = -INFINITY;
        for (int c = 0; c < C; ++c) {
            largest = std::fmax(largest, scale * (float)logits[c]);
        }
        float sum = 0.0f;
        for (int c = 0; c < C; ++c) {
            sum += std::exp(scale * (float)logits[c] - largest);
        }
        for (int c = 0; c < C; ++c) {
            result[c] = (T)(std::exp(scale * (float)logits[c] - largest) / sum);
        }
    }
}
