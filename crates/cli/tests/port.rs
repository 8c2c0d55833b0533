//! Ports of the corpus: what is proven, what is not and why, and that no trap gets through.

#![allow(clippy::unwrap_used)] // A failure here is a failed test.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cuda").join(name)
}

fn ksearch(args: &[&str]) -> (Option<i32>, String, String) {
    let out = Command::cargo_bin("ksearch").unwrap().args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code(), text(&out.stdout), text(&out.stderr))
}

/// The proof of a kernel of the corpus, with few settings: the sweep has tests of its own.
fn port(name: &str) -> (Option<i32>, Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = corpus(&format!("{name}.cu"));
    let out = folder.path().join("out");
    let args =
        ["port", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--seed", "7", "--settings", "3", "--json"];
    let (code, stdout, stderr) = ksearch(&args);
    let object = serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{name}: {e}\n{stdout}\n{stderr}"));
    if code == Some(0) {
        let kernel = std::fs::read_to_string(out.join("kernel.metal")).unwrap();
        assert!(kernel.starts_with("/* ksearch"), "{name}");
        let proof = std::fs::read_to_string(out.join("proof.md")).unwrap();
        for part in ["**Proven**", "## The original under the sanitizers", "edge-ragged", "## What was not proven"] {
            assert!(proof.contains(part), "{name}: {part}\n{proof}");
        }
    }
    (code, object, stderr)
}

macro_rules! proven {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            let (code, proof, stderr) = port(stringify!($name));
            assert_eq!(code, Some(0), "{stderr}\n{proof:#}");
            assert_eq!(proof["proven"], true);
            let held_out = proof["trials"].as_array().unwrap().iter().filter(|t| t["stage"] == "held_out").count();
            assert_eq!(held_out, 3);
        })*
    };
}

proven! {
    matmul_tiled,
    softmax_warp,
    flash_attention2,
    selective_scan,
    layer_norm,
    histogram,
    transpose_padded,
    stencil_halo,
    top_k,
}

#[test]
fn scan_lookback_ends_with_an_account() {
    let (code, account, stderr) = port("scan_lookback");
    assert_eq!(code, Some(1), "{stderr}");
    let codes: Vec<&str> = account["blocked"].as_array().unwrap().iter().filter_map(|b| b["code"].as_str()).collect();
    assert!(codes.contains(&"atomic-64") && codes.contains(&"inter-block-wait"), "{account:#}");
    assert!(account["no_rule"].as_array().unwrap().iter().any(|n| n["text"].as_str().unwrap().contains("ulong")));
}

#[test]
fn every_trap_is_refused_with_its_reason() {
    for (name, code) in [
        ("warp_sync_reduce", "warp-synchronous"),
        ("shared_48k", "shared-over-limit"),
        ("ballot64", "wide-warp"),
        ("double_accumulate", "double"),
        ("atomic_order", "atomic-order"),
        ("grid_barrier", "inter-block-wait"),
        ("block_2048", "threads-over-limit"),
    ] {
        let file = corpus(&format!("traps/{name}.cu"));
        let (exit, stdout, stderr) = ksearch(&["port", "draft", file.to_str().unwrap(), "--json"]);
        assert_eq!(exit, Some(1), "{name}: {stdout}{stderr}");
        let object: Value = serde_json::from_str(&stdout).unwrap();
        let codes: Vec<&str> =
            object["blocked"].as_array().unwrap().iter().filter_map(|b| b["code"].as_str()).collect();
        assert!(codes.contains(&code), "{name}: {codes:?}");
    }
}

#[test]
fn a_declaration_that_does_not_fit_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.cu");
    std::fs::write(&file, "__global__ void k(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }\n").unwrap();
    let declaration = "[symbols]\nn = {}\n[tensors.x]\ndtype = \"f16\"\nshape = [\"n\"]\n[tensors.y]\ndtype = \"f32\"\nshape = [\"n\"]\n\
                       [launch]\ngrid = [1]\nblock = [32]\n[[workload]]\nvalues = { n = 20 }\n";
    for (text, part) in [
        (declaration.to_owned(), "k.toml:4:9: `x` is declared as f16, but the kernel takes `float*`"),
        (declaration.replace("n = {}", "m = {}"), "parameter `int n` is declared nowhere"),
        (declaration.replace("tensors.y", "tensors.z"), "parameter `float* y` is declared nowhere"),
        (declaration.replace("block = [32]", "blocks = [32]"), "blocks"),
    ] {
        std::fs::write(folder.path().join("k.toml"), text).unwrap();
        let (exit, _, stderr) = ksearch(&["port", file.to_str().unwrap()]);
        assert_eq!(exit, Some(2), "{stderr}");
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    std::fs::remove_file(folder.path().join("k.toml")).unwrap();
    let (exit, _, stderr) = ksearch(&["port", file.to_str().unwrap()]);
    assert!(exit == Some(2) && stderr.contains("docs/port.md"), "{stderr}");
}

/// A tunable that makes the kernel wrong is found out, however fast it is.
#[test]
fn a_setting_that_is_wrong_does_not_win() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.cu");
    let cuda = "#define STEP 1\n__global__ void k(const float* x, float* y, int n) {\n    int i = blockIdx.x * blockDim.x + \
                threadIdx.x;\n    float s = 0.0f;\n    for (int j = 0; j < 64; j += STEP) s += x[(i + j) % n];\n    if (i < n) \
                y[i] = s;\n}\n";
    std::fs::write(&file, cuda).unwrap();
    let declaration = "[symbols]\nn = {}\n[tensors.x]\ndtype = \"f32\"\nshape = [\"n\"]\n[tensors.y]\ndtype = \"f32\"\nshape = [\"n\"]\n\
                       [launch]\ngrid = [\"ceil_div(n, 64)\"]\nblock = [64]\n[tunables]\nSTEP = [1, 2, 4]\n[[workload]]\n\
                       values = { n = 4096 }\n";
    std::fs::write(folder.path().join("k.toml"), declaration).unwrap();
    let out = folder.path().join("out");
    let (exit, stdout, stderr) =
        ksearch(&["port", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--seed", "1", "--json"]);
    assert_eq!(exit, Some(0), "{stderr}");
    let proof: Value = serde_json::from_str(&stdout).unwrap();
    let wrong = proof["settings"].as_array().unwrap().iter().filter(|s| s["status"] == "wrong_answer").count();
    assert!(wrong > 0, "{proof:#}");
    assert!(
        std::fs::read_to_string(out.join("kernel.metal"))
            .unwrap()
            .contains("STEP = { values = [1, 2, 4], default = 1 }")
    );
}

/// The pack is a document that people read: pinned, and within its budget.
#[test]
fn context_packs_are_pinned() {
    for task in ["attention", "selective_scan"] {
        let (exit, stdout, stderr) = ksearch(&["port", "context", task, "--target", "sim:m3-max"]);
        assert_eq!(exit, Some(0), "{stderr}");
        insta::assert_snapshot!(format!("context_{task}_m3_max"), stdout);
        let (_, json, _) = ksearch(&["port", "context", task, "--target", "sim:m3-max", "--budget", "900", "--json"]);
        let pack: Value = serde_json::from_str(&json).unwrap();
        assert!(pack["tokens"].as_u64().unwrap() <= 900 && !pack["left_out"].as_array().unwrap().is_empty());
        // Less room keeps what comes first.
        let first = pack["entries"][0].as_str().unwrap();
        let (_, json, _) = ksearch(&["port", "context", task, "--target", "sim:m3-max", "--json"]);
        let full: Value = serde_json::from_str(&json).unwrap();
        assert!(full["tokens"].as_u64().unwrap() <= 6000 && full["entries"][0] == first);
    }
}

/// Files that are no kernels say so, each in its way, and nothing panics.
#[test]
fn files_without_a_kernel_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.cu");
    let two = b"__global__ void a(float* x) { x[0] = 1; }\n__global__ void b(float* x) { x[0] = 2; }\n".to_vec();
    let large = [b"// ".to_vec(), vec![b'x'; 10_000_000]].concat();
    for (text, analyze, exit, draft) in [
        (Vec::new(), "no `__global__` function", Some(1), "no `__global__` function"),
        (b"int main() { return 0; }\n".to_vec(), "no `__global__` function", Some(1), "no `__global__` function"),
        (b"int a;\n__global__ void k(float* x { x[0] = ; }\n".to_vec(), "could not be read", Some(1), "line 2"),
        (b"\n\xff\xfe__global__ void k(float* x) {}\n".to_vec(), "not UTF-8 (line 2)", Some(2), "not UTF-8 (line 2)"),
        (two, "2 kernels", Some(0), "choose one with --kernel: a, b"),
        (large, "at most 8388608 are read", Some(2), "at most 8388608 are read"),
    ] {
        std::fs::write(&file, &text).unwrap();
        let (code, stdout, stderr) = ksearch(&["port", "analyze", file.to_str().unwrap()]);
        assert!(code == exit && (stdout.contains(analyze) || stderr.contains(analyze)), "{analyze}: {stdout}{stderr}");
        let (code, _, stderr) = ksearch(&["port", "draft", file.to_str().unwrap()]);
        assert!(code == Some(2) && stderr.contains(draft), "{draft}: {stderr}");
    }
    let (code, _, stderr) = ksearch(&["port", "analyze", folder.path().join("none.cu").to_str().unwrap()]);
    assert!(code == Some(2) && stderr.contains("none.cu"), "{stderr}");
}

/// Who cannot search is named before any work is done.
#[test]
fn a_search_that_cannot_begin_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (out, file) = (folder.path().join("out"), corpus("softmax_warp.cu"));
    for (more, part) in [
        (&["builtin"][..], "use llm, manual:FOLDER or replay:RUN"),
        (&["llm"], "no model is named"),
        (&["manual:q", "--context", "nope.md"], "--context nope.md: cannot be read"),
    ] {
        let args = ["port", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--search"];
        let (exit, _, stderr) = ksearch(&[&args[..], more].concat());
        assert_eq!(exit, Some(2), "{stderr}");
        assert!(stderr.contains(part) && !stderr.contains("watching"), "{part}: {stderr}");
    }
}
