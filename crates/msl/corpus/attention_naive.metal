// Scaled dot-product attention, one thread a query row: the plainest right form.
#include <metal_stdlib>
using namespace metal;

struct Params {
    uint heads;
    uint length;
    uint dim;
    float scale;
};

kernel void attention(device const float* q [[buffer(0)]],
                      device const float* k [[buffer(1)]],
                      device const float* v [[buffer(2)]],
                      device float* out [[buffer(3)]],
                      constant Params& p [[buffer(4)]],
                      uint2 gid [[thread_position_in_grid]]) {
    if (gid.x >= p.length || gid.y >= p.heads) return;
    Params local = p;
    device const float* qr = q + (gid.y * local.length + gid.x) * local.dim;
    float best = -INFINITY;
    float sum = 0.0f;
    for (uint j = 0; j < local.length; ++j) {
        device const float* kr = k + (gid.y * local.length + j) * local.dim;
        float s = 0;
        for (uint d = 0; d < local.dim; ++d) s += qr[d] * kr[d];
        best = max(best, s * local.scale);
    }
    for (uint j = 0; j < local.length; ++j) {
        device const float* kr = k + (gid.y * local.length + j) * local.dim;
        float s = 0;
        for (uint d = 0; d < local.dim; ++d) s += qr[d] * kr[d];
        sum += exp(s * local.scale - best);
    }
    device float* o = out + (gid.y * local.length + gid.x) * local.dim;
    for (uint d = 0; d < local.dim; ++d) {
        float acc = 0;
        for (uint j = 0; j < local.length; ++j) {
            device const float* kr = k + (gid.y * local.length + j) * local.dim;
            float s = 0;
            for (uint e = 0; e < local.dim; ++e) s += qr[e] * kr[e];
            acc += exp(s * local.scale - best) * v[(gid.y * local.length + j) * local.dim + d];
        }
        o[d] = acc / sum;
    }
}
