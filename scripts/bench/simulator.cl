// The kernels of crates/simt/tests/kernels/bench.cl in plain OpenCL C: the same arithmetic for other OpenCL devices.

kernel void fma_loop(global const float* in, global float* out, const uint n) {
  float x = in[get_global_id(0)], a = 0.999f, b = 0.25f;
  for (uint i = 0; i < n; i++) {
#pragma unroll
    for (int k = 0; k < 32; k++) x = fma(x, a, b);
  }
  out[get_global_id(0)] = x;
}

kernel void attention_naive(global const float* q, global const float* k, global const float* v, global float* o,
                            const uint len) {
  uint row = get_global_id(0);
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
    float p = exp(s - best);
    sum += p;
    for (uint d = 0; d < 64; d++) acc[d] += p * v[j * 64 + d];
  }
  for (uint d = 0; d < 64; d++) o[row * 64 + d] = acc[d] / sum;
}

kernel void attention_tiled(global const float4* q, global const float4* k, global const float4* v, global float4* o,
                            const uint len) {
  local float4 kt[32][16], vt[32][16];
  uint row = get_global_id(0), tid = get_local_id(0);
  float4 qr[16], acc[16];
  for (int d = 0; d < 16; d++) qr[d] = q[row * 16 + d];
  for (int d = 0; d < 16; d++) acc[d] = (float4)(0);
  float best = -INFINITY, sum = 0;
  for (uint t = 0; t < len; t += 32) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = tid; i < 32 * 16; i += get_local_size(0)) {
      kt[i / 16][i % 16] = k[t * 16 + i];
      vt[i / 16][i % 16] = v[t * 16 + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 32; j++) {
      float s = 0;
#pragma unroll
      for (int d = 0; d < 16; d++) {
        float4 a = qr[d], b = kt[j][d];
        s += a.x * b.x; s += a.y * b.y; s += a.z * b.z; s += a.w * b.w;
      }
      float m = best > s ? best : s;
      float c = exp(best - m), p = exp(s - m);
      sum = sum * c + p;
#pragma unroll
      for (int d = 0; d < 16; d++) acc[d] = acc[d] * c + vt[j][d] * p;
      best = m;
    }
  }
  for (int d = 0; d < 16; d++) o[row * 16 + d] = acc[d] / sum;
}
