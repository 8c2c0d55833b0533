//! What expressions mean, checked without running anything: on constants the optimiser computes them, and the value it
//! stores is compared with MSL's.

#![allow(clippy::unwrap_used)] // A test that cannot get its input has failed.

use std::fmt::Write;

use ksearch_msl::{CompileOptions, Compiler, SourceFile};

/// Values of the expressions, each converted to float.
fn values(prelude: &str, expressions: &[&str]) -> Vec<f64> {
    let mut text = format!("#include <metal_stdlib>\nusing namespace metal;\n{prelude}\n");
    for (n, e) in expressions.iter().enumerate() {
        let _ = writeln!(text, "kernel void k{n}(device float* x [[buffer(0)]]) {{ x[0] = float({e}); }}");
    }
    let options = CompileOptions { fast_math: true, ..CompileOptions::default() };
    let module = Compiler::shared().unwrap().compile(&[SourceFile::new("k.metal", text)], &options);
    let module = module.unwrap_or_else(|d| panic!("{d:#?}"));
    let bodies = module.ir.split("\ndefine ").skip(1);
    let stored: Vec<f64> = bodies.map(|body| constant(body).unwrap_or_else(|| panic!("not folded:\n{body}"))).collect();
    assert_eq!(stored.len(), expressions.len());
    stored
}

/// The constant that a function stores.
fn constant(body: &str) -> Option<f64> {
    let line = body.lines().find(|l| l.contains("store float "))?;
    let text = line.split("store float ").nth(1)?.split(',').next()?;
    match text.strip_prefix("0x") {
        Some(hex) => Some(f64::from_bits(u64::from_str_radix(hex, 16).ok()?)),
        None => text.parse().ok(),
    }
}

fn check(prelude: &str, cases: &[(&str, f64)]) {
    let expressions: Vec<&str> = cases.iter().map(|(e, _)| *e).collect();
    for ((e, wanted), got) in cases.iter().zip(values(prelude, &expressions)) {
        assert!(got == *wanted || (got.is_nan() && wanted.is_nan()), "{e} is {wanted}, not {got}");
    }
}

#[test]
fn vectors() {
    check(
        "",
        &[
            ("float4(1, 2, 3, 4).z", 3.0),
            ("float4(2.5).w", 2.5),
            ("float4(float2(1, 2), float2(3, 4)).z", 3.0),
            ("float4(1, float2(7, 8), 4).z", 8.0),
            ("float4(float3(1, 2, 3), 9).w", 9.0),
            ("float4(half4(1.5h, 2.5h, 3.5h, 4.5h)).y", 2.5),
            ("float3(int3(-1, 2, 3)).x", -1.0),
            ("int4(float4(-1.7, 2.7, 0, 0)).x", -1.0),
            ("uint2(uint2(7, 8)).y", 8.0),
            ("((float4)int4(5)).w", 5.0),
            ("((float4)7).x", 7.0),
            ("static_cast<float2>(half2(1.5h)).y", 1.5),
            ("(-(float2)int2(3)).x", -3.0),
            ("((float2)int2(3) * 2.0f).x", 6.0),
            ("float4(1, 2, 3, 4).wzyx.x", 4.0),
            ("float4(1, 2, 3, 4).rgb.g", 2.0),
            ("float4(1, 2, 3, 4)[2]", 3.0),
            ("(half4(2.0h) * 1.5f).x", 3.0),
            ("(1.5f * half4(2.0h)).x", 3.0),
            ("vec<float, 3>(1, 2, 3).z", 3.0),
            ("metal::float2(1, 2).y", 2.0),
            ("max(float2(1, 5), 3.0f).x", 3.0),
            ("fma(float2(2), 3.0f, float2(1)).y", 7.0),
            ("clamp(float3(-1, 0.5, 2), 0.0f, 1.0f).z", 1.0),
            ("mix(float2(0), float2(10), 0.25f).x", 2.5),
            ("dot(float3(1, 2, 3), float3(4, 5, 6))", 32.0),
            ("cross(float3(1, 0, 0), float3(0, 1, 0)).z", 1.0),
            ("length_squared(float2(3, 4))", 25.0),
            ("sizeof(float3)", 16.0),
            ("sizeof(packed_float3)", 12.0),
            ("sizeof(bool4)", 4.0),
            ("sizeof(half3)", 8.0),
            ("alignof(float4)", 16.0),
            ("packed_float3(1, 2, 3).y", 2.0),
            ("(packed_float3(1, 2, 3) + float3(1)).z", 4.0),
            ("float3(packed_float3(1, 2, 3)).z", 3.0),
            ("float4(packed_char4(1, -2, 3, 4)).y", -2.0),
        ],
    );
}

#[test]
fn initialisers() {
    check(
        "float4 list() { float4 v = {1, 2}; return v; }\nfloat4 braces() { return {1, 2, 3, 4}; }\n\
         float4 named() { float4 v(1, 2, float2(3, 4)); return v; }\nstruct S { float4 v; int n; };\n\
         float nested() { S s = {{1, 2, 3, 4}, 5}; return s.v.w + s.n; }\nfloat get(uint3 p) { return p.z; }\n\
         float pairs() { float2 a[2] = {float2(1, 2), float2(3, 4)}; return a[1].x; }\n",
        &[
            ("list().y", 2.0),
            ("list().z", 0.0),
            ("braces().w", 4.0),
            ("named().z", 3.0),
            ("nested()", 9.0),
            ("get({1, 2, 3})", 3.0),
            ("pairs()", 3.0),
        ],
    );
}

#[test]
fn truth() {
    check(
        "float as_number() { float4 a = {1, 2, 3, 4}; auto m = a < float4(2.5); return float4(m).x; }\n\
         bool4 named() { float4 a = {1, 2, 3, 4}; bool4 m = a >= float4(2); return m; }\n",
        &[
            ("float4(float4(1, 2, 3, 4) < float4(2)).x", 1.0),
            ("float4(float4(1, 2, 3, 4) < float4(2)).y", 0.0),
            ("int4(int4(1, 2, 3, 4) == int4(2)).y", 1.0),
            ("((float4)(float4(1) == float4(1))).x", 1.0),
            ("as_number()", 1.0),
            ("named().x", 0.0),
            ("named().y", 1.0),
            ("(named() && bool4(true)).w", 1.0),
            ("(!named()).x", 1.0),
            ("any(float4(1, 2, 3, 4) > float4(3))", 1.0),
            ("all(float4(1, 2, 3, 4) > float4(3))", 0.0),
            ("all(named() || !named())", 1.0),
            ("select(float4(1), float4(2), float4(1, 2, 3, 4) > float4(2)).z", 2.0),
            ("select(float4(1), float4(2), named()).x", 1.0),
            ("select(1.0f, 2.0f, true)", 2.0),
            ("isnan(float2(NAN, 1)).x", 1.0),
            ("isinf(INFINITY)", 1.0),
            ("isfinite(1.0f)", 1.0),
            ("float(vec<bool, 2>(true, false).x)", 1.0),
            ("bool(0.5f)", 1.0),
        ],
    );
}

/// A comma between template arguments ends no declaration.
#[test]
fn vectors_that_initialise_auto() {
    check(
        "inline float made(float x) { auto v = vec<float, 2>(x, x + 1.0f); return v.y; }
         inline bool less(float x) { auto m = float2(x) < float2(2.0f); auto n = vec<float, 2>(x) < vec<float, 2>(0.0f); return m.x && !n.y; }",
        &[("made(3.0f)", 4.0), ("less(1.0f)", 1.0)],
    );
}

#[test]
fn integers() {
    check(
        "",
        &[
            ("popcount(0xffu)", 8.0),
            ("clz(1u)", 31.0),
            ("clz(0u)", 32.0),
            ("clz(ushort(1))", 15.0),
            ("clz(uchar(1))", 7.0),
            ("ctz(8)", 3.0),
            ("ctz(0u)", 32.0),
            ("clz(1ul)", 63.0),
            ("reverse_bits(1u) >> 31", 1.0),
            ("reverse_bits(uchar(1))", 128.0),
            ("rotate(0x80000001u, 1u)", 3.0),
            ("extract_bits(0xabcdu, 4, 8)", 188.0),
            ("extract_bits(int(0xf0), 4, 4)", -1.0),
            ("extract_bits(7u, 0, 0)", 0.0),
            ("insert_bits(0u, 5u, 4, 3)", 80.0),
            ("mulhi(0x80000000u, 4u)", 2.0),
            ("mulhi(-1, 1)", -1.0),
            ("mulhi(0x8000000000000000ul, 4ul)", 2.0),
            ("mulhi(-1l, 1l)", -1.0),
            ("hadd(255u, 254u)", 254.0),
            ("rhadd(255u, 254u)", 255.0),
            ("addsat(uchar(200), uchar(100))", 255.0),
            ("subsat(10u, 20u)", 0.0),
            ("absdiff(-5, 7)", 12.0),
            ("abs(-7)", 7.0),
            ("mad24(3, 4, 5)", 17.0),
            ("mul24(0xffffffu, 2u) == 0x1fffffeu", 1.0),
            ("max(3u, 4u)", 4.0),
            ("min(-3, 4)", -3.0),
            ("clamp(12, 0, 9)", 9.0),
            ("max3(1, 7, 3)", 7.0),
            ("median3(1.0f, 7.0f, 3.0f)", 3.0),
            ("char(200)", -56.0),
            ("ushort(65537)", 1.0),
            ("7 / 2", 3.0),
            ("sizeof(long)", 8.0),
            ("sizeof(size_t)", 8.0),
            ("numeric_limits<int>::max() == 2147483647", 1.0),
            ("numeric_limits<uchar>::max()", 255.0),
            ("numeric_limits<half>::max()", 65504.0),
            ("numeric_limits<float>::epsilon()", f64::from(f32::EPSILON)),
            ("numeric_limits<float>::infinity()", f64::INFINITY),
            ("INT_MIN", -2147483648.0),
            ("FLT_MAX", f64::from(f32::MAX)),
        ],
    );
}

#[test]
fn floats() {
    check(
        "float whole(float x) { float w; float f = modf(x, w); return w * 100 + f; }\n\
         float exponent(float x) { int e; float m = frexp(x, e); return m * 100 + e; }\n\
         template <typename T> T third(T x) { return 1.5 * x; }\n",
        &[
            ("floor(-1.5f)", -2.0),
            ("ceil(1.2f)", 2.0),
            ("trunc(-1.7f)", -1.0),
            ("rint(2.5f)", 2.0),
            ("round(2.5f)", 3.0),
            ("fract(1.25f)", 0.25),
            ("fabs(-2.0f)", 2.0),
            ("copysign(3.0f, -1.0f)", -3.0),
            ("fma(2.0f, 3.0f, 4.0f)", 10.0),
            ("saturate(2.0f)", 1.0),
            ("sign(-2.5f)", -1.0),
            ("step(1.0f, 0.5f)", 0.0),
            ("smoothstep(0.0f, 1.0f, 0.5f)", 0.5),
            ("fmin(1.0f, NAN)", 1.0),
            ("ldexp(1.5f, 4)", 24.0),
            ("ldexp(1.0f, -149)", 1.401_298_464_324_817e-45),
            ("whole(3.25f)", 300.25),
            ("exponent(8.0f)", 54.0),
            ("ilogb(9.0f)", 3.0),
            ("nextafter(1.0f, 2.0f)", 1.000_000_119_209_289_6),
            ("signbit(-0.0f)", 1.0),
            ("as_type<uint>(1.0f) == 0x3f800000u", 1.0),
            ("as_type<float>(0x40000000)", 2.0),
            ("as_type<half2>(0x3c003c00u).x", 1.0),
            ("sizeof(1.0)", 4.0),
            ("third(2.0f)", 3.0),
            ("third(2.0h)", 3.0),
            ("1.0h / 3.0h == half(1.0f / 3.0f)", 1.0),
            ("half(65520.0f)", f64::INFINITY),
            ("0x1.8p1", 3.0),
        ],
    );
}

#[test]
fn results_of_calls_convert() {
    check(
        "struct Three { operator int() const thread noexcept { return 3; } };\nstruct Four { operator int() const { return 4; } };\n\
         Three three() { return Three{}; }\nFour four() { return Four{}; }",
        &[("2 + three()", 5.0), ("2L * four()", 8.0), ("Three{} - four()", -1.0)],
    );
}

#[test]
fn types() {
    check(
        "struct P { float a; packed_float3 b; half c; };\nenum class E : ushort { x = 3 };\nunion U { float f; uint i; };\n\
         template <typename T> struct W { T v; T twice() const { return v + v; } };\n\
         float bits() { U u; u.f = 1.0f; return u.i == 0x3f800000u; }\n",
        &[
            ("is_same_v<float, float>", 1.0),
            ("is_same<float, half>::value", 0.0),
            ("is_integral_v<uint>", 1.0),
            ("is_floating_point_v<half>", 1.0),
            ("is_unsigned_v<uchar>", 1.0),
            ("is_signed_v<int>", 1.0),
            ("sizeof(conditional_t<true, half, float>)", 2.0),
            ("sizeof(P)", 20.0),
            ("ushort(E::x)", 3.0),
            ("bits()", 1.0),
            ("W<float>{2.0f}.twice()", 4.0),
            ("W<half4>{half4(2.0h)}.twice().x", 4.0),
            ("sizeof(make_unsigned_t<int>)", 4.0),
            ("sizeof(float4x4)", 64.0),
            ("sizeof(float3x3)", 48.0),
            ("sizeof(simdgroup_float8x8)", 8.0),
        ],
    );
}

#[test]
fn matrices() {
    check(
        "constant float2x2 m = float2x2(1, 2, 3, 4);\n",
        &[
            ("float2x2(1, 2, 3, 4)[1][0]", 3.0),
            ("float2x2(float2(1, 2), float2(3, 4))[0].y", 2.0),
            ("float3x3(1.0f)[1][1]", 1.0),
            ("float3x3(1.0f)[1][0]", 0.0),
            ("(float2x2(1, 2, 3, 4) * float2(1, 1)).x", 4.0),
            ("(float2(1, 1) * float2x2(1, 2, 3, 4)).x", 3.0),
            ("(float2x2(1, 2, 3, 4) * float2x2(1, 0, 0, 1))[1][1]", 4.0),
            ("transpose(float2x2(1, 2, 3, 4))[0][1]", 3.0),
            ("determinant(float2x2(1, 2, 3, 4))", -2.0),
            ("determinant(float3x3(2.0f))", 8.0),
            ("determinant(float4x4(2.0f))", 16.0),
            ("half2x2(float2x2(1, 2, 3, 4))[1][1]", 4.0),
            ("(float2x2(1.0f) * 3.0f)[0][0]", 3.0),
            ("(float2x2(1.0f) + float2x2(2.0f))[1][1]", 3.0),
        ],
    );
}
