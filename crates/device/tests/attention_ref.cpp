/* ksearch
[[dispatch]]
kernel = "attention_reference"
grid = ["ceil_div(Lq, 32)", "Hq", "B"]
threadgroup = [32, 1, 1]
*/
#include <metal_stdlib>
using namespace metal;

static double score(device const double4* q, device const double4* k, uint D, double scale)
{
    double4 sum = 0;
    for (uint d = 0; d < D / 4; ++d) {
        sum += q[d] * k[d];
    }
    return scale * (sum.x + sum.y + sum.z + sum.w);
}

kernel void attention_reference(
    device const double* q [[buffer(0)]],
    device const double* k [[buffer(1)]],
    device const double* v [[buffer(2)]],
    device double* out [[buffer(3)]],
    constant uint& Hq [[buffer(4)]],
    constant uint& Hkv [[buffer(5)]],
    constant uint& Lq [[buffer(6)]],
    constant uint& Lk [[buffer(7)]],
    constant uint& D [[buffer(8)]],
    constant double& scale [[buffer(9)]],
    constant uint& causal [[buffer(10)]],
    uint3 at [[thread_position_in_grid]])
{
    uint i = at.x;
    if (i >= Lq) {
        return;
    }
    uint row = (at.z * Hq + at.y) * Lq + i;
    uint first = (at.z * Hkv + at.y / (Hq / Hkv)) * Lk;
    uint seen = causal ? i + Lk - Lq + 1 : Lk;
    device const double4* query = (device const double4*)(q + row * D);
    double top = -INFINITY;
    for (uint j = 0; j < seen; ++j) {
        top = max(top, score(query, (device const double4*)(k + (first + j) * D), D, scale));
    }
    for (uint d = 0; d < D; ++d) {
        out[row * D + d] = 0;
    }
    double sum = 0;
    for (uint j = 0; j < seen; ++j) {
        double w = exp(score(query, (device const double4*)(k + (first + j) * D), D, scale) - top);
        sum += w;
        for (uint d = 0; d < D; ++d) {
            out[row * D + d] += w * v[(first + j) * D + d];
        }
    }
    for (uint d = 0; d < D; ++d) {
        out[row * D + d] /= sum;
    }
}
