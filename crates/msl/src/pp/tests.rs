use super::*;
use crate::module::Language;

fn run(text: &str) -> Result<String, String> {
    run_files(&[("main.metal", text)])
}

fn run_files(files: &[(&str, &str)]) -> Result<String, String> {
    let files: Vec<_> = files.iter().map(|(n, t)| SourceFile::new(*n, *t)).collect();
    match preprocess(&files, Language::Metal, &[("GIVEN".to_owned(), "7".to_owned())]) {
        Ok(p) => Ok(p.tokens.iter().map(|t| t.text.to_string()).collect::<Vec<_>>().join(" ")),
        Err(e) => Err(format!("{} {}:{}", e.code, e.loc.map_or(0, |l| l.line), e.loc.map_or(0, |l| l.col))),
    }
}

#[test]
fn objects_functions_strings_and_pastes() {
    let text = "#define A 1 + B\n#define B A\n#define F(x, y) x##y #x [y]\nA F(a, b) F(A, A) F(,q)";
    assert_eq!(run(text).unwrap(), "1 + A ab \"a\" [ b ] AA \"A\" [ 1 + A ] q \"\" [ q ]");
}

#[test]
fn variadic_macros() {
    let text = "#define P(f, ...) f(__VA_ARGS__)\n#define Q(f, ...) f(1, ## __VA_ARGS__)\n#define R(a, ...) a __VA_OPT__(, __VA_ARGS__)\nP(g, 1, 2) P(g) Q(h) Q(h, 2) R(x) R(x, y)";
    assert_eq!(run(text).unwrap(), "g ( 1 , 2 ) g ( ) h ( 1 ) h ( 1 , 2 ) x x , y");
}

#[test]
fn nested_instantiation_macros_as_kernel_libraries_write_them() {
    let text = "#define inst(n, f, ...) template [[host_name(n)]] [[kernel]] decltype(f<__VA_ARGS__>) f<__VA_ARGS__>;\n#define inst_t(t) inst(\"sum_\" #t, sum, t, 4)\n#define all(M) M(float) M(half)\nall(inst_t)";
    let out = run(text).unwrap();
    assert!(out.contains("host_name ( \"sum_\" \"float\" )") && out.contains("decltype ( sum < half , 4 > )"), "{out}");
}

#[test]
fn conditions() {
    let text = "#if defined(GIVEN) && GIVEN == 7 && __METAL_VERSION__ >= 310 && !NOPE\nyes\n#elif 1\nno\n#else\nno\n#endif\n#ifndef GIVEN\nno\n#elif GIVEN > 3 ? 1 : 0\nalso\n#endif\n#if 0\n#error don't\n#endif\n#if __has_include(<metal_stdlib>) && !__has_include(<nope>)\nhas\n#endif";
    assert_eq!(run(text).unwrap(), "yes also has");
}

#[test]
fn includes_resolve_only_among_the_files_and_apples_headers() {
    let files = [
        ("dir/main.metal", "#include <metal_stdlib>\n#include \"sub/a.h\"\n#include \"sub/a.h\"\nmain"),
        ("dir/sub/a.h", "#pragma once\n#include \"../b.h\"\na"),
        ("dir/b.h", "b"),
    ];
    assert_eq!(run_files(&files).unwrap(), "b a main");
    assert_eq!(run("x\n#include \"/etc/passwd\"").unwrap_err(), "include-not-found 2:2");
    assert_eq!(run("#include <stdio.h>").unwrap_err(), "include-not-found 1:2");
    assert_eq!(run("#include \"main.metal\"").unwrap_err(), "include-depth 1:2");
    assert_eq!(run("#include <metal_raytracing>").unwrap_err(), "unsupported-header 1:2");
}

#[test]
fn tokens_of_a_macro_stand_where_it_is_used_and_arguments_where_they_are_written() {
    let files = [SourceFile::new("m", "#define ADD(a) (a + one)\n#define one 1\n\n  ADD(  xyz )")];
    let tokens = preprocess(&files, Language::Metal, &[]).unwrap().tokens;
    let at: Vec<_> = tokens.iter().map(|t| (&*t.text, t.loc.line, t.loc.col)).collect();
    assert_eq!(at, [("(", 4, 3), ("xyz", 4, 9), ("+", 4, 3), ("1", 4, 3), (")", 4, 3)]);
}

#[test]
fn pragmas_that_matter_stay() {
    let text =
        "#define N 4\n#pragma METAL internals : enable\n#pragma unroll(N)\nfor _Pragma(\"clang loop unroll(full)\") x";
    assert_eq!(run(text).unwrap(), "unroll( 4) for clang loop unroll(full) x");
}

#[test]
fn mistakes_have_places() {
    for (text, wanted) in [
        ("\n #if 1\nx", "unterminated-conditional 2:2"),
        ("#endif", "stray-endif 1:2"),
        ("#if 1\n#else\n#else\n#endif", "stray-else 3:2"),
        ("#error stop", "error-directive 1:2"),
        ("#define F(a) a\n F(1, 2)", "macro-arguments 2:2"),
        ("#define F(a) a\n F(1", "unterminated-macro-call 2:2"),
        ("#if (1\n#endif", "invalid-conditional 1:2"),
        ("#define P(a) a##+\nP(x)", "invalid-paste 2:1"),
        ("a\n  \"open", "unterminated-literal 2:3"),
        ("#frobnicate", "unknown-directive 1:2"),
    ] {
        assert_eq!(run(text).unwrap_err(), wanted, "{text}");
    }
}

#[test]
fn bombs_are_refused() {
    let mut text = String::from("#define X0 a a a a a a a a a a\n");
    for n in 1..12 {
        text += &["#define X", &n.to_string(), &" X_".replace('_', &(n - 1).to_string()).repeat(10), "\n"].concat();
    }
    text += "X11";
    assert!(run(&text).unwrap_err().starts_with("macro-explosion"));
    let deep = format!("#define F(x) x\n{}1{}", "F(".repeat(5000), ")".repeat(5000));
    assert!(run(&deep).unwrap_err().starts_with("macro-nesting"));
}
