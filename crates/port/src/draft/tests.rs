use super::*;
use crate::cuda::syntax::Source;

fn drafted(text: &str) -> Result<Draft, Refused> {
    let source = Source::parse("k.cu", text).unwrap();
    let unit = Unit::read(&source);
    let k = unit.kernels().next().unwrap();
    draft(&unit, k, &[], &[])
}

fn refusals(text: &str) -> Vec<(u32, String)> {
    drafted(text).unwrap_err().0.into_iter().map(|n| (n.pos.line, n.text)).collect()
}

#[test]
fn a_kernel_with_functions_that_share_memory() {
    let text = "#define FULL 0xffffffffu\nconst int WARPS = 4;\nstatic __device__ __forceinline__ float total(float v) {\n    \
                __shared__ float part[WARPS];\n    v += __shfl_down_sync(FULL, v, 16);\n    if (threadIdx.x % 32 == 0) \
                part[threadIdx.x / 32] = v;\n    __syncthreads();\n    return part[0];\n}\n__global__ void \
                __launch_bounds__(WARPS * 32) k(const float* __restrict__ x, float* __restrict__ y, int n) {\n    const \
                float* row = x + blockIdx.x * n;\n    float t = total(expf(__ldg(row + threadIdx.x)));\n    if (threadIdx.x \
                == 0) y[blockIdx.x] = t;\n}\n";
    let source = drafted(text).unwrap().source;
    for part in [
        "constant constexpr int WARPS = 4;",
        "threadgroup float (&part)[WARPS]",
        "threadgroup float total_part[WARPS];",
        "device const float* row",
        "[[max_total_threads_per_threadgroup(WARPS * 32)]] kernel void k(",
        "constant int& n [[buffer(2)]]",
        "cuda_shfl_down(v, 16, simd_lane)",
    ] {
        assert!(source.contains(part), "{part}\n{source}");
    }
}

#[test]
fn what_no_rule_covers_is_refused_where_it_stands() {
    for (text, line, part) in [
        ("__global__ void k(float* y) {\n double s = 0; y[0] = s; }", 2, "double"),
        ("__global__ void k(int* y) {\n y[0] = __ballot_sync(0xfull, 1); }", 2, "mask"),
        ("__global__ void k(int* y, int n) {\n n += 1; y[0] = n; }", 1, "assigns"),
        ("__global__ void k(float* y) {\n __shared__ float s[2]; atomicAdd(&s[0], y[0]); }", 2, "float atomic"),
        ("__global__ void k(unsigned long long* y) {\n atomicAdd(&y[0], 1ull); }", 2, "ulong"),
        ("__global__ void k(float* y) {\n printf(\"x\"); }", 2, "printf"),
        ("__global__ void k(float* y) {\n __threadfence(); y[0] = 1; }", 2, "__threadfence"),
        (
            "__device__ float f(const float* p) { return *p; }\n__global__ void k(float* y) { __shared__ float t[2]; t[0] = 1; y[0] = f(t) + f(y); }",
            1,
            "different memory spaces",
        ),
    ] {
        let found = refusals(text);
        assert!(found.iter().any(|(l, t)| *l == line && t.contains(part)), "{text}: {found:?}");
    }
}
