#include "ks.h"

kernel void off_by_one(device const float* in, device float* out, __constant uint& n) {
  for (uint i = gid; i <= n; i += 64)
    out[i] = in[i] * 2.f; // BUG off_by_one
}

kernel void past_tile(device float* out) {
  threadgroup float tile[64];
  tile[tid + 1] = 1.f; // BUG past_tile
  barrier_tg();
  out[gid] = tile[tid];
}

kernel void missing_barrier(device const float* in, device float* out) {
  threadgroup float tile[128];
  tile[tid] = in[gid]; // OTHER missing_barrier
  out[gid] = tile[127 - tid]; // BUG missing_barrier
}

kernel void reuse_without_barrier(device const float* in, device float* out) {
  threadgroup float part[32];
  float s = __ks_simd_sum_f32(in[gid]);
  if (lane == 0) part[simd] = s;
  barrier_tg();
  float total = 0;
  for (int i = 0; i < nsimd; i++) total += part[i]; // OTHER reuse_without_barrier
  float t = __ks_simd_max_f32(in[gid]);
  if (lane == 0) part[simd] = t; // BUG reuse_without_barrier
  barrier_tg();
  float m = 0;
  for (int i = 0; i < nsimd; i++) m += part[i];
  out[gid] = total + m;
}

kernel void weak_fence(device const float* in, device float* out) {
  threadgroup float part[32];
  float s = __ks_simd_sum_f32(in[gid]);
  if (lane == 0) part[simd] = s; // OTHER weak_fence
  __ks_threadgroup_barrier(0);
  out[gid] = part[0]; // BUG weak_fence
}

kernel void early_return(device const float* in, device float* out, __constant uint& n) {
  threadgroup float part[8];
  if (tid >= n) return;
  float s = __ks_simd_sum_f32(in[gid]);
  if (lane == 0) part[simd] = s;
  barrier_tg(); // BUG early_return
  out[gid] = part[0];
}

kernel void divergent_barrier(device const float* in, device float* out) {
  threadgroup float tile[64];
  tile[tid] = 0;
  barrier_tg();
  if (in[gid] > 0.f) {
    tile[tid] = in[gid];
    barrier_tg(); // BUG divergent_barrier
  }
  out[gid] = tile[tid];
}

kernel void two_barriers(device const float* in, device float* out) {
  threadgroup float tile[64];
  tile[tid] = in[gid];
  if (simd == 0) {
    barrier_tg(); // OTHER two_barriers
    out[gid] = tile[63 - tid];
  } else {
    barrier_tg(); // BUG two_barriers
    out[gid] = tile[tid] * 2.f;
  }
}

kernel void uninitialised_tile(device const float* in, device float* out, __constant uint& n) {
  threadgroup float tile[64];
  if (tid < n) tile[tid] = in[gid];
  barrier_tg();
  out[gid] = tile[63 - tid]; // BUG uninitialised_tile
}

kernel void uninitialised_local(device const float* in, device float* out, __constant uint& n) {
  float a[16];
  for (uint i = 0; i < n; i++) a[i] = in[i];
  float s = 0;
  for (uint i = 0; i < 16; i++) s += a[(i + gid) & 15]; // BUG uninitialised_local
  out[gid] = s;
}

kernel void accumulates_unwritten(device const float* in, device float* out) {
  out[gid] += in[gid]; // BUG accumulates_unwritten
}

kernel void groups_race(device float* cache, device float* out) {
  if (tid == 0) cache[group] = (float)group; // OTHER groups_race
  __ks_threadgroup_barrier(3);
  out[gid] = cache[group ^ 1]; // BUG groups_race
}

kernel void endless(device float* out) {
  float x = out[gid];
  while (x < 2.f) { // BUG endless
    x = x * 0.5f;
    out[gid] = x; // LOOP endless
  }
}

kernel void misaligned(device const float* in, device float4* out) {
  device const float4* p = (device const float4*)(in + 1);
  out[gid] = p[gid]; // BUG misaligned
}

kernel void write_input(device float* in, device float* out) {
  out[gid] = in[gid];
  in[gid] = 0; // BUG write_input
}

kernel void lanes_without_barrier(device const float* in, device float* out) {
  threadgroup float tile[64];
  tile[tid] = in[gid]; // OTHER lanes_without_barrier
  out[gid] = tile[tid ^ 1]; // BUG lanes_without_barrier
}
