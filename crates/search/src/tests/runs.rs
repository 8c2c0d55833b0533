//! Runs end, repeat, resume and keep their books.

use std::collections::HashSet;
use std::sync::Mutex;

use super::toy::{self, Landscape, Toy};
use crate::builtin::{BuiltinCoder, BuiltinPlanner};
use crate::engine::{Players, SearchError, resume, start};
use crate::evaluate::Stage;
use crate::journal::Journal;
use crate::record::{CycleEnd, Event, Recorded, Stop};
use crate::recorder::Observer;
use crate::roles::Cancel;
use crate::state::RunState;
use crate::strategy::Plan;
use crate::{Generator, SearchConfig};

/// Keeps everything it sees.
#[derive(Default)]
pub struct Tape(pub Mutex<Vec<Recorded>>);

impl Observer for Tape {
    fn recorded(&self, event: &Recorded, _state: &RunState) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// Runs the built-in roles on the made-up task.
pub fn run(
    config: SearchConfig,
    landscape: &Landscape,
    journal: Journal,
    tape: &Tape,
) -> Result<RunState, SearchError> {
    let toy = Toy::new();
    let naive = toy.render(&Plan::default(), &toy::premises().facts).unwrap();
    let players = Players {
        planner: &BuiltinPlanner::new(&toy),
        coder: &BuiltinCoder::new(&toy),
        evaluator: landscape,
        observer: tape,
        cancel: &Cancel::default(),
    };
    start(&players, config, toy::premises(), Some((naive, Some(Plan::default()))), journal)
}

fn go_on(
    journal: Journal,
    landscape: &Landscape,
    change: impl FnOnce(&mut SearchConfig),
) -> Result<RunState, SearchError> {
    let toy = Toy::new();
    let players = Players {
        planner: &BuiltinPlanner::new(&toy),
        coder: &BuiltinCoder::new(&toy),
        evaluator: landscape,
        observer: &Tape::default(),
        cancel: &Cancel::default(),
    };
    resume(&players, journal, change)
}

/// An event without what differs between two runs of the same search.
fn stripped(event: &Event) -> serde_json::Value {
    let mut value = serde_json::to_value(event).unwrap();
    if let Some(object) = value.as_object_mut() {
        object.remove("seconds");
    }
    value
}

fn decisions(tape: &Tape) -> Vec<serde_json::Value> {
    tape.0.lock().unwrap().iter().filter(|r| r.event.is_decision()).map(|r| stripped(&r.event)).collect()
}

#[test]
fn a_run_finds_what_is_there() {
    let landscape = Landscape::default();
    let tape = Tape::default();
    let state = run(toy::config(1), &landscape, Journal::in_memory().unwrap(), &tape).unwrap();
    let naive = state.naive_time().unwrap();
    let best = state.best().unwrap();
    assert!(naive / best.time.value > 4.0, "only {:.2}x", naive / best.time.value);
    let (finalists, winner) = state.finished.as_ref().unwrap();
    assert_eq!(*winner, Some(0));
    assert_eq!(finalists[0].heldout, Some((1, 1)));
    // The winner's tunables are at their best values, found by the sweep.
    let winner = &state.candidates[&finalists[0].candidate];
    assert_eq!(winner.candidate.values.get("BK"), Some(&64), "{:?}", winner.candidate.values);
    // The fold of what observers saw is the state.
    let again = RunState::fold(tape.0.lock().unwrap().iter()).unwrap();
    assert_eq!(again.world, state.world);
    assert_eq!(again.improvements, state.improvements);
    assert!(state.evaluations <= state.config.budget.evaluations);
}

#[test]
fn no_candidate_is_judged_twice_and_held_out_comes_once_at_the_end() {
    let landscape = Landscape { noise: 0.003, ..Landscape::default() };
    run(toy::config(2), &landscape, Journal::in_memory().unwrap(), &Tape::default()).unwrap();
    let calls = landscape.calls.lock().unwrap();
    let distinct: HashSet<_> = calls.iter().collect();
    assert_eq!(distinct.len(), calls.len());
    let first_heldout = calls.iter().position(|c| c.1 == Stage::HeldOut).unwrap();
    assert!(calls[first_heldout..].iter().all(|c| c.1 == Stage::HeldOut));
    assert_eq!(calls.len() - first_heldout, 1);
}

#[test]
fn the_same_seed_gives_the_same_run_also_in_parallel() {
    for parallel in [1, 3] {
        let config = SearchConfig { parallel, ..toy::config(7) };
        let tapes = [0, 1].map(|_| {
            let landscape = Landscape {
                noise: 0.003,
                // Shakes up the order in which parallel work ends.
                after: Some(Box::new(|id, _, _| {
                    let byte = id.as_bytes()[0];
                    std::thread::sleep(std::time::Duration::from_micros(u64::from(byte % 7) * 300));
                })),
                ..Landscape::default()
            };
            let tape = Tape::default();
            run(config.clone(), &landscape, Journal::in_memory().unwrap(), &tape).unwrap();
            decisions(&tape)
        });
        assert_eq!(tapes[0], tapes[1], "parallel {parallel}");
        assert!(tapes[0].len() > 50);
    }
}

#[test]
fn another_seed_gives_other_inputs() {
    let seeds = [3, 4].map(|seed| {
        let landscape = Landscape::default();
        run(toy::config(seed), &landscape, Journal::in_memory().unwrap(), &Tape::default()).unwrap();
        landscape.calls.into_inner().unwrap()[0].2
    });
    assert_ne!(seeds[0], seeds[1]);
}

/// The disk fills up at every point of a run in turn; each time the run says so, and what it resumes to is the run that
/// was never disturbed.
#[test]
fn a_run_that_is_cut_off_anywhere_ends_as_if_it_had_not_been() {
    for parallel in [1, 2] {
        let mut config = SearchConfig { parallel, ..toy::config(11) };
        config.budget.evaluations = 9;
        config.sweep.screens = 3;
        let undisturbed = Landscape { noise: 0.003, ..Landscape::default() };
        let tape = Tape::default();
        let whole = run(config.clone(), &undisturbed, Journal::in_memory().unwrap(), &tape).unwrap();
        let length = tape.0.lock().unwrap().len();
        assert!(length > 50, "{length}");
        let mut cuts = 0;
        // Every point of the start, then every third: the steps repeat.
        for appends in (1..40).chain((40..).step_by(3)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("journal.db");
            let mut journal = Journal::create(&path).unwrap();
            journal.fail_after(appends);
            let landscape = Landscape { noise: 0.003, ..Landscape::default() };
            let Err(error) = run(config.clone(), &landscape, journal, &Tape::default()) else { break };
            assert!(error.to_string().contains("the disk is full"), "{error}");
            let kept = Journal::read(&path).unwrap().events().unwrap();
            let Ok(before) = RunState::fold(&kept) else { continue };
            cuts += 1;
            let state = go_on(Journal::open(&path).unwrap(), &landscape, |_| {}).unwrap();
            assert_eq!(state.world, whole.world, "cut after {appends} appends, parallel {parallel}");
            assert_eq!(state.improvements, whole.improvements);
            assert_eq!(state.finished, whole.finished);
            let best = |s: &RunState| s.best().map_or(f64::INFINITY, |b| b.time.value);
            assert!(best(&state) <= best(&before));
            // What was judged and written down is not judged again; what was in work when the disk filled up is.
            let known: HashSet<_> = kept
                .iter()
                .filter_map(|r| match &r.event {
                    Event::Judged { candidate, stage, seed, .. } if *stage != Stage::Check => {
                        Some((candidate.0.clone(), *stage, *seed))
                    }
                    _ => None,
                })
                .collect();
            let calls = landscape.calls.lock().unwrap();
            for key in known {
                assert_eq!(calls.iter().filter(|c| **c == key).count(), 1, "judged again: {key:?}");
            }
        }
        assert!(cuts > 20, "{cuts}");
    }
}

#[test]
fn a_larger_budget_goes_on_where_the_smaller_ended() {
    let mut config = toy::config(5);
    config.budget.evaluations = 8;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let landscape = Landscape::default();
    let short = run(config.clone(), &landscape, Journal::create(&path).unwrap(), &Tape::default()).unwrap();
    assert_eq!(short.stop, Some(Stop::Evaluations));
    assert!(short.evaluations <= 8);
    let long = go_on(Journal::open(&path).unwrap(), &landscape, |c| c.budget.evaluations = 30).unwrap();
    assert!(long.evaluations > short.evaluations && long.evaluations <= 30);
    assert!(long.best().unwrap().time.value <= short.best().unwrap().time.value);
    let calls = landscape.calls.lock().unwrap();
    assert_eq!(calls.iter().collect::<HashSet<_>>().len(), calls.len());
    // Resuming a finished run changes nothing.
    let events = Journal::read(&path).unwrap().events().unwrap().len();
    drop(calls);
    let same = go_on(Journal::open(&path).unwrap(), &landscape, |_| {}).unwrap();
    assert_eq!(same.improvements, long.improvements);
    assert!(Journal::read(&path).unwrap().events().unwrap().len() <= events + 3);
}

#[test]
fn every_stop_says_which_and_why() {
    let stop = |change: &dyn Fn(&mut SearchConfig, &mut crate::Premises)| {
        let (mut config, mut premises) = (toy::config(1), toy::premises());
        change(&mut config, &mut premises);
        let toy = Toy::new();
        let naive = toy.render(&Plan::default(), &premises.facts).unwrap();
        let players = Players {
            planner: &BuiltinPlanner::new(&toy),
            coder: &BuiltinCoder::new(&toy),
            evaluator: &Landscape::default(),
            observer: &Tape::default(),
            cancel: &Cancel::default(),
        };
        start(&players, config, premises, Some((naive, None)), Journal::in_memory().unwrap()).unwrap().stop.unwrap()
    };
    let time = |v| ksearch_task::Figure::simulated_us(v, "toy");
    let stops = [
        stop(&|c, _| c.budget.evaluations = 3),
        stop(&|c, _| c.budget.wall_s = Some(0.0)),
        stop(&|c, _| c.budget.plateau = Some(3)),
        stop(&|c, p| {
            c.budget.target_ratio = Some(0.9);
            p.baseline = Some(crate::Baseline { name: "library".into(), time: time(500.0) });
        }),
        stop(&|_, p| p.floor = Some(time(158.0))),
        stop(&|c, _| c.budget.evaluations = 100_000),
    ];
    let text: Vec<String> = stops.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(text.join("\n"), @"
    the evaluation budget is used up
    the time budget is used up
    no better candidate in 3 evaluations
    the target is reached: 1.176x the baseline
    the physical floor is reached: 96% of what is possible
    no action is left to try
    ");
}

#[test]
fn a_naive_kernel_that_fails_ends_the_run_at_once() {
    let toy = Toy::new();
    let players = Players {
        planner: &BuiltinPlanner::new(&toy),
        coder: &BuiltinCoder::new(&toy),
        evaluator: &Landscape::default(),
        observer: &Tape::default(),
        cancel: &Cancel::default(),
    };
    let naive = toy::candidate("broken", vec![]);
    let state =
        start(&players, toy::config(1), toy::premises(), Some((naive, None)), Journal::in_memory().unwrap()).unwrap();
    assert_eq!(
        state.stop.unwrap().to_string(),
        "the kernel to start from did not pass: wrong_answer: made-up wrong_answer mend it"
    );
}

#[test]
fn a_replay_derives_the_same_decisions_and_finds_one_that_was_changed() {
    use crate::replay::replay;
    let toy = Toy::new();
    let (planner, coder) = (BuiltinPlanner::new(&toy), BuiltinCoder::new(&toy));
    for parallel in [1, 3] {
        let tape = Tape::default();
        let landscape = Landscape { noise: 0.003, ..Landscape::default() };
        let config = SearchConfig { parallel, ..toy::config(21) };
        run(config, &landscape, Journal::in_memory().unwrap(), &tape).unwrap();
        let mut events = tape.0.into_inner().unwrap();
        for (planner, coder) in [(None, None), (Some(&planner), Some(&coder))] {
            let replayed = replay(&events, planner.map(|p| p as _), coder.map(|c| c as _)).unwrap();
            assert_eq!(replayed.difference, None, "parallel {parallel}");
            assert!(replayed.same == replayed.decisions && replayed.same > 50);
        }
        // A run that was cut off replays as far as it goes.
        for cut in [30, 77, events.len() - 1] {
            let replayed = replay(&events[..cut], None, None).unwrap();
            assert_eq!(replayed.difference, None, "cut at {cut}");
        }
        // What a clock ended is not derived, and said to be left out.
        let mut late = events.clone();
        let closed = late.iter_mut().filter_map(|r| match &mut r.event {
            Event::Closed { report, .. } => Some(report),
            _ => None,
        });
        closed.last().unwrap().ended = CycleEnd::WallTime;
        let whole = replay(&events, None, None).unwrap();
        let replayed = replay(&late, None, None).unwrap();
        assert_eq!((replayed.difference, whole.by_the_clock), (None, 0));
        assert!(replayed.same == replayed.decisions && replayed.same < whole.same && replayed.by_the_clock > 0);
        // A verdict that was touched up afterwards does not lead to what was decided.
        let touched = events.iter_mut().find_map(|r| match &mut r.event {
            Event::Judged { verdict, stage: Stage::Full, cycle: 2.., .. } => verdict.time.as_mut(),
            _ => None,
        });
        touched.unwrap().value *= 0.5;
        let difference = replay(&events, None, None).unwrap().difference.unwrap();
        assert!(difference.seq.is_some() && !difference.paths.is_empty(), "{difference:?}");
    }
}

#[test]
fn a_replay_spans_sessions_with_different_budgets() {
    let mut config = toy::config(5);
    config.budget.evaluations = 8;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let landscape = Landscape::default();
    run(config, &landscape, Journal::create(&path).unwrap(), &Tape::default()).unwrap();
    go_on(Journal::open(&path).unwrap(), &landscape, |c| c.budget.evaluations = 20).unwrap();
    let events = Journal::read(&path).unwrap().events().unwrap();
    let replayed = crate::replay::replay(&events, None, None).unwrap();
    assert_eq!(replayed.difference, None);
    assert_eq!(replayed.same, replayed.decisions);
}

#[test]
fn plain_refinement_runs_without_a_tree_of_ideas() {
    let toy = Toy::new();
    let naive = toy.render(&Plan::default(), &toy::premises().facts).unwrap();
    let players = Players {
        planner: &crate::builtin::Refinement::new(Some(toy.catalogue())),
        coder: &BuiltinCoder::new(&toy),
        evaluator: &Landscape::default(),
        observer: &Tape::default(),
        cancel: &Cancel::default(),
    };
    let journal = Journal::in_memory().unwrap();
    let state =
        start(&players, toy::config(1), toy::premises(), Some((naive, Some(Plan::default()))), journal).unwrap();
    assert!(state.finished.is_some());
    assert!(state.best().unwrap().speedup.unwrap() > 2.0);
    // Never two open ideas at a time.
    assert!(state.closed.iter().all(|c| c.selection.frontier == 1));
}

/// Counts what it is told about silence.
#[derive(Default)]
struct Watcher(Mutex<Vec<Option<crate::Activity>>>);

impl Observer for Watcher {
    fn recorded(&self, _: &Recorded, _: &RunState) {}

    fn stalled(&self, _seconds: f64, doing: Option<&crate::Activity>) {
        self.0.lock().unwrap().push(doing.cloned());
    }
}

#[test]
fn silence_is_reported_with_what_is_waited_for() {
    let toy = Toy::new();
    let naive = toy.render(&Plan::default(), &toy::premises().facts).unwrap();
    let watcher = Watcher::default();
    let slow = Landscape {
        after: Some(Box::new(|_, _, _| std::thread::sleep(std::time::Duration::from_millis(150)))),
        ..Landscape::default()
    };
    let players = Players {
        planner: &BuiltinPlanner::new(&toy),
        coder: &BuiltinCoder::new(&toy),
        evaluator: &slow,
        observer: &watcher,
        cancel: &Cancel::default(),
    };
    let mut config = toy::config(1);
    config.budget.evaluations = 1;
    start(&players, config, toy::premises(), Some((naive, None)), Journal::in_memory().unwrap()).unwrap();
    let told = watcher.0.into_inner().unwrap();
    assert!(told.iter().flatten().any(|a| matches!(a, crate::Activity::Judging { .. })), "{told:?}");
}
