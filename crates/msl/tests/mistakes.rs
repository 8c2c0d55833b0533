//! What the front end says about broken sources: the code, the place and the words.

#![allow(clippy::unwrap_used)] // A test that cannot get its input has failed.

use ksearch_msl::{CompileOptions, Compiler, SourceFile};

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

fn report(body: &str) -> String {
    let files = [SourceFile::new("k.metal", format!("{HEAD}{body}"))];
    let options = CompileOptions { fast_math: true, ..CompileOptions::default() };
    match Compiler::shared().unwrap().compile(&files, &options) {
        Ok(_) => "compiles".to_owned(),
        Err(diagnostics) => {
            let line = |d: &ksearch_msl::Diagnostic| {
                let pos = d.pos.as_ref().map_or("nowhere".to_owned(), ToString::to_string);
                let help = d.help.as_ref().map_or(String::new(), |h| format!("\n  help: {h}"));
                format!("{pos}: [{}] {}{help}", d.code, d.message)
            };
            diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
        }
    }
}

fn kernel(statement: &str) -> String {
    report(&format!(
        "kernel void k(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n    {statement}\n}}\n"
    ))
}

macro_rules! says {
    ($name:ident, $report:expr) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!($report);
        }
    };
}

says!(missing_semicolon, kernel("x[i] = 1.0f\n    x[i + 1] = 2.0f;"));
says!(unknown_function, kernel("x[i] = fooexp(x[i]);"));
says!(unknown_function_suggestion, kernel("x[i] = float(atomic_load_explicitt(x, 0));"));
says!(unknown_name, kernel("x[i] = y + 1.0f;"));
says!(unknown_type, kernel("flaot y = x[i];"));
says!(unknown_member, kernel("float4 v = float4(1); x[i] = v.q;"));
says!(address_space, kernel("threadgroup float* p = x; x[i] = p[0];"));
says!(wrong_argument_count, kernel("x[i] = fma(x[i], 2.0f);"));
says!(ambiguous, kernel("x[i] = max(1, 2u);"));
says!(unbalanced, kernel("if (i > 3) { x[i] = 1;"));
says!(wrong_bracket, kernel("x[i) = 1;"));
says!(double, kernel("double y = 1; x[i] = y;"));
says!(vector_count, kernel("float4 v = float4(1.0f, 2.0f, 3.0f); x[i] = v.x;"));
says!(
    inside_a_template,
    report(
        "template <typename T> T twice(T a) {\n    return a.nope;\n}\nkernel void k(device float* x) {\n    x[0] = twice(x[0]);\n}\n"
    )
);
says!(missing_attribute, report("kernel void k(device float* x [[buffer(0)]], uint n) { x[0] = n; }\n"));
says!(by_value, report("kernel void k(constant uint n [[buffer(0)]]) {}\n"));
says!(duplicate_index, report("kernel void k(device float* x [[buffer(1)]], device float* y [[buffer(1)]]) {}\n"));
says!(texture, report("kernel void k(texture2d<float> t [[texture(0)]], device float* x [[buffer(0)]]) {}\n"));
says!(position_type, report("kernel void k(device float* x, int i [[thread_position_in_grid]]) {}\n"));
says!(vertex_stage, report("vertex float4 v() { return float4(0); }\n"));
says!(undefined_function, report("float f(float a);\nkernel void k(device float* x) {\n    x[0] = f(x[0]);\n}\n"));

#[test]
fn library_that_is_not_imported() {
    let files = [SourceFile::new("k.metal", "kernel void k(device float* x) { x[0] = exp(x[0]); }\n")];
    let err = Compiler::shared().unwrap().compile(&files, &CompileOptions::default()).unwrap_err();
    assert_eq!(err[0].code, "unknown-function");
    assert_eq!(err[0].help.as_deref(), Some("add `#include <metal_stdlib>` and `using namespace metal;`"));
}
says!(
    recursion,
    report(
        "float down(float x) {\n    return x > 0.0f ? down(x - 1.0f) : x;\n}\nkernel void k(device float* x) {\n    x[0] = down(x[0]);\n}\n"
    )
);
says!(kernel_result, report("kernel float k(device float* x) { return x[0]; }\n"));
says!(pointer_without_space, report("void f(float* p) { p[0] = 1; }\nkernel void k(device float* x) { f(x); }\n"));
says!(
    late_attribute,
    report("kernel void k(device float* x) [[max_total_threads_per_threadgroup(64)]] { x[0] = 1; }\n")
);
says!(
    mixed_dimensions,
    report(
        "kernel void k(device float* x, uint i [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) { x[i] = n.x; }\n"
    )
);
says!(
    variable_outside,
    report("constexpr float table[2] = {1.0f, 2.0f};\nkernel void k(device float* x) { x[0] = table[1]; }\n")
);
says!(lambda, kernel("auto f = [&](float v) { return v * 2; }; x[i] = f(x[i]);"));
says!(attribute_on_variable, kernel("uint t [[thread_index_in_threadgroup]]; x[i] = t;"));
says!(half_as_a_name, kernel("uint half = i / 2; x[i] = half;"));

#[test]
fn a_function_that_ends_by_calling_itself_is_a_loop() {
    let text = |after: &str| {
        format!(
            "struct Walk {{\n    int at;\n    void next(int n, const device float* x) thread {{\n        at += n;\n        if (at > 9) {{\n            \
             int rest = at - 9;\n            at = 0;\n            next(rest, x);\n            {after}\n        }}\n    }}\n}};\n\
             kernel void k(device float* x) {{\n    Walk w{{0}};\n    w.next(20, x);\n    x[0] = w.at;\n}}\n"
        )
    };
    assert_eq!(report(&text("")), "compiles");
    assert!(report(&text("at += 1;")).contains("calls itself"));
}

#[test]
fn overloads_that_call_each_other_are_no_recursion() {
    let text = "float f(float x) { return x + 1; }\nfloat f(float2 v) { return f(v.x) + f(v.y); }\nkernel void k(device float* x) { x[0] = f(float2(x[1], x[2])); }\n";
    assert_eq!(report(text), "compiles");
}
