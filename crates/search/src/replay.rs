//! Replay: derives every decision of a run again from what is recorded of the world outside it (answers, verdicts), and
//! says where the result differs. Nothing is asked, compiled or run. Must not know who answered.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use ksearch_judge::{Status, Verdict};
use ksearch_llm::CallErrorKind;
use ksearch_task::Candidate;
use serde_json::Value;

use crate::config::SearchConfig;
use crate::engine::{self, Kernels, Players, SearchError};
use crate::evaluate::{Evaluator, Stage};
use crate::journal::{Journal, JournalError};
use crate::record::{CodeResult, CycleEnd, Event, PlanResult, Premises, Recorded, RoleFailure, Stop};
use crate::recorder::Observer;
use crate::roles::{
    Cancel, CodeAnswer, CodeRequest, Coder, Exchange, PlanAnswer, PlanRequest, Planner, RoleError, RoleErrorKind,
};
use crate::state::{CandidateRecord, RunState, StateError, VerdictKey};
use crate::strategy::Plan;

/// Why a run cannot be replayed at all.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Its journal does not make sense.
    #[error(transparent)]
    State(#[from] StateError),
    /// The replay itself failed.
    #[error("the replay failed: {0}")]
    Search(#[from] SearchError),
    /// The replay's journal, in memory.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// The first place where a replay departs from the journal. What comes after it follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Position in the journal; none where the journal has nothing more.
    pub seq: Option<u64>,
    /// What the journal has.
    pub recorded: Option<Value>,
    /// What was derived.
    pub derived: Option<Value>,
    /// JSON paths at which the two differ.
    pub paths: Vec<String>,
}

/// What a replay found.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Decisions that were derived again and are the same.
    pub same: usize,
    /// Decisions in the journal that a replay can derive.
    pub decisions: usize,
    /// Decisions from where the wall-clock budget ended something: nobody can derive what a clock said, nor what came of
    /// it, so these were not looked at.
    pub by_the_clock: usize,
    /// Questions to models that this program words differently from the one that recorded them, by template; their
    /// recorded answers were taken.
    pub reworded: Vec<String>,
    /// The first difference.
    pub difference: Option<Difference>,
}

/// Replays a run, up to where the wall-clock budget ended something. `planner` and `coder` derive their answers again too (built-in ones, or models on a recorded
/// transcript); where there is none, the recorded answers are taken as they are.
pub fn replay(
    events: &[Recorded],
    planner: Option<&dyn Planner>,
    coder: Option<&dyn Coder>,
) -> Result<Replayed, ReplayError> {
    replay_into(Journal::in_memory()?, events, planner, coder)
}

/// [`replay`] that writes into `journal`, which is empty: all that the engine did in the run, and nothing else.
pub fn replay_into(
    journal: Journal,
    events: &[Recorded],
    planner: Option<&dyn Planner>,
    coder: Option<&dyn Coder>,
) -> Result<Replayed, ReplayError> {
    let state = RunState::fold(events)?;
    let clock = events.iter().position(|e| is_by_the_clock(&e.event));
    let (derivable, beyond) = events.split_at(clock.unwrap_or(events.len()));
    let by_the_clock = beyond.iter().filter(|e| e.event.is_decision()).count();
    let recorded: Vec<&Recorded> = derivable.iter().filter(|e| is_derivable(&e.event)).collect();
    let cancel = Cancel::default();
    let tape = Tape::default();
    let past = Past::new(events, &state);
    let reworded = Mutex::default();
    let planner = planner.map(|role| Rehearsal { role, past: &past, reworded: &reworded });
    let coder = coder.map(|role| Rehearsal { role, past: &past, reworded: &reworded });
    let players = Players {
        planner: planner.as_ref().map_or(&past, |r| r as &dyn Planner),
        coder: coder.as_ref().map_or(&past, |r| r as &dyn Coder),
        evaluator: &past,
        observer: &tape,
        cancel: &cancel,
    };
    run(&players, derivable, &state, journal)?;
    let derived = tape.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    // A run that was cut off says nothing about what would have come next.
    let cut = state.finished.is_none() || clock.is_some();
    let reworded = reworded.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(Replayed { by_the_clock, reworded, ..compare(&recorded, &derived, cut) })
}

/// Runs the engine over the recorded past, session by session where one was concluded.
fn run(players: &Players<'_>, events: &[Recorded], state: &RunState, mut journal: Journal) -> Result<(), ReplayError> {
    let mut sessions = sessions(events).into_iter();
    let Some(first) = sessions.next() else { return Ok(()) };
    let Some(Event::Started { premises, .. }) = events.first().map(|e| &e.event) else { return Ok(()) };
    let naive = premises.naive.as_ref().and_then(|id| state.candidates.get(id));
    let naive: Option<(Candidate, Option<Plan>)> = naive.map(|r| (r.candidate.clone(), r.plan.clone()));
    let given = premises.given.as_ref().and_then(|id| state.candidates.get(id)).map(|r| r.candidate.clone());
    let premises: Premises = premises.clone();
    journal = engine::start_keeping(players, first, premises, Kernels { naive, given }, journal)?.1;
    for config in sessions {
        journal = engine::resume_keeping(players, journal, |c| *c = config)?.1;
    }
    Ok(())
}

/// The settings of each stretch that ended with a conclusion, and of the rest: a session that was cut off or
/// interrupted leaves no trace in what follows.
fn sessions(events: &[Recorded]) -> Vec<SearchConfig> {
    let mut sessions = Vec::new();
    let mut current: Option<SearchConfig> = None;
    let mut ended = false;
    for recorded in events {
        match &recorded.event {
            Event::Started { config, .. } => current = Some(untimed(config)),
            Event::Resumed { config } => {
                if ended {
                    sessions.extend(current.take());
                }
                ended = false;
                current = Some(untimed(config));
            }
            Event::Finished { .. } => ended = true,
            _ => {}
        }
    }
    sessions.extend(current);
    sessions
}

/// Time passes differently in a replay.
fn untimed(config: &SearchConfig) -> SearchConfig {
    let mut config = config.clone();
    config.budget.wall_s = None;
    config
}

/// Does this event follow from the recorded past alone? Clocks, users and failing machines stop runs too.
fn is_derivable(event: &Event) -> bool {
    match event {
        Event::Stopped { reason } => !matches!(
            reason,
            Stop::WallTime | Stop::Interrupted | Stop::Infrastructure { .. } | Stop::RoleUnavailable { .. }
        ),
        Event::Started { .. } => false,
        event => event.is_decision(),
    }
}

/// Did the wall-clock budget decide this?
fn is_by_the_clock(event: &Event) -> bool {
    match event {
        Event::Stopped { reason } => *reason == Stop::WallTime,
        Event::Closed { report, .. } => report.ended == CycleEnd::WallTime,
        _ => false,
    }
}

fn compare(recorded: &[&Recorded], derived: &[Event], cut: bool) -> Replayed {
    let value = |e: &Event| serde_json::to_value(e).unwrap_or(Value::Null);
    let replayed =
        |same| Replayed { same, decisions: recorded.len(), by_the_clock: 0, reworded: Vec::new(), difference: None };
    let mut same = 0;
    for index in 0..recorded.len().max(derived.len()) {
        let (was, now) = (recorded.get(index), derived.get(index));
        if was.is_some_and(|w| Some(&w.event) == now) {
            same += 1;
            continue;
        }
        if was.is_none() && cut {
            break;
        }
        let (was_value, now_value) = (was.map(|w| value(&w.event)), now.map(value));
        let mut paths = Vec::new();
        if let (Some(a), Some(b)) = (&was_value, &now_value) {
            differing(a, b, "", &mut paths);
        }
        let difference = Difference { seq: was.map(|w| w.seq), recorded: was_value, derived: now_value, paths };
        return Replayed { difference: Some(difference), ..replayed(same) };
    }
    replayed(same)
}

fn differing(a: &Value, b: &Value, path: &str, paths: &mut Vec<String>) {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let keys: std::collections::BTreeSet<&String> = x.keys().chain(y.keys()).collect();
            for key in keys {
                let null = &Value::Null;
                differing(x.get(key).unwrap_or(null), y.get(key).unwrap_or(null), &format!("{path}/{key}"), paths);
            }
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            for (index, (p, q)) in x.iter().zip(y).enumerate() {
                differing(p, q, &format!("{path}/{index}"), paths);
            }
        }
        _ if a != b => paths.push(path.to_owned()),
        _ => {}
    }
}

/// Collects derivable decisions.
#[derive(Default)]
struct Tape(Mutex<Vec<Event>>);

impl Observer for Tape {
    fn recorded(&self, event: &Recorded, _state: &RunState) {
        if is_derivable(&event.event) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event.event.clone());
        }
    }
}

type Answered = (CodeResult, Vec<Exchange>);
type Proposed = (PlanResult, Vec<Exchange>);

/// What is recorded, in the roles of planner, coder and evaluator. Asked for more, it ends the replay.
struct Past<'a> {
    plans: Mutex<VecDeque<Proposed>>,
    answers: HashMap<(u32, u32, u32), Answered>,
    verdicts: HashMap<VerdictKey, Verdict>,
    candidates: &'a HashMap<ksearch_task::CandidateId, std::sync::Arc<CandidateRecord>>,
    planner: String,
    coder: String,
}

impl<'a> Past<'a> {
    fn new(events: &[Recorded], state: &'a RunState) -> Self {
        let mut past = Self {
            plans: Mutex::new(VecDeque::new()),
            answers: HashMap::new(),
            verdicts: HashMap::new(),
            candidates: &state.candidates,
            planner: state.config.planner.clone(),
            coder: state.config.coder.clone(),
        };
        let mut plans = VecDeque::new();
        for recorded in events {
            match recorded.event.clone() {
                Event::Planned { result, exchanges, by, .. } => {
                    past.planner.clone_from(&by);
                    plans.push_back((result, exchanges));
                }
                Event::Coded { cycle, attempt, repair, result, exchanges, by, .. } => {
                    past.coder.clone_from(&by);
                    past.answers.insert((cycle, attempt, repair), (result, exchanges));
                }
                Event::Judged { candidate, stage, seed, verdict, .. } => {
                    past.verdicts.insert((candidate, stage, seed), verdict);
                }
                _ => {}
            }
        }
        past.plans = Mutex::new(plans);
        past
    }
}

/// Ends the work that asks; other work that is under way may have more on record.
fn over() -> RoleError {
    RoleError::new(RoleErrorKind::Cancelled, "nothing more is recorded")
}

fn failed(failure: RoleFailure, exchanges: Vec<Exchange>) -> RoleError {
    RoleError { kind: failure.kind, message: failure.message, exchanges }
}

impl Planner for Past<'_> {
    fn name(&self) -> String {
        self.planner.clone()
    }

    fn plan(&self, _request: &PlanRequest<'_>) -> Result<PlanAnswer, RoleError> {
        let next = self.plans.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match next {
            Some((PlanResult::Script { script }, exchanges)) => Ok(PlanAnswer { script, exchanges }),
            Some((PlanResult::Failed(failure), exchanges)) => Err(failed(failure, exchanges)),
            None => Err(over()),
        }
    }
}

impl Coder for Past<'_> {
    fn name(&self) -> String {
        self.coder.clone()
    }

    fn write(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError> {
        let key = (request.cycle, request.attempt, request.repair);
        match self.answers.get(&key).cloned() {
            Some((CodeResult::Candidate { id, notes }, exchanges)) => match self.candidates.get(&id) {
                Some(record) => Ok(CodeAnswer::Candidate {
                    candidate: Box::new(record.candidate.clone()),
                    plan: record.plan.clone(),
                    notes,
                    exchanges,
                }),
                None => Err(over()),
            },
            Some((CodeResult::Nothing { why }, exchanges)) => Ok(CodeAnswer::Nothing { why, exchanges }),
            Some((CodeResult::Failed(failure), exchanges)) => Err(failed(failure, exchanges)),
            None => Err(over()),
        }
    }
}

/// A role that derives its answers again under the name it had. A question that the transcript does not know, because
/// prompts or task are worded differently now, gets the answer it was given then; the answer is still parsed and
/// applied anew by everything behind it.
struct Rehearsal<'a, R: ?Sized> {
    role: &'a R,
    past: &'a Past<'a>,
    reworded: &'a Mutex<Vec<String>>,
}

impl<R: ?Sized> Rehearsal<'_, R> {
    /// Was the question not in the transcript?
    fn is_reworded(&self, error: &RoleError) -> bool {
        let last = error.exchanges.last();
        let unknown = last.filter(|e| e.error.as_ref().is_some_and(|e| e.kind == CallErrorKind::NotRecorded));
        if let Some(exchange) = unknown {
            self.reworded.lock().unwrap_or_else(PoisonError::into_inner).push(exchange.template.clone());
        }
        unknown.is_some()
    }
}

impl Planner for Rehearsal<'_, dyn Planner + '_> {
    fn name(&self) -> String {
        Planner::name(self.past)
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<PlanAnswer, RoleError> {
        let recorded = self.past.plan(request);
        match self.role.plan(request) {
            Err(error) if self.is_reworded(&error) => recorded,
            answer => answer,
        }
    }
}

impl Coder for Rehearsal<'_, dyn Coder + '_> {
    fn name(&self) -> String {
        Coder::name(self.past)
    }

    fn write(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError> {
        match self.role.write(request) {
            Err(error) if self.is_reworded(&error) => self.past.write(request),
            answer => answer,
        }
    }
}

impl Evaluator for Past<'_> {
    fn check(&self, candidate: &Candidate) -> Option<Verdict> {
        let id = candidate.id();
        self.verdicts.iter().find(|((c, stage, _), _)| *c == id && *stage == Stage::Check).map(|(_, v)| v.clone())
    }

    fn judge(&self, candidate: &Candidate, stage: Stage, seed: u64) -> Verdict {
        let id = candidate.id();
        if let Some(verdict) = self.verdicts.get(&(id.clone(), stage, seed)) {
            return verdict.clone();
        }
        Verdict {
            candidate: id,
            task: String::new(),
            target: String::new(),
            seed,
            status: Status::InfrastructureError,
            summary: "nothing more is recorded".to_owned(),
            advice: String::new(),
            fault: None,
            workloads: Vec::new(),
            time: None,
            profile: None,
            evidence: Vec::new(),
            diagnostics: Vec::new(),
            wall_s: 0.0,
        }
    }

    fn lanes(&self) -> usize {
        usize::MAX
    }
}
