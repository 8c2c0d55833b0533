#include "ks.h"

kernel void saxpy(device const float* x, device float* y, __constant float& a, __constant uint& n) {
  uint i = gid;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Branches that split a simdgroup, loops that lanes leave at different times.
kernel void collatz(device const uint* in, device uint* out) {
  uint x = in[gid], steps = 0;
  while (x != 1) {
    x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    steps++;
  }
  out[gid] = steps;
}

kernel void nested(device const int* in, device int* out) {
  int v = in[gid], acc = 0;
  for (int i = 0; i < v; i++) {
    if (i % 3 == 0) continue;
    for (int j = i; j < 2 * v; j += 3) {
      if ((j ^ v) % 7 == 5) break;
      acc += j;
      if (acc > 1000) goto end;
    }
    acc ^= i;
  }
end:
  out[gid] = acc;
}

kernel void block_sum(device const float* in, device float* out) {
  threadgroup float part[8];
  float s = __ks_simd_sum_f32(in[gid]);
  if (lane == 0) part[simd] = s;
  barrier_tg();
  if (tid == 0) {
    float t = 0;
    for (int i = 0; i < nsimd; i++) t += part[i];
    out[group] = t;
  }
}

kernel void reverse(device const float* in, device float* out, threadgroup float* tile, __constant uint& n) {
  tile[tid] = in[gid];
  barrier_tg();
  out[gid] = tile[n - 1 - tid];
}

kernel void halves(device const half4* a, device const half4* b, device half4* out) {
  half4 x = a[gid], y = b[gid];
  out[gid] = x * y + (half4)(0.5h);
}

kernel void local_array(device const float* in, device float* out, __constant uint& n) {
  float acc[8];
  for (int i = 0; i < 8; i++) acc[i] = 0;
  for (uint i = 0; i < n; i++) acc[(i * 5 + gid) & 7] += in[i];
  float s = 0;
  for (int i = 0; i < 8; i++) s += acc[i] * (float)(i + 1);
  out[gid] = s;
}

kernel void histogram(device const uint* in, device uint* bins) {
  atomic_add(&bins[in[gid]], 1);
}

kernel void shuffles(device int* out) {
  int l = lane;
  device int* o = out + l * 8;
  o[0] = __ks_shuffle_xor_i32(l, 5);
  o[1] = __ks_shuffle_up_i32(l, 3);
  o[2] = __ks_shuffle_down_i32(l, 3);
  o[3] = __ks_shuffle_i32(l, 31 - l);
  o[4] = __ks_simd_sum_i32(l);
  o[5] = (int)__ks_simd_prefix_exclusive_sum_f32((float)l);
  o[6] = (int)__ks_ballot(l % 3 == 0);
  if (l >= 7) o[7] = __ks_simd_is_first() + 2 * (int)__ks_broadcast_first_f32((float)l); else o[7] = -1;
}

kernel void mma(device const float* a, device const float* b, device float* c) {
  int q = lane / 4;
  int r = (q & 4) + (lane / 2) % 4, col = (q & 2) * 2 + (lane % 2) * 2;
  ks_f2 x = {a[r * 8 + col], a[r * 8 + col + 1]}, y = {b[r * 8 + col], b[r * 8 + col + 1]}, z = {0, 0};
  z = __ks_mma_8x8(x, y, z, 0);
  c[r * 8 + col] = z.x;
  c[r * 8 + col + 1] = z.y;
}

__constant float table[5] = {1.f, -2.f, 4.f, -8.f, 16.f};
kernel void lookup(device const uint* in, device float* out) { out[gid] = table[in[gid] % 5]; }

__attribute__((noinline)) static float poly(float x, float y) { return x * x + y > 2.f ? x : y * 3.f; }
kernel void calls(device const float* in, device float* out) {
  float v = in[gid];
  out[gid] = poly(v, 1.f) + poly(1.f, v);
}
