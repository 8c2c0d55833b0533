//! Both roles played by hand through the command line: questions appear as files, answers put beside them are taken, an
//! interrupted run goes on, and the transcript replays.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longer than anything here takes on a loaded machine; only a hang reaches it.
const PATIENCE: Duration = Duration::from_mins(4);

fn ksearch(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ksearch"));
    command.current_dir(dir).args(args).env("NO_COLOR", "1").env_remove("KSEARCH_RUNS").env_remove("KSEARCH_CHIPS");
    command
}

/// Questions without an answer, by stem.
fn waiting(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let mut stems: Vec<String> =
        names.iter().filter_map(|n| n.strip_suffix(".request.json")).map(str::to_owned).collect();
    stems.retain(|s| !names.iter().any(|n| n.starts_with(&format!("{s}.answer"))));
    stems.sort();
    stems
}

/// What a player would answer who knows one trick: scale the input once with a power of two in mind.
fn answer(question: &Value) -> String {
    match question["label"].as_str().unwrap() {
        "planner-initialise" => json!({"summary": "rows of exponentials", "ops": [
            {"op": "insert", "parent": "n0", "title": "Base-2 exponentials", "description": "Use exp2 with a scaled input.",
             "rating": 7.0, "confidence": 0.6, "predicted_gain": 1.1, "bottleneck": "compute", "difficulty": 1}]})
        .to_string(),
        "coder-apply" => {
            let prompt = question["user"].as_str().unwrap();
            let code = prompt.split("````metal\n").nth(1).unwrap().split("````").next().unwrap();
            let changed = code.replace("exp(scale * float(logits[c]) - largest)", "exp2(1.44269504f * (scale * float(logits[c]) - largest))");
            assert_ne!(code, changed);
            format!("`exp2` is one instruction.\n\n```metal\n{changed}```\n")
        }
        "coder-improve" => json!({"analysis": "no more", "files": []}).to_string(),
        // Planner's lessons and new actions: none.
        _ => json!({"ops": []}).to_string(),
    }
}

/// Plays until the process ends or `enough` questions were answered; gives the stems that were answered.
fn play(
    child: &mut std::process::Child,
    folder: &Path,
    enough: usize,
    mut answer: impl FnMut(&Value) -> String,
) -> Vec<String> {
    let end = Instant::now() + PATIENCE;
    let mut done = Vec::new();
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "still waiting after {done:?}");
        let open = waiting(folder);
        if done.len() == enough && !open.is_empty() {
            break;
        }
        for stem in open {
            let text = fs::read_to_string(folder.join(format!("{stem}.request.json"))).unwrap();
            let question: Value = serde_json::from_str(&text).unwrap();
            let page = fs::read_to_string(folder.join(format!("{stem}.request.md"))).unwrap();
            assert!(
                page.contains(question["user"].as_str().unwrap().trim()) && page.contains(&format!("{stem}.answer.md"))
            );
            fs::write(folder.join(format!("{stem}.answer.md")), answer(&question)).unwrap();
            done.push(stem);
        }
        thread::sleep(Duration::from_millis(20));
    }
    done
}

fn json_of(dir: &Path, args: &[&str]) -> (i32, Value) {
    let output = ksearch(dir, args).output().unwrap();
    let code = output.status.code().unwrap();
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{args:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
    (code, value)
}

#[cfg(unix)]
#[test]
fn both_roles_by_hand_interrupted_resumed_and_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let folder: PathBuf = d.join("io");
    fs::write(d.join("pack.md"), "Exponentials to base two are native here.\n").unwrap();
    let search = ["search", "softmax", "--planner", "manual:io", "--coder", "manual:io", "--model", "a-person"];
    let search = [&search[..], &["--evaluations", "4", "--context", "pack.md", "--json"]].concat();
    let mut child = ksearch(d, &search).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let first = play(&mut child, &folder, 1, answer);
    assert_eq!(first.len(), 1);
    assert!(first[0].starts_with("0001-planner-initialise-"), "{first:?}");
    // ^C while the coder is asked.
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("ksearch resume softmax-1"), "{stderr}");
    let open = waiting(&folder);
    assert!(open.len() == 1 && open[0].starts_with("0002-coder-apply-"), "{open:?}");
    let page = fs::read_to_string(folder.join(format!("{}.request.md", open[0]))).unwrap();
    assert!(page.contains("Exponentials to base two are native here."), "the context pack is shown");

    // The same question is found again, not asked anew; the run goes on to its end.
    let mut child =
        ksearch(d, &["resume", "softmax-1", "--json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let second = play(&mut child, &folder, usize::MAX, answer);
    assert_eq!(second[0], open[0]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["context"], "pack");
    assert_eq!(summary["evaluations"], 2, "{summary:#}");
    assert_eq!(summary["tree"]["solved"], 1, "{summary:#}");
    assert!(summary["ledger"]["coder"]["exchanges"].as_u64().unwrap() >= 2);

    // Every decision follows from the transcript and the verdicts.
    let (code, replayed) = json_of(d, &["replay", "softmax-1", "--json"]);
    assert_eq!((code, &replayed["difference"], &replayed["reworded"]), (0, &Value::Null, &json!([])), "{replayed:#}");
    assert_eq!(replayed["same"], replayed["decisions"]);
    // A run that is answered from the transcript comes to the same end.
    let (code, again) = json_of(
        d,
        &[
            "search",
            "softmax",
            "--planner",
            "replay:softmax-1",
            "--coder",
            "replay:softmax-1",
            "--evaluations",
            "4",
            "--context",
            "pack.md",
            "--json",
        ],
    );
    assert_eq!(code, 0, "{again:#}");
    assert_eq!(again["best"]["candidate"], summary["best"]["candidate"]);
    assert_eq!(again["evaluations"], summary["evaluations"]);
    // Who answered is on record.
    let (_, transcript) = json_of(d, &["show", "softmax-1", "--transcript", "--json"]);
    assert!(transcript.as_array().unwrap().iter().all(|e| e["model"] == "a-person" && e["provider"] == "manual"));
}

/// A second ^C does not wait for what is under way; the journal stays readable and the run can go on.
#[cfg(unix)]
#[test]
fn a_second_interrupt_leaves_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let mut child = ksearch(d, &["search", "softmax", "--planner", "manual:io", "--coder", "builtin", "--json"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while waiting(&d.join("io")).is_empty() {
        assert!(Instant::now() < end && child.try_wait().unwrap().is_none(), "no question was asked");
        thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    for _ in 0..2 {
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let (code, summary) = json_of(d, &["show", "softmax-1", "--json"]);
    assert_eq!((code, &summary["evaluations"]), (0, &json!(1)), "{summary:#}");
}

/// A port goes on from its draft with new ideas; a wrong one is found out by the original, a right one is proven.
#[test]
fn a_port_is_searched_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/cuda/softmax_warp.cu");
    let port = ["port", file.to_str().unwrap(), "--out", "out", "--seed", "7", "--settings", "2", "--json"];
    let port = [&port[..], &["--search", "manual:io", "--model", "a-person", "--evaluations", "4"]].concat();
    let mut child = ksearch(d, &port).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut written = 0;
    let mut shown = String::new();
    play(&mut child, &d.join("io"), usize::MAX, |question| match question["label"].as_str().unwrap() {
        "planner-initialise" => json!({"summary": "one simdgroup a row", "ops": [
            {"op": "insert", "parent": "n0", "title": "Reductions by simd_max and simd_sum", "rating": 7.0,
             "description": "One instruction in place of five exchanges.",
             "confidence": 0.6, "predicted_gain": 1.2, "bottleneck": "latency", "difficulty": 1}]})
        .to_string(),
        "coder-apply" | "coder-debug" => {
            let prompt = question["user"].as_str().unwrap();
            shown.push_str(prompt);
            shown.push_str(question["system"].as_str().unwrap_or(""));
            let code = prompt.split("````metal\n").nth(1).unwrap().split("````").next().unwrap();
            // The first time with a slip.
            let sum = if written == 0 { "simd_max(part)" } else { "simd_sum(part)" };
            written += 1;
            let changed = code
                .replace("warp_max(m, simd_lane)", "simd_max(m)")
                .replace("warp_sum(part, simd_lane)", sum)
                .replace("simd_max(part)", sum);
            assert_ne!(code, changed, "{code}");
            format!("Across the simdgroup at once.\n\n```metal\n{changed}```\n")
        }
        "coder-improve" => json!({"analysis": "no more", "files": []}).to_string(),
        _ => json!({"ops": []}).to_string(),
    });
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let proof: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(written > 1 && shown.contains("threadgroup"), "{written}: {stderr}");
    assert_eq!((&proof["proven"], &proof["search"]["run"]), (&json!(true), &json!("port_softmax_warp-1")), "{proof:#}");
    assert_eq!(proof["trials"].as_array().unwrap().len(), 6);
    let kernel = fs::read_to_string(d.join("out/kernel.metal")).unwrap();
    assert!(kernel.starts_with("/* ksearch") && kernel.contains("simd_sum(part)"), "{kernel}");
    let text = fs::read_to_string(d.join("out/proof.md")).unwrap();
    assert!(text.contains("## The search from there") && text.contains("lines with code ran"), "{text}");
}
