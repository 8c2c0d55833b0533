//! CUDA device code on the machine: what the language means there, and that the sanitizers see through it.

mod common;

use common::{Ran, Test, floats, uints};
use ksearch_msl::{CompileOptions, Compiler, Diagnostic, Language, Optimise, SourceFile};
use ksearch_simt::{ArgValue, FaultKind, Limits, Memory, Mode, Program};

fn compile(source: &str, kernel: &str, optimise: Optimise) -> Result<Program, Vec<Diagnostic>> {
    let options = CompileOptions {
        language: Language::Cuda,
        optimise,
        only: vec![kernel.to_owned()],
        ..CompileOptions::default()
    };
    let files = [SourceFile::new("k.cu", source)];
    let module = Compiler::shared().expect("clang is there").compile(&files, &options)?;
    Ok(Program::load(&module).expect("the IR is readable"))
}

/// The kernel, as timed (`Fast`) and as sanitized.
#[track_caller]
fn cuda(source: &str, kernel: &str, mode: Mode) -> Test {
    let optimise = if mode == Mode::Sanitize { Optimise::Faithful } else { Optimise::Speed };
    let program = compile(source, kernel, optimise).unwrap_or_else(|d| panic!("{d:#?}"));
    Test { program, entry: kernel.to_owned(), memory: Memory::default(), args: Vec::new(), limits: Limits::default() }
}

const BOTH: [Mode; 2] = [Mode::Fast, Mode::Sanitize];

#[track_caller]
fn fault(r: &Ran, kind: FaultKind, line: u32) {
    let f = r.0.faults.first().unwrap_or_else(|| panic!("no fault"));
    assert_eq!((f.kind, f.at.pos.as_ref().map(|p| p.line)), (kind, Some(line)), "{:#?}", r.0.faults);
    assert!(f.at.pos.as_ref().is_some_and(|p| p.file == "k.cu"), "{f:?}");
}

#[test]
fn template_with_shared_memory_and_shuffles() {
    let source = r"
template <int THREADS> __device__ float block_sum(float v) {
    __shared__ float partial[THREADS / 32];
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
    if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 5] = v;
    __syncthreads();
    float sum = 0.0f;
    for (int w = 0; w < THREADS / 32; ++w) sum += partial[w];
    __syncthreads();
    return sum;
}
template <typename T, int N>
__global__ void __launch_bounds__(N) sums(const T* __restrict__ x, T* __restrict__ y, int cols, float scale) {
    T s = 0;
    for (int c = threadIdx.x; c < cols; c += N) s += x[blockIdx.x * cols + c];
    T total = block_sum<N>(s);
    if (threadIdx.x == 0) y[blockIdx.x] = scale * total;
}
void host(float* x) { sums<float, 64><<<2, 64>>>(x, x, 100, 1.0f); cudaDeviceSynchronize(); }
";
    for mode in BOTH {
        let x: Vec<f32> = (0..200).map(|i| (i % 7) as f32).collect();
        let mut t = cuda(source, "sums<float, 64>", mode).buffer("x", &x).fresh("y", 8).bytes(&100i32).bytes(&0.5f32);
        t.launch([2, 1, 1], [64, 1, 1], mode).clean();
        let want: Vec<f32> = x.chunks(100).map(|row| 0.5 * row.iter().sum::<f32>()).collect();
        assert_eq!(floats(t.bytes_of(1)), want, "{mode:?}");
    }
}

#[test]
fn dynamic_shared_memory_of_two_types() {
    let source = r"
extern __shared__ unsigned char block[];
__global__ void reverse(const int* x, int* y, int n) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[n - 1 - threadIdx.x] + block[0] * 0;
}
";
    for mode in BOTH {
        let x: Vec<i32> = (0..64).collect();
        let mut t = cuda(source, "reverse", mode).buffer("x", &x).fresh("y", 256).bytes(&64i32);
        t.args.push(ArgValue::Threadgroup(256));
        t.launch([1, 1, 1], [64, 1, 1], mode).clean();
        assert_eq!(uints(t.bytes_of(1)), (0..64).rev().collect::<Vec<u32>>());
        // Half of it is too little.
        t.args.pop();
        t.args.push(ArgValue::Threadgroup(128));
        if mode == Mode::Sanitize {
            fault(&t.launch([1, 1, 1], [64, 1, 1], mode), FaultKind::OutOfBounds, 5);
        }
    }
}

#[test]
fn shuffles_keep_to_their_segments() {
    let source = r"
__global__ void shuffles(int* y) {
    int lane = threadIdx.x;
    y[lane] = __shfl_up_sync(0xffffffff, lane, 3);
    y[32 + lane] = __shfl_down_sync(0xffffffff, lane, 5, 16);
    y[64 + lane] = __shfl_xor_sync(0xffffffff, lane, 9);
    y[96 + lane] = __shfl_sync(0xffffffff, lane, 10, 8);
    y[128 + lane] = __popc(__ballot_sync(0xffffffff, lane % 3 == 0));
    y[160 + lane] = __shfl_sync(0xffffffff, (double)lane, 7) == 7.0;
    y[192 + lane] = __any_sync(0xffffffff, lane == 4) + 2 * __all_sync(0xffffffff, lane < 31);
    y[224 + lane] = __popc(__match_any_sync(0xffffffff, lane / 4));
}
";
    for mode in BOTH {
        let mut t = cuda(source, "shuffles", mode).fresh("y", 1024);
        t.launch([1, 1, 1], [32, 1, 1], mode).clean();
        let y = uints(t.bytes_of(0));
        for lane in 0..32u32 {
            let at = |k: u32| y[(32 * k + lane) as usize];
            assert_eq!(at(0), if lane < 3 { lane } else { lane - 3 });
            assert_eq!(at(1), if lane % 16 + 5 < 16 { lane + 5 } else { lane });
            assert_eq!(at(2), lane ^ 9);
            assert_eq!(at(3), (lane & !7) | (0xa & 7));
            assert_eq!((at(4), at(5), at(6), at(7)), (11, 1, 1, 4));
        }
    }
}

#[test]
fn atomics_vectors_halves_and_structures() {
    let source = r"
#include <cuda_fp16.h>
struct __align__(8) Pair { float value; int index; __device__ Pair() {} __device__ Pair(float v, int i) : value(v), index(i) {} };
__device__ __forceinline__ Pair better(const Pair& a, const Pair& b) { return a.value > b.value ? a : b; }
const int BINS = 8;
__global__ void mixed(const float4* x, unsigned int* counts, float* sum, unsigned long long* wide, __half* h, int n) {
    __shared__ unsigned int local[BINS];
    __shared__ Pair best[2];
    if (threadIdx.x < BINS) local[threadIdx.x] = 0;
    if (threadIdx.x < 2) best[threadIdx.x] = Pair(0.0f, -1);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 v = __ldg(&x[i]);
        atomicAdd(&local[(int)v.x & 7], 1u);
        atomicAdd(sum, v.y + reinterpret_cast<const float*>(x)[4 * i + 2]);
        atomicMax(wide, 1ull << (i % 40));
        h[i] = __float2half(__half2float(__hadd(__float2half(v.x), __float2half(0.5f))));
    }
    __syncthreads();
    if (threadIdx.x == 0) best[0] = better(Pair(2.0f, 7), best[1]);
    __syncthreads();
    if (threadIdx.x < BINS) atomicAdd(&counts[threadIdx.x], local[threadIdx.x] + best[0].index - 7);
}
";
    for mode in BOTH {
        let x: Vec<f32> = (0..400).map(|i| (i / 4) as f32).collect();
        let mut t = cuda(source, "mixed", mode)
            .buffer("x", &x)
            .buffer("counts", &[0u32; 8])
            .buffer("sum", &[0f32])
            .buffer("wide", &[0u64])
            .fresh("h", 200)
            .bytes(&100i32);
        t.launch([4, 1, 1], [32, 1, 1], mode).clean();
        assert_eq!(uints(t.bytes_of(1)), vec![13, 13, 13, 13, 12, 12, 12, 12]);
        assert_eq!(floats(t.bytes_of(2)), vec![9900.0]);
        assert_eq!(t.bytes_of(3), (1u64 << 39).to_le_bytes());
        assert_eq!(&t.bytes_of(4)[..4], &[0x00, 0x38, 0x00, 0x3e], "0.5 and 1.5");
    }
}

#[test]
fn double_is_double_and_literals_are_too() {
    let source = r"
__global__ void sum(const float* x, float* y, double* z) {
    double s = 1e6;
    for (int i = 0; i < 100; ++i) s += x[i] * 1e-9;
    y[0] = (float)(s - 1e6);
    z[0] = s;
}
";
    let mut t = cuda(source, "sum", Mode::Fast).buffer("x", &[1f32; 100]).fresh("y", 4).fresh("z", 8);
    t.launch([1, 1, 1], [1, 1, 1], Mode::Fast).clean();
    assert!((floats(t.bytes_of(1))[0] - 1e-7).abs() < 2e-8);
}

#[test]
fn lock_step_without_a_barrier_is_a_race() {
    let source = include_str!("../../../corpus/cuda/traps/warp_sync_reduce.cu");
    let mut t =
        cuda(source, "warp_sync_reduce", Mode::Sanitize).buffer("x", &[1f32; 256]).fresh("sums", 4).bytes(&256i32);
    let r = t.launch([1, 1, 1], [256, 1, 1], Mode::Sanitize);
    let lines: Vec<_> = r.0.faults.iter().filter_map(|f| f.at.pos.as_ref().map(|p| p.line)).collect();
    assert!(r.0.faults.iter().all(|f| f.kind == FaultKind::DataRace), "{:#?}", r.0.faults);
    let first = source.lines().position(|l| l.contains("s[tid] += s[tid + 32]")).unwrap() as u32 + 1;
    assert!(lines.iter().all(|l| (first..first + 6).contains(l)) && !lines.is_empty(), "{lines:?}");
}

#[test]
fn faults_stand_at_the_users_lines() {
    let diverge =
        "__global__ void k(int* y) {\n    if (threadIdx.x < 7) {\n        __syncthreads();\n    }\n    y[0] = 1;\n}\n";
    let mut t = cuda(diverge, "k", Mode::Sanitize).fresh("y", 4);
    fault(&t.launch([1, 1, 1], [64, 1, 1], Mode::Sanitize), FaultKind::BarrierDivergence, 3);
    let beyond = "__global__ void k(float* y, int n) {\n    int i = threadIdx.x;\n    y[i] = 2.0f;\n}\n";
    let mut t = cuda(beyond, "k", Mode::Sanitize).fresh("y", 40).bytes(&10i32);
    fault(&t.launch([1, 1, 1], [32, 1, 1], Mode::Sanitize), FaultKind::OutOfBounds, 3);
    let absent = "__global__ void k(int* y) {\n    int v = threadIdx.x;\n    if (v < 8)\n        y[v] = __ballot_sync(0xfu, v & 1);\n}\n";
    let mut t = cuda(absent, "k", Mode::Sanitize).fresh("y", 32);
    fault(&t.launch([1, 1, 1], [32, 1, 1], Mode::Sanitize), FaultKind::Unsupported, 4);
}

#[test]
fn mistakes_are_told_in_the_users_lines() {
    for (source, line, part) in [
        ("__global__ void k(float* y) {\n    y[0] = undefined_name;\n}\n", 2, "undefined_name"),
        ("__constant__ float c[4];\n__global__ void k(float* y) { y[0] = c[0]; }\n", 1, "__constant__"),
        ("__global__ void k(float* y) {\n    asm volatile(\"bar.sync 0;\");\n}\n", 2, "PTX"),
        ("#include <cub/cub.cuh>\n__global__ void k(float* y) {}\n", 1, "CUB"),
        ("__global__ void k(float** y) {}\n", 1, "`y`"),
    ] {
        let errors = compile(source, "k", Optimise::Speed).err().unwrap_or_else(|| panic!("compiles: {source}"));
        let first = &errors[0];
        assert_eq!(first.pos.as_ref().map(|p| p.line), Some(line), "{errors:#?}");
        assert!(first.message.contains(part), "{errors:#?}");
    }
    let errors = compile("__global__ void a() {}", "b", Optimise::Speed).err().expect("there is no b");
    assert!(
        errors[0].message.contains("`b`") && errors[0].help.as_ref().is_some_and(|h| h.contains('a')),
        "{errors:?}"
    );
}
