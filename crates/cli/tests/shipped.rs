//! What ships is right: every task's naive kernel passes every workload, held-out ones included.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use assert_cmd::Command;
use serde_json::Value;

fn naive_passes(task: &str) {
    let dir = tempfile::tempdir().unwrap();
    let kernel = format!("{}/../../kernels/{task}/naive.metal", env!("CARGO_MANIFEST_DIR"));
    let output = Command::cargo_bin("ksearch")
        .unwrap()
        .current_dir(dir.path())
        .args(["eval", task, &kernel, "--heldout", "--json"])
        .output()
        .unwrap();
    let verdict: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdict["status"], "passed", "{verdict:#}");
    let workloads = verdict["workloads"].as_array().unwrap();
    assert!(workloads.len() >= 7, "{verdict:#}");
    assert!(workloads.iter().all(|w| w["status"] == "passed"), "{verdict:#}");
}

macro_rules! naive {
    ($($task:ident)*) => { $(#[test] fn $task() { naive_passes(stringify!($task)); })* };
}

naive!(attention conv1d_silu gated_rms_norm prefix_sum scan_step selective_scan softmax ssd);
