//! The loop. It looks at the state, takes the next step, records what came of it, and looks again; it keeps nothing
//! beside the state, so that a run that was cut off anywhere goes on from its journal. Actions in work run on threads
//! of their own and are closed in the order in which they began, which keeps the sequence of decisions independent of
//! timing. Must not present anything.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use ksearch_judge::Status;
use ksearch_task::{Candidate, CandidateId};
use ksearch_world::{Edit, EditLimits, EditScript, Failure, NodeId, Outcome, Patch, PolicyConfig, WorldEvent, policy};

use crate::config::SearchConfig;
use crate::cycle;
use crate::evaluate::{Evaluator, Stage};
use crate::journal::{Journal, JournalError};
use crate::noise::{is_faster, is_same};
use crate::record::{Content, CycleEnd, CycleReport, Event, Finalist, PlanResult, Premises, RoleFailure, Stop};
use crate::recorder::{Abort, Activity, Observer, Recorder};
use crate::roles::{Cancel, Coder, PlanPurpose, PlanRequest, Planner, RoleErrorKind};
use crate::state::{OpenCycle, RunState, StateError, draw};
use crate::strategy::Plan;

/// Failures of a role's provider in a row after which the run stops.
const UNAVAILABLE_LIMIT: u32 = 3;
/// Requests for more actions in a row without any after which the run is exhausted.
const BARREN_LIMIT: u32 = 2;
/// After so long without anything happening, observers are told what is waited for.
const QUIET: Duration = if cfg!(test) { Duration::from_millis(40) } else { Duration::from_secs(30) };
/// Who is named as the author of the user's kernel and its action.
const GIVEN: &str = "given";
/// The frontier is thin below this.
const THIN: usize = 3;

/// Who takes part in a run.
pub struct Players<'a> {
    /// Chooses and rates actions.
    pub planner: &'a dyn Planner,
    /// Writes candidates.
    pub coder: &'a dyn Coder,
    /// Judges them.
    pub evaluator: &'a dyn Evaluator,
    /// Follows the run.
    pub observer: &'a dyn Observer,
    /// Ends it early.
    pub cancel: &'a Cancel,
}

/// Why a run could not go on. Everything that was reported is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The journal could not be written or read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal does not make sense.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Starts a run in an empty journal and works until it is done or stopped. The state tells how it ended.
pub fn start(
    players: &Players<'_>,
    config: SearchConfig,
    premises: Premises,
    kernels: impl Into<Kernels>,
    journal: Journal,
) -> Result<RunState, SearchError> {
    Ok(start_keeping(players, config, premises, kernels.into(), journal)?.0)
}

/// The kernels a run begins with.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    /// The one that speedups refer to, the root of the tree, with its plan where a generator rendered it. Without it the
    /// first candidates are written from the specification.
    pub naive: Option<(Candidate, Option<Plan>)>,
    /// One of the user's, to go on from.
    pub given: Option<Candidate>,
}

impl From<Option<(Candidate, Option<Plan>)>> for Kernels {
    fn from(naive: Option<(Candidate, Option<Plan>)>) -> Self {
        Self { naive, given: None }
    }
}

/// [`start`] that gives the journal back.
pub(crate) fn start_keeping(
    players: &Players<'_>,
    config: SearchConfig,
    mut premises: Premises,
    Kernels { naive, given }: Kernels,
    mut journal: Journal,
) -> Result<(RunState, Journal), SearchError> {
    premises.naive = naive.as_ref().map(|(c, _)| c.id());
    premises.given = given.as_ref().map(Candidate::id).filter(|g| Some(g) != premises.naive.as_ref());
    let mut events = vec![Event::Started { config, premises }];
    let naive = naive.map(|(candidate, plan)| (candidate, plan, "naive"));
    for (candidate, plan, by) in naive.into_iter().chain(given.map(|c| (c, None, GIVEN))) {
        events.push(Event::Candidate {
            id: candidate.id(),
            content: Content::Whole { candidate: Box::new(candidate) },
            plan,
            parent: None,
            by: by.to_owned(),
            cycle: 0,
        });
    }
    let recorded = journal.append(events)?;
    let state = RunState::fold(&recorded)?;
    for event in &recorded {
        players.observer.recorded(event, &state);
    }
    drive(players, journal, state)
}

/// Goes on with a run. `change` may widen the budget; the other settings stay unless it changes them.
pub fn resume(
    players: &Players<'_>,
    journal: Journal,
    change: impl FnOnce(&mut SearchConfig),
) -> Result<RunState, SearchError> {
    Ok(resume_keeping(players, journal, change)?.0)
}

/// [`resume`] that gives the journal back.
pub(crate) fn resume_keeping(
    players: &Players<'_>,
    mut journal: Journal,
    change: impl FnOnce(&mut SearchConfig),
) -> Result<(RunState, Journal), SearchError> {
    let mut state = RunState::fold(&journal.events()?)?;
    let mut config = state.config.clone();
    change(&mut config);
    for event in journal.append(vec![Event::Resumed { config }])? {
        state.apply(&event)?;
        players.observer.recorded(&event, &state);
    }
    drive(players, journal, state)
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Seed(CandidateId),
    Give(CandidateId),
    Plan(PlanPurpose),
    Begin { allowance: u32 },
    Close(u32),
    Stop(Stop),
    Conclude,
    Leave,
}

/// The next step hangs on the state and the clock alone.
fn next(state: &RunState, elapsed_s: f64) -> Step {
    if state.finished.is_some() || state.stop.as_ref().is_some_and(Stop::is_premature) {
        return Step::Leave;
    }
    if state.unavailable >= UNAVAILABLE_LIMIT {
        let message = format!(
            "a model could not be asked, {} times in a row; the last time: {}",
            state.unavailable, state.unavailable_why
        );
        return Step::Stop(Stop::RoleUnavailable { message });
    }
    if let Some(naive) = &state.premises.naive
        && state.world.root().outcome().is_none()
    {
        return Step::Seed(naive.clone());
    }
    if let Some(given) = &state.premises.given
        && !state.world.nodes().any(|n| n.by == GIVEN)
    {
        return Step::Give(given.clone());
    }
    let oldest = state.open.keys().next().copied();
    if state.stop.is_some() {
        return oldest.map_or(Step::Conclude, Step::Close);
    }
    // Lessons that nobody can use any more are not worth a model's time; a resume with more budget asks for them.
    let over = reached(state, elapsed_s);
    let wasted = over.is_some() && state.config.rules >= 2;
    if let Some(due) = state.due.as_ref().filter(|_| !wasted) {
        return Step::Plan(due.clone());
    }
    if let Some(reason) = over {
        return Step::Stop(reason);
    }
    if state.open.len() >= state.config.parallel.max(1) as usize {
        return oldest.map_or(Step::Conclude, Step::Close);
    }
    let left = state.config.budget.evaluations.saturating_sub(state.evaluations + state.reserved());
    if left == 0 {
        return oldest.map_or(Step::Stop(Stop::Evaluations), Step::Close);
    }
    let frontier = state.world.frontier().count();
    let best_has_child =
        state.world.best().is_none_or(|b| state.world.children(b.id).any(|c| state.world.on_frontier(c)));
    // Asked a moment ago and nothing tried since: it would say the same.
    let news = state.asked_at != Some(state.closed.len());
    if (frontier < THIN || !best_has_child) && news && state.barren == 0 && state.open.is_empty() {
        return Step::Plan(PlanPurpose::Propose);
    }
    if frontier > 0 {
        // Sweeps judge in full too; one action in work cannot use up more than its attempts and their sweeps.
        let most = state.config.attempts.max(1) * (1 + state.config.sweep.full);
        return Step::Begin { allowance: left.min(most) };
    }
    if let Some(oldest) = oldest {
        return Step::Close(oldest);
    }
    if state.barren < BARREN_LIMIT { Step::Plan(PlanPurpose::Propose) } else { Step::Stop(Stop::Exhausted) }
}

/// A goal or a budget that is reached.
fn reached(state: &RunState, elapsed_s: f64) -> Option<Stop> {
    let budget = &state.config.budget;
    let best = state.best().map(|b| b.time.value);
    if let (Some(goal), Some(best), Some(baseline)) = (budget.target_ratio, best, &state.premises.baseline) {
        let ratio = baseline.time.value / best;
        if ratio >= goal {
            return Some(Stop::TargetRatio { ratio });
        }
    }
    if let (Some(goal), Some(best), Some(floor)) = (budget.floor_fraction, best, &state.premises.floor) {
        let fraction = floor.value / best;
        if fraction >= goal {
            return Some(Stop::Floor { fraction });
        }
    }
    if budget.wall_s.is_some_and(|most| elapsed_s >= most) {
        return Some(Stop::WallTime);
    }
    let (usd, tokens_in, tokens_out) = state.cost();
    if budget.tokens.is_some_and(|most| tokens_in + tokens_out >= most) {
        return Some(Stop::Tokens);
    }
    if budget.usd.is_some_and(|most| usd >= most) {
        return Some(Stop::Money);
    }
    let since = state.evaluations - state.best().map_or(0, |b| b.evaluations.min(state.evaluations));
    if budget.plateau.is_some_and(|most| since >= most) {
        return Some(Stop::Plateau { evaluations: since });
    }
    (state.evaluations >= budget.evaluations).then_some(Stop::Evaluations)
}

/// Sets a flag when it goes out of scope.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn drive(players: &Players<'_>, journal: Journal, state: RunState) -> Result<(RunState, Journal), SearchError> {
    let began = Instant::now();
    let before = state.elapsed_s;
    let recorder = Recorder::new(journal, state, players.observer, players.evaluator, players.cancel);
    let over = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        scope.spawn(|| recorder.watch(QUIET, &over));
        // Ends the watch however this closure is left.
        let _end = End(&over);
        let mut flights: BTreeMap<u32, Receiver<Result<CycleReport, Abort>>> = BTreeMap::new();
        loop {
            if players.cancel.is_cancelled() {
                return Err(Abort::Cancelled);
            }
            // Work that is open and not under way: just begun, or cut off in an earlier session.
            let waiting: Vec<_> =
                recorder.look(|s| s.open.values().filter(|c| !flights.contains_key(&c.cycle)).cloned().collect());
            for open in waiting {
                let (report, receiver) = channel();
                let limit = recorder.look(|s| s.config.budget.wall_s);
                let deadline = limit.map(|s| began + Duration::try_from_secs_f64(s - before).unwrap_or_default());
                flights.insert(open.cycle, receiver);
                let (recorder, coder) = (&recorder, players.coder);
                scope.spawn(move || {
                    // The receiver is gone only when the run is being left.
                    let _ = report.send(cycle::run(recorder, coder, &open, deadline));
                });
            }
            let elapsed = before + began.elapsed().as_secs_f64();
            match recorder.look(|s| next(s, elapsed)) {
                Step::Leave => return Ok(()),
                Step::Stop(reason) => recorder.record(vec![Event::Stopped { reason }])?,
                Step::Seed(naive) => seed(&recorder, &naive)?,
                Step::Give(given) => give(&recorder, &given)?,
                Step::Plan(purpose) => plan(&recorder, players.planner, &purpose)?,
                Step::Begin { allowance } => begin(&recorder, allowance)?,
                Step::Close(cycle) => {
                    let report = match flights.remove(&cycle).map(|f| f.recv()) {
                        Some(Ok(report)) => report?,
                        _ => return Err(Abort::Infrastructure("a worker thread of the search ended early".to_owned())),
                    };
                    close(&recorder, cycle, report)?;
                }
                Step::Conclude => conclude(&recorder)?,
            }
        }
    });
    match result {
        Ok(()) => {}
        Err(abort) => {
            // Whoever still works stops at the next opportunity; what is recorded meanwhile is used by a resume.
            players.cancel.cancel();
            let reason = match abort {
                Abort::Cancelled => Stop::Interrupted,
                Abort::Infrastructure(message) => Stop::Infrastructure { message },
                Abort::Journal(e) => return Err(e.into()),
                Abort::State(e) => return Err(e.into()),
            };
            recorder.record(vec![Event::Stopped { reason }]).map_err(|e| match e {
                Abort::State(e) => SearchError::State(e),
                Abort::Journal(e) => SearchError::Journal(e),
                Abort::Cancelled | Abort::Infrastructure(_) => SearchError::State(StateError::NoStart),
            })?;
        }
    }
    Ok(recorder.finish())
}

/// Judges a candidate the search starts from; a failure ends the run.
fn first(recorder: &Recorder<'_>, id: &CandidateId) -> Result<Result<Outcome, Stop>, Abort> {
    let Some(record) = recorder.look(|s| s.candidates.get(id).cloned()) else {
        return Err(Abort::Infrastructure(format!("candidate {id} is missing from the journal")));
    };
    let verdict = match recorder.check(0, id, &record.candidate)? {
        Some(refused) => refused,
        None => recorder.judge(0, id, &record.candidate, Stage::Full)?,
    };
    Ok(match (verdict.status, verdict.time) {
        (Status::Passed, Some(time)) => {
            let bottleneck = verdict.profile.map(|p| p.bottleneck);
            Ok(Outcome { candidate: id.clone(), time, gain: None, applied: None, bottleneck, within_noise: false })
        }
        (status, _) => {
            let summary = format!("{status}: {} {}", verdict.summary, verdict.advice).trim().to_owned();
            Err(Stop::NaiveFailed { summary })
        }
    })
}

/// Judges the candidate that is the root.
fn seed(recorder: &Recorder<'_>, id: &CandidateId) -> Result<(), Abort> {
    recorder.record(vec![match first(recorder, id)? {
        Ok(outcome) => Event::Tree { change: WorldEvent::Seeded { outcome } },
        Err(reason) => Event::Stopped { reason },
    }])
}

/// Judges the user's own kernel and attaches it as a solved action under the root.
fn give(recorder: &Recorder<'_>, id: &CandidateId) -> Result<(), Abort> {
    let mut outcome = match first(recorder, id)? {
        Ok(outcome) => outcome,
        Err(reason) => return recorder.record(vec![Event::Stopped { reason }]),
    };
    let events = recorder.look(|s| {
        let patch = Patch {
            title: Some("The kernel that was given".to_owned()),
            description: Some("A kernel of the user's, to go on from.".to_owned()),
            rating: Some(5.0),
            confidence: Some(0.5),
            ..Patch::default()
        };
        let insert =
            Edit::Insert { parent: NodeId::ROOT.into(), node: ksearch_world::edit::NewNode { id: None, patch } };
        let script = EditScript { ops: vec![insert], ..EditScript::default() };
        let change = WorldEvent::Edited { by: GIVEN.to_owned(), script, limits: EditLimits::default() };
        let node = *s.world.clone().apply(&change).ok()?.created.first()?;
        let (time, min_gain) = (outcome.time.clone(), s.config.min_gain);
        outcome.gain = s.naive_time().map(|naive| naive / time.value);
        outcome.within_noise = s.world.root().outcome().is_some_and(|o| is_same(&time, &o.time, min_gain));
        let better = s.best().is_none_or(|b| is_faster(&time, &b.time, min_gain));
        let best =
            Event::Best { node, candidate: id.clone(), time, speedup: outcome.gain, bottleneck: outcome.bottleneck };
        let changes = [change, WorldEvent::Started { node }, WorldEvent::Solved { node, outcome }];
        let events = changes.into_iter().map(|change| Event::Tree { change });
        Some(events.chain(better.then_some(best)).collect())
    });
    match events {
        Some(events) => recorder.record(events),
        None => Err(Abort::Infrastructure("the tree does not take the kernel that was given".to_owned())),
    }
}

/// Asks the planner, again where its edit is refused, and settles what came of it.
fn plan(recorder: &Recorder<'_>, planner: &dyn Planner, purpose: &PlanPurpose) -> Result<(), Abort> {
    let (call, limits, replans) = recorder.look(|s| (s.calls, s.config.edits, s.config.replans));
    let mut refusals = Vec::new();
    let mut failure = None;
    for retry in 0..=replans {
        let script = match ask(recorder, planner, purpose, (call, retry), &refusals)? {
            PlanResult::Script { script } => script,
            PlanResult::Failed(f) => {
                failure = Some(f);
                break;
            }
        };
        let by = planner.name();
        match recorder.look(|s| s.world.clone().edit(&by, &script, &limits)) {
            Ok(applied) => {
                let mut events = Vec::new();
                if !script.is_empty() {
                    events.push(Event::Tree { change: WorldEvent::Edited { by, script, limits } });
                }
                events.push(Event::Settled {
                    call,
                    request: purpose.clone(),
                    created: applied.created,
                    refusals: Vec::new(),
                    failure: None,
                });
                return recorder.record(events);
            }
            Err(reasons) => refusals = reasons,
        }
    }
    let mut events = Vec::new();
    let mut created = Vec::new();
    // A planner that fails at the very start must not end the run: the coder can do something without it.
    let reachable = failure.as_ref().is_none_or(|f| f.kind != RoleErrorKind::Unavailable);
    if *purpose == PlanPurpose::Initialise && reachable {
        let change = WorldEvent::Edited { by: "engine".to_owned(), script: fallback(), limits };
        created = recorder.look(|s| s.world.clone().apply(&change)).map(|a| a.created).unwrap_or_default();
        events.push(Event::Tree { change });
    }
    events.push(Event::Settled { call, request: purpose.clone(), created, refusals, failure });
    recorder.record(events)
}

/// The one action of a tree whose planner gave none.
fn fallback() -> EditScript {
    let patch = Patch {
        title: Some("Make it faster".to_owned()),
        description: Some(
            "Attack whatever bounds the kernel according to its profile, one change at a time.".to_owned(),
        ),
        rationale: Some("The planner gave no usable first action.".to_owned()),
        rating: Some(5.0),
        confidence: Some(0.1),
        ..Patch::default()
    };
    let node = ksearch_world::edit::NewNode { id: None, patch };
    EditScript { ops: vec![Edit::Insert { parent: NodeId::ROOT.into(), node }], ..EditScript::default() }
}

/// One answer of the planner: the recorded one if there is one, else a fresh one, recorded before it is used.
fn ask(
    recorder: &Recorder<'_>,
    planner: &dyn Planner,
    purpose: &PlanPurpose,
    (call, retry): (u32, u32),
    refusals: &[ksearch_world::Refusal],
) -> Result<PlanResult, Abort> {
    if let Some(known) = recorder.look(|s| s.plans.get(&(call, retry)).cloned()) {
        return Ok(known);
    }
    recorder.activity(&Activity::Planning { purpose: purpose.name() });
    let state = recorder.snapshot();
    let began = Instant::now();
    let answer = planner.plan(&PlanRequest {
        purpose,
        state: &state,
        limits: &state.config.edits,
        refusals,
        cancel: recorder.cancel(),
    });
    let (result, exchanges) = match answer {
        Ok(answer) => (PlanResult::Script { script: answer.script }, answer.exchanges),
        Err(e) if e.kind == RoleErrorKind::Cancelled => return Err(Abort::Cancelled),
        Err(e) => (PlanResult::Failed(RoleFailure { kind: e.kind, message: e.message }), e.exchanges),
    };
    recorder.record(vec![Event::Planned {
        call,
        retry,
        request: purpose.clone(),
        by: planner.name(),
        seconds: began.elapsed().as_secs_f64(),
        result: result.clone(),
        exchanges,
    }])?;
    Ok(result)
}

/// Chooses an action and begins work on it.
fn begin(recorder: &Recorder<'_>, allowance: u32) -> Result<(), Abort> {
    let chosen = recorder.look(|s| {
        let config: &PolicyConfig = &s.config.policy;
        let selection = policy::select(&s.world, config, draw(s.config.seed, "select", &s.next_cycle.to_string()))?;
        let parent = s.world.get(selection.node)?.parent?;
        let base = s.world.get(parent)?.outcome().map(|o| o.candidate.clone());
        Some((s.next_cycle, selection, base))
    });
    let Some((cycle, selection, base)) = chosen else {
        return Err(Abort::Infrastructure("the frontier emptied between two looks at it".to_owned()));
    };
    recorder.record(vec![
        Event::Tree { change: WorldEvent::Started { node: selection.node } },
        Event::Selected { cycle, selection, base, allowance },
    ])
}

/// Attaches what came of the work on an action, or books its failure.
fn close(recorder: &Recorder<'_>, cycle: u32, report: CycleReport) -> Result<(), Abort> {
    let events = recorder.look(|s| {
        let open: &OpenCycle = s.open.get(&cycle)?;
        Some(closing_events(s, open, report))
    });
    match events {
        Some(events) => recorder.record(events),
        None => Err(Abort::Infrastructure(format!("work {cycle} is not open"))),
    }
}

fn closing_events(state: &RunState, open: &OpenCycle, report: CycleReport) -> Vec<Event> {
    let node = open.node;
    let min_gain = state.config.min_gain;
    let parent = open.base.as_ref().and_then(|b| state.full_verdict(b)).and_then(|v| v.time.clone());
    let measured = report.best.as_ref().and_then(|b| Some((b, state.full_verdict(b)?)));
    let mut after = Vec::new();
    if let Some((candidate, verdict)) = measured
        && let Some(time) = &verdict.time
    {
        let bottleneck = verdict.profile.as_ref().map(|p| p.bottleneck);
        let first = report.attempts.iter().find_map(|a| a.time.as_ref().filter(|_| a.improved));
        let further = state.config.rules >= 2 && first.is_some_and(|f| f.value != time.value);
        let applied = parent.as_ref().zip(first.filter(|_| further)).map(|(p, f)| p.value / f.value);
        let outcome = Outcome {
            candidate: candidate.clone(),
            time: time.clone(),
            gain: parent.as_ref().map(|p| p.value / time.value),
            applied,
            bottleneck,
            within_noise: parent.as_ref().is_some_and(|p| is_same(time, p, min_gain)),
        };
        after.push(Event::Tree { change: WorldEvent::Solved { node, outcome } });
        if state.best().is_none_or(|best| is_faster(time, &best.time, min_gain)) {
            after.push(Event::Best {
                node,
                candidate: candidate.clone(),
                time: time.clone(),
                speedup: state.naive_time().map(|naive| naive / time.value),
                bottleneck,
            });
        }
    } else if matches!(report.ended, CycleEnd::Unavailable | CycleEnd::WallTime | CycleEnd::Cost) {
        after.push(Event::Tree { change: WorldEvent::Returned { node } });
    } else {
        let (status, summary, candidate) = cycle::last_failure(&report);
        let tries = state.world.get(node).map_or(0, |n| n.attempts);
        let give_up = if matches!(report.ended, CycleEnd::Inapplicable | CycleEnd::Done) || cycle::is_final(&report) {
            Some(summary.clone())
        } else if tries >= state.config.tries.max(1) {
            Some(format!("given up after {tries} tries; the last one: {summary}"))
        } else {
            None
        };
        let failure = Failure { status, summary, candidate };
        after.push(Event::Tree { change: WorldEvent::Failed { node, failure } });
        if let Some(why) = give_up {
            after.push(Event::Tree { change: WorldEvent::Abandoned { node, why } });
        }
    }
    let mut events = vec![Event::Closed { cycle: open.cycle, node, report }];
    events.extend(after);
    events
}

/// Judges the best few again with fresh inputs, then the best of those on the held-out workloads. A finalist that fails
/// there is passed over for the next; that is a gate, not a way to choose.
fn conclude(recorder: &Recorder<'_>) -> Result<(), Abort> {
    let mut finalists: Vec<Finalist> = recorder.look(|s| {
        let best = s.ranking().into_iter().take(s.config.finalists as usize);
        best.filter_map(|node| {
            let outcome = node.outcome()?;
            Some(Finalist {
                node: node.id,
                candidate: outcome.candidate.clone(),
                time: outcome.time.clone(),
                status: String::new(),
                confirmed: None,
                heldout: None,
            })
        })
        .collect()
    });
    let judge = |id: &CandidateId, stage: Stage| {
        let record = recorder.look(|s| s.candidates.get(id).cloned());
        let record = record.ok_or_else(|| Abort::Infrastructure(format!("candidate {id} is missing")))?;
        recorder.judge(0, id, &record.candidate, stage)
    };
    for finalist in &mut finalists {
        let verdict = judge(&finalist.candidate, Stage::Confirm)?;
        verdict.status.name().clone_into(&mut finalist.status);
        finalist.confirmed = verdict.time.filter(|_| verdict.status == Status::Passed);
    }
    finalists.sort_by(|a, b| {
        let time = |f: &Finalist| f.confirmed.as_ref().map_or(f64::INFINITY, |t| t.value);
        time(a).total_cmp(&time(b)).then_with(|| a.node.cmp(&b.node))
    });
    let mut winner = None;
    for (index, finalist) in finalists.iter_mut().enumerate().filter(|(_, f)| f.confirmed.is_some()) {
        let verdict = judge(&finalist.candidate, Stage::HeldOut)?;
        let total = verdict.workloads.len() as u32;
        let passed = verdict.workloads.iter().filter(|w| w.status == Status::Passed).count() as u32;
        finalist.heldout = Some((passed, total));
        if verdict.status == Status::Passed {
            winner = Some(index);
            break;
        }
    }
    recorder.record(vec![Event::Finished { finalists, winner }])
}
