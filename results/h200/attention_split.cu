/* ksearch
[tunables]
SPLIT_KEYS = { values = [16, 32, 64], default = 32 }
SPLIT_WARPS = { values = [4, 8], default = 8 }
SPLIT_TILES = { values = [1, 2], default = 1 }

[defines]
T = { type = "q" }
D = "D"

[[dispatch]]
kernel = "attention_split"
grid = ["Hq", "ceil_div(Lq, 16 * SPLIT_TILES * SPLIT_WARPS)", "B"]
threadgroup = ["32 * SPLIT_WARPS", 1, 1]
args = { shared = { threadgroup = "4 * ((16 * SPLIT_TILES * SPLIT_WARPS + SPLIT_KEYS) * (D + (40 - D % 32) % 32) + SPLIT_KEYS * (D + (20 - D % 16) % 16))" } }
when = "bytes(T) == 4 && D % 8 == 0 && D <= 128"

[[dispatch]]
kernel = "attention_naive"
grid = ["ceil_div(Lq, 64)", "Hq", "B"]
threadgroup = [64, 1, 1]
when = "!(bytes(T) == 4 && D % 8 == 0 && D <= 128)"
*/
// Attention forward: each kernel for the tensors it is made for, the naive one for the rest.
// Strategies: products of 32 bits as three of tf32.

#include <cuda_fp16.h>

#define MINUS_INFINITY __int_as_float(0xff800000)

__device__ __forceinline__ float exp2_unit(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// For tensors of 32 bits: both products on the tensor cores as three products of TF32. A factor is split into the part that
// TF32 holds and what is left over, and all products but that of the two left-overs are summed in f32: what is lost is
// of the order of 2^-21, close to f32 itself. A warp owns one or two tiles of 16 query rows; logits and sums stay in registers.
namespace split {

constexpr int WARPS = SPLIT_WARPS;
constexpr int TILES = SPLIT_TILES;
constexpr int ROWS = 16 * TILES * WARPS;
constexpr int THREADS = 32 * WARPS;
// Rows are shifted so that the lanes of one access read from different banks: pairs along a row of queries or keys, single
// values down the columns of the values.
constexpr int PITCH = D + (40 - D % 32) % 32;
constexpr int VALUE_PITCH = D + (20 - D % 16) % 16;

struct __align__(16) Shared {
    float q[ROWS][PITCH];
    float k[SPLIT_KEYS][PITCH];
    float v[SPLIT_KEYS][VALUE_PITCH];
};

// One value as the sum of what TF32 holds and the rest.
struct Parts {
    unsigned large, small;
};

__device__ __forceinline__ Parts parts(float x) {
    const unsigned large = __float_as_uint(x) & 0xffffe000u;
    return { large, __float_as_uint(x - __uint_as_float(large)) };
}

__device__ __forceinline__ void multiply(float (&d)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { %0, %1, %2, %3}, { %4, %5, %6, %7}, { %8, %9}, { %0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// d += a b, a 16 by 8 and b 8 by 8; the small products first.
__device__ __forceinline__ void multiply(float (&d)[4], const Parts (&a)[4], const Parts (&b)[2]) {
    multiply(d, a[0].small, a[1].small, a[2].small, a[3].small, b[0].large, b[1].large);
    multiply(d, a[0].large, a[1].large, a[2].large, a[3].large, b[0].small, b[1].small);
    multiply(d, a[0].large, a[1].large, a[2].large, a[3].large, b[0].large, b[1].large);
}

// Sets copies of rows on their way; rows from `there` on become zero.
template <int COUNT, int WIDE> __device__ __forceinline__ void fetch(float (*to)[WIDE], const float* from, int there) {
#pragma unroll 4
    for (int i = threadIdx.x; i < COUNT * (D / 4); i += THREADS) {
        const int row = i / (D / 4);
        const int at = i % (D / 4) * 4;
        const float* source = row < there ? from + (size_t)row * D + at : from;
        const unsigned target = (unsigned)__cvta_generic_to_shared(&to[row][at]);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(row < there ? 16 : 0) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int LEFT> __device__ __forceinline__ void arrived() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
    __syncthreads();
}

}  // namespace split

extern "C" __global__ void __launch_bounds__(split::THREADS, SPLIT_WARPS == 8 ? 1 : SPLIT_TILES == 2 ? 2 : 3) attention_split(
    const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v, float* __restrict__ out,
    int Hq, int Hkv, int Lq, int Lk, float scale, int causal)
{
    using namespace split;
    extern __shared__ __align__(16) unsigned char split_memory[];
    split::Shared& s = *reinterpret_cast<split::Shared*>(split_memory);
    // The longest rows of a causal mask are begun first, of all heads.
    const int first_row = (gridDim.y - 1 - blockIdx.y) * split::ROWS;
    const int head = blockIdx.x;
    const int batch = blockIdx.z;
    const int lane = threadIdx.x % 32;
    const int mine = threadIdx.x / 32 * 16 * split::TILES;
    const int across = lane / 4;
    const int along = lane % 4;
    const float* keys = k + (size_t)(batch * Hkv + head / (Hq / Hkv)) * Lk * D;
    const float* values = v + (size_t)(batch * Hkv + head / (Hq / Hkv)) * Lk * D;
    const int diagonal = Lk - Lq;
    const int seen = causal ? min(Lk, first_row + split::ROWS + diagonal) : Lk;
    const int tiles = (seen + SPLIT_KEYS - 1) / SPLIT_KEYS;

    fetch<split::ROWS>(s.q, q + ((size_t)(batch * Hq + head) * Lq + first_row) * D, Lq - first_row);
    fetch<SPLIT_KEYS>(s.k, keys, Lk);

    float sums[split::TILES][D / 8][4];
    float largest[split::TILES][2], total[split::TILES][2];
#pragma unroll
    for (int m = 0; m < split::TILES; ++m) {
#pragma unroll
        for (int n = 0; n < D / 8; ++n) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                sums[m][n][i] = 0.0f;
            }
        }
        largest[m][0] = largest[m][1] = MINUS_INFINITY;
        total[m][0] = total[m][1] = 0.0f;
    }
    const float factor = scale * 1.44269504f;

#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        const int first_key = tile * SPLIT_KEYS;
        fetch<SPLIT_KEYS>(s.v, values + (size_t)first_key * D, Lk - first_key);
        arrived<1>();
        // Logits. The order in which a sum runs over the head is free: a lane takes neighbours.
        float logits[split::TILES][SPLIT_KEYS / 8][4];
#pragma unroll
        for (int m = 0; m < split::TILES; ++m) {
#pragma unroll
            for (int n = 0; n < SPLIT_KEYS / 8; ++n) {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    logits[m][n][i] = 0.0f;
                }
            }
        }
#pragma unroll 2
        for (int d = 0; d < D; d += 8) {
            Parts a[split::TILES][4];
#pragma unroll
            for (int m = 0; m < split::TILES; ++m) {
                const float2 upper = *reinterpret_cast<const float2*>(&s.q[mine + m * 16 + across][d + 2 * along]);
                const float2 lower = *reinterpret_cast<const float2*>(&s.q[mine + m * 16 + across + 8][d + 2 * along]);
                a[m][0] = parts(upper.x);
                a[m][1] = parts(lower.x);
                a[m][2] = parts(upper.y);
                a[m][3] = parts(lower.y);
            }
#pragma unroll
            for (int n = 0; n < SPLIT_KEYS / 8; ++n) {
                const float2 pair = *reinterpret_cast<const float2*>(&s.k[n * 8 + across][d + 2 * along]);
                const Parts b[2] = { parts(pair.x), parts(pair.y) };
#pragma unroll
                for (int m = 0; m < split::TILES; ++m) {
                    multiply(logits[m][n], a[m], b);
                }
            }
        }
        __syncthreads();
        // The next keys come while the values are summed; a group of copies is begun also when there is none.
        if (tile + 1 < tiles) {
            fetch<SPLIT_KEYS>(s.k, keys + (size_t)(first_key + SPLIT_KEYS) * D, Lk - first_key - SPLIT_KEYS);
        } else {
            asm volatile("cp.async.commit_group;" ::: "memory");
        }

        const bool masked = first_key + SPLIT_KEYS > Lk || (causal && first_key + SPLIT_KEYS - 1 > first_row + mine + diagonal);
#pragma unroll
        for (int m = 0; m < split::TILES; ++m) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int row = first_row + mine + m * 16 + across + r * 8;
                float top = largest[m][r];
#pragma unroll
                for (int n = 0; n < SPLIT_KEYS / 8; ++n) {
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        float& logit = logits[m][n][2 * r + i];
                        const int key = first_key + n * 8 + 2 * along + i;
                        if (masked && (key >= Lk || (causal && key > row + diagonal))) {
                            logit = MINUS_INFINITY;
                        }
                        top = fmaxf(top, logit);
                    }
                }
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
                top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
                // A row that has seen no key yet stays at zero weight instead of infinity minus infinity.
                const float base = top == MINUS_INFINITY ? 0.0f : top;
                const float shrink = exp2_unit((largest[m][r] - base) * factor);
                largest[m][r] = top;
                total[m][r] *= shrink;
#pragma unroll
                for (int n = 0; n < D / 8; ++n) {
                    sums[m][n][2 * r] *= shrink;
                    sums[m][n][2 * r + 1] *= shrink;
                }
#pragma unroll
                for (int n = 0; n < SPLIT_KEYS / 8; ++n) {
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        float& logit = logits[m][n][2 * r + i];
                        logit = exp2_unit((logit - base) * factor);
                        total[m][r] += logit;
                    }
                }
            }
        }

        arrived<1>();
        // The weighted sum. A lane's logits are its part of the left factor if the keys are taken in that order.
#pragma unroll
        for (int n = 0; n < SPLIT_KEYS / 8; ++n) {
            Parts a[split::TILES][4];
#pragma unroll
            for (int m = 0; m < split::TILES; ++m) {
                a[m][0] = parts(logits[m][n][0]);
                a[m][1] = parts(logits[m][n][2]);
                a[m][2] = parts(logits[m][n][1]);
                a[m][3] = parts(logits[m][n][3]);
            }
#pragma unroll
            for (int d = 0; d < D / 8; ++d) {
                const Parts b[2] = { parts(s.v[n * 8 + 2 * along][d * 8 + across]), parts(s.v[n * 8 + 2 * along + 1][d * 8 + across]) };
                // The tensor cores cut off what they add to; over thousands of keys that would be seen.
#pragma unroll
                for (int m = 0; m < split::TILES; ++m) {
                    float part[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
                    multiply(part, a[m], b);
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        sums[m][d][i] += part[i];
                    }
                }
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int m = 0; m < split::TILES; ++m) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float sum = total[m][r];
            sum += __shfl_xor_sync(0xffffffffu, sum, 1);
            sum += __shfl_xor_sync(0xffffffffu, sum, 2);
            const float inverse = 1.0f / sum;
            const int row = first_row + mine + m * 16 + across + r * 8;
            if (row < Lq) {
                float* to = out + ((size_t)(batch * Hq + head) * Lq + row) * D + 2 * along;
#pragma unroll
                for (int n = 0; n < D / 8; ++n) {
                    *reinterpret_cast<float2*>(to + n * 8) = make_float2(sums[m][n][2 * r] * inverse, sums[m][n][2 * r + 1] * inverse);
                }
            }
        }
    }
}

// Scaled dot-product attention, one thread per query row: a pass over the keys for the largest logit, a second one for
// the weighted sum of the values.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void attention_naive(
    const T* q, const T* k, const T* v, T* out, int Hq, int Hkv, int Lq, int Lk, float scale, int causal)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int head = blockIdx.y;
    const int batch = blockIdx.z;
    if (i >= Lq) {
        return;
    }
    const int kv_head = head / (Hq / Hkv);
    const T* query = q + ((size_t)(batch * Hq + head) * Lq + i) * D;
    const T* keys = k + (size_t)(batch * Hkv + kv_head) * Lk * D;
    const T* values = v + (size_t)(batch * Hkv + kv_head) * Lk * D;
    // The mask is aligned at the bottom right: the last query sees every key.
    const int visible = causal ? i + Lk - Lq + 1 : Lk;

    float largest = -3.0e38f;
    for (int j = 0; j < visible; ++j) {
        float logit = 0.0f;
        for (int d = 0; d < D; ++d) {
            logit += float(query[d]) * float(keys[(size_t)j * D + d]);
        }
        largest = fmaxf(largest, scale * logit);
    }

    float sum = 0.0f;
    float weighted[D];
    for (int d = 0; d < D; ++d) {
        weighted[d] = 0.0f;
    }
    for (int j = 0; j < visible; ++j) {
        float logit = 0.0f;
        for (int d = 0; d < D; ++d) {
            logit += float(query[d]) * float(keys[(size_t)j * D + d]);
        }
        const float weight = expf(scale * logit - largest);
        sum += weight;
        for (int d = 0; d < D; ++d) {
            weighted[d] += weight * float(values[(size_t)j * D + d]);
        }
    }

    T* result = out + ((size_t)(batch * Hq + head) * Lq + i) * D;
    for (int d = 0; d < D; ++d) {
        result[d] = T(weighted[d] / sum);
    }
}
