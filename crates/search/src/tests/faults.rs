//! Faults of the original that were reproduced by running it (the letters are those of its specification), each as a
//! test that this engine passes. Those of the tree stand in `ksearch-world`.

use std::sync::atomic::{AtomicU32, Ordering};

use super::runs::{Tape, run};
use super::toy::{self, Landscape, Toy};
use crate::builtin::BuiltinPlanner;
use crate::engine::{Players, start};
use crate::journal::Journal;
use crate::record::{Event, Stop};
use crate::roles::{
    Cancel, CodeAnswer, CodeRequest, CodeStep, Coder, PlanAnswer, PlanPurpose, PlanRequest, Planner, RoleError,
    RoleErrorKind,
};
use crate::{RunState, SearchConfig};
use ksearch_world::{NodeId, PolicyConfig, PolicyKind, State};

/// A planner that does what a closure says.
struct Scripted<F>(F);

impl<F: Fn(&PlanRequest<'_>) -> Result<serde_json::Value, RoleError> + Send + Sync> Planner for Scripted<F> {
    fn name(&self) -> String {
        "scripted".into()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<PlanAnswer, RoleError> {
        let script = serde_json::from_value((self.0)(request)?).unwrap();
        Ok(PlanAnswer { script, exchanges: vec![] })
    }
}

/// A coder that writes the text a closure gives.
struct Writer<F>(F);

impl<F: Fn(&CodeRequest<'_>) -> Result<String, RoleError> + Send + Sync> Coder for Writer<F> {
    fn name(&self) -> String {
        "writer".into()
    }

    fn write(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError> {
        let text = (self.0)(request)?;
        let candidate = Box::new(toy::candidate(&text, vec![]));
        Ok(CodeAnswer::Candidate { candidate, plan: None, notes: String::new(), exchanges: vec![] })
    }
}

fn with(planner: &dyn Planner, coder: &dyn Coder, config: SearchConfig) -> RunState {
    let landscape = Landscape::default();
    let players =
        Players { planner, coder, evaluator: &landscape, observer: &Tape::default(), cancel: &Cancel::default() };
    let naive = Some((toy::candidate("naive", vec![]), None));
    start(&players, config, toy::premises(), naive, Journal::in_memory().unwrap()).unwrap()
}

#[allow(clippy::unnecessary_wraps)] // The shape that `Scripted` wants.
fn two_actions(request: &PlanRequest<'_>) -> Result<serde_json::Value, RoleError> {
    Ok(match request.purpose {
        PlanPurpose::Initialise => serde_json::json!({"ops": [
            {"op": "insert", "parent": "root", "title": "bad", "rating": 9.0, "difficulty": 1},
            {"op": "insert", "parent": "root", "title": "good", "rating": 2.0, "difficulty": 1},
        ]}),
        _ => serde_json::json!({"ops": []}),
    })
}

/// A1: a failed action is retried for ever when the planner does not lower its rating.
#[test]
fn a1_a_failing_action_is_given_up_after_a_bounded_number_of_tries() {
    for kind in [PolicyKind::Default, PolicyKind::Paper, PolicyKind::Random] {
        let config = SearchConfig { policy: PolicyConfig { kind, ..PolicyConfig::default() }, ..toy::config(1) };
        let count = AtomicU32::new(0);
        let coder = Writer(|r: &CodeRequest<'_>| {
            let n = count.fetch_add(1, Ordering::SeqCst);
            Ok(if r.node == NodeId(1) { format!("broken {n}") } else { format!("online {n}") })
        });
        let state = with(&Scripted(two_actions), &coder, config.clone());
        let bad = state.world.get(NodeId(1)).unwrap();
        assert!(matches!(bad.state, State::Abandoned { .. }), "{kind}: {:?}", bad.state);
        assert_eq!(bad.attempts, config.tries);
        assert!(state.world.get(NodeId(2)).unwrap().outcome().is_some(), "{kind}");
    }
}

/// A14: no cap per cycle and no noise threshold: gains of 0.1% keep one action for the whole budget.
#[test]
fn a14_tiny_gains_do_not_hold_the_search_on_one_action() {
    let config = toy::config(1);
    let coder = Writer(|r: &CodeRequest<'_>| {
        // Each `unroll` is worth 0.1% of one term.
        Ok(format!("rows {} x{}", "unroll ".repeat(r.attempt as usize), r.node))
    });
    let state = with(&Scripted(two_actions), &coder, config.clone());
    let first = &state.closed[0].report;
    assert!(first.attempts.len() as u32 <= config.stagnation + 1, "{}", first.attempts.len());
    assert_eq!(first.attempts.iter().filter(|a| a.improved).count(), 1);
}

/// A7: a script that asks for too much burns every call and leaves a tree that grew by each of them.
#[test]
fn a7_a_refused_edit_is_asked_again_with_the_reasons_and_leaves_nothing_behind() {
    let seen = std::sync::Mutex::new(Vec::new());
    let planner = Scripted(|r: &PlanRequest<'_>| {
        if *r.purpose != PlanPurpose::Initialise {
            return Ok(serde_json::json!({"ops": []}));
        }
        seen.lock().unwrap().push(r.refusals.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        let title = if r.refusals.is_empty() { "" } else { "tile" };
        Ok(serde_json::json!({"ops": [{"op": "insert", "parent": "root", "title": title}]}))
    });
    let state = with(&planner, &Writer(|_: &CodeRequest<'_>| Ok("online".into())), toy::config(1));
    assert_eq!(*seen.lock().unwrap(), ["", "operation 0: n1: the title cannot be empty"]);
    assert_eq!(state.world.counts().nodes, 1);
}

/// A17: an unusable first answer ends the run without a solution.
#[test]
fn a17_an_unusable_first_answer_does_not_end_the_run() {
    let planner = Scripted(|_: &PlanRequest<'_>| Err(RoleError::new(RoleErrorKind::Unusable, "not JSON")));
    let state = with(&planner, &Writer(|_: &CodeRequest<'_>| Ok("online".into())), toy::config(1));
    assert_eq!(state.stop, Some(Stop::Exhausted));
    assert!(state.best().unwrap().speedup.unwrap() > 1.1);
}

/// B21: an API error kills a run at once. Here the run stops after several in a row, says so and can be resumed.
#[test]
fn b21_a_provider_that_is_away_stops_the_run_and_costs_nothing() {
    let coder = Writer(|_: &CodeRequest<'_>| Err(RoleError::new(RoleErrorKind::Unavailable, "503")));
    let state = with(&Scripted(two_actions), &coder, toy::config(1));
    assert!(matches!(state.stop, Some(Stop::RoleUnavailable { .. })));
    assert!(
        state.world.frontier().count() == 2 && state.world.nodes().all(|n| n.attempts == 0),
        "no attempt was booked"
    );
    // Once or twice is bridged.
    let count = AtomicU32::new(0);
    let coder = Writer(|_: &CodeRequest<'_>| {
        if count.fetch_add(1, Ordering::SeqCst) < 2 {
            return Err(RoleError::new(RoleErrorKind::Unavailable, "503"));
        }
        Ok("online".into())
    });
    let state = with(&Scripted(two_actions), &coder, toy::config(1));
    assert!(state.best().unwrap().speedup.unwrap() > 1.1);
}

/// B27: a syntax error costs a whole evaluation round, and identical code is run again under another name.
#[test]
fn b27_compile_errors_are_mended_outside_the_budget_and_duplicates_are_not_run() {
    let coder = Writer(|r: &CodeRequest<'_>| {
        Ok(match r.step {
            CodeStep::Apply => "syntax-error".into(),
            CodeStep::Repair { .. } => "online".into(),
            _ => "online".into(),
        })
    });
    let state = with(&Scripted(two_actions), &coder, toy::config(1));
    // The naive kernel and the one that was mended; everything after is the same again.
    assert_eq!(state.evaluations, 2);
    let first = &state.closed[0].report.attempts;
    assert_eq!((first[0].repairs, first[0].status.as_str()), (1, "passed"));
    assert!(first[1..].iter().all(|a| a.status == "duplicate"));
    // The other action gives the same candidate: known, not run, given up.
    assert!(
        matches!(state.world.get(NodeId(2)).unwrap().state, State::Abandoned { .. })
            || matches!(state.world.get(NodeId(1)).unwrap().state, State::Abandoned { .. })
    );
}

/// C38: a failed evaluation keeps a positive score and can become the base or the best.
#[test]
fn c38_a_candidate_that_fails_is_never_a_base_and_never_the_best() {
    let tape = Tape::default();
    let state = run(toy::config(9), &Landscape::default(), Journal::in_memory().unwrap(), &tape).unwrap();
    let failed: Vec<_> = tape
        .0
        .lock()
        .unwrap()
        .iter()
        .filter_map(|r| match &r.event {
            Event::Judged { candidate, verdict, .. } if verdict.status != ksearch_judge::Status::Passed => {
                assert_eq!(verdict.time, None);
                Some(candidate.clone())
            }
            _ => None,
        })
        .collect();
    assert!(!failed.is_empty(), "the landscape has candidates that fail");
    for node in state.world.nodes().filter_map(|n| n.outcome()) {
        assert!(!failed.contains(&node.candidate));
    }
}

/// B30: after a resume the rounds start at 1, the best is forgotten and names collide. See also the cut-off test.
#[test]
fn b30_a_fold_of_the_journal_knows_round_best_and_names() {
    let tape = Tape::default();
    let state = run(toy::config(4), &Landscape::default(), Journal::in_memory().unwrap(), &tape).unwrap();
    let folded = RunState::fold(tape.0.lock().unwrap().iter()).unwrap();
    assert_eq!(folded.world.round, state.world.round);
    assert_eq!(folded.next_cycle, state.next_cycle);
    assert_eq!(folded.best(), state.best());
    assert_eq!(folded.candidates.len(), state.candidates.len());
}

/// The planner's view never holds a held-out result.
#[test]
fn roles_never_see_held_out_results() {
    let toy = Toy::new();
    let inner = BuiltinPlanner::new(&toy);
    let seen = AtomicU32::new(0);
    let planner = Scripted(|r: &PlanRequest<'_>| {
        assert!(r.state.heldout.is_empty() && r.state.finished.is_none());
        assert!(r.state.verdicts.keys().all(|(_, stage, _)| *stage != crate::Stage::HeldOut));
        seen.fetch_add(1, Ordering::SeqCst);
        Ok(serde_json::to_value(inner.plan(r)?.script).unwrap())
    });
    let coder = crate::builtin::BuiltinCoder::new(&toy);
    let state = with(&planner, &coder, toy::config(3));
    assert!(state.finished.is_some() && seen.load(Ordering::SeqCst) > 5);
}

/// Lessons after the last evaluation are of use to nobody; a resume with more budget asks for them first. Runs begun
/// under the first rules keep asking, so that they replay.
#[test]
fn the_planner_is_not_asked_when_the_budget_is_spent() {
    let run = |rules: u32| {
        let asked = std::sync::Mutex::new(Vec::new());
        let planner = Scripted(|r: &PlanRequest<'_>| {
            asked.lock().unwrap().push((r.purpose.name(), r.state.evaluations));
            two_actions(r)
        });
        let mut config = SearchConfig { rules, ..toy::config(1) };
        config.budget.evaluations = 3;
        let coder = Writer(|r: &CodeRequest<'_>| Ok(format!("online {}", r.attempt)));
        let state = with(&planner, &coder, config);
        assert!(state.finished.is_some() && state.evaluations == 3, "{:?}", state.stop);
        (asked.into_inner().unwrap(), state.due)
    };
    let (asked, due) = run(crate::config::RULES);
    assert!(asked.iter().all(|(_, evaluations)| *evaluations < 3), "{asked:?}");
    assert!(due.is_some(), "what was not asked stays due");
    assert!(run(1).0.contains(&("refine", 3)));
}

/// What improvements beyond an action give is not what its strategy gives, nor what was predicted.
#[test]
fn a_strategy_is_credited_with_what_the_action_gave_not_with_what_came_after() {
    let planner = Scripted(|r: &PlanRequest<'_>| {
        Ok(match r.purpose {
            PlanPurpose::Initialise => serde_json::json!({"ops": [
                {"op": "insert", "parent": "root", "title": "exp2", "strategy": "exp2", "predicted_gain": 1.1}]}),
            _ => serde_json::json!({"ops": []}),
        })
    });
    let coder = Writer(|r: &CodeRequest<'_>| Ok(if r.attempt == 1 { "exp2" } else { "exp2 tile rows" }.to_owned()));
    let state = with(&planner, &coder, toy::config(1));
    let outcome = state.world.get(NodeId(1)).unwrap().outcome().unwrap();
    let (all, applied) = (outcome.gain.unwrap(), outcome.applied.unwrap());
    assert!(all > 1.3 && applied < 1.1, "{all} {applied}");
    let record = &state.world.calibration.strategies["exp2"];
    assert!((record.observed - applied.ln()).abs() < 1e-12, "{record:?}");
}

/// Settings that suited the parent may ruin what is made of it. A candidate slower than its parent is swept whole, so that a
/// good strategy is not lost to one bad inheritance; runs under earlier rules do as they did.
#[test]
fn a_strategy_is_not_judged_by_the_settings_it_took_over() {
    struct Heir;
    impl Coder for Heir {
        fn name(&self) -> String {
            "heir".into()
        }

        fn write(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError> {
            if !matches!(request.step, CodeStep::Apply) {
                return Ok(CodeAnswer::Nothing { why: "done".into(), exchanges: vec![] });
            }
            let base = request.base.and_then(|b| request.state.candidates.get(b)).unwrap();
            let text = if base.candidate.tunables.is_empty() { "tile" } else { "tile crowd" };
            let tunable = ksearch_task::Tunable { name: "BK".into(), values: vec![8, 16, 32, 64, 128], default: 16 };
            let mut candidate = Box::new(toy::candidate(text, vec![tunable]));
            candidate.values.clone_from(&base.candidate.values);
            Ok(CodeAnswer::Candidate { candidate, plan: None, notes: String::new(), exchanges: vec![] })
        }
    }
    let planner = Scripted(|r: &PlanRequest<'_>| {
        let parent = match r.purpose {
            PlanPurpose::Initialise => "root",
            PlanPurpose::Refine { node: NodeId(1) } => "n1",
            _ => return Ok(serde_json::json!({"ops": []})),
        };
        Ok(serde_json::json!({"ops": [{"op": "insert", "parent": parent, "title": "next"}]}))
    });
    let run = |rules: u32| with(&planner, &Heir, SearchConfig { rules, ..toy::config(1) });
    let state = run(crate::config::RULES);
    let heir = state.world.get(NodeId(2)).unwrap().outcome().unwrap();
    assert!(heir.gain.unwrap() > 1.5, "{heir:?}");
    assert_eq!(state.candidates[&heir.candidate].candidate.values["BK"], 32);
    // The naive kernel; the tiled one and the best two of its settings; the heir as written and the two that beat the parent.
    assert_eq!(state.evaluations, 7);
    let state = run(2);
    assert!(state.world.get(NodeId(2)).unwrap().outcome().unwrap().gain.unwrap() < 0.3);
}

/// Tokens and money stop a run also in the middle of an action, whose try does not count then.
#[test]
fn tokens_and_money_are_watched_within_an_action() {
    struct Dear;
    impl Coder for Dear {
        fn name(&self) -> String {
            "dear".into()
        }

        fn write(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError> {
            let exchange = serde_json::json!({"provider": "p", "model": "m", "template": "t", "hash": "h", "system": "",
                "user": "", "answer": "", "tokens_in": 900, "tokens_out": 100, "usd": 0.5, "seconds": 1.0});
            let text = format!("broken {}", request.attempt);
            Ok(CodeAnswer::Candidate {
                candidate: Box::new(toy::candidate(&text, vec![])),
                plan: None,
                notes: String::new(),
                exchanges: vec![serde_json::from_value(exchange).unwrap()],
            })
        }
    }
    let run = |change: fn(&mut SearchConfig)| {
        let mut config = SearchConfig { stagnation: 8, ..toy::config(1) };
        change(&mut config);
        with(&Scripted(two_actions), &Dear, config)
    };
    let tokens = run(|c| c.budget.tokens = Some(2500));
    let money = run(|c| c.budget.usd = Some(1.5));
    assert_eq!((tokens.stop.as_ref(), money.stop.as_ref()), (Some(&Stop::Tokens), Some(&Stop::Money)));
    for state in [tokens, money] {
        assert_eq!((state.ledger["coder"].calls, state.ledger["coder"].tokens_in), (3, 2700));
        let node = state.world.get(state.closed[0].node).unwrap();
        assert!(node.is_open() && node.attempts == 0, "{:?}", node.state);
    }
}
