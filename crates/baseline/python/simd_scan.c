// Selective scan in plain C for a fixed number of states: what a compiler makes of lanes over states, with fast-math and a
// vector library for the exponentials, channels shared out by OpenMP. The bar that a found kernel is measured against.
#include <math.h>
#include <stdlib.h>

#define N 16

void scan(const float *u, const float *delta, const float *A, const float *B, const float *C, const float *skip,
          const float *z, const float *bias, float *out, int dim, int length, int threads)
{
    float *turned = malloc(2 * (size_t)length * N * sizeof(float));
    if (!turned) {
        return;
    }
    float *b = turned, *c = turned + (size_t)length * N;
    for (int n = 0; n < N; ++n) {
        for (int t = 0; t < length; ++t) {
            b[(size_t)t * N + n] = B[(size_t)n * length + t];
            c[(size_t)t * N + n] = C[(size_t)n * length + t];
        }
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int d = 0; d < dim; ++d) {
        const size_t row = (size_t)d * length;
        float *step = malloc(length * sizeof(float));
        float state[N] = {0};
        for (int t = 0; t < length; ++t) {
            const float x = delta[row + t] + bias[d];
            step[t] = x > 20.0f ? x : logf(1.0f + expf(x));
        }
        for (int t = 0; t < length; ++t) {
            const float dt = step[t], input = dt * u[row + t];
            const float *bt = b + (size_t)t * N, *ct = c + (size_t)t * N;
            float y = 0.0f;
#pragma omp simd reduction(+ : y)
            for (int n = 0; n < N; ++n) {
                state[n] = expf(dt * A[d * N + n]) * state[n] + input * bt[n];
                y += state[n] * ct[n];
            }
            out[row + t] = y;
        }
        for (int t = 0; t < length; ++t) {
            const float gate = z[row + t];
            out[row + t] = (out[row + t] + skip[d] * u[row + t]) * (gate / (1.0f + expf(-gate)));
        }
        free(step);
    }
    free(turned);
}
