//! The analyses of the corpus, pinned: a person has read each and found every statement right.

#![allow(clippy::unwrap_used)] // A failure here is a failed test.

use std::path::Path;

use ksearch_apple::Chips;
use ksearch_port::analysis::render;
use ksearch_port::{Analysis, ChipSide, Ends, KernelClass, Knowledge, analyze};

fn ends(knowledge: &Knowledge) -> Ends {
    let chip = Chips::embedded().unwrap().get("m3-max").unwrap();
    Ends { source: knowledge.source_chips()["h100"].clone(), target: ChipSide::of_apple(&chip) }
}

fn analysis(name: &str) -> Analysis {
    let knowledge = Knowledge::embedded().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cuda").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    analyze(name, &text, &knowledge, &ends(&knowledge)).unwrap()
}

macro_rules! corpus {
    ($($test:ident = $file:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            insta::assert_snapshot!(render(&analysis($file)));
        })*
    };
}

corpus! {
    matmul_tiled = "matmul_tiled.cu",
    softmax_warp = "softmax_warp.cu",
    flash_attention2 = "flash_attention2.cu",
    selective_scan = "selective_scan.cu",
    layer_norm = "layer_norm.cu",
    histogram = "histogram.cu",
    transpose_padded = "transpose_padded.cu",
    stencil_halo = "stencil_halo.cu",
    top_k = "top_k.cu",
    scan_lookback = "scan_lookback.cu",
    trap_warp_sync_reduce = "traps/warp_sync_reduce.cu",
    trap_shared_48k = "traps/shared_48k.cu",
    trap_ballot64 = "traps/ballot64.cu",
    trap_double_accumulate = "traps/double_accumulate.cu",
    trap_atomic_order = "traps/atomic_order.cu",
    trap_grid_barrier = "traps/grid_barrier.cu",
    trap_block_2048 = "traps/block_2048.cu",
}

#[test]
fn families_are_told_apart() {
    use KernelClass as C;
    for (file, class) in [
        ("matmul_tiled.cu", C::MatMul),
        ("softmax_warp.cu", C::AttentionSoftmax),
        ("flash_attention2.cu", C::AttentionSoftmax),
        ("selective_scan.cu", C::Scan),
        ("layer_norm.cu", C::Reduction),
        ("histogram.cu", C::GatherScatter),
        ("transpose_padded.cu", C::GatherScatter),
        ("stencil_halo.cu", C::Stencil),
        ("top_k.cu", C::Reduction),
        ("scan_lookback.cu", C::Scan),
        ("traps/block_2048.cu", C::Elementwise),
        ("traps/warp_sync_reduce.cu", C::Reduction),
        ("traps/double_accumulate.cu", C::Reduction),
        ("traps/shared_48k.cu", C::GatherScatter),
        ("traps/ballot64.cu", C::Scan),
        ("traps/atomic_order.cu", C::GatherScatter),
    ] {
        let a = analysis(file);
        assert_eq!(a.kernels[0].classification.class, Some(class), "{file}");
    }
}

/// Each trap is caught at the line that sets it, and nothing else blocks the ten kernels but what must.
#[test]
fn traps_are_caught_where_they_stand() {
    for (file, code, line) in [
        ("traps/warp_sync_reduce.cu", "warp-synchronous", 17),
        ("traps/shared_48k.cu", "shared-over-limit", 7),
        ("traps/ballot64.cu", "wide-warp", 6),
        ("traps/double_accumulate.cu", "double", 6),
        ("traps/atomic_order.cu", "atomic-order", 7),
        ("traps/grid_barrier.cu", "inter-block-wait", 10),
        ("traps/block_2048.cu", "threads-over-limit", 2),
        ("scan_lookback.cu", "inter-block-wait", 66),
        ("scan_lookback.cu", "atomic-64", 14),
    ] {
        let a = analysis(file);
        let k = &a.kernels[0];
        let f = k.finding(code).unwrap_or_else(|| panic!("{file}: no `{code}` in {:?}", k.findings));
        assert_eq!(f.pos.as_ref().map(|p| p.line), Some(line), "{file}: {code}");
        assert!(k.is_blocked(), "{file}");
    }
    for file in [
        "matmul_tiled.cu",
        "softmax_warp.cu",
        "flash_attention2.cu",
        "selective_scan.cu",
        "layer_norm.cu",
        "histogram.cu",
        "transpose_padded.cu",
        "stencil_halo.cu",
        "top_k.cu",
    ] {
        let a = analysis(file);
        assert!(!a.kernels[0].is_blocked(), "{file}: {:#?}", a.kernels[0].findings);
    }
}

#[test]
fn the_json_form_reads_back() {
    let a = analysis("softmax_warp.cu");
    let text = serde_json::to_string(&a).unwrap();
    assert_eq!(serde_json::from_str::<Analysis>(&text).unwrap(), a);
}

#[test]
fn anything_can_be_analysed_without_a_panic() {
    let knowledge = Knowledge::embedded().unwrap();
    let ends = ends(&knowledge);
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cuda/selective_scan.cu"))
            .unwrap();
    // Every prefix that ends at a line, and lines dropped one at a time.
    let lines: Vec<&str> = text.lines().collect();
    for cut in (0..lines.len()).step_by(5) {
        let prefix = lines[..cut].join("\n");
        analyze("cut.cu", &prefix, &knowledge, &ends).unwrap();
        let mut without = lines.clone();
        without.remove(cut);
        analyze("dropped.cu", &without.join("\n"), &knowledge, &ends).unwrap();
    }
}
