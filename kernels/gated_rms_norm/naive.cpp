/* ksearch
[defines]
T = { type = "x" }
HAS_Z = "has_z"

[[dispatch]]
kernel = "gated_rms_norm_naive"
grid = [1]
threadgroup = [1]
*/
// Gated RMS norm, one row after another.

#include <cmath>

static float gated(const T* x, const T* z, long i)
{
    const float value = (float)x[i];
    if (!HAS_Z) {
        return value;
    }
    const float gate = (float)z[i];
    return value * gate / (1.0f + std::exp(-gate));
}

extern "C" void gated_rms_norm_naive(const T* x, const T* z, const float* weight, T* out, int R, int C, float eps)
{
    for (long row = 0; row < R; ++row) {
        float squares = 0.0f;
        for (int c = 0; c < C; ++c) {
            const float g = gated(x, z, row * C + c);
            squares += g * g;
        }
        const float factor = 1.0f / std::sqrt(squares / (float)C + eps);
        for (int c = 0; c < C; ++c) {
            out[row * C + c] = (T)(weight[c] * factor * gated(x, z, row * C + c));
        }
    }
}
