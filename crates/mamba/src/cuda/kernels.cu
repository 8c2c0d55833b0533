// Mamba-1 on NVIDIA GPUs: everything but the prompt's projections. Compiled at load for one model by NVRTC, which is
// given the sizes: D_MODEL, D_INNER, D_STATE, DT_RANK, TAPS, VOCAB, EPS, and ELEM (0 f32, 1 f16, 2 bf16). No
// headers: half types are handled by the few PTX instructions below.
//
// Activations are row-major (token, channel) in the weights' type; the residual, states and sums are f32.

typedef unsigned int u32;
typedef unsigned short u16;

#define SELECTED (DT_RANK + 2 * D_STATE)
#define LOG2E 1.4426950408889634f

#if ELEM == 0
typedef float elem;
#define VECTOR 4
__device__ __forceinline__ float wide(elem v) { return v; }
__device__ __forceinline__ elem narrow(float v) { return v; }
__device__ __forceinline__ void unpack(uint4 v, float* out) {
    out[0] = __uint_as_float(v.x); out[1] = __uint_as_float(v.y);
    out[2] = __uint_as_float(v.z); out[3] = __uint_as_float(v.w);
}
#else
typedef u16 elem;
#define VECTOR 8
#if ELEM == 1
__device__ __forceinline__ float wide(elem v) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(v)); return f; }
__device__ __forceinline__ elem narrow(float v) { elem h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v)); return h; }
#else
__device__ __forceinline__ float wide(elem v) { return __uint_as_float((u32)v << 16); }
__device__ __forceinline__ elem narrow(float v) { elem h; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(v)); return h; }
#endif
__device__ __forceinline__ void unpack(uint4 v, float* out) {
    u32 w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) { out[2 * i] = wide((u16)(w[i] & 0xffff)); out[2 * i + 1] = wide((u16)(w[i] >> 16)); }
}
#endif

__device__ __forceinline__ float power2(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float log2of(float x) { float y; asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__device__ __forceinline__ float silu(float x) { return __fdividef(x, 1.0f + power2(fminf(-x * LOG2E, 100.0f))); }
// ln(1 + e^x) = max(x, 0) + log1p(e^-|x|), with log1p(e) = 2 atanh(e / (2 + e)) by its series: the hardware's logarithm
// of 1 + e^x would lose the digits of a small answer, and small time steps are the rule.
__device__ __forceinline__ float softplus(float x) {
    float e = power2(-fabsf(x) * LOG2E), s = __fdividef(e, 2.0f + e), s2 = s * s;
    float p = 2.0f / 11.0f + s2 * (2.0f / 13.0f);
    p = 2.0f / 9.0f + s2 * p;
    p = 2.0f / 7.0f + s2 * p;
    p = 2.0f / 5.0f + s2 * p;
    p = 2.0f / 3.0f + s2 * p;
    return fmaxf(x, 0.0f) + s * (2.0f + s2 * p);
}

// Programmatic dependent launch: a step's kernel releases the next one as soon as it has begun, so that weights of several
// kernels to come are on their way while one computes. What precedes `wait` may touch only what no kernel of the same step
// writes before: weights, and the states of its own layer (written by `step_scan` alone, and last in the step before, which
// is another graph launch and therefore complete). `wait` returns when the kernel ahead is complete, which itself has
// waited for the one ahead of it. Both instructions are harmless where the launch does not ask for early start.
__device__ __forceinline__ void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void release() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

// Sum over a block of 256 threads; every thread gets it. `room` holds 8 floats.
__device__ __forceinline__ float block_sum(float v, float* room) {
    v = warp_sum(v);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) room[threadIdx.x >> 5] = v;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += room[i];
    return sum;
}

// ---------------------------------------------------------------- prompts

// hidden[r] = embedding[ids[r]]
extern "C" __global__ void embed(const elem* table, const u32* ids, float* hidden) {
    release();
    wait();
    u32 id = ids[blockIdx.x];
    for (int c = threadIdx.x; c < D_MODEL; c += blockDim.x)
        hidden[(size_t)blockIdx.x * D_MODEL + c] = wide(table[(size_t)id * D_MODEL + c]);
}

// out[r] = hidden[r] / rms * weight; 256 threads a row
extern "C" __global__ void rms_norm(const float* hidden, const float* weight, elem* out) {
    __shared__ float room[8];
    const float* row = hidden + (size_t)blockIdx.x * D_MODEL;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < D_MODEL; c += 256) sum += row[c] * row[c];
    float scale = rsqrtf(block_sum(sum, room) / D_MODEL + EPS);
    for (int c = threadIdx.x; c < D_MODEL; c += 256)
        out[(size_t)blockIdx.x * D_MODEL + c] = narrow(row[c] * scale * weight[c]);
}

// Rows `rows[i]` of a matrix, one after the other.
extern "C" __global__ void gather(const float* hidden, const u32* rows, float* out) {
    for (int c = threadIdx.x; c < D_MODEL; c += blockDim.x)
        out[(size_t)blockIdx.x * D_MODEL + c] = hidden[(size_t)rows[blockIdx.x] * D_MODEL + c];
}

#define CONV_TOKENS 8

// u = silu(conv(x)); grid (channels / 128, stretches of CONV_TOKENS tokens, sequences), a thread a channel.
// x is the first half of the projection's rows; state is [sequence][tap - 1][channel], oldest first.
extern "C" __global__ void conv(const elem* __restrict__ projected, const float* __restrict__ weight,
                                const float* __restrict__ bias, const float* __restrict__ state, elem* __restrict__ u,
                                int length) {
    int c = blockIdx.x * 128 + threadIdx.x, start = blockIdx.y * CONV_TOKENS;
    if (c >= D_INNER) return;
    const elem* x = projected + (size_t)blockIdx.z * length * (2 * D_INNER) + c;
    elem* out = u + (size_t)blockIdx.z * length * D_INNER + c;
    const float* old = state + (size_t)blockIdx.z * (TAPS - 1) * D_INNER + c;
    float w[TAPS], inputs[TAPS - 1 + CONV_TOKENS];
#pragma unroll
    for (int j = 0; j < TAPS; ++j) w[j] = weight[j * D_INNER + c];
#pragma unroll
    for (int j = 0; j < TAPS - 1 + CONV_TOKENS; ++j) {
        int t = start - (TAPS - 1) + j;
        inputs[j] = t >= length ? 0.0f : t >= 0 ? wide(x[(size_t)t * (2 * D_INNER)]) : old[(t + TAPS - 1) * D_INNER];
    }
    float b = bias[c];
#pragma unroll
    for (int i = 0; i < CONV_TOKENS; ++i) {
        float sum = b;
#pragma unroll
        for (int j = 0; j < TAPS; ++j) sum += w[j] * inputs[i + j];
        if (start + i < length) out[(size_t)(start + i) * D_INNER] = narrow(silu(sum));
    }
}

// The state after the prompt: its last inputs. Runs after `conv` has read the old one. Grid (channels / 128, sequences).
extern "C" __global__ void conv_tail(const elem* projected, float* state, int length) {
    int c = blockIdx.x * 128 + threadIdx.x;
    if (c >= D_INNER) return;
    const elem* x = projected + (size_t)blockIdx.y * length * (2 * D_INNER) + c;
    float* s = state + (size_t)blockIdx.y * (TAPS - 1) * D_INNER + c;
#pragma unroll
    for (int j = 0; j < TAPS - 1; ++j) {
        int t = length - (TAPS - 1) + j;
        s[j * D_INNER] = t >= 0 ? wide(x[(size_t)t * (2 * D_INNER)]) : s[(t + TAPS - 1) * D_INNER];
    }
}

// The scan is cut into segments of `span` tokens (a multiple of SCAN_TOKENS). First every segment from a zero state (final
// state and sum of dt), then the states are carried from segment to segment, then every segment again from its true state,
// with output. Twice the exponentials, and all tokens at work at once.

#define SCAN_TOKENS 8

template <bool OUTPUT>
__device__ __forceinline__ void segment(elem* dt, const elem* __restrict__ u, const elem* __restrict__ projected,
                                        const elem* __restrict__ selected, const float* __restrict__ decay,
                                        const float* __restrict__ dt_bias, const float* __restrict__ skip,
                                        float* __restrict__ states, float* __restrict__ sums, int length, int span) {
    // B and C of a stretch of tokens.
    __shared__ __align__(16) float bc[SCAN_TOKENS][2 * D_STATE];
    int c = blockIdx.x * 128 + threadIdx.x, segments = gridDim.y;
    int start = blockIdx.y * span, end = min(start + span, length);
    bool live = c < D_INNER;
    int channel = live ? c : 0;
    dt += (size_t)blockIdx.z * length * D_INNER + channel;
    u += (size_t)blockIdx.z * length * D_INNER + channel;
    projected += (size_t)blockIdx.z * length * (2 * D_INNER) + D_INNER + channel;
    selected += (size_t)blockIdx.z * length * SELECTED;
    size_t slot = ((size_t)blockIdx.z * segments + blockIdx.y) * D_INNER + channel;
    float a[D_STATE], h[D_STATE], total = 0.0f;
#pragma unroll
    for (int n = 0; n < D_STATE; ++n) {
        a[n] = decay[channel * D_STATE + n];
        h[n] = OUTPUT ? states[slot * D_STATE + n] : 0.0f;
    }
    float bias = dt_bias[channel], d = skip[channel];
    for (int from = start; from < end; from += SCAN_TOKENS) {
        int count = min(SCAN_TOKENS, end - from);
        // All loads of the stretch are on their way before any is used.
        float steps[SCAN_TOKENS], xs[SCAN_TOKENS], gates[SCAN_TOKENS];
#pragma unroll
        for (int i = 0; i < SCAN_TOKENS; ++i) {
            size_t at = min(from + i, length - 1);
            steps[i] = wide(dt[at * D_INNER]);
            xs[i] = wide(u[at * D_INNER]);
            if (OUTPUT) gates[i] = wide(projected[at * (2 * D_INNER)]);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < count * 2 * D_STATE; i += 128) {
            int t = i / (2 * D_STATE), n = i % (2 * D_STATE);
            bc[t][n] = wide(selected[(size_t)(from + t) * SELECTED + DT_RANK + n]);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < SCAN_TOKENS; ++i) {
            if (i >= count) break;
            float step = softplus(steps[i] + bias), fed = step * xs[i], y0 = d * xs[i], y1 = 0.0f;
            total += step;
#pragma unroll
            for (int n = 0; n < D_STATE; n += 2) {
                h[n] = power2(step * a[n]) * h[n] + fed * bc[i][n];
                h[n + 1] = power2(step * a[n + 1]) * h[n + 1] + fed * bc[i][n + 1];
                if (OUTPUT) { y0 += h[n] * bc[i][D_STATE + n]; y1 += h[n + 1] * bc[i][D_STATE + n + 1]; }
            }
            if (OUTPUT && live) dt[(size_t)(from + i) * D_INNER] = narrow((y0 + y1) * silu(gates[i]));
        }
    }
    if (live && !OUTPUT) {
#pragma unroll
        for (int n = 0; n < D_STATE; ++n) states[slot * D_STATE + n] = h[n];
        sums[slot] = total;
    }
}

// Grid (channels / 128, segments, sequences).
extern "C" __global__ void __launch_bounds__(128) scan_segments(
    elem* dt, const elem* u, const elem* projected, const elem* selected, const float* decay, const float* dt_bias,
    const float* skip, float* states, float* sums, int length, int span) {
    segment<false>(dt, u, projected, selected, decay, dt_bias, skip, states, sums, length, span);
}

extern "C" __global__ void __launch_bounds__(128) scan_output(
    elem* dt, const elem* u, const elem* projected, const elem* selected, const float* decay, const float* dt_bias,
    const float* skip, float* states, float* sums, int length, int span) {
    segment<true>(dt, u, projected, selected, decay, dt_bias, skip, states, sums, length, span);
}

// Final states of the segments become their first ones; `state` [sequence][channel][D_STATE] advances to the end.
// A thread a (channel, state); grid (elements / 256, sequences).
extern "C" __global__ void scan_carry(const float* __restrict__ decay, float* __restrict__ states,
                                      const float* __restrict__ sums, float* __restrict__ state, int segments) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= D_INNER * D_STATE) return;
    float* s = state + (size_t)blockIdx.y * D_INNER * D_STATE + i;
    states += (size_t)blockIdx.y * segments * D_INNER * D_STATE + i;
    sums += (size_t)blockIdx.y * segments * D_INNER + i / D_STATE;
    float carry = *s, a = decay[i];
    for (int g = 0; g < segments; g += 8) {
        float local[8], sum[8];
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            size_t at = min(g + j, segments - 1);
            local[j] = states[at * D_INNER * D_STATE];
            sum[j] = sums[at * D_INNER];
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            if (g + j < segments) {
                states[(size_t)(g + j) * D_INNER * D_STATE] = carry;
                carry = power2(a * sum[j]) * carry + local[j];
            }
        }
    }
    *s = carry;
}

// ---------------------------------------------------------------- one token

// Dot products of ROWS weight rows with a vector in shared memory, by one warp. The weights are loaded before `wait`.
template <int K, int ROWS>
struct Dot {
    static const int STEPS = K / (32 * VECTOR);
    uint4 w[ROWS][STEPS];
    __device__ __forceinline__ void load(const elem* weight, int row, int rows) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
#pragma unroll
            for (int s = 0; s < STEPS; ++s) {
                const uint4* p = (const uint4*)(weight + (size_t)min(row + r, rows - 1) * K) + s * 32 + (threadIdx.x & 31);
                asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(w[r][s].x), "=r"(w[r][s].y), "=r"(w[r][s].z), "=r"(w[r][s].w) : "l"(p));
            }
    }
    __device__ __forceinline__ void dot(const float* x, float* out) {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) out[r] = 0.0f;
#pragma unroll
        for (int s = 0; s < STEPS; ++s) {
            const float4* p = (const float4*)(x + (s * 32 + (threadIdx.x & 31)) * VECTOR);
            float xs[VECTOR];
#pragma unroll
            for (int i = 0; i < VECTOR / 4; ++i) { float4 v = p[i]; xs[4 * i] = v.x; xs[4 * i + 1] = v.y; xs[4 * i + 2] = v.z; xs[4 * i + 3] = v.w; }
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                float ws[VECTOR];
                unpack(w[r][s], ws);
#pragma unroll
                for (int i = 0; i < VECTOR; ++i) out[r] += ws[i] * xs[i];
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; ++r) out[r] = warp_sum(out[r]);
    }
};

// out = W norm(hidden); 8 warps a block, 2 rows a warp. Used for the input projection and for the head.
// The weights' rows are cut so that a whole matrix is in flight at once.
__device__ __forceinline__ void norm_matvec(const float* hidden, const float* norm, const elem* weight, float* out, int rows) {
    __shared__ float x[D_MODEL];
    __shared__ float room[8];
    int row = (blockIdx.x * 8 + (threadIdx.x >> 5)) * 2;
    const int PER = (D_MODEL + 255) / 256;
    float scales[PER];
    Dot<D_MODEL, 2> dots;
    release();
    dots.load(weight, row, rows);
#pragma unroll
    for (int i = 0; i < PER; ++i) scales[i] = i * 256 + threadIdx.x < D_MODEL ? norm[i * 256 + threadIdx.x] : 0.0f;
    wait();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        int c = i * 256 + threadIdx.x;
        if (c < D_MODEL) { float v = hidden[c]; x[c] = v * scales[i]; sum += v * v; }
    }
    float scale = rsqrtf(block_sum(sum, room) / D_MODEL + EPS);
    float y[2];
    dots.dot(x, y);
    if ((threadIdx.x & 31) == 0) {
        if (row < rows) out[row] = y[0] * scale;
        if (row + 1 < rows) out[row + 1] = y[1] * scale;
    }
}

extern "C" __global__ void __launch_bounds__(256) step_in(const float* hidden, const float* norm, const elem* weight, float* projected) {
    norm_matvec(hidden, norm, weight, projected, 2 * D_INNER);
}

extern "C" __global__ void __launch_bounds__(256) step_head(const float* hidden, const float* norm, const elem* weight, float* logits) {
    norm_matvec(hidden, norm, weight, logits, VOCAB);
}

// Convolution of one channel: all but the newest input, which is not known before `wait`.
__device__ __forceinline__ float convolved_so_far(const float* weight, const float* bias, const float* state, int c) {
    float sum = bias[c];
#pragma unroll
    for (int j = 0; j < TAPS - 1; ++j) sum += weight[j * D_INNER + c] * state[j * D_INNER + c];
    return sum;
}

// selected = W_x conv(x); a block of 256 a row.
extern "C" __global__ void __launch_bounds__(256) step_select(const float* projected, const float* conv_weight, const float* conv_bias,
                                                              const float* conv_state, const elem* weight, float* selected) {
    __shared__ float room[8];
    const int PER = (D_INNER + 255) / 256;
    float w[PER], known[PER], newest[PER];
    release();
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        int c = min(i * 256 + threadIdx.x, D_INNER - 1);
        w[i] = i * 256 + threadIdx.x < D_INNER ? wide(weight[(size_t)blockIdx.x * D_INNER + c]) : 0.0f;
        known[i] = convolved_so_far(conv_weight, conv_bias, conv_state, c);
        newest[i] = conv_weight[(TAPS - 1) * D_INNER + c];
    }
    wait();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        int c = min(i * 256 + threadIdx.x, D_INNER - 1);
        sum += w[i] * silu(known[i] + newest[i] * projected[c]);
    }
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) selected[blockIdx.x] = sum;
}

// dt, state update, output and gate; sixteen lanes a channel, 16 channels a block of 256. Also advances the convolution's state.
extern "C" __global__ void __launch_bounds__(256) step_scan(const float* projected, const float* conv_weight, const float* conv_bias,
                                                            float* conv_state, const float* selected, const elem* dt_weight,
                                                            const float* dt_bias, const float* decay, const float* skip,
                                                            float* state, float* y) {
    int c = blockIdx.x * 16 + (threadIdx.x >> 4), lane = threadIdx.x & 15;
    bool live = c < D_INNER;
    c = live ? c : D_INNER - 1;
    const int PER = (DT_RANK + 15) / 16, STATES = (D_STATE + 15) / 16;
    float w[PER], a[STATES], h[STATES];
    release();
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        int r = i * 16 + lane;
        w[i] = r < DT_RANK ? wide(dt_weight[(size_t)c * DT_RANK + r]) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < STATES; ++i) {
        int n = min(i * 16 + lane, D_STATE - 1);
        a[i] = decay[c * D_STATE + n];
        h[i] = state[(size_t)c * D_STATE + n];
    }
    float known = convolved_so_far(conv_weight, conv_bias, conv_state, c), newest = conv_weight[(TAPS - 1) * D_INNER + c];
    float bias = dt_bias[c], d = skip[c];
    wait();
    float x = projected[c], gate = projected[D_INNER + c], sum = 0.0f;
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        int r = i * 16 + lane;
        if (r < DT_RANK) sum += w[i] * selected[r];
    }
#pragma unroll
    for (int o = 8; o > 0; o >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    float step = softplus(sum + bias), u = silu(known + newest * x), out = 0.0f;
#pragma unroll
    for (int i = 0; i < STATES; ++i) {
        int n = i * 16 + lane;
        if (n < D_STATE) {
            h[i] = power2(step * a[i]) * h[i] + step * u * selected[DT_RANK + n];
            if (live) state[(size_t)c * D_STATE + n] = h[i];
            out += h[i] * selected[DT_RANK + D_STATE + n];
        }
    }
#pragma unroll
    for (int o = 8; o > 0; o >>= 1) out += __shfl_xor_sync(0xffffffffu, out, o);
    // All lanes of a channel have read its convolution state before the first lane shifts it.
    __syncwarp();
    if (live && lane == 0) {
        y[c] = (out + d * u) * silu(gate);
#pragma unroll
        for (int j = 0; j < TAPS - 2; ++j) conv_state[j * D_INNER + c] = conv_state[(j + 1) * D_INNER + c];
        conv_state[(TAPS - 2) * D_INNER + c] = x;
    }
}

// hidden += W_out y; a warp a row.
extern "C" __global__ void __launch_bounds__(256) step_out(const float* y, const elem* weight, float* hidden) {
    int row = blockIdx.x * 8 + (threadIdx.x >> 5);
    Dot<D_INNER, 1> dots;
    release();
    dots.load(weight, row, D_MODEL);
    wait();
    float out[1];
    dots.dot(y, out);
    if ((threadIdx.x & 31) == 0 && row < D_MODEL) hidden[row] += out[0];
}

// The likeliest token, the smallest id among equals: becomes the next token, and is noted at `out[count++]`.
extern "C" __global__ void __launch_bounds__(1024) step_choose(const float* logits, u32* token, u32* out, u32* count) {
    __shared__ float best[32];
    __shared__ u32 where[32];
    release();
    wait();
    float b = -__int_as_float(0x7f800000);
    u32 at = 0xffffffffu;
    const float4* four = (const float4*)logits;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < VOCAB / 4; i += 1024) {
        float4 v = four[i];
        if (v.x > b) { b = v.x; at = 4 * i; }
        if (v.y > b) { b = v.y; at = 4 * i + 1; }
        if (v.z > b) { b = v.z; at = 4 * i + 2; }
        if (v.w > b) { b = v.w; at = 4 * i + 3; }
    }
    for (u32 i = VOCAB / 4 * 4 + threadIdx.x; i < VOCAB; i += 1024)
        if (logits[i] > b) { b = logits[i]; at = i; }
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        float v = __shfl_xor_sync(0xffffffffu, b, o);
        u32 w = __shfl_xor_sync(0xffffffffu, at, o);
        if (v > b || (v == b && w < at)) { b = v; at = w; }
    }
    if ((threadIdx.x & 31) == 0) { best[threadIdx.x >> 5] = b; where[threadIdx.x >> 5] = at; }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 32; ++i)
            if (best[i] > b || (best[i] == b && where[i] < at)) { b = best[i]; at = where[i]; }
        u32 id = at < VOCAB ? at : 0;
        *token = id;
        u32 n = *count;
        out[n] = id;
        *count = n + 1;
    }
}
