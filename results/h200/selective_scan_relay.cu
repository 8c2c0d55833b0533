/* ksearch
[tunables]
STEPS = { values = [16, 32], default = 16 }
WARPS = { values = [8, 12, 16], default = 16 }

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
ALIGNED_ROWS = "L * bytes(T) % 16 == 0"
PAIRED = "2 * ceil_div(states, 2)"

[[dispatch]]
kernel = "selective_scan"
grid = ["groups * ceil_div(dim / groups, 16)", "batch", 1]
threadgroup = ["32 * WARPS", 1, 1]
[dispatch.args]
shared = { threadgroup = "ceil_div(8 * WARPS * PAIRED * STEPS + 128 * WARPS * (STEPS + 4) + 128 * PAIRED + 4 * WARPS * PAIRED, 16) * 16" }
*/
// Mamba-1 selective scan as a relay of warps. A warp takes STEPS consecutive time steps of sixteen channels, one half of
// its lanes the first half of the states, the other half the rest; it walks through its states one after the other and
// hands the state of the scan to the warp with the next steps, which then follows one state behind. Every step is
// computed once, without a scan over lanes.


#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int CHANNELS = 16;
constexpr int THREADS = 32 * WARPS;
constexpr int CHUNKS = (L + STEPS - 1) / STEPS;
// States of half a warp, and the steps of which each half prepares and finishes one part.
constexpr int HALF_STATES = (STATES + 1) / 2;
constexpr int OWN = STEPS / 2;
// Rows are shifted so that the lanes of a quarter-warp read from different banks.
constexpr int PITCH = STEPS + 4;
constexpr float LOG2E = 1.44269504f;
// Values of one 16-byte access, accesses of a lane for its own steps, and those for its part of B and C.
constexpr int EACH = 16 / sizeof(T);
constexpr int OWN_LOADS = OWN / EACH;
constexpr int MATRIX_LOADS = (2 * STATES * STEPS / EACH + 31) / 32;

struct __align__(16) Shared {
    float matrices[WARPS][2][2 * HALF_STATES][STEPS];
    float dt[WARPS][CHANNELS][PITCH];
    float input[WARPS][CHANNELS][PITCH];
    float carry[2 * HALF_STATES][CHANNELS];
    float rates[2 * HALF_STATES][CHANNELS];
    // Which warp is through with which of its states.
    unsigned long long ready[WARPS][HALF_STATES];
};

__device__ __forceinline__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void arrive(unsigned long long* barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(address(barrier)) : "memory");
}

__device__ __forceinline__ void wait(unsigned long long* barrier, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra end;\nbra again;\nend:\n}"
        ::"r"(address(barrier)), "r"(parity) : "memory");
}

__device__ __forceinline__ float exp2_unit(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// The same, but not moved behind the wait that follows it.
__device__ __forceinline__ float exp2_early(float x) {
    float y;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float softplus(float x) {
    const float e = exp2_unit(x * LOG2E);
    // Near zero the logarithm of 1 + e would lose the digits of e.
    const float series = e * (1.0f - e * (0.5f - e * (0.33333333f - e * (0.25f - e * 0.2f))));
    const float small = e < 0.0625f ? series : __logf(1.0f + e);
    return x > 20.0f ? x : small;
}

// 16 bytes of a row from `at` on; what lies beyond its end is zero.
__device__ __forceinline__ uint4 load(const T* row, int at) {
#if ALIGNED_ROWS
    return at < L ? __ldg(reinterpret_cast<const uint4*>(row + at)) : make_uint4(0, 0, 0, 0);
#else
    uint4 packed;
    T* values = reinterpret_cast<T*>(&packed);
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        values[i] = at + i < L ? row[at + i] : T(0.0f);
    }
    return packed;
#endif
}

__device__ __forceinline__ float value(const uint4& packed, int i) { return float(reinterpret_cast<const T*>(&packed)[i]); }

extern "C" __global__ void __launch_bounds__(THREADS, 1) selective_scan(
    const T* __restrict__ u, const T* __restrict__ delta, const float* __restrict__ A, const T* __restrict__ B,
    const T* __restrict__ C, const float* __restrict__ D, const T* __restrict__ z,
    const float* __restrict__ delta_bias, const float* __restrict__ initial_state, T* __restrict__ out,
    float* __restrict__ final_state, int dim, int groups)
{
    extern __shared__ __align__(16) unsigned char memory[];
    Shared& s = *reinterpret_cast<Shared*>(memory);
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int half_warp = lane / CHANNELS;
    const int c = lane % CHANNELS;
    const int batch = blockIdx.y;
    // Blocks do not cross groups, whose channels read other matrices.
    const int per_group = dim / groups;
    const int blocks = (per_group + CHANNELS - 1) / CHANNELS;
    const int group = blockIdx.x / blocks;
    const int first = group * per_group + blockIdx.x % blocks * CHANNELS;
    const int end = (group + 1) * per_group;
    const int channel = min(first + c, end - 1);
    const size_t row = (size_t)(batch * dim + channel) * L;
    const T* const matrices = B + (size_t)(batch * groups + group) * STATES * L;
    const ptrdiff_t to_c = C - B;

    for (int i = threadIdx.x; i < 2 * HALF_STATES * CHANNELS; i += THREADS) {
        const int n = i / CHANNELS;
        const int k = min(first + i % CHANNELS, end - 1);
        s.rates[n][i % CHANNELS] = n < STATES ? A[k * STATES + n] * LOG2E : 0.0f;
        const float begin =
            HAS_INITIAL_STATE && n < STATES ? initial_state[(size_t)(batch * dim + k) * STATES + n] : 0.0f;
        s.carry[n][i % CHANNELS] = begin;
    }
    for (int i = threadIdx.x; i < WARPS * HALF_STATES; i += THREADS) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&s.ready[0][i])) : "memory");
    }
    // The row of a state that is not there stays zero.
    if (STATES % 2 == 1) {
        for (int i = lane; i < STEPS; i += 32) {
            s.matrices[warp][0][2 * HALF_STATES - 1][i] = s.matrices[warp][1][2 * HALF_STATES - 1][i] = 0.0f;
        }
    }
    __syncthreads();

    const float bias = HAS_DELTA_BIAS ? delta_bias[channel] : 0.0f;
    const float skip = HAS_D ? D[channel] : 0.0f;
    uint4 next_u[OWN_LOADS], next_delta[OWN_LOADS], next_matrices[MATRIX_LOADS], gates[OWN_LOADS];
    const auto fetch = [&](int chunk) {
        const int at = chunk * STEPS + half_warp * OWN;
#pragma unroll
        for (int i = 0; i < OWN_LOADS; ++i) {
            next_u[i] = load(u + row, at + i * EACH);
            next_delta[i] = load(delta + row, at + i * EACH);
        }
#pragma unroll
        for (int i = 0; i < MATRIX_LOADS; ++i) {
            const int piece = i * 32 + lane;
            const int n = piece / (STEPS / EACH);
            if (2 * STATES * STEPS / EACH % 32 == 0 || n < 2 * STATES) {
                const T* from = n < STATES ? matrices + (size_t)n * L : matrices + to_c + (size_t)(n - STATES) * L;
                next_matrices[i] = load(from, chunk * STEPS + piece % (STEPS / EACH) * EACH);
            }
        }
    };

    if (warp < CHUNKS) {
        fetch(warp);
    }
    for (int chunk = warp; chunk < CHUNKS; chunk += WARPS) {
        const int at = chunk * STEPS + half_warp * OWN;
        float dt[STEPS], input[STEPS], y[STEPS];
#pragma unroll
        for (int i = 0; i < OWN_LOADS; ++i) {
#pragma unroll
            for (int e = 0; e < EACH; e += 4) {
                float step[4], in[4];
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const int own = i * EACH + e + k;
                    const float x = value(next_delta[i], e + k) + bias;
                    const float v = value(next_u[i], e + k);
                    const float positive = DELTA_SOFTPLUS ? softplus(x) : x;
                    // A step of length zero leaves the state as it is.
                    step[k] = L % STEPS == 0 || at + own < L ? positive : 0.0f;
                    in[k] = step[k] * v;
                    y[own] = half_warp == 0 ? skip * v : 0.0f;
                    y[own + OWN] = half_warp == 1 ? skip * v : 0.0f;
                }
                const int to = half_warp * OWN + i * EACH + e;
                *reinterpret_cast<float4*>(&s.dt[warp][c][to]) = make_float4(step[0], step[1], step[2], step[3]);
                *reinterpret_cast<float4*>(&s.input[warp][c][to]) = make_float4(in[0], in[1], in[2], in[3]);
            }
        }
#pragma unroll
        for (int i = 0; i < MATRIX_LOADS; ++i) {
            const int piece = i * 32 + lane;
            const int n = piece / (STEPS / EACH);
            if (2 * STATES * STEPS / EACH % 32 == 0 || n < 2 * STATES) {
                float* to = s.matrices[warp][n < STATES ? 0 : 1][n < STATES ? n : n - STATES] +
                            piece % (STEPS / EACH) * EACH;
#pragma unroll
                for (int e = 0; e < EACH; e += 4) {
                    *reinterpret_cast<float4*>(to + e) =
                        make_float4(value(next_matrices[i], e), value(next_matrices[i], e + 1),
                                    value(next_matrices[i], e + 2), value(next_matrices[i], e + 3));
                }
            }
        }
        __syncwarp();
        // What the next chunk begins with, and what this one ends with, arrive meanwhile.
        if (chunk + WARPS < CHUNKS) {
            fetch(chunk + WARPS);
        }
        if (HAS_Z) {
#pragma unroll
            for (int i = 0; i < OWN_LOADS; ++i) {
                gates[i] = load(z + row, at + i * EACH);
            }
        }
#pragma unroll
        for (int k = 0; k < STEPS; k += 4) {
            const float4 a = *reinterpret_cast<const float4*>(&s.dt[warp][c][k]);
            const float4 b = *reinterpret_cast<const float4*>(&s.input[warp][c][k]);
            dt[k] = a.x; dt[k + 1] = a.y; dt[k + 2] = a.z; dt[k + 3] = a.w;
            input[k] = b.x; input[k + 1] = b.y; input[k + 2] = b.z; input[k + 3] = b.w;
        }

#pragma unroll 1
        for (int m = 0; m < HALF_STATES; ++m) {
            const int n = half_warp * HALF_STATES + m;
            const float rate = s.rates[n][c];
            float decay[STEPS], added[STEPS];
#pragma unroll
            for (int k = 0; k < STEPS; k += 4) {
                const float4 b4 = *reinterpret_cast<const float4*>(s.matrices[warp][0][n] + k);
                added[k] = input[k] * b4.x;
                added[k + 1] = input[k + 1] * b4.y;
                added[k + 2] = input[k + 2] * b4.z;
                added[k + 3] = input[k + 3] * b4.w;
            }
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                const float exponent = dt[k] * rate;
                decay[k] = exp2_early(exponent);
            }
            // Everything but the chain itself is ready; the warp with the steps before must be through with this state.
            if (chunk > 0) {
                const int sooner = warp == 0 ? WARPS - 1 : warp - 1;
                wait(&s.ready[sooner][m], ((chunk - 1) / WARPS) & 1);
            }
            float h = s.carry[n][c];
#pragma unroll
            for (int k = 0; k < STEPS; ++k) {
                h = fmaf(decay[k], h, added[k]);
                added[k] = h;
            }
            s.carry[n][c] = h;
            __syncwarp();
            if (lane == 0) {
                arrive(&s.ready[warp][m]);
            }
#pragma unroll
            for (int k = 0; k < STEPS; k += 4) {
                const float4 c4 = *reinterpret_cast<const float4*>(s.matrices[warp][1][n] + k);
                y[k] = fmaf(added[k], c4.x, y[k]);
                y[k + 1] = fmaf(added[k + 1], c4.y, y[k + 1]);
                y[k + 2] = fmaf(added[k + 2], c4.z, y[k + 2]);
                y[k + 3] = fmaf(added[k + 3], c4.w, y[k + 3]);
            }
        }

        // Each half adds what the other summed for its own steps, gates and stores them.
        float mine[OWN];
#pragma unroll
        for (int k = 0; k < OWN; ++k) {
            const float other = __shfl_xor_sync(0xffffffffu, half_warp == 0 ? y[k + OWN] : y[k], CHANNELS);
            mine[k] = (half_warp == 0 ? y[k] : y[k + OWN]) + other;
        }
        if (HAS_Z) {
#pragma unroll
            for (int k = 0; k < OWN; ++k) {
                const float g = value(gates[k / EACH], k % EACH);
                mine[k] *= __fdividef(g, 1.0f + exp2_unit(-LOG2E * g));
            }
        }
        if (first + c < end) {
            T* to = out + row + at;
#if ALIGNED_ROWS
#pragma unroll
            for (int i = 0; i < OWN_LOADS; ++i) {
                if (at + i * EACH < L) {
                    uint4 packed;
                    T* values = reinterpret_cast<T*>(&packed);
#pragma unroll
                    for (int e = 0; e < EACH; ++e) {
                        values[e] = T(mine[i * EACH + e]);
                    }
                    *reinterpret_cast<uint4*>(to + i * EACH) = packed;
                }
            }
#else
#pragma unroll
            for (int k = 0; k < OWN; ++k) {
                if (at + k < L) {
                    to[k] = T(mine[k]);
                }
            }
#endif
        }
    }
    if (HAS_FINAL_STATE) {
        __syncthreads();
        for (int i = threadIdx.x; i < STATES * CHANNELS; i += THREADS) {
            const int n = i / CHANNELS;
            const int k = first + i % CHANNELS;
            if (k < end) {
                final_state[(size_t)(batch * dim + k) * STATES + n] = s.carry[n][i % CHANNELS];
            }
        }
    }
}