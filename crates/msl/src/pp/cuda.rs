//! What CUDA's compiler defines before the first line, which headers are CUDA's, and which bring things that cannot be
//! run here. Data only.

/// Macros, in order: a compiler for compute capability 9.0.
pub const MACROS: &[(&str, &str)] = &[
    ("__CUDACC__", "1"),
    ("__CUDA_ARCH__", "900"),
    ("__NVCC__", "1"),
    ("__CUDACC_VER_MAJOR__", "12"),
    ("__CUDACC_VER_MINOR__", "4"),
    ("CUDART_VERSION", "12040"),
    ("__clang__", "1"),
    ("__GNUC__", "4"),
    ("__LP64__", "1"),
    ("__linux__", "1"),
    ("__x86_64__", "1"),
    ("__cplusplus", "201703L"),
    ("__STDC__", "1"),
    ("NULL", "nullptr"),
    ("INFINITY", "__builtin_huge_valf()"),
    ("HUGE_VALF", "__builtin_huge_valf()"),
    ("HUGE_VAL", "__builtin_huge_val()"),
    ("NAN", "__builtin_nanf(\"\")"),
    ("CUDART_INF_F", "__builtin_huge_valf()"),
    ("CUDART_INF", "__builtin_huge_val()"),
    ("CUDART_NAN_F", "__builtin_nanf(\"\")"),
    ("CUDART_PI_F", "3.141592654f"),
    ("M_E", "2.71828182845904523536"),
    ("M_LOG2E", "1.44269504088896340736"),
    ("M_LOG10E", "0.43429448190325182765"),
    ("M_LN2", "0.69314718055994530942"),
    ("M_LN10", "2.30258509299404568402"),
    ("M_PI", "3.14159265358979323846"),
    ("M_PI_2", "1.57079632679489661923"),
    ("M_PI_4", "0.78539816339744830962"),
    ("M_1_PI", "0.31830988618379067154"),
    ("M_2_PI", "0.63661977236758134308"),
    ("M_2_SQRTPI", "1.12837916709551257390"),
    ("M_SQRT2", "1.41421356237309504880"),
    ("M_SQRT1_2", "0.70710678118654752440"),
    ("CHAR_BIT", "8"),
    ("CHAR_MAX", "127"),
    ("CHAR_MIN", "(-128)"),
    ("UCHAR_MAX", "255"),
    ("SHRT_MAX", "32767"),
    ("SHRT_MIN", "(-32768)"),
    ("USHRT_MAX", "65535"),
    ("INT_MAX", "2147483647"),
    ("INT_MIN", "(-2147483647 - 1)"),
    ("UINT_MAX", "0xffffffffU"),
    ("LONG_MAX", "0x7fffffffffffffffL"),
    ("LLONG_MAX", "0x7fffffffffffffffL"),
    ("ULONG_MAX", "0xffffffffffffffffUL"),
    ("ULLONG_MAX", "0xffffffffffffffffUL"),
    ("INT32_MAX", "2147483647"),
    ("INT32_MIN", "(-2147483647 - 1)"),
    ("UINT32_MAX", "0xffffffffU"),
    ("INT64_MAX", "0x7fffffffffffffffL"),
    ("UINT64_MAX", "0xffffffffffffffffUL"),
    ("FLT_MAX", "0x1.fffffep127f"),
    ("FLT_MIN", "0x1.0p-126f"),
    ("FLT_EPSILON", "0x1.0p-23f"),
    ("DBL_MAX", "0x1.fffffffffffffp1023"),
    ("DBL_MIN", "0x1.0p-1022"),
    ("DBL_EPSILON", "0x1.0p-52"),
];

/// Is this a header of the CUDA toolkit?
pub fn is_cuda_header(name: &str) -> bool {
    name.starts_with("cuda")
        || name.starts_with("device_")
        || name.starts_with("cooperative_groups")
        || matches!(name, "math_constants.h" | "vector_types.h" | "helper_cuda.h" | "helper_functions.h")
}

/// What a header brings that cannot be run here.
pub fn unsupported_header(name: &str) -> Option<&'static str> {
    Some(match name {
        "mma.h" => "WMMA fragments, whose layout only NVIDIA's compiler knows",
        _ if name.starts_with("cub/") => "CUB's block primitives",
        _ if name.starts_with("thrust/") => "Thrust",
        _ if name.starts_with("cute/") || name.starts_with("cutlass/") => "CUTLASS",
        _ if name.starts_with("cuda/") && name != "cuda/std/limits" => "libcu++",
        _ if name.starts_with("curand") => "random numbers of cuRAND",
        _ => return None,
    })
}
