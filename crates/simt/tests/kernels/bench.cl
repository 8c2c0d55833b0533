#include "ks.h"

// A chain of dependent multiply-adds: 32 per iteration.
kernel void fma_loop(device const float* in, device float* out, __constant uint& n) {
  float x = in[gid], a = 0.999f, b = 0.25f;
  for (uint i = 0; i < n; i++) {
#pragma unroll
    for (int k = 0; k < 32; k++) x = x * a + b;
  }
  out[gid] = x;
}

// One thread a query row, scores in two passes: the way a beginner writes it. 64-wide rows.
kernel void attention_naive(device const float* q, device const float* k, device const float* v, device float* o,
                            __constant uint& len) {
  uint row = gid;
  float best = -INFINITY;
  for (uint j = 0; j < len; j++) {
    float s = 0;
    for (uint d = 0; d < 64; d++) s += q[row * 64 + d] * k[j * 64 + d];
    best = best > s ? best : s;
  }
  float sum = 0;
  float acc[64];
  for (uint d = 0; d < 64; d++) acc[d] = 0;
  for (uint j = 0; j < len; j++) {
    float s = 0;
    for (uint d = 0; d < 64; d++) s += q[row * 64 + d] * k[j * 64 + d];
    float p = __ks_exp_f32(s - best);
    sum += p;
    for (uint d = 0; d < 64; d++) acc[d] += p * v[j * 64 + d];
  }
  for (uint d = 0; d < 64; d++) o[row * 64 + d] = acc[d] / sum;
}

// Online softmax, 64-wide rows, K and V tiles of 32 rows in threadgroup memory, one thread a query row.
kernel void attention_tiled(device const float4* q, device const float4* k, device const float4* v, device float4* o,
                            __constant uint& len) {
  threadgroup float4 kt[32][16], vt[32][16];
  uint row = gid;
  float4 qr[16], acc[16];
  for (int d = 0; d < 16; d++) qr[d] = q[row * 16 + d];
  for (int d = 0; d < 16; d++) acc[d] = (float4)(0);
  float best = -INFINITY, sum = 0;
  for (uint t = 0; t < len; t += 32) {
    barrier_tg();
    for (uint i = tid; i < 32 * 16; i += __ks_sr(6)) {
      kt[i / 16][i % 16] = k[t * 16 + i];
      vt[i / 16][i % 16] = v[t * 16 + i];
    }
    barrier_tg();
    for (int j = 0; j < 32; j++) {
      float s = 0;
#pragma unroll
      for (int d = 0; d < 16; d++) {
        float4 a = qr[d], b = kt[j][d];
        s += a.x * b.x; s += a.y * b.y; s += a.z * b.z; s += a.w * b.w;
      }
      float m = best > s ? best : s;
      float c = __ks_exp_f32(best - m), p = __ks_exp_f32(s - m);
      sum = sum * c + p;
#pragma unroll
      for (int d = 0; d < 16; d++) acc[d] = acc[d] * c + vt[j][d] * p;
      best = m;
    }
  }
  for (int d = 0; d < 16; d++) o[row * 16 + d] = acc[d] / sum;
}
