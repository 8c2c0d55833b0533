//! References given as source: operations written in Metal with `double` give the answers of the built-in references, and
//! what they call is what Rust's library computes.

#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::fmt::Write as _;

use indexmap::IndexMap;
use ksearch_device::reference::exact_answer;
use ksearch_msl::{CompileOptions, Compiler, Optimise, SourceFile};
use ksearch_simt::{ArgValue, Buffer, Isa, Launch, Limits, Memory, Mode, Program};
use ksearch_task::{Candidate, Expr, Task, Workload, builtin};

const SOFTMAX: &str = include_str!("softmax_ref.cpp");
const ATTENTION: &str = include_str!("attention_ref.cpp");

fn candidate(text: &str) -> Candidate {
    let file = ksearch_task::SourceFile { path: "reference.cpp".to_owned(), text: text.to_owned() };
    Candidate::from_texts("reference.cpp", &[file]).unwrap()
}

/// A workload of given values, f32 unless they say otherwise.
fn workload(task: &Task, values: &[(&str, &str)]) -> Workload {
    let given: IndexMap<String, Expr> =
        [("T", "f32")].iter().chain(values).map(|(n, v)| ((*n).to_owned(), Expr::parse(v).unwrap())).collect();
    Workload { env: task.env(&given).unwrap(), ..task.workloads[0].clone() }
}

/// Largest difference between the source's answer and the built-in one, over the magnitude that `scale` gives an element.
fn difference(task: &Task, text: &str, workload: &Workload, scale: impl Fn(f64, &[f64]) -> f64) -> f64 {
    let source = candidate(text);
    let mut worst = 0f64;
    for seed in 0..3 {
        let inputs = task.inputs(workload, seed).unwrap();
        let exact = task.builtin_answer(&workload.env, &inputs).unwrap().unwrap();
        let resolved = source.resolve(task, &workload.env).unwrap();
        let got = exact_answer(&source, &resolved, &inputs).unwrap();
        assert_eq!(got["out"].shape, exact["out"].shape);
        let want = &exact["out"].values;
        assert_eq!(got["out"].values.len(), want.len());
        for (g, w) in got["out"].values.iter().zip(want) {
            worst = worst.max((g - w).abs() / scale(*w, want));
        }
    }
    worst
}

#[test]
fn softmax_in_metal_agrees_with_the_built_in_reference() {
    let task = builtin::task("softmax").unwrap();
    for values in
        [&[("R", "19"), ("C", "45"), ("scale", "1.7")][..], &[("R", "3"), ("C", "257"), ("scale", "0.3"), ("T", "f16")]]
    {
        let w = workload(&task, values);
        let worst = difference(&task, SOFTMAX, &w, |x, _| x.abs().max(f64::MIN_POSITIVE));
        assert!(worst < 1e-12, "{values:?}: {worst:e} of the element");
    }
}

#[test]
fn attention_in_metal_agrees_with_the_built_in_reference() {
    let task = builtin::task("attention").unwrap();
    for causal in ["0", "1"] {
        let shape = [("B", "2"), ("Hq", "4"), ("Hkv", "2"), ("Lq", "9"), ("Lk", "13"), ("D", "64"), ("causal", causal)];
        let w = workload(&task, &shape);
        // Sums over keys cancel, so an element is compared with the whole output's magnitude where that is larger.
        let worst = difference(&task, ATTENTION, &w, |x, all| {
            let rms = (all.iter().map(|v| v * v).sum::<f64>() / all.len() as f64).sqrt();
            x.abs().max(rms)
        });
        assert!(worst < 1e-12, "causal {causal}: {worst:e}");
    }
}

#[test]
fn what_a_reference_leaves_out_is_said() {
    let task = builtin::task("softmax").unwrap();
    let w = workload(&task, &[("R", "4"), ("C", "5")]);
    let inputs = task.inputs(&w, 1).unwrap();
    let fails = |text: &str| {
        let source = candidate(text);
        let resolved = source.resolve(&task, &w.env).unwrap();
        exact_answer(&source, &resolved, &inputs).unwrap_err().to_string()
    };
    assert!(fails(&SOFTMAX.replace("c < C", "c + 1 < C")).contains("`out` unwritten"));
    let broken = fails(&SOFTMAX.replace("double sum", "double4 sum"));
    assert!(broken.starts_with("reference.cpp:"), "{broken}");
}

type Function = fn(f64, f64) -> f64;

/// Expressions of `x` and `y`, and what they are.
const EXPRESSIONS: &[(&str, Function)] = &[
    ("0.1 + x", |x, _| 0.1 + x),
    ("x / 3", |x, _| x / 3.0),
    ("x * y - x", |x, y| x * y - x),
    ("exp(x)", |x, _| x.exp()),
    ("exp2(x)", |x, _| x.exp2()),
    ("exp10(x)", |x, _| 10f64.powf(x)),
    ("log(fabs(x))", |x, _| x.abs().ln()),
    ("log2(fabs(x))", |x, _| x.abs().log2()),
    ("log10(fabs(x))", |x, _| x.abs().log10()),
    ("sqrt(fabs(x))", |x, _| x.abs().sqrt()),
    ("rsqrt(fabs(x))", |x, _| 1.0 / x.abs().sqrt()),
    ("sin(x)", |x, _| x.sin()),
    ("cos(x)", |x, _| x.cos()),
    ("tan(x)", |x, _| x.tan()),
    ("tanh(x)", |x, _| x.tanh()),
    ("sinh(x)", |x, _| x.sinh()),
    ("cosh(x)", |x, _| x.cosh()),
    ("asin(fract(x))", |x, _| (x - x.floor()).asin()),
    ("acos(fract(x))", |x, _| (x - x.floor()).acos()),
    ("atan(x)", |x, _| x.atan()),
    ("asinh(x)", |x, _| x.asinh()),
    ("acosh(1 + fabs(x))", |x, _| (1.0 + x.abs()).acosh()),
    ("atanh(fract(x))", |x, _| (x - x.floor()).atanh()),
    ("atan2(x, y)", |x, y| x.atan2(y)),
    ("pow(fabs(x), y)", |x, y| x.abs().powf(y)),
    ("pow(x, 2)", |x, _| x.powf(2.0)),
    ("pow(x, 3.0f)", |x, _| x.powf(3.0)),
    ("fmod(x, y)", |x, y| x % y),
    ("floor(x)", |x, _| x.floor()),
    ("ceil(x)", |x, _| x.ceil()),
    ("round(x)", |x, _| x.round()),
    ("rint(x)", |x, _| x.round_ties_even()),
    ("trunc(x)", |x, _| x.trunc()),
    ("fma(x, y, 0.1)", |x, y| x.mul_add(y, 0.1)),
    ("fmin(x, y)", f64::min),
    ("fmax(x, y)", f64::max),
    ("min(x, 0.25f)", |x, _| x.min(0.25)),
    ("max(x, y)", f64::max),
    ("clamp(x, -0.5, 0.5)", |x, _| x.clamp(-0.5, 0.5)),
    ("saturate(x)", |x, _| x.clamp(0.0, 1.0)),
    ("copysign(x, y)", f64::copysign),
    ("mix(x, y, 0.3)", |x, y| x + (y - x) * 0.3),
    ("sign(x)", |x, _| if x == 0.0 { x } else { x.signum() }),
    ("step(x, y)", |x, y| if y < x { 0.0 } else { 1.0 }),
    ("degrees(x)", |x, _| x * 57.295_779_513_082_32),
    ("erf(x)", |x, _| libm::erf(x)),
    ("erfc(x)", |x, _| libm::erfc(x)),
    ("lgamma(1 + fabs(x))", |x, _| libm::lgamma(1.0 + x.abs())),
    ("tgamma(1 + fabs(x))", |x, _| libm::tgamma(1.0 + x.abs())),
    ("expm1(x)", |x, _| x.exp_m1()),
    ("log1p(fabs(x))", |x, _| x.abs().ln_1p()),
    ("cbrt(x)", |x, _| x.cbrt()),
    ("hypot(x, y)", f64::hypot),
    ("precise::exp(x) + fast::cos(y)", |x, y| x.exp() + y.cos()),
    ("ldexp(x, -3)", |x, _| x / 8.0),
    ("isnan(x) + 2 * isinf(x) + 4 * isfinite(x) + 8 * isnan(x / 0 * 0) + 16 * isinf((1 + fabs(x)) / 0)", |_, _| 28.0),
    ("signbit(x) ? 1 : 0", |x, _| f64::from(u8::from(x.is_sign_negative()))),
    ("select(x, y, x < y)", |x, y| if x < y { y } else { x }),
    ("double(int(x)) + double(long(y))", |x, y| f64::from(x as i32) + (y as i64) as f64),
    ("double(uint(fabs(x)))", |x, _| f64::from(x.abs() as u32)),
    ("double(float(x))", |x, _| f64::from(x as f32)),
    ("double(half(y))", |_, y| f64::from(half::f16::from_f64_const(y))),
    ("dot(double3(x, y, 1), double3(y, 2, x))", |x, y| x * y + y * 2.0 + x),
    ("length(double4(x, y, x, y))", |x, y| (x * x + y * y + x * x + y * y).sqrt()),
    ("(exp(double2(x, y)) * 2 + 1.5f).y", |_, y| y.exp() * 2.0 + 1.5),
    ("(float2(x, y) * 0.1).x", |x, _| f64::from(x as f32 * 0.1f32)),
    ("double4(x, y, 0, 1).wzyx.z", |_, y| y),
    ("as_type<double>(as_type<ulong>(x) ^ 1ul)", |x, _| f64::from_bits(x.to_bits() ^ 1)),
    ("numeric_limits<double>::epsilon() + x", |x, _| f64::EPSILON + x),
    ("table[i % 3] * x", |x, _| x),
];

/// Every expression on a few arguments, in every mode, on every instruction set of this host.
#[test]
fn the_library_in_double_precision_is_rusts() {
    const N: usize = 64;
    let mut text = "#include <metal_stdlib>\nusing namespace metal;\nconstant double table[3] = {1, 1.0, 1.};\n\
        kernel void k(device const double* a, device const double* b, device double* out, uint i [[thread_position_in_grid]]) {\n\
        double x = a[i], y = b[i];\n"
        .to_owned();
    for (k, (e, _)) in EXPRESSIONS.iter().enumerate() {
        writeln!(text, "out[{} + i] = {e};", k * N).unwrap();
    }
    text += "}\n";
    let a: Vec<f64> = (0..N).map(|i| (i as f64 - 31.3) * 0.217).collect();
    let b: Vec<f64> = (0..N).map(|i| ((i * 37 % 64) as f64 - 29.7) * 0.153).collect();
    let bytes = |v: &[f64]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    for optimise in [Optimise::Speed, Optimise::Faithful] {
        let options = CompileOptions { double: true, optimise, ..CompileOptions::default() };
        let module =
            Compiler::shared().unwrap().compile(&[SourceFile::new("k.metal", text.clone())], &options).unwrap();
        for (isa, mode) in [
            (Isa::Generic, Mode::Fast),
            (Isa::Avx2, Mode::Fast),
            (Isa::Avx512, Mode::Profile),
            (Isa::detect(), Mode::Sanitize),
        ] {
            let program = Program::load(&module).unwrap().with_isa(isa);
            let mut memory = Memory::default();
            let buffer = |name: &str, bytes| Buffer { name: name.to_owned(), bytes, written: None, read_only: false };
            let out = vec![0; EXPRESSIONS.len() * N * 8];
            let args = [buffer("a", bytes(&a)), buffer("b", bytes(&b)), buffer("out", out)]
                .map(|b| ArgValue::Buffer(memory.add(b), 0));
            let launch = Launch::new([2, 1, 1], [32, 1, 1], args.to_vec());
            let outcome = program.run("k", &launch, &mut memory, &Limits::default(), mode).unwrap();
            assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
            let (got, _) = memory.buffers[2].bytes.as_chunks::<8>();
            for (k, (e, f)) in EXPRESSIONS.iter().enumerate() {
                for i in 0..N {
                    let (got, want) = (f64::from_le_bytes(got[k * N + i]), f(a[i], b[i]));
                    // The few that are more than one operation may round otherwise in between.
                    assert!(
                        (got - want).abs() <= 4e-16 * want.abs(),
                        "{e} of {} and {}: {got:e}, not {want:e} ({optimise:?} {isa:?} {mode:?})",
                        a[i],
                        b[i]
                    );
                }
            }
        }
    }
}

/// Sums and shuffles across lanes move a double as two words, and leave out lanes that do not run.
#[test]
fn lanes_exchange_doubles() {
    let text = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void k(device const double* a, device double* out, uint i [[thread_position_in_grid]]) {\n\
        threadgroup double shared[32];\n\
        shared[31 - i] = a[i];\n\
        threadgroup_barrier(mem_flags::mem_threadgroup);\n\
        device double* o = out + i * 12;\n\
        o[0] = shared[i];\n\
        o[1] = simd_shuffle_xor(a[i], 5);\n\
        o[2] = simd_broadcast(a[i], 7);\n\
        o[3] = simd_shuffle_down(a[i], 1);\n\
        o[4] = simd_max(a[i]);\n\
        o[5] = quad_sum(a[i]);\n\
        if (i % 3 == 1) {\n\
            o[6] = simd_sum(a[i]);\n\
            o[7] = simd_min(a[i]);\n\
            o[8] = simd_prefix_inclusive_sum(a[i]);\n\
            o[9] = simd_prefix_exclusive_product(a[i]);\n\
        }\n\
        double history[4] = {a[i], 1, 2, 3};\n\
        double sum = 0;\n\
        for (uint k = 0; k < i; k++) { history[k % 4] += sum; sum += history[(k + 1) % 4] / 7; }\n\
        o[10] = sum;\n\
        o[11] = double4(a[i], 2, 3, 4)[i % 4];\n\
        }\n";
    let a: Vec<f64> = (0..32).map(|i| f64::from(i * 29 % 32) * 0.1 - 1.0).collect();
    let running = |upto: usize| a.iter().enumerate().take(upto).filter(|(i, _)| i % 3 == 1).map(|(_, x)| *x);
    let want = |i: usize| -> Vec<f64> {
        let mut history = [a[i], 1.0, 2.0, 3.0];
        let mut sum = 0.0;
        for k in 0..i {
            history[k % 4] += sum;
            sum += history[(k + 1) % 4] / 7.0;
        }
        let active = i % 3 == 1;
        let when = |x: f64| if active { x } else { -9.0 };
        vec![
            a[31 - i],
            a[i ^ 5],
            a[7],
            a[(i + 1).min(31)],
            a.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            a[i & !3..(i & !3) + 4].iter().sum(),
            when(running(32).sum()),
            when(running(32).fold(f64::INFINITY, f64::min)),
            when(running(i + 1).sum()),
            when(running(i).product()),
            sum,
            [a[i], 2.0, 3.0, 4.0][i % 4],
        ]
    };
    for optimise in [Optimise::Speed, Optimise::Faithful] {
        let options = CompileOptions { double: true, optimise, ..CompileOptions::default() };
        let module = Compiler::shared().unwrap().compile(&[SourceFile::new("k.metal", text)], &options).unwrap();
        let program = Program::load(&module).unwrap();
        for mode in [Mode::Fast, Mode::Sanitize] {
            let mut memory = Memory::default();
            let bytes = |v: &[f64]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
            let args = [("a", bytes(&a)), ("out", bytes(&[-9.0; 12 * 32]))].map(|(name, bytes)| {
                let b = Buffer { name: name.to_owned(), bytes, written: None, read_only: false };
                ArgValue::Buffer(memory.add(b), 0)
            });
            let launch = Launch::new([1, 1, 1], [32, 1, 1], args.to_vec());
            let outcome = program.run("k", &launch, &mut memory, &Limits::default(), mode).unwrap();
            // The value that a shuffle takes from beyond the end is only looked at in fast mode.
            let (got, _) = memory.buffers[1].bytes.as_chunks::<8>();
            assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
            for i in 0..32 {
                for (j, w) in want(i).iter().enumerate() {
                    let g = f64::from_le_bytes(got[i * 12 + j]);
                    assert!(
                        (g - w).abs() <= 1e-15 * w.abs(),
                        "lane {i}, value {j}: {g} not {w} ({optimise:?} {mode:?})"
                    );
                }
            }
        }
    }
}
