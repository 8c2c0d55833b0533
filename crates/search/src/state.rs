//! State of a run: a pure fold over its events. Everything that is shown, decided or resumed comes from here.
//! Must not know a clock, a file or a role.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ksearch_judge::{Status, Verdict};
use ksearch_task::{Bottleneck, Candidate, CandidateId, Figure};
use ksearch_world::paper::ImportError;
use ksearch_world::{Errors, Node, NodeId, Selection, World, WorldError, WorldEvent};
use serde::Serialize;

use crate::config::SearchConfig;
use crate::evaluate::Stage;
use crate::record::{
    CodeResult, Content, CycleEnd, CycleReport, Event, Finalist, PlanResult, Premises, Recorded, Stop,
};
use crate::roles::{Exchange, PlanPurpose, RoleErrorKind};
use crate::strategy::Plan;

/// Why a journal cannot be folded: it is damaged, or was written by something else.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The first event is not the start of a run.
    #[error("the journal does not begin with the start of a run")]
    NoStart,
    /// An event does not fit what came before.
    #[error("event {seq} ({kind}) does not fit what came before it: {why}")]
    Misfit {
        /// Position.
        seq: u64,
        /// Kind of event.
        kind: &'static str,
        /// Reason.
        why: String,
    },
}

/// A candidate and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateRecord {
    /// Its content.
    pub candidate: Candidate,
    /// The plan it renders, if it was rendered from one.
    pub plan: Option<Plan>,
    /// What it was made from.
    pub parent: Option<CandidateId>,
    /// Who wrote it.
    pub by: String,
    /// During which work it was first written; 0 before the first.
    pub cycle: u32,
}

/// Work on an action that has begun and not ended, with the state it began in.
#[derive(Clone, Debug)]
pub struct OpenCycle {
    /// Running number.
    pub cycle: u32,
    /// The action.
    pub node: NodeId,
    /// The parent's candidate.
    pub base: Option<CandidateId>,
    /// Evaluations it may use.
    pub allowance: u32,
    /// The state right after it began, without held-out results and without other open work.
    pub snapshot: Arc<RunState>,
}

/// Work on an action that has ended.
#[derive(Clone, Debug)]
pub struct ClosedCycle {
    /// Running number.
    pub cycle: u32,
    /// The action.
    pub node: NodeId,
    /// Why it was chosen.
    pub selection: Selection,
    /// What came of it.
    pub report: CycleReport,
}

/// One improvement of the best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Improvement {
    /// Node it is attached to.
    pub node: NodeId,
    /// Which candidate.
    pub candidate: CandidateId,
    /// Its time.
    pub time: Figure,
    /// Naive time over its time.
    pub speedup: Option<f64>,
    /// What bounds it.
    pub bottleneck: Option<Bottleneck>,
    /// Evaluations used up by then.
    pub evaluations: u32,
    /// Title of the action.
    pub title: String,
}

/// What a role has used.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Ledger {
    /// Requests.
    pub calls: u32,
    /// Of which failed.
    pub failures: u32,
    /// Exchanges with a model.
    pub exchanges: u32,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
    /// US dollars, as far as prices are known.
    pub usd: f64,
    /// Exchanges whose price is not known.
    pub unpriced: u32,
    /// Seconds spent waiting for it.
    pub seconds: f64,
}

impl Ledger {
    fn add(&mut self, seconds: f64, failed: bool, exchanges: &[Exchange]) {
        self.calls += 1;
        self.failures += u32::from(failed);
        self.seconds += seconds;
        for exchange in exchanges {
            self.exchanges += 1;
            self.tokens_in += exchange.tokens_in;
            self.tokens_out += exchange.tokens_out;
            match exchange.usd {
                Some(usd) => self.usd += usd,
                None => self.unpriced += 1,
            }
        }
    }
}

/// A key under which a verdict is kept.
pub type VerdictKey = (CandidateId, Stage, u64);

/// State of a run. Large parts are shared, so that a clone is cheap and serves as a snapshot.
#[derive(Clone, Debug)]
pub struct RunState {
    /// Settings.
    pub config: SearchConfig,
    /// What was known before.
    pub premises: Premises,
    /// The tree.
    pub world: World,
    /// All candidates.
    pub candidates: HashMap<CandidateId, Arc<CandidateRecord>>,
    /// All verdicts but held-out ones.
    pub verdicts: HashMap<VerdictKey, Arc<Verdict>>,
    /// Held-out verdicts. Never given to a role.
    pub(crate) heldout: HashMap<VerdictKey, Arc<Verdict>>,
    /// Work in progress, by number.
    pub open: BTreeMap<u32, Arc<OpenCycle>>,
    /// Work done, in the order it was closed.
    pub closed: Vec<Arc<ClosedCycle>>,
    /// Number of the next work.
    pub next_cycle: u32,
    /// Coder's answers in open work, by (cycle, attempt, repair).
    pub(crate) answers: HashMap<(u32, u32, u32), CodeResult>,
    /// US dollars and tokens that open work has cost so far, by its number.
    pub(crate) spent: HashMap<u32, (f64, u64)>,
    /// Planner's answers that are not settled yet, by (call, retry).
    pub(crate) plans: HashMap<(u32, u32), PlanResult>,
    /// Settled requests to the planner.
    pub calls: u32,
    /// What the planner is to be asked next, when work ended.
    pub due: Option<PlanPurpose>,
    /// Requests for more actions in a row that gave none.
    pub barren: u32,
    /// Work that was closed when the planner was last asked for new actions.
    pub asked_at: Option<usize>,
    /// Coder or planner failures for want of a provider, in a row.
    pub unavailable: u32,
    /// What the last of them said.
    pub unavailable_why: String,
    /// Candidates judged in full within closed work.
    pub judged: HashMap<CandidateId, u32>,
    /// Evaluations used by closed work and the start.
    pub evaluations: u32,
    /// Screens used by closed work.
    pub screens: u32,
    /// Improvements, the naive kernel first.
    pub improvements: Vec<Improvement>,
    /// Planner's and coder's use.
    pub ledger: BTreeMap<String, Ledger>,
    /// Why the run stopped, if it has.
    pub stop: Option<Stop>,
    /// How it ended, if it has.
    pub finished: Option<(Vec<Finalist>, Option<usize>)>,
    /// Seconds of wall clock over all sessions, as the events tell.
    pub elapsed_s: f64,
    /// Position of the last event.
    pub seq: u64,
    session_start_ms: u64,
    earlier_s: f64,
    selections: HashMap<u32, Selection>,
    /// Stands for every snapshot where none is needed.
    shell: Option<Arc<RunState>>,
}

impl RunState {
    /// Folds a journal.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Recorded>) -> Result<Self, StateError> {
        let mut events = events.into_iter();
        let mut state = Self::begin(events.next().ok_or(StateError::NoStart)?)?;
        for event in events {
            state.apply(event)?;
        }
        Ok(state)
    }

    /// The state after the first event.
    pub fn begin(first: &Recorded) -> Result<Self, StateError> {
        let Event::Started { config, premises } = &first.event else { return Err(StateError::NoStart) };
        let mut world = match &premises.tree {
            Some(tree) => {
                let misfit =
                    |e: ImportError| StateError::Misfit { seq: first.seq, kind: "started", why: e.to_string() };
                ksearch_world::paper::import_value(tree).map_err(misfit)?.world
            }
            None => World::default(),
        };
        world.calibration.errors = if config.rules >= 3 { Errors::Relative } else { Errors::Absolute };
        let first_request =
            if world.frontier().next().is_some() { PlanPurpose::Propose } else { PlanPurpose::Initialise };
        Ok(Self {
            config: config.clone(),
            premises: premises.clone(),
            world,
            candidates: HashMap::new(),
            verdicts: HashMap::new(),
            heldout: HashMap::new(),
            open: BTreeMap::new(),
            closed: Vec::new(),
            next_cycle: 1,
            answers: HashMap::new(),
            spent: HashMap::new(),
            plans: HashMap::new(),
            calls: 0,
            due: Some(first_request),
            barren: 0,
            asked_at: None,
            unavailable: 0,
            unavailable_why: String::new(),
            judged: HashMap::new(),
            evaluations: 0,
            screens: 0,
            improvements: Vec::new(),
            ledger: BTreeMap::new(),
            stop: None,
            finished: None,
            elapsed_s: 0.0,
            seq: first.seq,
            session_start_ms: first.at_ms,
            earlier_s: 0.0,
            selections: HashMap::new(),
            shell: None,
        })
    }

    /// The state after the first event, for those who only look: work in progress shows no snapshot of the state it
    /// began in. Snapshots of a long run take most of the time of reading it.
    pub fn begin_to_show(first: &Recorded) -> Result<Self, StateError> {
        let mut state = Self::begin(first)?;
        state.shell = Some(Arc::new(state.clone()));
        Ok(state)
    }

    /// Applies the next event.
    pub fn apply(&mut self, recorded: &Recorded) -> Result<(), StateError> {
        let misfit = |why: String| StateError::Misfit { seq: recorded.seq, kind: recorded.event.kind(), why };
        self.seq = recorded.seq;
        if let Event::Resumed { .. } = recorded.event {
            self.earlier_s = self.elapsed_s;
            self.session_start_ms = recorded.at_ms;
        }
        let session = recorded.at_ms.saturating_sub(self.session_start_ms) as f64 / 1000.0;
        self.elapsed_s = self.elapsed_s.max(self.earlier_s + session);
        match &recorded.event {
            Event::Started { .. } => return Err(misfit("a run starts once".into())),
            Event::Resumed { config } => {
                self.config = config.clone();
                self.stop = None;
                self.finished = None;
                self.unavailable = 0;
                self.barren = 0;
            }
            Event::Candidate { id, content, plan, parent, by, cycle } => {
                let candidate = match content {
                    Content::Whole { candidate } => (**candidate).clone(),
                    Content::Variant { of, values } => {
                        let of = self.candidates.get(of).ok_or_else(|| misfit(format!("no candidate {of}")))?;
                        Candidate { values: values.clone(), ..of.candidate.clone() }
                    }
                };
                let record = CandidateRecord {
                    candidate,
                    plan: plan.clone(),
                    parent: parent.clone(),
                    by: by.clone(),
                    cycle: *cycle,
                };
                self.candidates.entry(id.clone()).or_insert_with(|| Arc::new(record));
            }
            Event::Coded { cycle, attempt, repair, seconds, result, exchanges, .. } => {
                let failed = matches!(result, CodeResult::Failed(_));
                self.ledger.entry("coder".into()).or_default().add(*seconds, failed, exchanges);
                self.answers.insert((*cycle, *attempt, *repair), result.clone());
                let spent = self.spent.entry(*cycle).or_default();
                for e in exchanges {
                    spent.0 += e.usd.unwrap_or(0.0);
                    spent.1 += e.tokens_in + e.tokens_out;
                }
            }
            Event::Judged { candidate, stage, seed, verdict, cycle, .. } => {
                let key = (candidate.clone(), *stage, *seed);
                if *stage == Stage::HeldOut {
                    self.heldout.insert(key, Arc::new(verdict.clone()));
                } else {
                    self.verdicts.insert(key, Arc::new(verdict.clone()));
                }
                if *cycle == 0 && *stage == Stage::Full && self.judged.insert(candidate.clone(), 0).is_none() {
                    self.evaluations += 1;
                }
            }
            Event::Planned { call, retry, seconds, result, exchanges, .. } => {
                let failed = matches!(result, PlanResult::Failed(_));
                self.ledger.entry("planner".into()).or_default().add(*seconds, failed, exchanges);
                self.plans.insert((*call, *retry), result.clone());
            }
            Event::Settled { call, request, created, failure, .. } => {
                if *call != self.calls {
                    return Err(misfit(format!("request {call} settled while {} was next", self.calls)));
                }
                self.calls += 1;
                self.plans.retain(|(c, _), _| c != call);
                self.due = None;
                if matches!(request, PlanPurpose::Initialise | PlanPurpose::Propose) {
                    self.asked_at = Some(self.closed.len());
                }
                if *request == PlanPurpose::Propose {
                    self.barren = if created.is_empty() { self.barren + 1 } else { 0 };
                }
                let away = failure.as_ref().filter(|f| f.kind == RoleErrorKind::Unavailable);
                self.count_unavailable(away.map(|f| f.message.as_str()));
            }
            Event::Tree { change } => {
                self.world.apply(change).map_err(|e: WorldError| misfit(e.to_string()))?;
                if let WorldEvent::Seeded { outcome } = change {
                    self.improve(NodeId::ROOT, &outcome.candidate, &outcome.time, outcome.bottleneck);
                }
            }
            Event::Selected { cycle, selection, base, allowance } => {
                self.next_cycle = cycle + 1;
                self.selections.insert(*cycle, selection.clone());
                let snapshot = self.shell.clone().unwrap_or_else(|| Arc::new(self.for_roles()));
                let open = OpenCycle {
                    cycle: *cycle,
                    node: selection.node,
                    base: base.clone(),
                    allowance: *allowance,
                    snapshot,
                };
                self.open.insert(*cycle, Arc::new(open));
            }
            Event::Closed { cycle, node, report } => {
                self.open.remove(cycle).ok_or_else(|| misfit(format!("work {cycle} is not open")))?;
                self.answers.retain(|(c, ..), _| c != cycle);
                self.spent.remove(cycle);
                self.evaluations += report.judged.len() as u32;
                self.screens += report.screens;
                for id in &report.judged {
                    self.judged.entry(id.clone()).or_insert(*cycle);
                }
                let selection = self.selections.remove(cycle).ok_or_else(|| misfit("it was never selected".into()))?;
                self.closed.push(Arc::new(ClosedCycle {
                    cycle: *cycle,
                    node: *node,
                    selection,
                    report: report.clone(),
                }));
                let unavailable = report.ended == CycleEnd::Unavailable;
                let last = report.attempts.last().map_or("", |a| a.summary.as_str());
                self.count_unavailable(unavailable.then_some(last));
                self.due = match &report.best {
                    Some(_) => Some(PlanPurpose::Refine { node: *node }),
                    None if unavailable || matches!(report.ended, CycleEnd::WallTime | CycleEnd::Cost) => None,
                    None => Some(PlanPurpose::Failed { node: *node }),
                };
                if report.best.is_some() {
                    self.barren = 0;
                }
            }
            Event::Best { node, candidate, time, bottleneck, .. } => {
                self.improve(*node, candidate, time, *bottleneck);
            }
            Event::Stopped { reason } => self.stop = Some(reason.clone()),
            Event::Finished { finalists, winner } => self.finished = Some((finalists.clone(), *winner)),
        }
        Ok(())
    }

    fn improve(&mut self, node: NodeId, candidate: &CandidateId, time: &Figure, bottleneck: Option<Bottleneck>) {
        let speedup = self.naive_time().map(|naive| naive / time.value);
        let title = match self.world.get(node) {
            Some(n) if n.id != NodeId::ROOT => n.title().to_owned(),
            _ => "naive".to_owned(),
        };
        self.improvements.push(Improvement {
            node,
            candidate: candidate.clone(),
            time: time.clone(),
            speedup,
            bottleneck,
            evaluations: self.evaluations,
            title,
        });
    }

    fn count_unavailable(&mut self, why: Option<&str>) {
        self.unavailable = if why.is_some() { self.unavailable + 1 } else { 0 };
        why.unwrap_or_default().clone_into(&mut self.unavailable_why);
    }

    /// A snapshot that may be shown to a role: no held-out result, no finalists, no snapshots within.
    #[must_use]
    pub fn for_roles(&self) -> Self {
        Self {
            heldout: HashMap::new(),
            open: BTreeMap::new(),
            finished: None,
            answers: HashMap::new(),
            spent: HashMap::new(),
            plans: HashMap::new(),
            ..self.clone()
        }
    }

    /// Time of the candidate the search started from.
    pub fn naive_time(&self) -> Option<f64> {
        self.world.root().time()
    }

    /// The best so far.
    pub fn best(&self) -> Option<&Improvement> {
        self.improvements.last()
    }

    /// The full verdict on a candidate.
    pub fn full_verdict(&self, id: &CandidateId) -> Option<&Arc<Verdict>> {
        self.verdicts.get(&(id.clone(), Stage::Full, self.seed_for(id, Stage::Full)))
    }

    /// The most telling verdict on a candidate: the full one, else that of a static check.
    pub fn any_verdict(&self, id: &CandidateId) -> Option<&Arc<Verdict>> {
        let check = || self.verdicts.get(&(id.clone(), Stage::Check, self.seed_for(id, Stage::Check)));
        self.full_verdict(id).or_else(check)
    }

    /// The candidate attached to a node.
    pub fn attached(&self, node: &Node) -> Option<&Arc<CandidateRecord>> {
        self.candidates.get(&node.outcome()?.candidate)
    }

    /// Seed of a candidate's inputs at a stage: fresh for each candidate and stage, the same in every session.
    pub fn seed_for(&self, id: &CandidateId, stage: Stage) -> u64 {
        draw(self.config.seed, stage.name(), &id.0)
    }

    /// Money and tokens over both roles.
    pub fn cost(&self) -> (f64, u64, u64) {
        self.ledger.values().fold((0.0, 0, 0), |sum, l| (sum.0 + l.usd, sum.1 + l.tokens_in, sum.2 + l.tokens_out))
    }

    /// Evaluations that open work may still use.
    pub fn reserved(&self) -> u32 {
        self.open.values().map(|c| c.allowance).sum()
    }

    /// Passing candidates attached to nodes, fastest first, each once.
    pub fn ranking(&self) -> Vec<&Node> {
        let mut solved: Vec<&Node> = self.world.nodes().filter(|n| n.outcome().is_some()).collect();
        solved.sort_by(|a, b| {
            a.time().unwrap_or(f64::INFINITY).total_cmp(&b.time().unwrap_or(f64::INFINITY)).then(a.id.cmp(&b.id))
        });
        let mut seen = std::collections::HashSet::new();
        solved.retain(|n| n.outcome().is_some_and(|o| seen.insert(o.candidate.clone())));
        solved
    }
}

/// A random number that hangs only on what it is for, so that no generator state has to be kept.
pub fn draw(seed: u64, purpose: &str, key: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(&(purpose.len() as u64).to_le_bytes());
    hasher.update(purpose.as_bytes());
    hasher.update(key.as_bytes());
    let hash = hasher.finalize();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}

/// Did this verdict cost an evaluation? What the front end or the chip's limits refuse does not.
pub fn is_evaluation(verdict: &Verdict) -> bool {
    !matches!(verdict.status, Status::CompileError | Status::LaunchError | Status::InfrastructureError)
}
