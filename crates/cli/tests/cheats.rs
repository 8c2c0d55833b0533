//! The cheat suite: candidates that look fast and are not right, one for each known way to deceive a judge, must be
//! rejected with the right reason; honest ones that merely look unusual must pass. Each file says what it is, which
//! kind of trick (`entry`, by the list in docs/hardware.md) and what must come of it.

#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ksearch_device::{SimTarget, Target};
use ksearch_judge::{Judge, Stage, Status, Verdict};
use ksearch_task::{Candidate, builtin};

fn folder(kind: &str, target: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(kind).join(target);
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files
}

/// Value of `// name: value` at the head of a file.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|l| l.strip_prefix("// ")?.strip_prefix(name)?.strip_prefix(": "))
}

/// Everything that is judged before a kernel is believed, until something fails.
fn judge(judge: &Judge, candidate: &Candidate) -> (Stage, Verdict) {
    let mut last = None;
    for stage in [Stage::Full, Stage::Confirm, Stage::HeldOut] {
        let verdict = judge.judge(candidate, stage, 20_261_201);
        let passed = verdict.status == Status::Passed;
        last = Some((stage, verdict));
        if !passed {
            break;
        }
    }
    last.unwrap()
}

/// What the verdict says, all of it.
fn words(v: &Verdict) -> String {
    let diagnostics: Vec<_> = v.diagnostics.iter().map(|d| d.message.as_str()).collect();
    format!("{} | {} | {}", v.summary, v.advice, diagnostics.join(" | "))
}

fn suite(target: Arc<dyn Target>, name: &str, at_least: (usize, usize)) {
    let judged = Judge::new(Arc::new(builtin::task("softmax").unwrap()), target);
    let mut wrong = Vec::new();
    let cheats = folder("cheats", name);
    for path in &cheats {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let expected: Vec<&str> = field(&text, "expect").unwrap().split('|').collect();
        let says = field(&text, "says").unwrap_or("");
        assert!(field(&text, "entry").is_some(), "{file}: which trick is it?");
        let (stage, verdict) = judge(&judged, &Candidate::load(path).unwrap());
        let status = verdict.status.name();
        let at = field(&text, "stage").unwrap_or("full");
        if !expected.contains(&status) || !words(&verdict).contains(says) || stage.name() != at {
            wrong.push(format!("cheat {file}: {status} at {}: {}", stage.name(), words(&verdict)));
        }
    }
    let honest = folder("honest", name);
    for path in &honest {
        let (stage, verdict) = judge(&judged, &Candidate::load(path).unwrap());
        if verdict.status != Status::Passed {
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            wrong.push(format!("honest {file}: {} at {}: {}", verdict.status, stage.name(), words(&verdict)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cheats.len() + honest.len(), wrong.join("\n"));
    assert!(cheats.len() >= at_least.0 && honest.len() >= at_least.1, "{} and {}", cheats.len(), honest.len());
}

#[test]
fn on_the_simulator() {
    let chip = ksearch_apple::Chips::embedded().unwrap().get("m1-max").unwrap();
    suite(Arc::new(SimTarget::new(chip).unwrap()), "sim", (30, 15));
}

#[cfg(target_os = "linux")]
#[test]
fn on_the_processor() {
    use ksearch_device::cpu::{CpuTarget, WorkerProgram};
    let program = WorkerProgram { program: env!("CARGO_BIN_EXE_ksearch").into(), args: Vec::new() };
    let target = CpuTarget::new(program).unwrap().with_call_limit(std::time::Duration::from_secs(8));
    suite(Arc::new(target), "cpu", (30, 15));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn on_an_nvidia_gpu() {
    use ksearch_device::CudaTarget;
    use ksearch_device::cuda::Launcher;
    // The environment by which the CUDA libraries are found, as the program itself passes it on.
    let passed = ["PATH", "LD_LIBRARY_PATH"].map(|n| (n.to_owned(), std::env::var(n).unwrap_or_default()));
    let launcher = Launcher {
        program: env!("CARGO_BIN_EXE_ksearch").into(),
        args: vec!["gpu-worker".into()],
        environment: passed.into(),
    };
    let target = CudaTarget::new(launcher, false, None).unwrap();
    suite(Arc::new(target), "cuda", (30, 15));
}
