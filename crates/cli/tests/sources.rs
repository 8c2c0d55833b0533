//! Metal sources from folders and plans, without a task: `corpus check`, `dispatch`, `check -I`.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value, json};

fn ksearch(dir: &Path, args: &[&str]) -> (i32, Value) {
    let mut command = Command::cargo_bin("ksearch").unwrap();
    let output = command.current_dir(dir).args(args).arg("--json").output().unwrap();
    let object = serde_json::from_slice(&output.stdout);
    (
        output.status.code().unwrap_or(-1),
        object.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))),
    )
}

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

#[test]
fn a_tree_is_checked_file_by_file() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let good = format!("{HEAD}#include \"lib/twice.h\"\nkernel void k(device float* x) {{ x[0] = twice(x[0]); }}\n");
    write(d, "tree/a/good.metal", &good);
    write(d, "tree/bad.metal", format!("{HEAD}kernel void k(device float* x) {{\n    x[0] = y;\n}}\n"));
    write(d, "tree/notes.txt", "no source");
    write(d, "shared/lib/twice.h", "inline float twice(float v) { return 2 * v; }\n");
    let (code, report) = ksearch(d, &["corpus", "check", "tree", "-I", "shared"]);
    assert_eq!((code, &report["passed"], &report["total"]), (1, &json!(1), &json!(2)), "{report:#}");
    assert_eq!(report["files"][0]["file"], "a/good.metal");
    assert_eq!(report["files"][0]["entries"], json!(["k"]));
    let said = &report["files"][1]["diagnostics"][0];
    assert_eq!((&said["code"], &said["pos"]["line"]), (&json!("unknown-name"), &json!(4)), "{said:#}");
    // Without the folder the header is not there.
    let (_, report) = ksearch(d, &["corpus", "check", "tree"]);
    assert_eq!(report["files"][0]["diagnostics"][0]["code"], "include-not-found");
    assert_eq!(ksearch(d, &["check", "tree/a/good.metal", "-I", "shared"]).0, 0);
    assert_eq!(ksearch(d, &["corpus", "check", "shared"]).0, 2);
}

#[test]
fn dispatches_run_one_after_the_other_over_raw_buffers() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let kernel = "kernel void step(device const float* a [[buffer(0)]], device float* b [[buffer(1)]], constant float& s [[buffer(2)]],\n    threadgroup float* t [[threadgroup(0)]], uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {\n    t[l] = a[i];\n    b[i] = t[l] * s + 1;\n}\n";
    write(d, "k.metal", format!("{HEAD}{kernel}"));
    let bytes: Vec<u8> = (0..5u8).flat_map(|v| f32::from(v).to_le_bytes()).collect();
    write(d, "a.bin", bytes);
    let step = |from: &str, to: &str, threads: u32| {
        json!({
            "kernel": "step", "threads": [threads, 1, 1], "threadgroup": [4, 1, 1],
            "args": [
                { "index": 0, "buffer": from, "offset": 4 }, { "index": 1, "buffer": to, "offset": 4 },
                { "index": 2, "hex": "00000040" }, { "index": 0, "threadgroup": 16 },
            ],
        })
    };
    let mut plan = json!({
        "source": "k.metal",
        "buffers": { "a": { "from": "a.bin", "to": "out.bin" }, "b": { "bytes": 20 } },
        "dispatches": [step("a", "b", 4), step("b", "a", 3)],
    });
    write(d, "plan.json", plan.to_string());
    for extra in [&[][..], &["--sanitize"]] {
        let (code, answer) = ksearch(d, &[&["dispatch", "plan.json"], extra].concat());
        assert_eq!((code, &answer["status"]), (0, &json!("passed")), "{answer:#}");
        let out = std::fs::read(d.join("out.bin")).unwrap();
        let values: Vec<f32> = out.chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect();
        // 2 (2 x + 1) + 1, but for the last, which the second dispatch leaves alone.
        assert_eq!(values, [0.0, 7.0, 11.0, 15.0, 4.0]);
    }
    plan["dispatches"] = json!([step("a", "b", 5)]);
    write(d, "plan.json", plan.to_string());
    let (code, answer) = ksearch(d, &["dispatch", "plan.json"]);
    assert_eq!((code, &answer["status"], &answer["pos"]["line"]), (1, &json!("fault"), &json!(5)), "{answer:#}");
    plan["dispatches"] = json!([step("a", "c", 4)]);
    write(d, "plan.json", plan.to_string());
    let (code, answer) = ksearch(d, &["dispatch", "plan.json"]);
    assert_eq!(code, 2);
    assert!(answer["causes"].to_string().contains("there is no buffer `c`"), "{answer:#}");
}
