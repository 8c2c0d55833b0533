//! Whole runs against a server that misbehaves, in each provider's wire format: every run ends by itself, says why, leaves
//! a journal that folds, and goes on from it once the server behaves.
#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

#[path = "../../llm/tests/support/server.rs"]
#[allow(dead_code, missing_docs)]
mod server;
#[path = "../src/tests/toy.rs"]
#[allow(dead_code, missing_docs)]
mod toy;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use ksearch_llm::{Client, Limits, Prices, Secret, Settings, open};
use ksearch_search::llm::{Briefing, LlmCoder, LlmPlanner};
use ksearch_search::{
    Cancel, Journal, Planner, Players, RunState, SearchConfig, SearchError, Silent, Stop, resume, start,
};
use ksearch_task::{Language, builtin};
use serde_json::{Value, json};
use server::{Act, FORMATS, Format, Server, kind, serve_by};
use toy::Landscape;

/// Only a hang reaches it.
const PATIENCE: Duration = Duration::from_mins(5);

fn kernel(words: &str) -> String {
    format!(
        "/* ksearch\n[[dispatch]]\nkernel = \"k\"\ngrid = [\"Lq\", 1, 1]\nthreadgroup = [32, 1, 1]\n*/\nconstant int note = {words} ;\n"
    )
}

/// A sensible answer to whoever asks.
fn sensible(body: &Value) -> String {
    let text = body.to_string();
    if text.contains("You write GPU kernels") {
        if text.contains("The best kernel of this action so far") {
            return json!({"analysis": "nothing more", "files": []}).to_string();
        }
        return json!({"analysis": "staged", "files": [{"path": "k.metal", "text": kernel("tile")}]}).to_string();
    }
    let ops = if text.contains("Begin the tree") || text.contains("Few open actions") {
        json!([{"op": "insert", "parent": "n0", "title": "Tile the keys", "rating": 7.0, "predicted_gain": 2.0}])
    } else {
        json!([])
    };
    json!({ "ops": ops }).to_string()
}

fn limits() -> Limits {
    Limits {
        deadline: Duration::from_millis(1500),
        idle: Duration::from_millis(250),
        tries: 2,
        reasks: 1,
        backoff: Duration::from_millis(2),
    }
}

fn work(
    format: Format,
    server: &Server,
    limits: Limits,
    go: impl FnOnce(&Players<'_>) -> Result<RunState, SearchError>,
) -> RunState {
    let task = builtin::task("attention").unwrap();
    let briefing = Briefing::new(&task, "sim:toy", &toy::premises().facts.chip, Language::Msl, None);
    let client = || {
        let settings = Settings { model: "gpt-5.4-test".into(), ..Settings::default() };
        let provider = open(&kind(format), Some(&server.address), Secret::new("sk-very-secret-key"));
        Client::new(provider, settings, limits, Prices::embedded())
    };
    let planner = LlmPlanner::new(client(), briefing.clone(), None, false);
    let coder = LlmCoder::new(client(), briefing);
    assert!(planner.name().ends_with(":gpt-5.4-test"));
    let landscape = Landscape::default();
    let players = Players {
        planner: &planner,
        coder: &coder,
        evaluator: &landscape,
        observer: &Silent,
        cancel: &Cancel::default(),
    };
    go(&players).unwrap()
}

fn run(format: Format, server: &Server, path: &Path, limits: Limits) -> RunState {
    let naive = ksearch_task::Candidate::from_texts(
        "k.metal",
        &[ksearch_task::SourceFile { path: "k.metal".into(), text: kernel("naive") }],
    )
    .unwrap();
    let mut config = SearchConfig { task: "attention".into(), ..toy::config(1) };
    config.budget.evaluations = 8;
    let journal = Journal::create(path).unwrap();
    work(format, server, limits, |p| start(p, config, toy::premises(), Some((naive, None)), journal))
}

/// What a server may do, what the run stops with, and words of the message that names the cause.
fn cases() -> Vec<(&'static str, Act, bool, &'static str)> {
    let fenced = |text: &str| Act::Answer(text.to_owned());
    vec![
        ("silence", Act::Silence, true, "sent nothing"),
        ("429", Act::Status(429, "", "{}"), true, "429"),
        ("429, retry after an hour", Act::Status(429, "retry-after: 3600\r\n", "{}"), true, "429"),
        ("500", Act::Status(500, "", "oops"), true, "500"),
        ("a bad key", Act::Status(401, "", "bad key sk-very-secret-key"), true, "401"),
        ("a stream that stalls", Act::Stall("{\"ops\": []".into()), true, "sent nothing"),
        ("truncated JSON", fenced("{\"ops\": [{\"op\": \"insert\", \"par"), false, "cut off"),
        ("another schema", fenced("{\"answer\": 42}"), false, "missing"),
        ("prose", fenced("Sure! I would tile it."), false, "no JSON object"),
        ("a refusal", Act::Refusal, false, "refus"),
        ("5 MB", Act::Answer("x".repeat(5 << 20)), false, "long"),
    ]
}

fn misbehave(format: Format) {
    for (name, act, away, says) in cases() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        let behaves = Arc::new(AtomicBool::new(false));
        let switch = Arc::clone(&behaves);
        let server = serve_by(format, move |body| {
            Some(if switch.load(Ordering::SeqCst) { Act::Answer(sensible(body)) } else { act.clone() })
        });
        let state = run(format, &server, &path, limits());
        let stop = state.stop.clone().unwrap();
        let what = format!("{format:?}, {name}: {stop}");
        assert_eq!(matches!(stop, Stop::RoleUnavailable { .. }), away, "{what}");
        assert_eq!(state.evaluations, 1, "{what}: nothing but the start was judged");

        let events = Journal::read(&path).unwrap().events().unwrap();
        let text = serde_json::to_string(&events.iter().map(|e| &e.event).collect::<Vec<_>>()).unwrap();
        assert!(text.contains(says), "{what}: the cause is not on record");
        assert!(!text.contains("very-secret"), "{what}: the key is on record");
        if let Stop::RoleUnavailable { message } = &stop {
            assert!(message.contains(says), "{what}");
        }
        let folded = RunState::fold(&events).unwrap();
        assert_eq!((folded.world.counts(), folded.stop), (state.world.counts(), Some(stop)), "{name}");

        // The server comes to its senses; the run goes on where it was.
        behaves.store(true, Ordering::SeqCst);
        let calm = Limits { deadline: Duration::from_mins(2), idle: Duration::from_mins(1), ..limits() };
        let state = work(format, &server, calm, |p| resume(p, Journal::open(&path).unwrap(), |_| {}));
        assert!(state.finished.is_some(), "{what}: {:?}", state.stop);
        assert!(state.best().unwrap().speedup.unwrap() > 1.2, "{what}");
    }
}

#[test]
fn every_misbehaviour_ends_the_run_with_its_cause_and_a_journal_to_go_on_from() {
    let (done, ended) = channel();
    for format in FORMATS {
        let done = done.clone();
        thread::spawn(move || {
            misbehave(format);
            done.send(format).unwrap();
        });
    }
    drop(done);
    for _ in FORMATS {
        // A thread that failed has hung up; its message is above.
        ended.recv_timeout(PATIENCE).expect("each format ends in time and without a failed assertion");
    }
}

#[test]
fn fences_and_trailing_commas_are_harmless() {
    for format in FORMATS {
        let folder = tempfile::tempdir().unwrap();
        let server = serve_by(format, |body| {
            let text = sensible(body);
            let comma = text.strip_suffix('}').unwrap().to_owned() + ",}";
            Some(Act::Answer(format!("Here it is:\n\n```json\n{comma}\n```\n")))
        });
        let calm = Limits { deadline: Duration::from_mins(2), idle: Duration::from_mins(1), ..limits() };
        let state = run(format, &server, &folder.path().join("journal.db"), calm);
        assert!(state.best().unwrap().speedup.unwrap() > 1.2, "{format:?}: {:?}", state.stop);
        assert!(state.ledger["coder"].usd > 0.0 && state.ledger["planner"].tokens_in > 0);
    }
}
