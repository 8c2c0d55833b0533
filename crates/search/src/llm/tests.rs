//! A snapshot per prompt, taken from a run with canned answers on the real attention task; the version that guards the
//! templates; and what models may get wrong.

use std::sync::Mutex;

use ksearch_judge::verdict::FaultReport;
use ksearch_judge::{Evidence, Status, Verdict};
use ksearch_llm::http::Control;
use ksearch_llm::{CallError, CallErrorKind, Client, Limits, Prices, Prompt, Reply, Settings};
use ksearch_msl::{Diagnostic, Severity, SourcePos};
use ksearch_task::{Candidate, Language, builtin};

use super::prompts::{CODER_SCHEMA, PLANNER_SCHEMA, TEMPLATES, VERSION};
use super::{Briefing, LlmCoder, LlmPlanner};
use crate::engine::{Players, start};
use crate::evaluate::{Evaluator, Stage};
use crate::journal::Journal;
use crate::record::{Baseline, Stop};
use crate::recorder::Silent;
use crate::roles::Cancel;
use crate::state::RunState;
use crate::tests::toy::{self, Landscape};
use crate::{Premises, SearchConfig};

/// A provider that answers from a function and keeps what it was asked.
struct Canned<'a> {
    answer: &'a (dyn Fn(&Prompt) -> Result<String, CallError> + Sync),
    asked: &'a Mutex<Vec<Prompt>>,
}

impl ksearch_llm::Provider for Canned<'static> {
    fn name(&self) -> &'static str {
        "canned"
    }

    fn send(&self, prompt: &Prompt, _: &Settings, _: &Control<'_>) -> Result<Reply, CallError> {
        self.asked.lock().unwrap().push(prompt.clone());
        (self.answer)(prompt).map(|text| Reply { text, tokens_in: 1000, tokens_out: 100 })
    }
}

/// The made-up landscape, with verdicts as full as those of the real judge.
struct Rich(Landscape);

fn pos(candidate: &Candidate, needle: &str) -> Option<SourcePos> {
    let file = candidate.files.first()?;
    let line = file.text.lines().position(|l| l.contains(needle))? as u32 + 1;
    Some(SourcePos { file: file.path.clone(), line, column: 5 })
}

impl Evaluator for Rich {
    fn check(&self, candidate: &Candidate) -> Option<Verdict> {
        let mut verdict = self.0.check(candidate)?;
        verdict.summary = "the kernel does not compile.".into();
        verdict.diagnostics = vec![Diagnostic {
            severity: Severity::Error,
            code: "unknown-function".into(),
            message: "unknown function `simd_shufle_xor`".into(),
            pos: pos(candidate, "syntax-error"),
            help: Some("did you mean `simd_shuffle_xor`?".into()),
        }];
        Some(verdict)
    }

    fn judge(&self, candidate: &Candidate, stage: Stage, seed: u64) -> Verdict {
        let mut verdict = self.0.judge(candidate, stage, seed);
        if verdict.status == Status::WrongAnswer {
            verdict.status = Status::Fault;
            verdict.summary = "a data race in threadgroup memory.".into();
            verdict.advice = "Put a barrier between the two accesses.".into();
            verdict.fault = Some(FaultReport {
                kind: "data_race".into(),
                message: "two threads write `tile[3]` without a barrier between".into(),
                pos: pos(candidate, "broken"),
                other: pos(candidate, "kernel void"),
            });
            verdict.evidence = vec![Evidence {
                check: "sanitizer".into(),
                ok: false,
                detail: "1 race in threadgroup (0, 0, 0)".into(),
            }];
        }
        if let Some(profile) = &mut verdict.profile {
            profile.advice = vec!["Bound by L2 traffic: larger tiles per threadgroup.".into()];
            profile.bytes = [("l2".to_owned(), 3.2e7), ("dram".to_owned(), 1.1e6)].into_iter().collect();
            profile.floor_fraction = Some(0.031);
        }
        verdict
    }
}

fn kernel(note: &str) -> String {
    let text = format!(
        "/* ksearch\n[tunables]\nROWS = {{ values = [1, 2], default = 1 }}\n\n[[dispatch]]\nkernel = \"k\"\ngrid = [\"Lq\"]\n\
         threadgroup = [32]\n*/\nconstant int note = {note} ;\nkernel void k(device const float* q, device float* out) {{}}\n"
    );
    serde_json::json!({"analysis": note, "files": [{"path": "k.metal", "text": text}]}).to_string()
}

/// Answers that lead through every prompt.
fn answer(prompt: &Prompt) -> Result<String, CallError> {
    let has = |needle: &str| prompt.user.contains(needle);
    Ok(match prompt.label.as_str() {
        "planner-initialise" => serde_json::json!({
            "summary": "Two matrix products around a row softmax.", "open_questions": ["Is D = 80 special?"],
            "ops": [
                {"op": "insert", "parent": "n0", "id": "a", "title": "Tile the keys", "description": "Stage 32 keys at a time.",
                 "rationale": "Each key is read once per query now.", "difficulty": 2, "rating": 8.0, "confidence": 0.7,
                 "predicted_gain": 2.0, "bottleneck": "bandwidth", "strategy": "tile",
                 "impacts": {"bandwidth": {"rating": 9.0, "risk": "low", "notes": "a fraction of the traffic"}}},
                {"op": "insert", "parent": "a", "title": "Double-buffer the tiles", "rating": 5.0},
                {"op": "insert", "parent": "n0", "title": "Something broken", "rating": 6.0, "notes": "a long shot"}
            ]}).to_string(),
        "planner-refine" => serde_json::json!({"ops": [
            {"op": "update", "node": "n1", "notes": "The traffic fell as expected; now bound by latency."}]}).to_string(),
        "planner-failed" => serde_json::json!({"ops": [{"op": "update", "node": "n3", "rating": 1.0, "notes": "races"}]}).to_string(),
        "planner-propose" => serde_json::json!({"ops": []}).to_string(),
        "coder-apply" if has("Something broken") => kernel("broken"),
        "coder-apply" => kernel("syntax-error"),
        "coder-repair" => kernel("tile"),
        "coder-debug" => kernel(if has("broken + 1") { "broken + 2" } else { "broken + 1" }),
        "coder-improve" => serde_json::json!({"analysis": "no more", "files": []}).to_string(),
        other => return Err(CallError::new(CallErrorKind::Refused, format!("no answer to {other}"))),
    })
}

/// Runs with models in both roles, and gives the prompts and the state.
fn run(answer: &'static (dyn Fn(&Prompt) -> Result<String, CallError> + Sync)) -> (Vec<Prompt>, RunState) {
    let asked: &'static Mutex<Vec<Prompt>> = Box::leak(Box::default());
    let task = builtin::task("attention").unwrap();
    let mut premises: Premises = toy::premises();
    premises.baseline = Some(Baseline {
        name: "MLX scaled_dot_product_attention".into(),
        time: ksearch_task::Figure::simulated_us(120.0, "toy"),
    });
    premises.floor = Some(ksearch_task::Figure {
        kind: ksearch_task::FigureKind::Derived,
        ..ksearch_task::Figure::simulated_us(20.0, "toy")
    });
    let briefing = Briefing::new(
        &task,
        "sim:toy",
        &premises.facts.chip,
        Language::Msl,
        Some("Shared memory is called threadgroup memory; 32 KB of it.".into()),
    );
    let client = || {
        let limits = Limits { backoff: std::time::Duration::ZERO, ..Limits::default() };
        Client::new(Box::new(Canned { answer, asked }), Settings::default(), limits, Prices::default())
    };
    let toy = toy::Toy::new();
    let catalogue = crate::Generator::catalogue(&toy);
    let landscape = Rich(Landscape::default());
    let mut config = SearchConfig { task: "attention".into(), target: "sim:toy".into(), ..SearchConfig::default() };
    config.budget.evaluations = 12;
    let players = Players {
        planner: &LlmPlanner::new(client(), briefing.clone(), Some(catalogue), false),
        coder: &LlmCoder::new(client(), briefing),
        evaluator: &landscape,
        observer: &Silent,
        cancel: &Cancel::default(),
    };
    let naive = task.naive.clone().unwrap();
    let state = start(&players, config, premises, Some((naive, None)), Journal::in_memory().unwrap()).unwrap();
    let asked = asked.lock().unwrap().clone();
    (asked, state)
}

#[test]
fn each_prompt_is_as_reviewed() {
    let (asked, state) = run(&answer);
    assert!(state.finished.is_some(), "{:?}", state.stop);
    let labels = [
        "planner-initialise",
        "planner-propose",
        "planner-refine",
        "planner-failed",
        "coder-apply",
        "coder-repair",
        "coder-debug",
        "coder-improve",
    ];
    for label in labels {
        let prompt = asked.iter().rfind(|p| p.label == label).unwrap_or_else(|| panic!("{label} was never asked"));
        insta::assert_snapshot!(label, prompt.user);
    }
    insta::assert_snapshot!("planner-system", asked.iter().find(|p| p.label == "planner-initialise").unwrap().system);
    insta::assert_snapshot!("coder-system", asked.iter().find(|p| p.label == "coder-apply").unwrap().system);
}

/// Faults A4, A5, A6 and A20 of the original: the task shrinks to a title, notes are never shown again, errors and JSON
/// are cut off.
#[test]
fn every_prompt_shows_the_whole_task_and_the_notes() {
    let (asked, state) = run(&answer);
    let task = builtin::task("attention").unwrap();
    for prompt in &asked {
        assert!(prompt.user.contains(task.description.trim()), "{}", prompt.label);
        for workload in task.workloads_of(ksearch_task::Set::Search) {
            assert!(prompt.user.contains(&workload.label), "{}: {}", prompt.label, workload.label);
        }
        for workload in task.workloads_of(ksearch_task::Set::HeldOut) {
            assert!(!prompt.user.contains(&workload.label), "{} shows a held-out workload", prompt.label);
        }
        assert!(prompt.user.contains("Shared memory is called threadgroup memory"), "{}", prompt.label);
        if prompt.label.starts_with("coder") {
            assert!(prompt.user.contains("# The action: n"), "{} dropped the action", prompt.label);
        }
    }
    let last = asked.iter().rfind(|p| p.label.starts_with("planner")).unwrap();
    assert!(last.user.contains("The traffic fell as expected"), "notes are shown again");
    assert!(state.ledger["planner"].tokens_in >= 3000 && state.ledger["coder"].calls >= 4);
}

/// What players of recorded searches missed: how much of the budget is left, what the sweep did, what a time and the
/// floor stand for, how macros are made.
#[test]
fn prompts_say_what_figures_mean_and_what_is_left() {
    let (asked, _) = run(&answer);
    for prompt in &asked {
        let has = |what: &str| assert!(prompt.user.contains(what), "{} does not say `{what}`", prompt.label);
        has("geometric mean of its times over the timed workloads, each counted with its weight");
        has("timed with weight 2 and checked");
        has("at its peak\nrates, averaged in the same way: 20.0 us (derived on toy)");
        if prompt.label != "coder-repair" {
            has("of 12 evaluations are used");
        }
        // A kernel with tunables always comes with what the sweep did to them.
        for shown in prompt.user.split("[tunables]").skip(1) {
            assert!(shown.contains("Tunables: ROWS = "), "{}", prompt.label);
        }
        if prompt.label == "coder-improve" {
            has("the sweep screened 1 setting (1 in full) and chose ROWS = 2");
        }
        if prompt.label.starts_with("coder") {
            assert!(prompt.system.contains("compiled anew for every workload"));
        }
    }
}

/// A kernel that is as fast as the one started from, within noise, is not called faster.
#[test]
fn only_what_is_faster_beyond_noise_is_shown_as_faster() {
    fn equal(prompt: &Prompt) -> Result<String, CallError> {
        match prompt.label.as_str() {
            "planner-refine" if !prompt.user.contains("**n4**") => Ok(serde_json::json!({"ops": [
                {"op": "insert", "parent": "n1", "id": "a", "title": "The same", "rating": 9.0, "confidence": 0.9},
                {"op": "insert", "parent": "a", "title": "From the same", "rating": 9.0, "confidence": 0.9}]})
            .to_string()),
            "coder-apply" if prompt.user.contains("The same") => {
                Ok(kernel("tile ; constant int more = 0").replace("default = 1", "default = 2"))
            }
            "coder-apply" if prompt.user.contains("From the same") => {
                Ok(kernel("tile unroll").replace("default = 1", "default = 2"))
            }
            _ => answer(prompt),
        }
    }
    let (asked, _) = run(&equal);
    let from = asked.iter().filter(|p| p.label == "coder-apply").find(|p| p.user.contains(", From the same"));
    assert!(!from.unwrap().user.contains("for ideas"), "{}", from.unwrap().user);
    let refine: Vec<_> = asked.iter().filter(|p| p.label == "planner-refine").collect();
    assert!(refine.iter().any(|p| p.user.contains("as fast as the fastest so far, within noise")));
}

/// A4's other half: a long error never pushes anything out.
#[test]
fn refusals_reach_the_model_whole() {
    fn stubborn(prompt: &Prompt) -> Result<String, CallError> {
        if prompt.label == "planner-initialise" {
            return Ok(serde_json::json!({"ops": [{"op": "insert", "parent": "n77", "title": "x".repeat(450)},
                {"op": "update", "node": "n0", "solution_ref": {"solution_id": "forged"}}]})
            .to_string());
        }
        if prompt.label == "planner-initialise-again" {
            assert!(prompt.user.contains("operation 0: there is no node `n77`"), "{}", prompt.user);
            assert!(prompt.user.contains("operation 1: `solution_ref` is measured or kept by the engine"));
        }
        answer(&Prompt { label: prompt.label.replace("-again", ""), ..prompt.clone() })
    }
    let (asked, state) = run(&stubborn);
    assert!(asked.iter().any(|p| p.label == "planner-initialise-again"));
    assert_eq!(state.world.nodes().nth(1).unwrap().title(), "Tile the keys");
}

/// A model that refuses or talks past the question costs an attempt; one that is away stops the run, which can be
/// resumed.
#[test]
fn a_model_that_fails_ends_in_a_resumable_run() {
    fn away(prompt: &Prompt) -> Result<String, CallError> {
        if prompt.label.starts_with("coder") {
            return Err(CallError::new(CallErrorKind::Auth, "the key was refused"));
        }
        answer(prompt)
    }
    let (_, state) = run(&away);
    assert!(matches!(state.stop, Some(Stop::RoleUnavailable { .. })), "{:?}", state.stop);
    fn refuses(prompt: &Prompt) -> Result<String, CallError> {
        if prompt.label.starts_with("coder") {
            return Err(CallError::new(CallErrorKind::Refused, "the model declined"));
        }
        answer(prompt)
    }
    let (_, state) = run(&refuses);
    assert!(state.finished.is_some(), "{:?}", state.stop);
    assert_eq!(state.world.counts().abandoned, 2);
}

/// Raise `VERSION` when this changes, then write the new hash here.
#[test]
fn the_version_stands_for_the_content() {
    let mut hasher = blake3::Hasher::new();
    for (name, text) in TEMPLATES {
        hasher.update(name.as_bytes()).update(text.as_bytes());
    }
    hasher.update(PLANNER_SCHEMA.as_bytes()).update(CODER_SCHEMA.as_bytes());
    insta::assert_snapshot!(format!("version {VERSION}: {}", &hasher.finalize().to_hex()[..16]), @"version 3: 79d7217743b412cc");
}
