//! What the engine itself costs: a run with a judge that takes no time, on a journal on disk, and the operations on a
//! tree of ten thousand nodes. Figures are measured on the machine that runs this.
//!
//!     cargo bench -p ksearch-search
//!     cargo bench -p ksearch-search -- .ksearch/runs/attention-1
//!
//! With the folder of a run of the built-in roles, everything the engine did in that run is done again on its recorded
//! verdicts, with a journal on disk, and compared with the time that the run took.

#![allow(clippy::print_stdout, clippy::unwrap_used)] // It is a program that prints.

#[path = "../src/tests/toy.rs"]
#[allow(dead_code, missing_docs)]
mod toy;

use std::time::{Duration, Instant};

use ksearch_search::journal::Journal;
use ksearch_search::replay::replay_into;
use ksearch_search::{
    BuiltinCoder, BuiltinPlanner, Cancel, Event, Generator as _, Plan, PlanPurpose, PlanRequest, Planner as _, Players,
    RunState, Silent, start,
};
use ksearch_task::{CandidateId, Figure};
use ksearch_world::{EditLimits, EditScript, NodeId, Outcome, PolicyConfig, PolicyKind, World, WorldEvent, policy};
use serde_json::json;
use toy::{Landscape, Toy};

/// Median time of an operation.
fn time<T>(name: &str, mut operation: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..15)
        .map(|_| {
            let began = Instant::now();
            std::hint::black_box(operation());
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    let median = times[times.len() / 2];
    println!("{name:<58} {:>12.3} ms", median.as_secs_f64() * 1e3);
    median
}

/// A tree of `size` nodes, a third of them solved.
fn grown(size: u32) -> World {
    let mut world = World::default();
    let figure = |v: f64| Figure::simulated_us(v, "bench");
    let outcome = |time: f64, n: u32| Outcome {
        candidate: CandidateId(format!("{n:032x}")),
        time: figure(time),
        gain: Some(1.1),
        applied: None,
        bottleneck: None,
        within_noise: false,
    };
    world.apply(&WorldEvent::Seeded { outcome: outcome(1000.0, 0) }).unwrap();
    let limits = EditLimits { max_new: 8, max_children: 64 };
    for n in 1..size {
        // Every third node is solved and gets children in turn.
        let parent = NodeId((n - 1) / 24 * 3);
        let script: EditScript = serde_json::from_value(json!({"ops": [{"op": "insert", "parent": parent,
            "title": format!("action {n}"), "strategy": format!("s{}", n % 40), "rating": f64::from(n % 10),
            "confidence": 0.5, "predicted_gain": 1.2, "notes": "a few words on why this should help"}]}))
        .unwrap();
        world.apply(&WorldEvent::Edited { by: "bench".into(), script, limits }).unwrap();
        if n % 3 == 0 {
            world.apply(&WorldEvent::Started { node: NodeId(n) }).unwrap();
            let outcome = outcome(1000.0 - f64::from(n % 997) / 2.0, n);
            world.apply(&WorldEvent::Solved { node: NodeId(n), outcome }).unwrap();
        }
    }
    world
}

/// What the engine did in a recorded run of the built-in roles, done again, against the time that the run took.
fn share(folder: &std::path::Path) {
    let journal = Journal::read(&folder.join("journal.db")).unwrap();
    let events = journal.events().unwrap();
    let state = RunState::fold(&events).unwrap();
    let generator = ksearch_search::coder::generator(&state.config.task).unwrap();
    let (planner, coder) = (BuiltinPlanner::new(&*generator), BuiltinCoder::new(&*generator));
    let judged = events.iter().filter(|e| matches!(e.event, Event::Judged { .. })).count();
    println!(
        "{} again: {} evaluations, {} events, {judged} verdicts",
        folder.display(),
        state.evaluations,
        events.len()
    );
    let disk = tempfile::tempdir().unwrap();
    let mut number = 0;
    let engine = time("  the engine alone, journal on disk", || {
        number += 1;
        let journal = Journal::create(&disk.path().join(format!("{number}.db"))).unwrap();
        let replayed = replay_into(journal, &events, Some(&planner), Some(&coder)).unwrap();
        assert_eq!(replayed.same, replayed.decisions, "{:?}", replayed.difference);
    });
    println!(
        "  the run took {:.1} s: the engine's share is {:.2}%",
        state.elapsed_s,
        100.0 * engine.as_secs_f64() / state.elapsed_s
    );
}

fn main() {
    if let Some(folder) = std::env::args().skip(1).find(|a| !a.starts_with("--")) {
        return share(folder.as_ref());
    }
    println!("A tree of 10,000 nodes");
    let world = grown(10_000);
    for kind in [PolicyKind::Default, PolicyKind::Paper, PolicyKind::Random] {
        let config = PolicyConfig { kind, ..PolicyConfig::default() };
        time(&format!("  select, {kind}"), || policy::select(&world, &config, 7));
    }
    time("  snapshot", || world.clone());
    let script: EditScript =
        serde_json::from_value(json!({"ops": [{"op": "update", "node": "n5000", "rating": 3.0}]})).unwrap();
    time("  edit, checked and applied", || world.clone().edit("bench", &script, &EditLimits::default()));
    time("  export", || ksearch_world::paper::export(&world, None));

    println!("A run of 100 evaluations with a judge that takes no time");
    let toy = Toy::new();
    let folder = tempfile::tempdir().unwrap();
    let mut config = toy::config(1);
    config.budget.evaluations = 100;
    let naive = toy.render(&Plan::default(), &toy::premises().facts).unwrap();
    let planner = BuiltinPlanner::new(&toy);
    let coder = BuiltinCoder::new(&toy);
    let path = folder.path().join("journal.db");
    let began = Instant::now();
    let judge = Landscape::default();
    let players =
        Players { planner: &planner, coder: &coder, evaluator: &judge, observer: &Silent, cancel: &Cancel::default() };
    let journal = Journal::create(&path).unwrap();
    let state = start(&players, config, toy::premises(), Some((naive, Some(Plan::default()))), journal).unwrap();
    let whole = began.elapsed();
    let judgements = judge.calls.lock().unwrap().len();
    println!(
        "  {} evaluations, {judgements} judgements in all: {:.0} ms, {:.2} ms per judgement",
        state.evaluations,
        whole.as_secs_f64() * 1e3,
        whole.as_secs_f64() * 1e3 / judgements as f64
    );
    let events = Journal::read(&path).unwrap().events().unwrap();
    time("  read the journal", || Journal::read(&path).unwrap().events().unwrap());
    time("  fold it", || RunState::fold(&events).unwrap());
    let limits = EditLimits::default();
    time("  ask the built-in planner", || {
        let cancel = Cancel::default();
        let request = PlanRequest {
            purpose: &PlanPurpose::Propose,
            state: &state,
            limits: &limits,
            refusals: &[],
            cancel: &cancel,
        };
        planner.plan(&request)
    });
}
