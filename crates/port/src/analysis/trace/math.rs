//! Functions and types of CUDA's library, as far as counting needs them.

/// Is the type floating?
pub fn is_float_type(ty: &str) -> bool {
    let base = ty.trim().trim_start_matches("const ").trim_start_matches("at::").trim_start_matches("c10::");
    matches!(
        base,
        "float"
            | "double"
            | "half"
            | "__half"
            | "half2"
            | "__half2"
            | "__nv_bfloat16"
            | "nv_bfloat16"
            | "Half"
            | "BFloat16"
            | "__nv_bfloat162"
            | "scalar_t"
            | "float2"
            | "float3"
            | "float4"
            | "double2"
            | "bf16"
            | "floatX"
    )
}

/// Floating operations that a function of the CUDA library stands for; 0 for anything else.
pub fn math_flops(name: &str) -> u32 {
    match name {
        "fmaf" | "fma" | "__fmaf_rn" | "__hfma" => 2,
        "__hfma2" => 4,
        "fmaxf" | "fminf" | "fabsf" | "__fadd_rn" | "__fmul_rn" | "__hadd" | "__hmul" | "__hsub" | "__hmax" => 1,
        "__hadd2" | "__hmul2" | "__hsub2" => 2,
        n if is_special(n) => 4,
        _ => 0,
    }
}

/// Exponentials, logarithms, roots and their kin.
pub fn is_special(name: &str) -> bool {
    let base = name.trim_start_matches("__").trim_end_matches('f');
    matches!(
        base,
        "exp"
            | "exp2"
            | "exp10"
            | "expm1"
            | "log"
            | "log2"
            | "log10"
            | "log1p"
            | "sqrt"
            | "rsqrt"
            | "sin"
            | "cos"
            | "tan"
            | "tanh"
            | "sigmoid"
            | "er"
            | "erf"
            | "pow"
            | "frcp_rn"
            | "fdivide"
            | "fdividef"
            | "hexp"
            | "h2exp"
    )
}

/// Exponential functions.
pub fn is_exponential(name: &str) -> bool {
    let base = name.trim_start_matches("__").trim_end_matches('f');
    matches!(base, "exp" | "exp2" | "exp10" | "hexp" | "h2exp" | "fast_exp" | "ex2")
}
