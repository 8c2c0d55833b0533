/* ksearch
[tunables]
STEPS = { values = [4, 8, 16], default = 16 }
WARPS = { values = [4, 8, 16], default = 16 }
RESIDENT = { values = [1, 2, 3, 4], default = 1 }
PART = { values = [2, 4, 8, 16], default = 16 }

[defines]
T = { type = "u" }
STATES = "states"
L = "L"
DELTA_SOFTPLUS = "delta_softplus"
HAS_D = "has_D"
HAS_Z = "has_z"
HAS_DELTA_BIAS = "has_delta_bias"
HAS_INITIAL_STATE = "has_initial_state"
HAS_FINAL_STATE = "has_final_state"
CHANNELS = 1
ALIGNED_ROWS = "L * bytes(T) % 16 == 0"

[[dispatch]]
kernel = "selective_scan"
grid = ["groups * ceil_div(dim / groups, WARPS * CHANNELS)", "batch", 1]
threadgroup = ["32 * WARPS", 1, 1]
[dispatch.args]
shared = { threadgroup = "ceil_div(8 * PART * 32 * (STEPS + 4) + 2 * PART * 32 * STEPS * bytes(T) + 8 * WARPS * CHANNELS * states, 16) * 16" }
*/
// Mamba-1 selective scan, parallel in time: each lane takes STEPS consecutive steps of its channels, the lanes of a warp
// join their parts by a scan over (decay, state), and every lane replays its part from the state it then begins with.
// Strategies: base-2 exponential of the special-function unit; states and rates in registers; chunked parallel scan
// over time.

#include <cuda_fp16.h>
#include <cuda_bf16.h>

constexpr int SPAN = 32 * STEPS;
constexpr int TILES = (L + SPAN - 1) / SPAN;
constexpr int BLOCK_CHANNELS = WARPS * CHANNELS;
constexpr int THREADS = 32 * WARPS;
// Values of one lane are followed by four of nothing, so that eight lanes read from different banks.
constexpr int PITCH = 32 * (STEPS + 4);
// B and C come in parts of a few states.
constexpr int PARTS = (STATES + PART - 1) / PART;
constexpr float LOG2E = 1.44269504f;

struct __align__(16) Shared {
    float matrices[2][PART][PITCH];
    T raw[2][PART][SPAN];
    float carry[BLOCK_CHANNELS][STATES];
    float rates[BLOCK_CHANNELS][STATES];
};

__device__ __forceinline__ float exp2_unit(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float softplus(float x) {
    const float e = exp2_unit(x * LOG2E);
    // Near zero the logarithm of 1 + e would lose the digits of e.
    const float series = e * (1.0f - e * (0.5f - e * (0.33333333f - e * (0.25f - e * 0.2f))));
    const float small = e < 0.0625f ? series : __logf(1.0f + e);
    return x > 20.0f ? x : small;
}

// STEPS steps of a row from `at` on; what lies beyond its end is zero.
__device__ __forceinline__ void load(float (&x)[STEPS], const T* row, int at) {
#if ALIGNED_ROWS
    constexpr int EACH = 16 / sizeof(T);
#pragma unroll
    for (int k = 0; k < STEPS; k += EACH) {
        const uint4 packed = at + k < L ? __ldg(reinterpret_cast<const uint4*>(row + at + k)) : make_uint4(0, 0, 0, 0);
        const T* values = reinterpret_cast<const T*>(&packed);
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            x[k + i] = float(values[i]);
        }
    }
#else
#pragma unroll
    for (int k = 0; k < STEPS; ++k) {
        x[k] = at + k < L ? float(row[at + k]) : 0.0f;
    }
#endif
}

// Asks for a row's next span, to find it near when it is loaded.
__device__ __forceinline__ void expect(const T* row, int at, int lane) {
    const int mine = at + lane * (128 / (int)sizeof(T));
    if (lane < SPAN * (int)sizeof(T) / 128 && mine < L) {
        asm volatile("prefetch.global.L1 [%0];" ::"l"(row + mine));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) selective_scan(
    const T* __restrict__ u, const T* __restrict__ delta, const float* __restrict__ A, const T* __restrict__ B,
    const T* __restrict__ C, const float* __restrict__ D, const T* __restrict__ z,
    const float* __restrict__ delta_bias, const float* __restrict__ initial_state, T* __restrict__ out,
    float* __restrict__ final_state, int dim, int groups)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& s = *reinterpret_cast<Shared*>(memory);
    const int lane = threadIdx.x % 32;
    const int mine = threadIdx.x / 32 * CHANNELS;
    const int batch = blockIdx.y;
    // Blocks do not cross groups, whose channels read other matrices.
    const int per_group = dim / groups;
    const int blocks = (per_group + BLOCK_CHANNELS - 1) / BLOCK_CHANNELS;
    const int group = blockIdx.x / blocks;
    const int first = group * per_group + blockIdx.x % blocks * BLOCK_CHANNELS;
    const int end = (group + 1) * per_group;
    const auto channel_of = [&](int r) { return min(first + r, end - 1); };
    const auto row_of = [&](int r) { return (size_t)(batch * dim + channel_of(r)) * L; };

    for (int i = threadIdx.x; i < BLOCK_CHANNELS * STATES; i += THREADS) {
        const int r = i / STATES;
        const int n = i % STATES;
        s.rates[r][n] = A[channel_of(r) * STATES + n] * LOG2E;
        s.carry[r][n] =
            HAS_INITIAL_STATE ? initial_state[(size_t)(batch * dim + channel_of(r)) * STATES + n] : 0.0f;
    }
    // Sets copies of the next part of the matrices on their way.
    const auto fetch = [&](int index) {
        constexpr int EACH = 16 / sizeof(T);
        const int tile = index / PARTS;
        const int part = index % PARTS;
#pragma unroll 4
        for (int i = threadIdx.x; i < 2 * PART * SPAN / EACH; i += THREADS) {
            const int at = i % (SPAN / EACH) * EACH;
            const int m = i / (SPAN / EACH) % PART;
            const int which = i / (SPAN / EACH) / PART;
            const int n = min(part * PART + m, STATES - 1);
            const T* row = (which ? C : B) + ((size_t)(batch * groups + group) * STATES + n) * L;
            T* to = &s.raw[which][m][at];
            const int l = tile * SPAN + at;
#if ALIGNED_ROWS
            const unsigned address = (unsigned)__cvta_generic_to_shared(to);
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(row + (l < L ? l : 0)),
                         "r"(l < L ? 16 : 0)
                         : "memory");
#else
            for (int k = 0; k < EACH; ++k) {
                to[k] = l + k < L ? row[l + k] : T(0.0f);
            }
#endif
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };

    fetch(0);
#pragma unroll
    for (int j = 0; j < CHANNELS; ++j) {
        expect(u + row_of(mine + j), 0, lane);
        expect(delta + row_of(mine + j), 0, lane);
    }
    for (int tile = 0; tile < TILES; ++tile) {
        const int at = tile * SPAN + lane * STEPS;
        float dt[CHANNELS][STEPS], input[CHANNELS][STEPS], y[CHANNELS][STEPS], whole[CHANNELS];
#pragma unroll
        for (int j = 0; j < CHANNELS; ++j) {
            const int channel = channel_of(mine + j);
            load(input[j], u + row_of(mine + j), at);
            load(dt[j], delta + row_of(mine + j), at);
            const float bias = HAS_DELTA_BIAS ? __ldg(delta_bias + channel) : 0.0f;
            const float skip = HAS_D ? __ldg(D + channel) : 0.0f;
            whole[j] = 0.0f;
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                const float x = dt[j][k] + bias;
                const float positive = DELTA_SOFTPLUS ? softplus(x) : x;
                // A step of length zero leaves the state as it is.
                dt[j][k] = L % SPAN == 0 || at + k < L ? positive : 0.0f;
                y[j][k] = skip * input[j][k];
                input[j][k] *= dt[j][k];
                whole[j] += dt[j][k];
            }
        }
#pragma unroll
        for (int j = 0; j < CHANNELS; ++j) {
            if (HAS_Z) {
                expect(z + row_of(mine + j), tile * SPAN, lane);
            }
            expect(u + row_of(mine + j), (tile + 1) * SPAN, lane);
            expect(delta + row_of(mine + j), (tile + 1) * SPAN, lane);
        }

        for (int part = 0; part < PARTS; ++part) {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
            __syncthreads();
#pragma unroll 4
            for (int i = threadIdx.x; i < 2 * PART * SPAN / 4; i += THREADS) {
                const int l = i % (SPAN / 4) * 4;
                const int row = i / (SPAN / 4);
                const T* from = &s.raw[0][0][0] + row * SPAN + l;
                float4 v;
                if constexpr (sizeof(T) == 4) {
                    v = *reinterpret_cast<const float4*>(from);
                } else {
                    const uint2 packed = *reinterpret_cast<const uint2*>(from);
                    const T* x = reinterpret_cast<const T*>(&packed);
                    v = make_float4(float(x[0]), float(x[1]), float(x[2]), float(x[3]));
                }
                *reinterpret_cast<float4*>(&s.matrices[0][0][0] + row * PITCH + l / STEPS * (STEPS + 4) + l % STEPS) = v;
            }
            __syncthreads();
            if (tile * PARTS + part + 1 < TILES * PARTS) {
                fetch(tile * PARTS + part + 1);
            }
            const int last = min(PART, STATES - part * PART);
#pragma unroll 1
            for (int m = 0; m < last; ++m) {
                const int n = part * PART + m;
                const float* Bs = &s.matrices[0][m][lane * (STEPS + 4)];
                const float* Cs = &s.matrices[1][m][lane * (STEPS + 4)];
                float decay[CHANNELS][STEPS], added[CHANNELS][STEPS], h[CHANNELS], p[CHANNELS], carry[CHANNELS];
#pragma unroll
                for (int j = 0; j < CHANNELS; ++j) {
                    const float rate = s.rates[mine + j][n];
                    carry[j] = s.carry[mine + j][n];
                    p[j] = exp2_unit(whole[j] * rate);
                    // The first lane begins with what the tile before left.
                    h[j] = lane == 0 ? carry[j] : 0.0f;
#pragma unroll
                    for (int k = 0; k < STEPS; ++k) {
                        const float exponent = dt[j][k] * rate;
                        decay[j][k] = exp2_unit(exponent);
                    }
                }
#pragma unroll
                for (int k = 0; k < STEPS; k += 4) {
                    const float4 b4 = *reinterpret_cast<const float4*>(Bs + k);
                    const float b[4] = {b4.x, b4.y, b4.z, b4.w};
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
#pragma unroll
                        for (int j = 0; j < CHANNELS; ++j) {
                            added[j][k + i] = input[j][k + i] * b[i];
                            h[j] = fmaf(decay[j][k + i], h[j], added[j][k + i]);
                        }
                    }
                }
#pragma unroll
                for (int reach = 1; reach < 32; reach *= 2) {
#pragma unroll
                    for (int j = 0; j < CHANNELS; ++j) {
                        const float before = __shfl_up_sync(0xffffffffu, h[j], reach);
                        const float factor = __shfl_up_sync(0xffffffffu, p[j], reach);
                        if (lane >= reach) {
                            h[j] = fmaf(p[j], before, h[j]);
                            p[j] *= factor;
                        }
                    }
                }
#pragma unroll
                for (int j = 0; j < CHANNELS; ++j) {
                    if (lane == 31) {
                        s.carry[mine + j][n] = h[j];
                    }
                    const float before = __shfl_up_sync(0xffffffffu, h[j], 1);
                    h[j] = lane == 0 ? carry[j] : before;
                }
#pragma unroll
                for (int k = 0; k < STEPS; k += 4) {
                    const float4 c4 = *reinterpret_cast<const float4*>(Cs + k);
                    const float c[4] = {c4.x, c4.y, c4.z, c4.w};
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
#pragma unroll
                        for (int j = 0; j < CHANNELS; ++j) {
                            h[j] = fmaf(decay[j][k + i], h[j], added[j][k + i]);
                            y[j][k + i] = fmaf(h[j], c[i], y[j][k + i]);
                        }
                    }
                }
            }
        }
        __syncwarp();

#pragma unroll
        for (int j = 0; j < CHANNELS; ++j) {
            if (HAS_Z) {
                float gate[STEPS];
                load(gate, z + row_of(mine + j), at);
#pragma unroll
                for (int k = 0; k < STEPS; ++k) {
                    y[j][k] *= __fdividef(gate[k], 1.0f + exp2_unit(-LOG2E * gate[k]));
                }
            }
            if (first + mine + j < end) {
                T* to = out + row_of(mine + j) + at;
#if ALIGNED_ROWS
                constexpr int EACH = 16 / sizeof(T);
#pragma unroll
                for (int k = 0; k < STEPS; k += EACH) {
                    if (at + k < L) {
                        uint4 packed;
                        T* values = reinterpret_cast<T*>(&packed);
#pragma unroll
                        for (int i = 0; i < EACH; ++i) {
                            values[i] = T(y[j][k + i]);
                        }
                        *reinterpret_cast<uint4*>(to + k) = packed;
                    }
                }
#else
#pragma unroll
                for (int k = 0; k < STEPS; ++k) {
                    if (at + k < L) {
                        to[k] = T(y[j][k]);
                    }
                }
#endif
            }
        }
    }
    if (HAS_FINAL_STATE) {
        for (int i = lane; i < CHANNELS * STATES; i += 32) {
            const int r = mine + i / STATES;
            if (first + r < end) {
                final_state[(size_t)(batch * dim + first + r) * STATES + i % STATES] = s.carry[r][i % STATES];
            }
        }
    }
}
