//! Analyses of kernels from public CUDA repositories, pinned: a person has read each kernel and found every statement
//! right. Nothing of theirs is kept here, so the test takes a folder that `scripts/corpora.sh cuda` fills. It is ignored
//! where there is none: cargo counts it as ignored, not as passed.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A failure here is a failed test.
#![allow(clippy::print_stdout)] // The script shows what was compared.

use std::fmt::Write as _;
use std::path::PathBuf;

use ksearch_apple::Chips;
use ksearch_port::analysis::Guess;
use ksearch_port::{Analysis, ChipSide, Ends, Knowledge, analyze};

/// Repository, commit, and the files that are read, by their place there.
const FILES: &[(&str, &str)] = &[
    ("llm.c", "dev/cuda/layernorm_forward.cu"),
    ("mamba", "csrc/selective_scan/selective_scan_fwd_kernel.cuh"),
    ("cuda-samples", "Samples/2_Concepts_and_Techniques/shfl_scan/shfl_scan.cu"),
    ("cuda-samples", "Samples/2_Concepts_and_Techniques/histogram/histogram256.cu"),
    ("cuda-samples", "Samples/2_Concepts_and_Techniques/threadFenceReduction/threadFenceReduction_kernel.cuh"),
];

/// What is said of a file, in names of this project and in numbers: no text of the file but its kernels' names.
fn facts(a: &Analysis) -> String {
    let mut out = String::new();
    let guess =
        |g: &Guess| format!("{} on {}", g.class.map_or_else(|| "not told".to_owned(), |c| c.to_string()), g.chip);
    for k in &a.kernels {
        let family = k.classification.class.map_or("not settled", |c| c.title());
        writeln!(out, "{} (line {}): {family}, {:?}", k.name, k.pos.line, k.classification.confidence).unwrap();
        for b in &k.classification.because {
            writeln!(out, "  because line {}: {}", b.line, b.text).unwrap();
        }
        writeln!(out, "  bound by {}, {}", guess(&k.on_source), guess(&k.on_target)).unwrap();
        let bytes = k.shared_static_bytes.map_or_else(|| "not known".to_owned(), |b| format!("{b} bytes"));
        let dynamic = if k.shared.iter().any(|s| s.dynamic) { ", and dynamic" } else { "" };
        writeln!(out, "  static shared memory {bytes}{dynamic}; {} launches", k.launches.len()).unwrap();
        let access: Vec<String> = k
            .params
            .iter()
            .filter(|p| p.pointer)
            .map(|p| if p.access.is_empty() { "?" } else { &p.access }.to_owned())
            .collect();
        writeln!(out, "  pointers: {}", access.join(", ")).unwrap();
        for u in &k.uses {
            writeln!(out, "  uses {} ({}) x{} from line {}", u.concept, u.support.name(), u.count, u.pos.line).unwrap();
        }
        for f in &k.findings {
            let line = f.pos.as_ref().map_or(0, |p| p.line);
            writeln!(out, "  {} {} at line {line}", f.severity.name(), f.code).unwrap();
        }
    }
    for u in &a.host {
        writeln!(out, "host: {} x{}", u.concept, u.count).unwrap();
    }
    if !a.unread.is_empty() {
        writeln!(out, "not read: {:?}", a.unread).unwrap();
    }
    out
}

#[test]
#[ignore = "needs public sources: scripts/corpora.sh cuda fetches them and runs it"]
fn public_kernels_are_analysed_without_a_wrong_statement() {
    let root = std::env::var_os("KSEARCH_PUBLIC_CUDA").expect("KSEARCH_PUBLIC_CUDA names the folder of the sources");
    let knowledge = Knowledge::embedded().unwrap();
    let chip = Chips::embedded().unwrap().get("m3-max").unwrap();
    let ends = Ends { source: knowledge.source_chips()["h100"].clone(), target: ChipSide::of_apple(&chip) };
    let (mut pinned, mut kernels) = (0, 0);
    for (repository, file) in FILES {
        let path = PathBuf::from(&root).join(repository).join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let analysis = analyze(file, &text, &knowledge, &ends).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::assert_snapshot!(format!("public_{name}"), facts(&analysis));
        pinned += 1;
        kernels += analysis.kernels.len();
    }
    println!("{pinned} of {} files, {kernels} kernels in all, are analysed as pinned", FILES.len());
}
