//! What untrusted code tries on a processor is contained, named, and leaves the next candidate alone.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use ksearch_device::cpu::{CpuTarget, WorkerProgram, worker};
use ksearch_device::{Failure, Purpose, Runnable, Slots, Target};
use ksearch_task::{Candidate, SourceFile, Task, Tensor, builtin};

/// Workers are this very program: the target starts it with this test alone, and it never returns then.
#[test]
fn cpu_worker() {
    worker::serve_if_asked();
}

fn target() -> &'static CpuTarget {
    static TARGET: OnceLock<CpuTarget> = OnceLock::new();
    TARGET.get_or_init(|| {
        let program = WorkerProgram::this_test("cpu_worker").unwrap();
        CpuTarget::new(program).unwrap().with_call_limit(Duration::from_secs(3))
    })
}

fn task() -> Task {
    builtin::task("softmax").unwrap()
}

/// A kernel `k` with this body; `x`, `out`, `n` elements.
fn candidate(includes: &str, body: &str) -> Candidate {
    let text = format!(
        "/* ksearch\n[defines]\nT = {{ type = \"x\" }}\n[[dispatch]]\nkernel = \"k\"\ngrid = [1]\nthreadgroup = [1]\n\
         args = {{ n = \"R * C\" }}\n*/\n{includes}\nextern \"C\" void k(const T* x, T* out, int n) {{\n{body}\n}}\n"
    );
    Candidate::from_texts("k.cpp", &[SourceFile { path: "k.cpp".into(), text }]).unwrap()
}

const COPY: &str = "for (int i = 0; i < n; ++i) out[i] = x[i];";

fn build(candidate: &Candidate) -> Result<(Box<dyn Runnable>, Slots), Failure> {
    let task = task();
    let workload = task.workloads.iter().find(|w| w.label.contains("f32")).unwrap();
    let resolved = candidate.resolve(&task, &workload.env).unwrap();
    let inputs = task.inputs(workload, 1).unwrap();
    let slots = ksearch_device::slots(&resolved.tensors, &inputs, |info| {
        let values: Vec<f64> = (0..info.bytes() / 4).map(|i| f64::from(i as u32 % 97) * 0.01 - 0.4).collect();
        Tensor::from_values(info.dtype, info.shape.clone(), &values)
    });
    Ok((target().build(candidate, &resolved)?, slots))
}

fn run(candidate: &Candidate) -> Result<Slots, Failure> {
    let (mut runnable, mut slots) = build(candidate)?;
    runnable.run(&mut slots, Purpose::Check)?;
    Ok(slots)
}

/// The kernel must fail so; and whatever it did, an honest one is judged as ever right after it.
fn contained(includes: &str, body: &str, kind: &str, says: &str) {
    let begin = Instant::now();
    let failure = run(&candidate(includes, body)).unwrap_err();
    let (is, message) = match &failure {
        Failure::Fault { kind, message, .. } => (kind.as_str(), message.clone()),
        Failure::Timeout { message, .. } => ("timeout", message.clone()),
        other => ("other", other.to_string()),
    };
    assert_eq!(is, kind, "{failure:?}");
    assert!(message.contains(says), "{message}");
    assert!(begin.elapsed() < Duration::from_mins(2));
    honest();
}

fn honest() {
    let slots = run(&candidate("", COPY)).unwrap();
    assert_eq!(slots["out"].tensor.bytes, slots["x"].tensor.bytes);
    assert!(slots["out"].written.as_ref().unwrap().iter().all(|w| *w));
}

#[test]
fn an_honest_kernel_runs_and_says_how_it_was_confined() {
    honest();
    let (mut runnable, mut slots) = build(&candidate("", COPY)).unwrap();
    let report = runnable.run(&mut slots, Purpose::Check).unwrap();
    assert_eq!(report.launched, ["k", "k"][..1]);
    let isolation = report.findings.iter().find(|f| f.check == "isolation").unwrap();
    assert!(isolation.ok && isolation.detail.contains("enforced"), "{isolation:?}");
}

#[test]
fn a_timed_kernel_has_a_time_and_its_answer() {
    let (mut runnable, mut slots) = build(&candidate("", COPY)).unwrap();
    let report = runnable.run(&mut slots, Purpose::Measure).unwrap();
    let profile = report.profile.unwrap();
    assert!(profile.time.value > 0.0 && profile.time.ci.is_some());
    assert_eq!(slots["out"].tensor.bytes, slots["x"].tensor.bytes);
    assert!(report.findings.iter().all(|f| f.ok), "{:?}", report.findings);
    assert!(report.findings.iter().any(|f| f.check == "replay"));
}

#[test]
fn an_endless_kernel_is_killed() {
    contained("", "volatile int one = 1; while (one) {} out[0] = x[0] + n;", "timeout", "killed");
}

#[test]
fn an_illegal_address_is_reported() {
    contained("", "*(volatile float*)16 = x[0] + n + out[0];", "illegal_address", "0x10");
}

#[test]
fn a_gigabyte_of_stack_is_refused() {
    let body =
        "volatile char big[1 << 30]; for (int i = 0; i < (1 << 30); i += 4096) big[i] = 1; out[0] = big[n] + x[0];";
    contained("", body, "illegal_address", "illegal address");
}

#[test]
fn a_fork_bomb_is_stopped_at_the_first_fork() {
    contained("#include <unistd.h>", "while (true) fork(); out[0] = x[n];", "forbidden_call", "clone");
}

#[test]
fn a_thread_of_its_own_is_refused() {
    let body = "std::thread t([]{}); t.detach(); out[0] = x[n - 1];";
    contained("#include <thread>", body, "forbidden_call", "clone");
}

#[test]
fn a_network_call_is_refused() {
    let body = "out[0] = x[0] + socket(AF_INET, SOCK_STREAM, 0) + n;";
    contained("#include <sys/socket.h>", body, "forbidden_call", "socket");
}

#[test]
fn writing_a_file_is_refused_in_a_kernel_and_in_a_constructor() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stolen");
    let write = format!("if (FILE* f = fopen(\"{}\", \"w\")) {{ fputs(\"x\", f); fclose(f); }}", path.display());
    contained("#include <cstdio>", &format!("{write} {COPY}"), "forbidden_call", "file");
    let constructor = format!("#include <cstdio>\nstatic int early = [] {{ {write} return 0; }}();");
    contained(&constructor, &format!("out[0] = early; {COPY}"), "forbidden_call", "file");
    assert!(!path.exists());
}

#[test]
fn reading_a_file_outside_its_folder_is_refused() {
    let body = format!("if (FILE* f = fopen(\"/etc/passwd\", \"r\")) fclose(f); {COPY}");
    contained("#include <cstdio>", &body, "forbidden_call", "file");
}

#[test]
fn the_environment_is_empty() {
    let body = "int found = 0; for (char** e = environ; e && *e; ++e) ++found;\n\
                if (getenv(\"PATH\") || getenv(\"HOME\")) ++found;\n\
                for (int i = 0; i < n; ++i) out[i] = x[i] + found;";
    let slots = run(&candidate("#include <cstdlib>\n#include <unistd.h>", body)).unwrap();
    assert_eq!(slots["out"].tensor.bytes, slots["x"].tensor.bytes, "nothing of the environment may be there");
}

#[test]
fn the_answer_channel_cannot_be_written() {
    contained("#include <unistd.h>", "out[0] = write(0, x, n);", "forbidden_call", "write");
}

#[test]
fn inputs_cannot_be_written() {
    contained("", "const_cast<T*>(x)[3] = 0; out[0] = n;", "read_only_write", "`x`");
    // Not even after asking the system for it.
    let body = "mprotect((void*)((unsigned long)x & ~4095ul), 4096, PROT_READ | PROT_WRITE); const_cast<T*>(x)[3] = 0; out[0] = n;";
    contained("#include <sys/mman.h>", body, "read_only_write", "`x`");
}

#[test]
fn what_lies_beside_a_tensor_is_watched() {
    contained("", &format!("{COPY} out[n] = 1;"), "out_of_bounds", "`out`");
    contained("", &format!("{COPY} out[-1] = 1;"), "out_of_bounds", "before the start of `out`");
    contained("", "float s = 0; for (int i = 0; i < n + 4096; ++i) s += x[i]; out[0] = s;", "out_of_bounds", "`x`");
}

#[test]
fn unwritten_elements_show() {
    let slots = run(&candidate("", "for (int i = 0; i < n; ++i) if (i != 5) out[i] = x[i];")).unwrap();
    let written = slots["out"].written.as_ref().unwrap();
    let missing: Vec<usize> = written.iter().enumerate().filter(|(_, w)| !**w).map(|(i, _)| i).collect();
    assert_eq!(missing, [20, 21, 22, 23]);
}

#[test]
fn an_answer_that_hangs_on_what_was_there_before_is_reported() {
    contained("", "for (int i = 0; i < n; ++i) out[i] = x[i] + out[i];", "uninitialized_read", "different `out`");
}

#[test]
fn a_stored_answer_is_found_out_by_a_fresh_process() {
    let body = "static float* kept = nullptr; static const float* of = nullptr;\n\
                if (of != x) { delete[] kept; kept = new float[n]; of = x; for (int i = 0; i < n; ++i) kept[i] = x[i]; }\n\
                for (int i = 0; i < n; ++i) out[i] = kept[i];";
    let (mut runnable, mut slots) = build(&candidate("", body)).unwrap();
    let report = runnable.run(&mut slots, Purpose::Measure).unwrap();
    let replay = report.findings.iter().find(|f| f.check == "replay").unwrap();
    assert!(!replay.ok, "{replay:?}");
}

#[test]
fn the_compiler_reads_nothing_outside() {
    let failure = run(&candidate("#include \"/etc/passwd\"", COPY)).unwrap_err();
    assert!(matches!(&failure, Failure::Compile(d) if !d.iter().any(|d| d.message.contains("root:"))), "{failure:?}");
    let embed = "asm(\".section .rodata\\n.incbin \\\"/etc/passwd\\\"\\n.text\");";
    let failure = run(&candidate(embed, COPY)).unwrap_err();
    assert!(matches!(failure, Failure::Compile(_)), "{failure:?}");
}

#[test]
fn a_recipe_that_does_not_fit_is_refused_with_a_hint() {
    let launch = |text: &str| {
        let text = format!(
            "/* ksearch\n{text}*/\nextern \"C\" void k(const float* x, float* out, int n) {{ out[0] = x[n]; }}\n"
        );
        let candidate = Candidate::from_texts("k.cpp", &[SourceFile { path: "k.cpp".into(), text }]).unwrap();
        build(&candidate).map(|_| ()).unwrap_err().to_string()
    };
    let head = "[[dispatch]]\nkernel = \"k\"\ngrid = [1]\nthreadgroup = [1]\n";
    assert!(launch(head).contains("parameter") || launch(head).contains("`n`"), "{}", launch(head));
    assert!(launch(&format!("{head}args = {{ n = 1, m = 2 }}\n")).contains("`m`"));
    assert!(launch(&head.replace("threadgroup = [1]", "threadgroup = [32]")).contains("threadgroup"));
    assert!(launch(&head.replace("\"k\"", "\"j\"")).contains("`j`"));
    assert!(launch(&format!("{head}args = {{ n = 0.5 }}\n")).contains("integer"));
}
