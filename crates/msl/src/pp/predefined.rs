//! What Apple's compiler defines before the first line, which headers are Apple's, and which of them bring things that
//! nothing here can run. Data only.

/// Macros, in order. Language version 3.2 (macOS 15): the newest without Metal 4's tensors.
pub const MACROS: &[(&str, &str)] = &[
    ("__METAL__", "1"),
    ("__METAL_VERSION__", "320"),
    ("__METAL_MACOS__", "1"),
    ("__METAL_OS__", "1"),
    ("__HAVE_BFLOAT__", "1"),
    ("__HAVE_SIMDGROUP_MATRIX__", "1"),
    ("__HAVE_SIMD_REDUCTION__", "1"),
    ("__HAVE_SIMDGROUP__", "1"),
    ("__HAVE_QUADGROUP__", "1"),
    ("__AIR64__", "1"),
    ("__METAL_FAST_MATH__", "0"),
    ("__METAL_MAYBE_FAST_MATH__", "0"),
    ("__METAL_PRECISE_MATH__", "1"),
    ("__APPLE__", "1"),
    ("__MACH__", "1"),
    ("__LP64__", "1"),
    ("__clang__", "1"),
    ("__clang_major__", "17"),
    ("__GNUC__", "4"),
    ("__cplusplus", "201703L"),
    ("__STDC__", "1"),
    ("__CHAR_BIT__", "8"),
    ("TARGET_OS_OSX", "1"),
    ("TARGET_OS_MAC", "1"),
    ("TARGET_OS_IPHONE", "0"),
    ("TARGET_OS_IOS", "0"),
    ("TARGET_OS_SIMULATOR", "0"),
    ("METAL_FUNC", "inline __attribute__((__always_inline__))"),
    ("METAL_CONST", "__attribute__((const))"),
    ("METAL_PURE", "__attribute__((pure))"),
    // <metal_math>
    ("INFINITY", "__builtin_huge_valf()"),
    ("NAN", "__builtin_nanf(\"\")"),
    ("HUGE_VALF", "__builtin_huge_valf()"),
    ("HUGE_VALH", "((half)__builtin_huge_valf())"),
    ("MAXFLOAT", "0x1.fffffep127f"),
    ("MAXHALF", "((half)0x1.ffcp15f)"),
    ("MAXBFLOAT", "((bfloat)0x1.fep127f)"),
    ("M_E_F", "2.71828182845904523536028747135266250f"),
    ("M_LOG2E_F", "1.44269504088896340735992468100189214f"),
    ("M_LOG10E_F", "0.434294481903251827651128918916605082f"),
    ("M_LN2_F", "0.693147180559945309417232121458176568f"),
    ("M_LN10_F", "2.30258509299404568401799145468436421f"),
    ("M_PI_F", "3.14159265358979323846264338327950288f"),
    ("M_PI_2_F", "1.57079632679489661923132169163975144f"),
    ("M_PI_4_F", "0.785398163397448309615660845819875721f"),
    ("M_1_PI_F", "0.318309886183790671537767526745028724f"),
    ("M_2_PI_F", "0.636619772367581343075535053490057448f"),
    ("M_2_SQRTPI_F", "1.12837916709551257389615890312154517f"),
    ("M_SQRT2_F", "1.41421356237309504880168872420969808f"),
    ("M_SQRT1_2_F", "0.707106781186547524400844362104849039f"),
    ("M_E_H", "2.71828182845904523536028747135266250h"),
    ("M_LOG2E_H", "1.44269504088896340735992468100189214h"),
    ("M_LOG10E_H", "0.434294481903251827651128918916605082h"),
    ("M_LN2_H", "0.693147180559945309417232121458176568h"),
    ("M_LN10_H", "2.30258509299404568401799145468436421h"),
    ("M_PI_H", "3.14159265358979323846264338327950288h"),
    ("M_PI_2_H", "1.57079632679489661923132169163975144h"),
    ("M_PI_4_H", "0.785398163397448309615660845819875721h"),
    ("M_1_PI_H", "0.318309886183790671537767526745028724h"),
    ("M_2_PI_H", "0.636619772367581343075535053490057448h"),
    ("M_2_SQRTPI_H", "1.12837916709551257389615890312154517h"),
    ("M_SQRT2_H", "1.41421356237309504880168872420969808h"),
    ("M_SQRT1_2_H", "0.707106781186547524400844362104849039h"),
    // <metal_limits>
    ("__INT8_MAX__", "127"),
    ("__INT16_MAX__", "32767"),
    ("__INT32_MAX__", "2147483647"),
    ("__INT64_MAX__", "0x7fffffffffffffffL"),
    ("__UINT8_MAX__", "255"),
    ("__UINT16_MAX__", "65535"),
    ("__UINT32_MAX__", "0xffffffffU"),
    ("__UINT64_MAX__", "0xffffffffffffffffUL"),
    ("__INT_MAX__", "2147483647"),
    ("__LONG_MAX__", "0x7fffffffffffffffL"),
    ("__FLT_MAX__", "0x1.fffffep127f"),
    ("__FLT_MIN__", "0x1.0p-126f"),
    ("__FLT_EPSILON__", "0x1.0p-23f"),
    ("UINT8_MAX", "255"),
    ("UINT16_MAX", "65535"),
    ("UINT32_MAX", "0xffffffffU"),
    ("INT32_MAX", "2147483647"),
    ("CHAR_BIT", "8"),
    ("SCHAR_MAX", "127"),
    ("SCHAR_MIN", "(-128)"),
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
    ("LONG_MIN", "(-0x7fffffffffffffffL - 1)"),
    ("ULONG_MAX", "0xffffffffffffffffUL"),
    ("FLT_DIG", "6"),
    ("FLT_MANT_DIG", "24"),
    ("FLT_MAX_10_EXP", "38"),
    ("FLT_MAX_EXP", "128"),
    ("FLT_MIN_10_EXP", "(-37)"),
    ("FLT_MIN_EXP", "(-125)"),
    ("FLT_RADIX", "2"),
    ("FLT_MAX", "0x1.fffffep127f"),
    ("FLT_MIN", "0x1.0p-126f"),
    ("FLT_EPSILON", "0x1.0p-23f"),
    ("FP_ILOGB0", "(-2147483647 - 1)"),
    ("FP_ILOGBNAN", "2147483647"),
    ("HALF_DIG", "3"),
    ("HALF_MANT_DIG", "11"),
    ("HALF_MAX_10_EXP", "4"),
    ("HALF_MAX_EXP", "16"),
    ("HALF_MIN_10_EXP", "(-4)"),
    ("HALF_MIN_EXP", "(-13)"),
    ("HALF_RADIX", "2"),
    ("HALF_MAX", "((half)0x1.ffcp15f)"),
    ("HALF_MIN", "((half)0x1.0p-14f)"),
    ("HALF_EPSILON", "((half)0x1.0p-10f)"),
];

/// Macros whose value depends on where they stand.
pub const DYNAMIC: &[&str] = &["__LINE__", "__FILE__", "__COUNTER__"];

/// Function-like queries of `#if`.
pub const QUERIES: &[&str] = &[
    "__has_include",
    "__has_attribute",
    "__has_cpp_attribute",
    "__has_feature",
    "__has_extension",
    "__has_builtin",
    "__has_declspec_attribute",
    "__has_warning",
];

/// Attributes that the language has.
pub fn has_attribute(name: &str) -> bool {
    let name = name.trim_matches('_');
    matches!(
        name,
        "always_inline" | "noinline" | "unused" | "maybe_unused" | "nodiscard" | "fallthrough" | "aligned" | "packed"
    )
}

/// Is this one of Apple's headers?
pub fn is_apple_header(name: &str) -> bool {
    name.starts_with("metal_")
        || name.starts_with("metal/")
        || name.starts_with("simd/")
        || name.starts_with("MetalPerformancePrimitives")
        || matches!(name, "TargetConditionals.h" | "stdint.h" | "stddef.h" | "cstdint" | "cstddef")
}

/// What a header of Apple's brings that is not supported here.
pub fn unsupported_header(name: &str) -> Option<&'static str> {
    let base = name.trim_start_matches("metal/");
    Some(match base {
        "metal_raytracing" => "ray tracing",
        "metal_tensor" => "Metal 4 tensors",
        "metal_cooperative_tensor" => "Metal 4 cooperative tensors",
        "metal_imageblocks" => "image blocks",
        "metal_mesh" => "mesh shading",
        "metal_interpolate" => "fragment interpolation",
        _ if base.starts_with("MetalPerformancePrimitives") => {
            "Metal Performance Primitives (Metal 4 tensor operations)"
        }
        _ => return None,
    })
}
