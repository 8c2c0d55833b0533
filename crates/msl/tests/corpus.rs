//! The crate's own kernels compile in both forms, and their signatures are what they say.

#![allow(clippy::unwrap_used)] // A test that cannot get its input has failed.

use std::path::Path;

use ksearch_msl::{CompileOptions, Compiler, EntryPoint, Module, Optimise, ParamKind, SourceFile, entry_points};

fn corpus(name: &str) -> Vec<SourceFile> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    vec![SourceFile::new(name, std::fs::read_to_string(path).unwrap())]
}

fn options(optimise: Optimise) -> CompileOptions {
    CompileOptions { fast_math: true, optimise, ..CompileOptions::default() }
}

fn compile(files: &[SourceFile], options: &CompileOptions) -> std::sync::Arc<Module> {
    Compiler::shared().unwrap().compile(files, options).unwrap_or_else(|d| panic!("{d:#?}"))
}

/// One line a parameter: name, index and type, or the builtin.
fn signature(entry: &EntryPoint) -> Vec<String> {
    let line = |p: &ksearch_msl::Param| match &p.kind {
        ParamKind::Buffer { index, constant, read_only, reference, element, element_bytes } => format!(
            "{}: {}{}{element}{} buffer({index}) {element_bytes}",
            p.name,
            if *constant { "constant " } else { "device " },
            if *read_only { "const " } else { "" },
            if *reference { "&" } else { "*" }
        ),
        ParamKind::Threadgroup { index, element, element_bytes, .. } => {
            format!("{}: threadgroup {element}* ({index}) {element_bytes}", p.name)
        }
        ParamKind::Builtin(b) => format!("{}: {b:?}", p.name),
    };
    entry.params.iter().map(line).collect()
}

#[test]
fn every_file_compiles_in_both_forms() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut count = 0;
    for file in std::fs::read_dir(dir).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        for optimise in [Optimise::Speed, Optimise::Faithful] {
            let module = compile(&corpus(&name), &options(optimise));
            assert!(!module.entries.is_empty(), "{name}");
            for entry in &module.entries {
                assert!(module.ir.contains(&format!("@{}(", entry.symbol)), "{name}: {}", entry.symbol);
            }
            for line in module.ir.lines().filter(|l| l.starts_with("declare ")) {
                assert!(line.contains("@__ks_") || line.contains("@llvm."), "{name}: {line}");
            }
            assert!(!module.ir.contains("@__ks_meta") && !module.ir.contains("@__ks_tg_alloc"), "{name}");
            count += 1;
        }
    }
    assert!(count >= 6);
}

#[test]
fn signatures_and_threadgroup_memory() {
    let module = compile(&corpus("tiled_reduce.metal"), &options(Optimise::Speed));
    let names: Vec<&str> = module.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["reduce_f32_4", "reduce_f16_8"]);
    assert_eq!(
        signature(&module.entries[1]),
        [
            "in: device const half* buffer(0) 2",
            "out: device half* buffer(1) 2",
            "n: constant const uint& buffer(2) 4",
            "done: device atomic_uint* buffer(3) 4",
            "extra: threadgroup half* (0) 2",
            "tid: ThreadIndexInThreadgroup",
            "group: ThreadgroupPositionInGrid",
            "lane: ThreadIndexInSimdgroup",
            "sg: SimdgroupIndexInThreadgroup",
        ]
    );
    // float partial[4][2] and half partial[8][2] are 32 bytes each, and the counter 4.
    assert_eq!(module.entries[0].threadgroup_bytes, 36);
    assert_eq!(module.entries[1].threadgroup_bytes, 36);
    let constants: Vec<_> =
        module.constants.iter().map(|c| (c.name.as_str(), c.index, c.ty.as_str(), c.defined)).collect();
    assert_eq!(constants, [("width", 0, "uint", false), ("squared", 1, "bool", false)]);
}

#[test]
fn function_constants_change_the_code() {
    let mut with = options(Optimise::Speed);
    with.constants.insert("width".to_owned(), "4096".to_owned());
    with.constants.insert("1".to_owned(), "true".to_owned());
    let module = compile(&corpus("tiled_reduce.metal"), &with);
    assert!(module.constants.iter().all(|c| c.defined));
    assert!(module.ir.contains("fmul"), "squared was set");
    let plain = compile(&corpus("tiled_reduce.metal"), &options(Optimise::Speed));
    assert!(!plain.ir.contains("fmul"));
}

#[test]
fn accesses_of_the_faithful_form_are_volatile_and_locations_are_the_users() {
    let text = "#include <metal_stdlib>\nusing namespace metal;\n\nkernel void k(device float* x [[buffer(0)]],\n              uint i [[thread_position_in_grid]]) {\n    float unused = x[i + 100];\n    x[i] = exp(x[i]) +\n           x[i];\n}\n";
    let module = compile(&[SourceFile::new("dir/k.metal", text)], &options(Optimise::Faithful));
    assert_eq!(module.ir.matches("load volatile float").count(), 3, "{}", module.ir);
    for wanted in ["filename: \"dir/k.metal\"", "line: 6, column: 20", "line: 7, column: 16", "line: 8, column: 12"] {
        assert!(module.ir.contains(wanted), "{wanted}\n{}", module.ir);
    }
    assert!(!module.ir.contains("ks_src"));
}

#[test]
fn listing_needs_no_compiler() {
    let listed = entry_points(&corpus("tiled_reduce.metal"), &CompileOptions::default()).unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!(signature(&listed[0])[0], "in: device const float* buffer(0) 0");
}

#[test]
fn limits_of_threads_follow_template_arguments() {
    let text = "template <typename T, int M, const int N = 2 + 1>\n[[kernel, max_total_threads_per_threadgroup(M * N * 32)]] void k(device T* x [[buffer(0)]]) { x[0] = M * N; }\ntemplate [[host_name(\"a\")]] [[kernel]] decltype(k<float, 4>) k<float, 4>;\ntemplate [[host_name(\"b\")]] [[kernel]] decltype(k<int, 2, 1>) k<int, 2, 1>;\nconstant constexpr int most = 64;\n[[max_total_threads_per_threadgroup(most)]] kernel void c(device float* x [[buffer(0)]]) { x[0] = 1; }\n";
    let listed = entry_points(&[SourceFile::new("k.metal", text)], &CompileOptions::default()).unwrap();
    let found: Vec<_> = listed.iter().map(|e| (e.name.as_str(), e.max_threads)).collect();
    // A named constant is not looked into: no limit is better than a wrong one.
    assert_eq!(found, [("c", None), ("a", Some(384)), ("b", Some(64))]);
}

/// What another thread wrote before a barrier is read after it, also where the reader's own last write is known.
#[test]
fn loads_of_threadgroup_memory_stay_behind_barriers() {
    let text = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device int* out [[buffer(0)]], uint l [[thread_index_in_threadgroup]]) {\n    threadgroup int sums[64];\n    sums[l] = int(l);\n    threadgroup_barrier(mem_flags::mem_threadgroup);\n    if (l == 63) sums[0] = 7;\n    threadgroup_barrier(mem_flags::mem_threadgroup);\n    out[l] = sums[0];\n}\n";
    let module = compile(&[SourceFile::new("k.metal", text)], &options(Optimise::Speed));
    let last = |what: &str| module.ir.rfind(what).unwrap_or_else(|| panic!("no {what}: {}", module.ir));
    assert!(
        last("load i32, ptr addrspace(3)") > last("call spir_func void @__ks_threadgroup_barrier("),
        "{}",
        module.ir
    );
}
