//! Target `cuda` as a process under test. What needs a GPU is ignored by default: `cargo test -p ksearch --test cuda --
//! --ignored` on a machine that has one.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use assert_cmd::Command;
use serde_json::Value;

fn ksearch(args: &[&str]) -> (Option<i32>, Value) {
    let output = Command::cargo_bin("ksearch").unwrap().args(args).arg("--json").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let object = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?}: {e}: {text}"));
    (output.status.code(), object)
}

fn has_gpu() -> bool {
    ksearch_device::cuda::present().is_ok()
}

#[test]
fn the_program_says_whether_there_is_a_gpu() {
    let (_, doctor) = ksearch(&["doctor"]);
    let cuda = doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == "cuda").unwrap();
    assert_eq!((&cuda["ok"], &cuda["needed"]), (&Value::Bool(has_gpu()), &Value::Bool(false)));
    if has_gpu() {
        return;
    }
    for target in ["cuda", "cuda-msl"] {
        let (code, object) = ksearch(&["eval", "softmax", "tests/cuda/right.cu", "--target", target]);
        assert_eq!(code, Some(2));
        let error = object["error"].as_str().unwrap();
        assert!(error.contains(target) && (error.contains("NVIDIA") || error.contains("NVRTC")), "{error}");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn bad_kernels_are_contained_and_the_next_is_judged() {
    for (file, status, says) in [
        ("endless", "timeout", "did not end"),
        ("right", "passed", "right on"),
        ("illegal", "fault", "belongs to no buffer"),
        ("right", "passed", "right on"),
        ("gap", "not_observed", "never written"),
        ("beyond", "fault", "outside `out`"),
        ("remembers", "launch_error", "outlives the launch"),
        ("broken", "compile_error", "undefined"),
        ("right", "passed", "right on"),
    ] {
        let (_, verdict) = ksearch(&["eval", "softmax", &format!("tests/cuda/{file}.cu"), "--target", "cuda"]);
        assert_eq!(verdict["status"], status, "{file}: {verdict}");
        assert!(verdict["summary"].as_str().unwrap().contains(says), "{file}: {}", verdict["summary"]);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn kernels_are_timed_in_turns() {
    let file = "tests/cuda/right.cu";
    let (code, times) = ksearch(&["time", file, file, "--task", "softmax", "--target", "cuda", "--rounds", "10"]);
    assert_eq!(code, Some(0));
    for workload in times["workloads"].as_array().unwrap() {
        let second = &workload["kernels"][1];
        assert_eq!(second["time"]["kind"], "measured");
        assert_eq!(second["samples"]["samples"], 20, "ten turns on each of two sets of inputs");
        assert!(second["against_first"]["detectable"].as_f64().unwrap() > 0.0);
    }
}
