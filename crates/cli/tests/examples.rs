//! The recorded runs in `examples/runs` and `results` stay readable and replay: every decision in them follows, with the program as it
//! is now, from the answers and verdicts on record.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    // Runs name task files from the top of the repository.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::cargo_bin("ksearch").unwrap().current_dir(root).args(args).arg("--json").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}{stderr}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn recorded_runs_replay() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let runs = |folder: &str| {
        let folders = std::fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path());
        let mut runs: Vec<_> = folders.filter(|p| p.join("journal.db").is_file()).collect();
        runs.sort();
        assert!(!runs.is_empty(), "{folder} holds no run");
        runs
    };
    let runs =
        [runs("examples/runs"), runs("results/cpu/runs"), runs("results/h200/runs"), runs("results/m1-max/runs")]
            .concat();
    for run in runs {
        let run = run.to_str().unwrap();
        let replayed = json(&["replay", run]);
        assert!(replayed["difference"].is_null(), "{run}: {replayed:#}");
        assert_eq!(replayed["same"], replayed["decisions"], "{run}");
        assert!(replayed["decisions"].as_u64().unwrap() > 5, "{run}");
        let summary = json(&["show", run]);
        assert_eq!(summary["status"], "finished", "{run}");
        assert_eq!(summary["heldout"]["passed"], summary["heldout"]["total"], "{run}");
        assert!(summary["best"]["speedup_vs_naive"].as_f64().unwrap() > 1.0, "{run}");
    }
}
