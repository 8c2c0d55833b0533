//! PTX for every kernel that ships and for the crate's own: clang prints it, no function is left undefined, and the entry
//! points take what the module says.

#![allow(clippy::unwrap_used)] // A test that cannot get its input has failed.

use std::path::{Path, PathBuf};

use ksearch_msl::{CompileOptions, Compiler, ParamKind, PtxModule, SourceFile};

/// The PTX; `None` where clang is too old for it, which must be what the front end says.
fn ptx(path: &Path, defines: &[(&str, &str)]) -> Option<PtxModule> {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let files = [SourceFile::new(name, std::fs::read_to_string(path).unwrap())];
    let defines = defines.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let options = CompileOptions { fast_math: true, defines, ..CompileOptions::default() };
    let compiler = Compiler::shared().unwrap();
    match compiler.compile_ptx(&files, &options) {
        Ok(module) => Some(module),
        Err(d) if d.iter().any(|d| d.code == "clang-too-old") => {
            let help = d.first().and_then(|d| d.help.clone()).unwrap_or_default();
            assert!(d.len() == 1 && help.contains("newer"), "{d:#?}");
            None
        }
        Err(d) => panic!("{}: {d:#?}", path.display()),
    }
}

fn check(path: &Path, defines: &[(&str, &str)]) {
    let Some(module) = ptx(path, defines) else { return };
    assert!(!module.entries.is_empty());
    for entry in &module.entries {
        let head = module.ptx.split(&format!(".visible .entry {}(", entry.symbol)).nth(1);
        let head = head.unwrap_or_else(|| panic!("{} has no entry {}", path.display(), entry.symbol));
        let arguments = head.split(')').next().unwrap().matches(".param").count();
        let passed = entry.params.iter().filter(|p| !matches!(p.kind, ParamKind::Builtin(_))).count();
        assert_eq!(arguments, passed + 3, "{}: {}", path.display(), entry.name);
    }
    for line in module.ptx.lines() {
        assert!(!line.contains(".extern .func") && !line.contains("__ks_"), "{}: {line}", path.display());
        assert!(!line.trim_start().starts_with("ld.const"), "{}: {line}", path.display());
    }
}

fn files(dir: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
    let mut out: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    out.retain(|p| p.extension().is_some_and(|e| e == "metal"));
    out.sort();
    out
}

#[test]
fn the_crates_own_kernels() {
    for path in files("corpus") {
        check(&path, &[]);
    }
}

#[test]
fn kernels_that_ship() {
    let scan = ["STATES", "DELTA_SOFTPLUS", "HAS_D", "HAS_Z", "HAS_DELTA_BIAS", "HAS_INITIAL_STATE", "HAS_FINAL_STATE"];
    for element in ["float", "half"] {
        for path in files("../../kernels/attention") {
            check(&path, &[("T", element), ("D", "64")]);
        }
        for path in files("../../kernels/softmax") {
            check(&path, &[("T", element)]);
        }
        for path in files("../../kernels/selective_scan") {
            let mut defines = vec![("T", element)];
            defines.extend(scan.map(|name| (name, if name == "STATES" { "16" } else { "1" })));
            check(&path, &defines);
        }
    }
}
