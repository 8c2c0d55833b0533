//! Double precision: every operation against Rust's own, with operands that differ by lane, that are the same in all lanes
//! and that are constants; on every instruction set of this host, with and without sanitizers.

// The text of a program reads best in its own order; an ordered comparison is not `!=`.
#![allow(clippy::format_push_string, clippy::single_match_else, clippy::double_comparisons)]

mod common;

use common::run;
use half::{bf16, f16};
use ksearch_simt::{Isa, Mode};

type Binary = fn(f64, f64) -> f64;

const N: u32 = 32;

fn values() -> [f64; N as usize] {
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        3.7,
        -3.7,
        0.1,
        -0.1,
        std::f64::consts::PI,
        100.25,
        -100.25,
        1e-3,
        127.0,
        -129.0,
        65519.999,
        2_147_483_648.5,
        -2_147_483_649.0,
        1e10,
        -1e10,
        9_007_199_254_740_993.0,
        1e300,
        -1e300,
        1e-300,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ]
}

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Lane,
    Group,
    Constant(usize),
}

/// Runs `body`, which computes `%r` of type `ty` from `%a`, `%b` and `%c`, for every pair of values in every form, and
/// compares each result's bytes with those of `want`.
#[track_caller]
fn check(ty: &str, body: &str, want: impl Fn(f64, f64, f64) -> Vec<u8>, same: impl Fn(&[u8], &[u8]) -> bool) {
    use Source::{Constant, Group, Lane};
    let forms = [
        [Lane, Lane, Lane],
        [Lane, Group, Lane],
        [Group, Lane, Group],
        [Group, Group, Group],
        [Lane, Constant(9), Constant(4)],
        [Constant(11), Lane, Group],
        [Constant(13), Constant(7), Constant(3)],
    ];
    let vals = values();
    let size = want(1.0, 1.0, 1.0).len();
    for form in forms {
        let mut ir = "target triple = \"spir64\"\ndeclare i32 @__ks_sr(i32)\n".to_owned();
        for (name, params) in declarations(body) {
            ir += &format!("declare {name}({params})\n");
        }
        ir += "define spir_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n\
            %i = call i32 @__ks_sr(i32 19)\n%group = call i32 @__ks_sr(i32 3)\n%lane = call i32 @__ks_sr(i32 12)\n";
        for (name, from) in ["a", "b", "c"].iter().zip(form) {
            ir += &match from {
                Constant(k) => format!("%{name} = fadd double 0x{:016X}, 0x8000000000000000\n", vals[k].to_bits()),
                _ => {
                    let index = if from == Lane { "lane" } else { "group" };
                    format!(
                        "%{name}.p = getelementptr double, ptr addrspace(1) %in, i32 %{index}\n\
                        %{name} = load double, ptr addrspace(1) %{name}.p, align 8\n"
                    )
                }
            };
        }
        ir += body;
        ir += &format!(
            "\n%o = getelementptr {ty}, ptr addrspace(1) %out, i32 %i\nstore {ty} %r, ptr addrspace(1) %o, align {size}\nret void\n}}\n"
        );
        for isa in [Isa::Generic, Isa::Avx2, Isa::Avx512] {
            for mode in [Mode::Fast, Mode::Sanitize] {
                let mut t = run(&ir, "k").buffer("in", &vals).fresh("out", size * (N * N) as usize);
                t.program = t.program.with_isa(isa);
                t.launch([N, 1, 1], [N, 1, 1], mode).clean();
                for (k, got) in t.bytes_of(1).chunks_exact(size).enumerate() {
                    let of = |f| match f {
                        Lane => vals[k % N as usize],
                        Group => vals[k / N as usize],
                        Constant(c) => vals[c],
                    };
                    let (a, b, c) = (of(form[0]), of(form[1]), of(form[2]));
                    let wanted = want(a, b, c);
                    assert!(
                        same(got, &wanted),
                        "{body}\n{form:?} {isa:?} {mode:?}: of {a:e}, {b:e}, {c:e}: {got:x?} instead of {wanted:x?}"
                    );
                }
            }
        }
    }
}

/// Declarations of the functions that a body calls.
fn declarations(body: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for call in body.lines().filter_map(|l| l.split_once("= call ").map(|x| x.1)) {
        let (name, rest) = call.split_once('(').expect("a call");
        let args = rest.trim_end_matches(')').split(", ");
        let types: Vec<&str> = args.filter_map(|a| a.split_whitespace().next()).collect();
        if !found.iter().any(|f| f.0 == name) {
            found.push((name.to_owned(), types.join(", ")));
        }
    }
    found
}

fn number(b: &[u8]) -> f64 {
    f64::from_le_bytes(b.try_into().expect("eight bytes"))
}

/// The same bits, or both NaN.
fn equal(got: &[u8], want: &[u8]) -> bool {
    got == want || (number(got).is_nan() && number(want).is_nan())
}

/// Zeros may have either sign.
fn equal_but_zero(got: &[u8], want: &[u8]) -> bool {
    equal(got, want) || (number(got) == 0.0 && number(want) == 0.0)
}

#[track_caller]
fn check2(body: &str, want: impl Fn(f64, f64) -> f64) {
    check("double", body, |a, b, _| want(a, b).to_le_bytes().to_vec(), equal);
}

#[track_caller]
fn check1(body: &str, want: impl Fn(f64) -> f64) {
    check("double", body, |a, _, _| want(a).to_le_bytes().to_vec(), equal);
}

#[test]
fn arithmetic() {
    check2("%r = fadd double %a, %b", |a, b| a + b);
    check2("%r = fsub double %a, %b", |a, b| a - b);
    check2("%r = fmul double %a, %b", |a, b| a * b);
    check2("%r = fdiv double %a, %b", |a, b| a / b);
    check2("%r = frem double %a, %b", |a, b| a % b);
    check1("%r = fneg double %a", |a| -a);
    let fma = |a: f64, b, c| a.mul_add(b, c).to_le_bytes().to_vec();
    check("double", "%r = call double @llvm.fma.f64(double %a, double %b, double %c)", fma, equal);
    // A product and a sum stay two operations: nothing is contracted behind a reference's back.
    let two = |a: f64, b: f64, c: f64| (a * b + c).to_le_bytes().to_vec();
    check("double", "%p = fmul double %a, %b\n%r = fadd double %p, %c", two, equal);
}

#[test]
fn intrinsics() {
    let call1 = |f: &str| format!("%r = call double @llvm.{f}.f64(double %a)");
    let call2 = |f: &str| format!("%r = call double @llvm.{f}.f64(double %a, double %b)");
    check1(&call1("fabs"), f64::abs);
    check1(&call1("floor"), f64::floor);
    check1(&call1("ceil"), f64::ceil);
    check1(&call1("trunc"), f64::trunc);
    check1(&call1("rint"), f64::round_ties_even);
    check1(&call1("round"), f64::round);
    check1(&call1("sqrt"), f64::sqrt);
    check2(&call2("copysign"), f64::copysign);
    let le = |f: fn(f64, f64) -> f64| move |a: f64, b: f64, _: f64| f(a, b).to_le_bytes().to_vec();
    check("double", &call2("minnum"), le(f64::min), equal_but_zero);
    check("double", &call2("maxnum"), le(f64::max), equal_but_zero);
    check2(&call2("minimum"), |a, b| {
        if a.is_nan() || b.is_nan() {
            f64::NAN
        } else if a == b && a.is_sign_negative() {
            a
        } else if b <= a {
            b
        } else {
            a
        }
    });
    check2(&call2("maximum"), |a, b| {
        if a.is_nan() || b.is_nan() {
            f64::NAN
        } else if a == b && a.is_sign_positive() {
            a
        } else if b >= a {
            b
        } else {
            a
        }
    });
    check1("%r = call double @llvm.ldexp.f64.i32(double %a, i32 -3)", |a| a * 0.125);
    check1("%r = call double @llvm.powi.f64.i32(double %a, i32 3)", |a| a.powf(3.0));
}

#[test]
fn comparisons_and_selection() {
    let nan = |a: f64, b: f64| a.is_nan() || b.is_nan();
    type Cmp = fn(f64, f64) -> bool;
    let ordered: [(&str, Cmp); 6] = [
        ("eq", |a, b| a == b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("ne", |a, b| a < b || a > b),
    ];
    let int = |x: bool| u32::from(x).to_le_bytes().to_vec();
    let bits = |a: &[u8], b: &[u8]| a == b;
    for (name, f) in ordered {
        let body = |p: &str| format!("%p = fcmp {p}{name} double %a, %b\n%r = zext i1 %p to i32");
        check("i32", &body("o"), |a, b, _| int(f(a, b)), bits);
        check("i32", &body("u"), |a, b, _| int(f(a, b) || nan(a, b)), bits);
    }
    check("i32", "%p = fcmp ord double %a, %b\n%r = zext i1 %p to i32", |a, b, _| int(!nan(a, b)), bits);
    check("i32", "%p = fcmp uno double %a, %b\n%r = zext i1 %p to i32", |a, b, _| int(nan(a, b)), bits);
    // A negated comparison, and a selection by one.
    check(
        "i32",
        "%p = fcmp olt double %a, %b\n%q = xor i1 %p, true\n%r = zext i1 %q to i32",
        |a, b, _| int(a >= b || nan(a, b)),
        bits,
    );
    check2("%p = fcmp olt double %a, %b\n%r = select i1 %p, double %a, double %b", |a, b| if a < b { a } else { b });
}

#[test]
fn conversions() {
    let bits = |a: &[u8], b: &[u8]| a == b;
    macro_rules! to_int {
        ($($t:ty, $name:literal, $op:literal;)*) => {$(
            let body = format!("%r = call {0} @llvm.{1}.sat.{0}.f64(double %a)", $name, $op);
            check($name, &body, |a, _, _| (a as $t).to_le_bytes().to_vec(), bits);
            // Without saturation only values in range have a meaning.
            let body = format!("%s = call {0} @llvm.{1}.sat.{0}.f64(double %a)\n%v = {2} {0} %s to double\n%r = {1} double %v to {0}",
                $name, $op, if $op == "fptosi" { "sitofp" } else { "uitofp" });
            check($name, &body, |a, _, _| ((a as $t) as f64 as $t).to_le_bytes().to_vec(), bits);
            let body = format!("%s = call {0} @llvm.{1}.sat.{0}.f64(double %a)\n%r = {2} {0} %s to double",
                $name, $op, if $op == "fptosi" { "sitofp" } else { "uitofp" });
            check1(&body, |a| (a as $t) as f64);
        )*};
    }
    to_int! {
        i8, "i8", "fptosi"; u8, "i8", "fptoui"; i16, "i16", "fptosi"; u16, "i16", "fptoui";
        i32, "i32", "fptosi"; u32, "i32", "fptoui"; i64, "i64", "fptosi"; u64, "i64", "fptoui";
    }
    check1("%p = fcmp olt double %a, 1.0\n%r = uitofp i1 %p to double", |a| f64::from(u8::from(a < 1.0)));
    check1("%p = fcmp olt double %a, 1.0\n%r = sitofp i1 %p to double", |a| 0.0 - f64::from(u8::from(a < 1.0)));
    let float = |a: &[u8], b: &[u8]| {
        let f = |x: &[u8]| f32::from_le_bytes(x.try_into().expect("four bytes"));
        a == b || (f(a).is_nan() && f(b).is_nan())
    };
    check("float", "%r = fptrunc double %a to float", |a, _, _| (a as f32).to_le_bytes().to_vec(), float);
    check1("%f = fptrunc double %a to float\n%r = fpext float %f to double", |a| f64::from(a as f32));
    let half = |a: f64| {
        // The nearest binary16 value by way of a binary32 one that cannot lie halfway between two.
        let near = a as f32;
        let wide = f64::from(near);
        if wide == a || a.is_nan() {
            near
        } else {
            f32::from_bits((near.to_bits() - u32::from(wide.abs() > a.abs())) | 1)
        }
    };
    check1("%f = fptrunc double %a to half\n%r = fpext half %f to double", |a| f16::from_f32(half(a)).to_f64());
    check1("%f = fptrunc double %a to bfloat\n%r = fpext bfloat %f to double", |a| bf16::from_f32(half(a)).to_f64());
    // Bits.
    let long = |a: f64, _: f64, _: f64| (a.to_bits() ^ 1).to_le_bytes().to_vec();
    check("i64", "%b0 = bitcast double %a to i64\n%r = xor i64 %b0, 1", long, bits);
    check1("%v = bitcast double %a to <2 x i32>\n%r = bitcast <2 x i32> %v to double", |a| a);
}

#[test]
fn library_functions() {
    type Fun = fn(f64) -> f64;
    let functions: [(&str, Fun); 31] = [
        ("exp", f64::exp),
        ("exp2", f64::exp2),
        ("exp10", |x| 10f64.powf(x)),
        ("log", f64::ln),
        ("log2", f64::log2),
        ("log10", f64::log10),
        ("sqrt", f64::sqrt),
        ("rsqrt", |x| 1.0 / x.sqrt()),
        ("rcp", |x| 1.0 / x),
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("tan", f64::tan),
        ("asin", f64::asin),
        ("acos", f64::acos),
        ("atan", f64::atan),
        ("sinh", f64::sinh),
        ("cosh", f64::cosh),
        ("tanh", f64::tanh),
        ("asinh", f64::asinh),
        ("acosh", f64::acosh),
        ("atanh", f64::atanh),
        ("expm1", f64::exp_m1),
        ("log1p", f64::ln_1p),
        ("cbrt", f64::cbrt),
        ("erf", libm::erf),
        ("erfc", libm::erfc),
        ("lgamma", libm::lgamma),
        ("tgamma", libm::tgamma),
        ("floor", f64::floor),
        ("trunc", f64::trunc),
        ("rint", f64::round_ties_even),
    ];
    for (name, f) in functions {
        check1(&format!("%r = call double @__ks_{name}_f64(double %a)"), f);
    }
    // These are computed by more than one call of the host's library. Poles of the tangent are large on both sides.
    let near = |got: &[u8], want: &[u8]| {
        let (g, w) = (number(got), number(want));
        equal(got, want) || (g - w).abs() <= 4e-16 * w.abs().max(1.0) || g.abs().min(w.abs()) > 1e15
    };
    let le = |x: f64| x.to_le_bytes().to_vec();
    let turn = |x: f64| std::f64::consts::PI * (x % 2.0);
    check("double", "%r = call double @__ks_sinpi_f64(double %a)", |a, _, _| le(turn(a).sin()), near);
    check("double", "%r = call double @__ks_cospi_f64(double %a)", |a, _, _| le(turn(a).cos()), near);
    check("double", "%r = call double @__ks_tanpi_f64(double %a)", |a, _, _| le(turn(a).tan()), near);
    let inverse = "%t = call double @__ks_erf_f64(double %a)\n%r = call double @__ks_erfinv_f64(double %t)";
    check(
        "double",
        inverse,
        |a, _, _| le(a),
        |got, want| {
            let w = number(want);
            // Beyond 1 the error function has too few bits left to tell arguments apart to this precision.
            w.is_nan() || w.abs() > 1.0 || (number(got) - w).abs() <= 4e-16 * w.abs() + f64::MIN_POSITIVE
        },
    );
    let two: [(&str, Binary); 6] = [
        ("pow", f64::powf),
        ("powr", |a, b| if a < 0.0 { f64::NAN } else { a.powf(b) }),
        ("fmod", |a, b| a % b),
        ("atan2", f64::atan2),
        ("div", |a, b| a / b),
        ("hypot", f64::hypot),
    ];
    for (name, f) in two {
        check2(&format!("%r = call double @__ks_{name}_f64(double %a, double %b)"), f);
    }
}
