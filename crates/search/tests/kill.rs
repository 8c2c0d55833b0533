//! Kills a search with SIGKILL at twenty random moments and resumes it each time: no verdict that was written down is
//! lost or asked for again, the best never gets worse, and the end is that of a run that was never disturbed.
//!
//! Without the test harness, because the search runs in a child process of its own: this program, called with `child`.

#![allow(clippy::print_stdout)] // It is a test program.

#[path = "../src/tests/toy.rs"]
#[allow(dead_code, missing_docs, clippy::unwrap_used)]
mod toy;

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use ksearch_search::journal::Journal;
use ksearch_search::{
    BuiltinCoder, BuiltinPlanner, Cancel, Event, Generator as _, Plan, Players, RunState, SearchConfig, Silent, Stage,
    resume, start, state,
};
use toy::{Landscape, Toy};

const KILLS: u64 = 20;

fn config() -> SearchConfig {
    let mut config = SearchConfig { parallel: 2, ..toy::config(13) };
    config.budget.evaluations = 30;
    config
}

/// Works on the run in `folder`, slowly, and notes each judgement in a file before it is reported.
fn child(folder: &Path, slow: bool) {
    let calls = folder.join("calls");
    let landscape = Landscape {
        noise: 0.003,
        after: Some(Box::new(move |id, stage, seed| {
            let line = format!("{id} {} {seed}\n", stage.name());
            let mut file = std::fs::File::options().create(true).append(true).open(&calls).expect("a file");
            file.write_all(line.as_bytes()).expect("a write");
            if slow {
                std::thread::sleep(Duration::from_millis(8));
            }
        })),
        ..Landscape::default()
    };
    let toy = Toy::new();
    let players = Players {
        planner: &BuiltinPlanner::new(&toy),
        coder: &BuiltinCoder::new(&toy),
        evaluator: &landscape,
        observer: &Silent,
        cancel: &Cancel::default(),
    };
    let path = folder.join("journal.db");
    let begun = Journal::read(&path).and_then(|j| j.events()).is_ok_and(|e| !e.is_empty());
    if begun {
        resume(&players, Journal::open(&path).expect("the journal opens"), |_| {}).expect("it resumes");
    } else {
        // Killed before the first event: whatever lies there holds nothing.
        let _ = std::fs::remove_file(&path);
        let naive = toy.render(&Plan::default(), &toy::premises().facts).expect("a kernel");
        let journal = Journal::create(&path).expect("a journal");
        start(&players, config(), toy::premises(), Some((naive, Some(Plan::default()))), journal).expect("it runs");
    }
}

fn events(folder: &Path) -> Vec<ksearch_search::Recorded> {
    Journal::read(&folder.join("journal.db")).and_then(|j| j.events()).unwrap_or_default()
}

fn judged(events: &[ksearch_search::Recorded]) -> HashMap<(String, Stage, u64), u32> {
    let mut judged = HashMap::new();
    for recorded in events {
        if let Event::Judged { candidate, stage, seed, .. } = &recorded.event {
            *judged.entry((candidate.0.clone(), *stage, *seed)).or_insert(0) += 1;
        }
    }
    judged
}

fn best(events: &[ksearch_search::Recorded]) -> f64 {
    RunState::fold(events).ok().and_then(|s| s.best().map(|b| b.time.value)).unwrap_or(f64::INFINITY)
}

fn parent() {
    let whole = tempfile::tempdir().expect("a folder");
    child(whole.path(), false);
    let whole = RunState::fold(&events(whole.path())).expect("a run");

    let folder = tempfile::tempdir().expect("a folder");
    let program = std::env::current_exe().expect("a path");
    let mut seen = HashMap::new();
    let mut unfinished = 0;
    let mut last_best = f64::INFINITY;
    for kill in 0..KILLS {
        let mut process = Command::new(&program)
            .arg("child")
            .arg(folder.path())
            .stdin(Stdio::null())
            .spawn()
            .expect("a child process");
        let wait = 15 + state::draw(kill, "kill", "") % 60;
        std::thread::sleep(Duration::from_millis(wait));
        let _ = process.kill();
        process.wait().expect("it ends");

        let events = events(folder.path());
        let now = judged(&events);
        assert!(now.values().all(|n| *n == 1), "judged and written down twice");
        assert!(seen.keys().all(|k| now.contains_key(k)), "a verdict was lost after kill {kill}");
        assert!(best(&events) <= last_best, "the best got worse after kill {kill}");
        (seen, last_best) = (now, best(&events));
        unfinished += u32::from(RunState::fold(&events).map_or(true, |s| s.finished.is_none()));
    }
    assert!(unfinished >= 10, "the run was over after {unfinished} kills, so that most of them hit nothing");
    let killed_at = seen.len();
    child(folder.path(), false);
    let events = events(folder.path());
    let end = RunState::fold(&events).expect("a run");
    assert_eq!(end.world, whole.world, "the end is not that of the undisturbed run");
    assert_eq!(end.improvements, whole.improvements);
    assert_eq!(end.finished, whole.finished);

    // A judgement that a kill cut off between the judge and the journal is the only kind that is made again.
    let calls = std::fs::read_to_string(folder.path().join("calls")).expect("the calls");
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for line in calls.lines() {
        *counts.entry(line).or_insert(0) += 1;
    }
    let again: u32 = counts.values().map(|n| n - 1).sum();
    assert!(u64::from(again) <= 2 * KILLS, "{again} judgements were made again in {KILLS} kills of two threads");
    println!(
        "kill: {KILLS} kills, {killed_at} verdicts by then, {} in the end, {again} made again",
        judged(&events).len()
    );
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "child", folder] => child(Path::new(folder), true),
        // What test runners ask for to list or pick tests.
        [_, "--list", ..] if arguments.iter().any(|a| a == "--ignored") => {}
        [_, "--list", ..] => println!("kill_and_resume: test"),
        _ => parent(),
    }
    ExitCode::SUCCESS
}
