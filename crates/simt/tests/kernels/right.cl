#include "ks.h"
// Right kernels that look wrong: none may raise an alarm.

// Lanes of one simdgroup exchange through threadgroup memory, ordered by a simdgroup barrier alone.
kernel void simd_exchange(device const float* in, device float* out) {
  threadgroup float tile[64];
  for (int r = 0; r < 4; r++) {
    tile[tid] = in[gid] + (float)r;
    __ks_simdgroup_barrier(2);
    float v = tile[tid ^ 1];
    __ks_simdgroup_barrier(2);
    out[gid] = v;
  }
}

// Every thread may raise the flag; all write the same value.
kernel void same_value_flag(device const float* in, device uint* out) {
  threadgroup uint found;
  if (tid == 0) found = 0;
  barrier_tg();
  if (in[gid] > 0.5f) found = 1;
  barrier_tg();
  out[gid] = found;
}

// The first simdgroup hands data to the second by an atomic flag.
kernel void handoff(device const float* in, device float* out) {
  threadgroup float data[32];
  threadgroup uint flag;
  if (tid == 0) atomic_store_tg(&flag, 0);
  barrier_tg();
  if (simd == 0) {
    data[lane] = in[lane] * 3.f;
    __ks_simdgroup_barrier(2);
    if (lane == 0) atomic_store_tg(&flag, 1);
  } else if (simd == 1) {
    while (atomic_load_tg(&flag) == 0) {}
    __ks_simdgroup_barrier(2);
    out[lane] = data[lane];
  }
}

// Lanes past the end compute on memory nobody wrote and never store.
kernel void padding(device const float* in, device float* out, __constant uint& n) {
  threadgroup float tile[64];
  if (gid < n) tile[tid] = in[gid];
  barrier_tg();
  float v = tile[63 - tid];
  float s = v * v + tile[tid];
  for (int i = 0; i < 3; i++) s = s * 0.5f + v;
  if (63 - tid < n && tid < n) out[tid] = s;
}

// A vote among lanes whose tail is idle.
kernel void tail_vote(device const float* in, device uint* out, __constant uint& n) {
  if (gid >= n) return;
  ulong b = __ks_ballot(in[gid] > 0.f);
  out[gid] = (uint)b;
}

// Double buffering: the barrier of one round orders the reuse in the next but one.
kernel void double_buffer(device const float* in, device float* out, __constant uint& n) {
  threadgroup float tile[2][64];
  float acc = 0;
  tile[0][tid] = in[tid];
  for (uint r = 0; r < n; r++) {
    barrier_tg();
    if (r + 1 < n) tile[(r + 1) & 1][tid] = in[(r + 1) * 64 + tid];
    acc += tile[r & 1][63 - tid];
  }
  out[gid] = acc;
}

// The last group to finish adds up what all wrote.
kernel void last_group(device const float* in, device float* part, device uint* count, device float* out) {
  threadgroup uint last;
  float s = __ks_simd_sum_f32(in[gid]);
  if (tid == 0) {
    part[group] = s;
    __ks_fence(1, 5, 2);
    last = atomic_add(count, 1) == (uint)(__ks_sr(9) - 1);
  }
  __ks_threadgroup_barrier(3);
  if (last && tid == 0) {
    float t = 0;
    for (int i = 0; i < __ks_sr(9); i++) t += part[i];
    out[0] = t;
  }
}

// Private arrays written in one loop and read in another.
kernel void scratch(device const uint* in, device uint* out) {
  uint a[32];
  uint n = in[gid] & 31;
  for (uint i = 0; i <= n; i++) a[i] = i * i;
  uint s = 0;
  for (uint i = 0; i <= n; i++) s += a[i];
  out[gid] = s;
}

// Neighbouring threads write neighbouring bytes.
kernel void bytes(device const uint* in, device uchar* out) {
  threadgroup uchar t[64];
  t[tid] = (uchar)in[gid];
  barrier_tg();
  out[gid] = t[63 - tid];
}
