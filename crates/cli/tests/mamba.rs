//! `ksearch mamba` as a process: what it prints, and what it says of bad input.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn ksearch(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("ksearch").unwrap().current_dir(dir).arg("mamba").args(args).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(dir: &Path, args: &[&str]) -> Value {
    let (code, out, err) = ksearch(dir, args);
    assert_eq!(code, 0, "{out}{err}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_checkpoint_is_made_generates_and_agrees_with_itself() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    for preset in ["mamba-130m", "mamba2-130m"] {
        json(d, &["init", preset, "made", "--layers", "1", "--json"]);
        let folder = "./made";
        let from_folder = json(d, &["generate", folder, "--ids", "5,17,42", "-n", "6", "--ignore-end", "--json"]);
        let from_preset =
            json(d, &["generate", preset, "--layers", "1", "--ids", "5,17,42", "-n", "6", "--ignore-end", "--json"]);
        assert_eq!(from_folder["ids"].as_array().unwrap().len(), 6);
        assert_eq!(from_folder["ids"], from_preset["ids"], "the folder holds what the preset is");
        assert_eq!(from_folder["evidence"], "measured");
        let verdict = json(d, &["verify", folder, "--lengths", "1,33", "--json"]);
        assert_eq!(verdict["passed"], true, "{verdict:#}");
        assert_eq!(verdict["checks"].as_array().unwrap().len(), 2);
        assert!(verdict["not_compared"].as_str().unwrap().contains("--python"), "what was not proven is said");
    }
}

#[test]
fn a_benchmark_names_the_peers_that_are_absent() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["bench", "mamba-130m", "--layers", "1", "--lengths", "8", "--decode", "4", "--rounds", "1", "--json"];
    let result = json(dir.path(), &args);
    let rows = result["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|r| r["tokens_per_second"].as_f64().unwrap() > 0.0 && r["evidence"] == "measured"));
    let (code, out, err) =
        ksearch(dir.path(), &[&args[..], &["--peers=transformers", "--python", "no-such-python"]].concat());
    assert_eq!(code, 2);
    assert!(out.contains("no-such-python"), "{out}{err}");
}

#[test]
fn bad_input_is_told_what_and_where() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    std::fs::create_dir(d.join("empty")).unwrap();
    json(d, &["init", "mamba-130m", "cut", "--layers", "1", "--json"]);
    json(d, &["init", "mamba-130m", "odd", "--layers", "1", "--json"]);
    let weights = d.join("cut/model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    let config = std::fs::read_to_string(d.join("odd/config.json")).unwrap();
    std::fs::write(d.join("odd/config.json"), config.replace("768", "760")).unwrap();
    for (args, said) in [
        (&["generate", "./nowhere", "text"][..], "no folder"),
        (&["generate", "mamba-131m", "text"], "no preset `mamba-131m`"),
        (&["generate", "mamba-130m", "text"], "--ids"),
        (&["generate", "mamba-130m", "--layers", "99", "--ids", "1"], "has 24 layers"),
        (&["generate", "mamba-130m", "--layers", "1", "--ids", "50999999"], "50999999"),
        (&["generate", "mamba-130m", "--layers", "1", "--ids", "1", "--temperature=-1"], "temperature"),
        (&["generate", "./empty", "text"], "config.json"),
        (&["generate", "./cut", "--ids", "1"], "cut short"),
        (&["generate", "./odd", "--ids", "1"], "odd"),
        (&["bench", "mamba-130m", "--weights", "f8"], "no weight type `f8`"),
        (&["bench", "mamba-130m", "--layers", "1", "--peers=torch"], "no peer `torch`"),
        (&["bench", "mamba-130m", "--layers", "1", "--backend", "cuda"], "no NVIDIA driver"),
    ] {
        let (code, out, err) = ksearch(d, args);
        assert_eq!(code, 2, "{args:?}: {out}{err}");
        assert!(err.contains(said) && !err.contains("panicked"), "{args:?}: {err}");
    }
}
