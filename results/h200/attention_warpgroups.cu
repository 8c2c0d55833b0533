/* ksearch
[tunables]
KEYS = { values = [64, 128], default = 128 }
STAGES = { values = [2, 3], default = 2 }
CONSUMERS = { values = [2, 3], default = 2 }

[defines]
T = { type = "q" }
D = "D"
WIDTH = "D <= 64 ? 64 : 128"

[[dispatch]]
kernel = "attention"
grid = ["Hq", "ceil_div(Lq, 64 * CONSUMERS)", "B"]
threadgroup = ["128 * (CONSUMERS + 1)", 1, 1]
[dispatch.args]
shared = { threadgroup = "128 * CONSUMERS * WIDTH + 4 * STAGES * KEYS * WIDTH + 1024" }
*/
// Attention forward on Hopper's warpgroup matrix instructions. One warpgroup copies keys and values into shared memory,
// the others each own 64 query rows: logits, online softmax and weighted sum stay in registers.


#include <cuda_fp16.h>

#define MINUS_INFINITY __int_as_float(0xff800000)

// Head dimensions are padded to whole panels of 64 halves: 128 bytes, the width of the swizzle.
constexpr int PANELS = WIDTH / 64;
constexpr int ROWS = 64 * CONSUMERS;
constexpr int LOGITS = KEYS / 2;
constexpr int SUMS = WIDTH / 2;
constexpr int THREADS = 128 * (CONSUMERS + 1);
// Those that copy hand most of their registers to those that compute.
constexpr int COPY_REGISTERS = CONSUMERS == 2 ? 40 : 32;
constexpr int COMPUTE_REGISTERS = CONSUMERS == 2 ? 232 : 160;

struct __align__(1024) Shared {
    half q[CONSUMERS][PANELS][64 * 64];
    half k[STAGES][PANELS][KEYS * 64];
    half v[STAGES][PANELS][KEYS * 64];
    unsigned long long k_full[STAGES], k_empty[STAGES], v_full[STAGES], v_empty[STAGES];
};

__device__ __forceinline__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void init(unsigned long long* barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(count) : "memory");
}

__device__ __forceinline__ void arrive(unsigned long long* barrier) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(address(barrier)) : "memory");
}

__device__ __forceinline__ void wait(unsigned long long* barrier, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra end;\nbra again;\nend:\n}"
        ::"r"(address(barrier)), "r"(parity) : "memory");
}

// Describes a tile of 128-byte rows, swizzled: `lead` bytes from one panel to the next where the product's other
// dimension runs along the rows.
__device__ __forceinline__ unsigned long long tile(const void* p, unsigned lead) {
    return (unsigned long long)((address(p) & 0x3ffff) >> 4) | (unsigned long long)(lead >> 4) << 16 |
           (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}

__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void wait_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
// The registers of a product that runs on may not be read before it has been waited for.
template <int N> __device__ __forceinline__ void settle(float (&x)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
        asm volatile("" : "+f"(x[i])::"memory");
    }
}

// logits (64 x 64) = rows of a times rows of b, both 16 wide; added to what is there unless `fresh`.
__device__ __forceinline__ void multiply(float (&d)[32], unsigned long long a, unsigned long long b, bool fresh) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, p, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])        : "l"(a), "l"(b), "r"(fresh ? 0 : 1));
}

// sums (64 x 64) += weights (in registers) times 16 rows of b.
__device__ __forceinline__ void accumulate(float (&d)[32], const unsigned (&a)[4], unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, { %32, %33, %34, %35}, %36, 1, 1, 1, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// logits (64 x 128) = rows of a times rows of b, both 16 wide; added to what is there unless `fresh`.
__device__ __forceinline__ void multiply(float (&d)[64], unsigned long long a, unsigned long long b, bool fresh) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, p, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])        : "l"(a), "l"(b), "r"(fresh ? 0 : 1));
}

// sums (64 x 128) += weights (in registers) times 16 rows of b.
__device__ __forceinline__ void accumulate(float (&d)[64], const unsigned (&a)[4], unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, { %64, %65, %66, %67}, %68, 1, 1, 1, 1;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ __forceinline__ float exp2_unit(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ unsigned packed(float low, float high) {
    unsigned x;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(x) : "f"(high), "f"(low));
    return x;
}

// Sets copies of `rows` rows on their way into swizzled panels; rows from `there` on become zero.
template <int ROWS_OF_TILE>
__device__ __forceinline__ void fetch(half* panels, const half* from, int there, int thread) {
    constexpr int CHUNKS = WIDTH / 8;
#pragma unroll 8
    for (int i = thread; i < ROWS_OF_TILE * CHUNKS; i += 128) {
        const int row = i / CHUNKS;
        const int chunk = i % CHUNKS;
        const bool inside = row < there && chunk * 8 < D;
        half* to = panels + chunk / 8 * (ROWS_OF_TILE * 64) + row * 64 + ((chunk % 8) ^ (row % 8)) * 8;
        const half* source = inside ? from + (size_t)row * D + chunk * 8 : from;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(source), "r"(inside ? 16 : 0)
                     : "memory");
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) attention(
    const half* __restrict__ q, const half* __restrict__ k, const half* __restrict__ v, half* __restrict__ out,
    int Hq, int Hkv, int Lq, int Lk, float scale, int causal)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    Shared& s = *reinterpret_cast<Shared*>(memory);
    // The longest rows of a causal mask are begun first, of all heads.
    const int first_row = (gridDim.y - 1 - blockIdx.y) * ROWS;
    const int head = blockIdx.x;
    const int batch = blockIdx.z;
    const int group = threadIdx.x / 128;
    const int thread = threadIdx.x % 128;
    const half* keys = k + (size_t)(batch * Hkv + head / (Hq / Hkv)) * Lk * D;
    const half* values = v + (size_t)(batch * Hkv + head / (Hq / Hkv)) * Lk * D;
    const int diagonal = Lk - Lq;
    const int seen = causal ? min(Lk, first_row + ROWS + diagonal) : Lk;
    const int tiles = (seen + KEYS - 1) / KEYS;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            init(&s.k_full[i], 128);
            init(&s.v_full[i], 128);
            init(&s.k_empty[i], 4 * CONSUMERS);
            init(&s.v_empty[i], 4 * CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();

    if (group == CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COPY_REGISTERS));
        // A copy is announced once it has arrived: two copies later.
        for (int i = 0; i < tiles + 1; ++i) {
            if (i < tiles) {
                const int stage = i % STAGES;
                const int parity = (i / STAGES + 1) & 1;
                const int there = Lk - i * KEYS;
                wait(&s.k_empty[stage], parity);
                fetch<KEYS>(s.k[stage][0], keys + (size_t)i * KEYS * D, there, thread);
                asm volatile("cp.async.commit_group;" ::: "memory");
                if (i > 0) {
                    asm volatile("cp.async.wait_group 1;\nfence.proxy.async.shared::cta;" ::: "memory");
                    arrive(&s.v_full[(i - 1) % STAGES]);
                }
                wait(&s.v_empty[stage], parity);
                fetch<KEYS>(s.v[stage][0], values + (size_t)i * KEYS * D, there, thread);
                asm volatile("cp.async.commit_group;" ::: "memory");
                asm volatile("cp.async.wait_group 1;\nfence.proxy.async.shared::cta;" ::: "memory");
                arrive(&s.k_full[stage]);
            } else {
                asm volatile("cp.async.wait_group 0;\nfence.proxy.async.shared::cta;" ::: "memory");
                arrive(&s.v_full[(i - 1) % STAGES]);
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COMPUTE_REGISTERS));

    const int warp = thread / 32;
    const int lane = thread % 32;
    const int my_first = first_row + 64 * group;
    const int row = my_first + 16 * warp + lane / 4;
    const half* queries = q + ((size_t)(batch * Hq + head) * Lq + my_first) * D;
    if (my_first < Lq) {
        fetch<64>(s.q[group][0], queries, Lq - my_first, thread);
    }
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;\nfence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");

    float logits[LOGITS], sums[SUMS];
    unsigned weights[KEYS / 16][4];
    float largest[2] = {MINUS_INFINITY, MINUS_INFINITY};
    float total[2] = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < SUMS; ++i) {
        sums[i] = 0.0f;
    }
    const float factor = scale * 1.44269504f;
    const unsigned long long q_tile = tile(s.q[group][0], 0);

    const auto start_logits = [&](int i) {
        const int stage = i % STAGES;
        wait(&s.k_full[stage], (i / STAGES) & 1);
        settle(logits);
        begin_products();
        const unsigned long long k_tile = tile(s.k[stage][0], 0);
#pragma unroll
        for (int step = 0; step < WIDTH / 16; ++step) {
            const int panel = step / 4;
            const unsigned inside = step % 4 * 32 >> 4;
            multiply(logits, q_tile + panel * (64 * 128 >> 4) + inside, k_tile + panel * (KEYS * 128 >> 4) + inside,
                     step == 0);
        }
        commit_products();
    };
    const auto start_sums = [&](int i) {
        const int stage = i % STAGES;
        wait(&s.v_full[stage], (i / STAGES) & 1);
        settle(sums);
        begin_products();
        const unsigned long long v_tile = tile(s.v[stage][0], KEYS * 128);
#pragma unroll
        for (int step = 0; step < KEYS / 16; ++step) {
            accumulate(sums, weights[step], v_tile + step * (16 * 128 >> 4));
        }
        commit_products();
    };
    // Turns logits into weights; returns by how much what was summed before must shrink.
    const auto soften = [&](int i, float (&shrink)[2]) {
        const int first_key = i * KEYS;
        if (first_key + KEYS > Lk || (causal && first_key + KEYS - 1 > my_first + diagonal)) {
#pragma unroll
            for (int n = 0; n < LOGITS; ++n) {
                const int key = first_key + n / 4 * 8 + lane % 4 * 2 + n % 2;
                const int at = row + (n / 2 % 2) * 8;
                if (key >= Lk || (causal && key > at + diagonal)) {
                    logits[n] = MINUS_INFINITY;
                }
            }
        }
        float top[2] = {largest[0], largest[1]};
#pragma unroll
        for (int n = 0; n < LOGITS; n += 4) {
            top[0] = fmaxf(top[0], fmaxf(logits[n], logits[n + 1]));
            top[1] = fmaxf(top[1], fmaxf(logits[n + 2], logits[n + 3]));
        }
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            top[r] = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], 1));
            top[r] = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], 2));
            // A row that has seen no key yet stays at zero weight instead of infinity minus infinity.
            const float base = top[r] == MINUS_INFINITY ? 0.0f : top[r];
            shrink[r] = exp2_unit((largest[r] - base) * factor);
            largest[r] = top[r];
            top[r] = base * factor;
            total[r] *= shrink[r];
        }
#pragma unroll
        for (int n = 0; n < LOGITS; n += 4) {
            const float a = exp2_unit(fmaf(logits[n], factor, -top[0]));
            const float b = exp2_unit(fmaf(logits[n + 1], factor, -top[0]));
            const float c = exp2_unit(fmaf(logits[n + 2], factor, -top[1]));
            const float d = exp2_unit(fmaf(logits[n + 3], factor, -top[1]));
            total[0] += a + b;
            total[1] += c + d;
            logits[n] = a;
            logits[n + 1] = b;
            logits[n + 2] = c;
            logits[n + 3] = d;
        }
    };
    const auto keep_weights = [&]() {
#pragma unroll
        for (int step = 0; step < KEYS / 16; ++step) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                weights[step][i] = packed(logits[step * 8 + i * 2], logits[step * 8 + i * 2 + 1]);
            }
        }
    };
    const auto release = [&](unsigned long long* barrier) {
        if (lane == 0) {
            arrive(barrier);
        }
    };

    float shrink[2];
    start_logits(0);
    wait_products<0>();
    settle(logits);
    release(&s.k_empty[0]);
    soften(0, shrink);
    keep_weights();
    for (int i = 1; i < tiles; ++i) {
        // The next logits are under way while these weights are summed, and the sum while those are softened.
        start_logits(i);
        start_sums(i - 1);
        wait_products<1>();
        settle(logits);
        release(&s.k_empty[i % STAGES]);
        soften(i, shrink);
        wait_products<0>();
        settle(sums);
        release(&s.v_empty[(i - 1) % STAGES]);
        keep_weights();
#pragma unroll
        for (int n = 0; n < SUMS; ++n) {
            sums[n] *= shrink[n / 2 % 2];
        }
    }
    start_sums(tiles - 1);
    wait_products<0>();
    settle(sums);

#pragma unroll
    for (int r = 0; r < 2; ++r) {
        total[r] += __shfl_xor_sync(0xffffffffu, total[r], 1);
        total[r] += __shfl_xor_sync(0xffffffffu, total[r], 2);
        const float inverse = 1.0f / total[r];
        const int at = row + 8 * r;
        if (at < Lq) {
            half* to = out + ((size_t)(batch * Hq + head) * Lq + at) * D;
#pragma unroll
            for (int n = 0; n < SUMS; n += 4) {
                const int d = n * 2 + lane % 4 * 2;
                if (d < D) {
                    *reinterpret_cast<unsigned*>(to + d) = packed(sums[n + 2 * r] * inverse, sums[n + 2 * r + 1] * inverse);
                }
            }
        }
    }
}

