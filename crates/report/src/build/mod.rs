//! Builds what is shown from a run's journal. Must not know how it is drawn; derives, and decides nothing.

mod detail;
mod proof;
mod source;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use ksearch_judge::Verdict;
use ksearch_search::record::Event;
use ksearch_search::state::RunState;
use ksearch_search::store::JOURNAL;
use ksearch_search::view::{RunView, ViewError, best};
use ksearch_search::{Journal, Recorded, Stage};
use ksearch_task::{CandidateId, Figure, FigureKind};
use ksearch_world::{Node, NodeId};

use crate::model::{
    Ablation, Best, Headline, LineCosts, Named, Record, Report, Reproduce, RoleUse, Roofline, RunFacts, SCHEMA, Shown,
    Split, Standing, Step, TreeNode, Trial,
};
use crate::text;

pub use detail::{candidate_text, unified};

/// A run that was read whole: the folded state, and what of its events the state does not keep.
pub struct Loaded {
    /// The view.
    pub view: RunView,
    /// First full judgement of each candidate: milliseconds, candidate, work.
    judged: Vec<(u64, CandidateId, u32)>,
    seen: HashSet<CandidateId>,
    /// Judgements after the search: fresh inputs and held-out.
    pub(crate) late: Vec<(Stage, Verdict)>,
    /// Exchanges with models: work or node, purpose, what was said.
    pub(crate) exchanges: Vec<Said>,
    /// What each line of the best kernel costs, or why that is not known.
    pub line_costs: Shown<LineCosts>,
    /// Last coder's step per open work.
    steps: HashMap<u32, String>,
}

/// Exchanges of one answer.
pub(crate) struct Said {
    pub(crate) cycle: Option<u32>,
    pub(crate) node: Option<NodeId>,
    pub(crate) purpose: String,
    pub(crate) exchanges: Vec<ksearch_search::roles::Exchange>,
}

/// The ledger, where a model was asked at all.
fn ledger(ledger: &BTreeMap<String, ksearch_search::state::Ledger>) -> Vec<RoleUse> {
    if ledger.values().all(|l| l.exchanges == 0) {
        return Vec::new();
    }
    let one = |(role, l): (&String, &ksearch_search::state::Ledger)| RoleUse {
        role: text::line(role),
        requests: (l.calls, l.failures),
        exchanges: l.exchanges,
        tokens: (l.tokens_in, l.tokens_out),
        usd: (l.unpriced < l.exchanges).then_some(l.usd),
        seconds: l.seconds,
    };
    ledger.iter().map(one).collect()
}

impl Loaded {
    /// Reads the run in `folder`; it may be worked on meanwhile.
    pub fn load(folder: &Path) -> Result<Self, ViewError> {
        let path = folder.join(JOURNAL);
        let events = Journal::read(&path)?.events()?;
        let name = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Self::fold(&name, folder, &events)
    }

    /// The run of these events.
    pub fn fold(name: &str, folder: &Path, events: &[Recorded]) -> Result<Self, ViewError> {
        let wrap = |source| ViewError::State { path: folder.join(JOURNAL), source };
        let first = events.first().ok_or(ksearch_search::state::StateError::NoStart).map_err(wrap)?;
        let state = RunState::begin_to_show(first).map_err(wrap)?;
        let view = RunView {
            name: name.to_owned(),
            folder: folder.to_owned(),
            state,
            began_ms: first.at_ms,
            last_ms: first.at_ms,
        };
        let mut loaded = Self {
            view,
            judged: Vec::new(),
            seen: HashSet::new(),
            late: Vec::new(),
            exchanges: Vec::new(),
            line_costs: Shown::missing("The journal holds no profile per line."),
            steps: HashMap::new(),
        };
        loaded.apply(events.get(1..).unwrap_or_default())?;
        Ok(loaded)
    }

    /// Takes what was written since; false where there was nothing.
    pub fn refresh(&mut self) -> Result<bool, ViewError> {
        let path = self.view.folder.join(JOURNAL);
        let events = Journal::read(&path)?.events_after(self.view.state.seq)?;
        self.apply(&events)?;
        Ok(!events.is_empty())
    }

    fn apply(&mut self, events: &[Recorded]) -> Result<(), ViewError> {
        for recorded in events {
            self.view
                .state
                .apply(recorded)
                .map_err(|source| ViewError::State { path: self.view.folder.join(JOURNAL), source })?;
            self.view.last_ms = recorded.at_ms;
            match &recorded.event {
                Event::Judged { stage: Stage::Full, candidate, cycle, .. } if self.seen.insert(candidate.clone()) => {
                    self.judged.push((recorded.at_ms, candidate.clone(), *cycle));
                }
                Event::Judged { stage: stage @ (Stage::Confirm | Stage::HeldOut), verdict, .. } => {
                    self.late.push((*stage, verdict.clone()));
                }
                Event::Coded { cycle, attempt, step, exchanges, .. } => {
                    self.steps.insert(*cycle, format!("attempt {attempt}: {step}"));
                    self.say(Some(*cycle), None, format!("coder, attempt {attempt}: {step}"), exchanges);
                }
                Event::Planned { request, exchanges, .. } => {
                    use ksearch_search::PlanPurpose::{Failed, Initialise, Propose, Refine};
                    let node = match request {
                        Refine { node } | Failed { node } => *node,
                        Initialise | Propose => NodeId::ROOT,
                    };
                    self.say(None, Some(node), format!("planner: {}", request.name()), exchanges);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn say(
        &mut self,
        cycle: Option<u32>,
        node: Option<NodeId>,
        purpose: String,
        exchanges: &[ksearch_search::roles::Exchange],
    ) {
        if !exchanges.is_empty() {
            self.exchanges.push(Said { cycle, node, purpose, exchanges: exchanges.to_vec() });
        }
    }

    /// Everything that is shown of the run, but for single nodes.
    pub fn report(&self) -> Report {
        let state = &self.view.state;
        let way = self.way();
        let trials = self.trials();
        Report {
            schema: SCHEMA,
            run: self.facts(),
            headline: self.headline(),
            steps: Self::steps_to_best(&way),
            records: state
                .improvements
                .iter()
                .map(|i| Record {
                    evaluations: i.evaluations,
                    node: i.node.to_string(),
                    title: text::line(&i.title),
                    time: i.time.clone(),
                })
                .collect(),
            roofline: self.roofline(&trials),
            trials,
            tree: self.tree(&way),
            split: self.split(),
            source: source::annotate(self),
            proof: proof::proof(self),
            reproduce: self.reproduce(),
            ablation: self.ablation(),
        }
    }

    /// What `ksearch ablate` left beside the journal.
    fn ablation(&self) -> Shown<Ablation> {
        let Ok(text) = std::fs::read_to_string(self.view.folder.join(crate::ABLATION)) else {
            return Shown::missing("no ablation was run for this search");
        };
        match serde_json::from_str(&text) {
            Ok(ablation) => Shown::Known(ablation),
            Err(e) => Shown::missing(format!("{} cannot be read: {e}", crate::ABLATION)),
        }
    }

    fn facts(&self) -> RunFacts {
        let s = self.view.summary();
        let state = &self.view.state;
        let working = state.open.values().map(|open| {
            let title = state.world.get(open.node).map_or_else(|| open.node.to_string(), |n| text::line(n.title()));
            let step = self.steps.get(&open.cycle).map_or("begun", String::as_str);
            format!("{title} ({step})")
        });
        RunFacts {
            name: text::line(&s.run),
            task: text::line(&s.task),
            target: text::line(&s.target),
            planner: text::line(&s.planner),
            coder: text::line(&s.coder),
            context: s.context.as_deref().map(text::line),
            seed: s.seed,
            policy: s.policy,
            status: s.status.to_owned(),
            stopped: s.stopped.as_deref().map(text::line),
            began_ms: self.view.began_ms,
            last_ms: self.view.last_ms,
            seq: state.seq,
            wall_s: s.wall_s,
            evaluations: s.evaluations,
            budget: state.config.budget.evaluations,
            screens: s.screens,
            cost: (s.cost.usd, s.cost.tokens_in, s.cost.tokens_out),
            ledger: ledger(&s.ledger),
            nodes: (s.tree.nodes, s.tree.solved, s.tree.open, s.tree.abandoned),
            working: working.collect(),
        }
    }

    fn headline(&self) -> Headline {
        let state = &self.view.state;
        let s = self.view.summary();
        let naive = s.naive.map(|t| t.time);
        let baseline = s.baseline.map(|b| Named { name: text::line(&b.name), time: b.time });
        let confirmed = state.finished.as_ref().is_some_and(|(_, winner)| winner.is_some());
        let best = s.best.map(|b| Best {
            candidate: b.candidate.0,
            node: b.node.to_string(),
            confirmed,
            speedup: naive.as_ref().map(|n| ratio(n, &b.time)),
            ratio: baseline.as_ref().map(|n| ratio(&n.time, &b.time)),
            of_floor: s.floor.as_ref().map(|f| f.value / b.time.value),
            bottleneck: b.bottleneck,
            strategies: b.strategies.iter().map(|s| text::line(s)).collect(),
            time: b.time,
        });
        let heldout = s.heldout.map(|h| (h.passed, h.total));
        Headline {
            naive: Shown::or(naive, "the kernel to start from has not passed"),
            baseline: Shown::or(baseline, "no library kernel was timed on this target"),
            best: Shown::or(best, "no candidate has passed"),
            floor: Shown::or(s.floor, "the floor of this task is not known on this target"),
            heldout: Shown::or(heldout, "judged once, when the run is concluded"),
        }
    }

    /// Nodes from the root to the best one.
    fn way(&self) -> Vec<&Node> {
        best(&self.view.state).map(|b| self.view.state.world.path(b.node)).unwrap_or_default()
    }

    fn steps_to_best(way: &[&Node]) -> Vec<Step> {
        let solved = way.iter().filter_map(|n| n.outcome().map(|o| (n, o)));
        let mut before: Option<f64> = None;
        solved
            .map(|(node, outcome)| {
                let gain = before.map(|b| b / outcome.time.value);
                before = Some(outcome.time.value);
                Step {
                    node: node.id.to_string(),
                    title: title(node),
                    time: outcome.time.clone(),
                    gain,
                    predicted: node.predicted_gain,
                    bottleneck: outcome.bottleneck,
                }
            })
            .collect()
    }

    fn trials(&self) -> Vec<Trial> {
        let state = &self.view.state;
        let mut nodes: HashMap<u32, NodeId> = state.closed.iter().map(|c| (c.cycle, c.node)).collect();
        nodes.extend(state.open.values().map(|c| (c.cycle, c.node)));
        let level = self.level();
        self.judged
            .iter()
            .zip(1..)
            .filter_map(|((at_ms, id, cycle), number)| {
                let verdict = state.full_verdict(id)?;
                let node = nodes.get(cycle).copied().unwrap_or(NodeId::ROOT);
                let profile = verdict.profile.as_ref();
                Some(Trial {
                    number,
                    candidate: id.0.clone(),
                    node: node.to_string(),
                    title: state.world.get(node).map(title).unwrap_or_default(),
                    status: verdict.status.name().to_owned(),
                    time: verdict.time.clone(),
                    at_s: at_ms.saturating_sub(self.view.began_ms) as f64 / 1000.0,
                    bottleneck: profile.map(|p| p.bottleneck),
                    point: profile.and_then(|p| point(p, level)),
                    values: state.candidates.get(id).map(|c| c.candidate.values.clone()).unwrap_or_default(),
                })
            })
            .collect()
    }

    fn tree(&self, way: &[&Node]) -> Vec<TreeNode> {
        let world = &self.view.state.world;
        let way: HashSet<NodeId> = way.iter().map(|n| n.id).collect();
        let mut kept: HashSet<NodeId> = HashSet::new();
        let mut nodes = Vec::new();
        for node in world.nodes() {
            // A deleted node takes its children with it: they are deleted too.
            if node.is_deleted() || node.parent.is_some_and(|p| !kept.contains(&p)) {
                continue;
            }
            kept.insert(node.id);
            nodes.push(TreeNode {
                id: node.id.to_string(),
                parent: node.parent.map(|p| p.to_string()),
                title: title(node),
                state: standing(node),
                time: node.time(),
                gain: node.outcome().and_then(|o| o.gain),
                best: way.contains(&node.id),
            });
        }
        nodes
    }

    fn split(&self) -> Shown<Split> {
        let state = &self.view.state;
        let profile = |id: &CandidateId| state.full_verdict(id).and_then(|v| v.profile.clone());
        let before = state.world.root().outcome().and_then(|o| profile(&o.candidate));
        let after = best(state).and_then(|b| profile(&b.candidate));
        let (Some(before), Some(after)) = (before, after) else {
            return Shown::missing("the naive kernel or the best one has no profile");
        };
        let names: indexmap::IndexSet<&String> = before.terms.keys().chain(after.terms.keys()).collect();
        let of = |terms: &indexmap::IndexMap<String, f64>, name: &String| terms.get(name).copied().unwrap_or(0.0);
        let mut terms: Vec<(String, f64, f64)> = names
            .into_iter()
            .map(|n| (text::line(n), of(&before.terms, n), of(&after.terms, n)))
            .filter(|(_, b, a)| *b > 0.0 || *a > 0.0)
            .collect();
        terms.sort_by(|a, b| b.1.max(b.2).total_cmp(&a.1.max(a.2)));
        let sum: f64 = after.terms.values().sum();
        let adds_up = (sum - after.time.value).abs() < 0.02 * after.time.value;
        let how = if adds_up {
            "The terms add up to the time."
        } else {
            "Terms overlap: what one hides is not added to the time."
        };
        Shown::Known(Split {
            label: format!("{}, {}", crate::words::unit(&after.time.unit), crate::words::label(&after.time)),
            note: format!("On the workload that weighs most. {how}"),
            terms,
            total: (before.time.value, after.time.value),
        })
    }

    /// The outermost memory level that carries bytes in at least half of the profiles.
    fn level(&self) -> Option<&'static str> {
        let state = &self.view.state;
        let profiles: Vec<_> =
            self.judged.iter().filter_map(|(_, id, _)| state.full_verdict(id)?.profile.as_ref()).collect();
        ["dram", "slc", "device", "l2"].into_iter().find(|level| {
            let carry = profiles.iter().filter(|p| p.bytes.get(*level).is_some_and(|b| *b > 0.0)).count();
            carry > 0 && 2 * carry >= profiles.len()
        })
    }

    fn roofline(&self, trials: &[Trial]) -> Shown<Roofline> {
        let chip = &self.view.state.premises.facts.chip;
        let label = trials.iter().find_map(|t| t.time.as_ref()).map(crate::words::label);
        let (Some(level), Some(label)) = (self.level(), label) else {
            return Shown::missing("no profile counts both arithmetic and bytes");
        };
        if !trials.iter().any(|t| t.point.is_some()) {
            return Shown::missing("no profile counts both arithmetic and bytes");
        }
        let cached = match level {
            "dram" => "",
            _ => " The workload fits into the caches, so that a kernel may lie above the slope of main memory.",
        };
        Shown::Known(Roofline {
            bandwidth: chip.dram_gbps,
            peak: chip.f32_gflops.max(chip.f16_gflops),
            level: level.to_owned(),
            note: format!(
                "Arithmetic as executed ({label}): every lane of a floating-point instruction counts as a fused \
                 multiply-add, a matrix instruction as 1024 operations. Bytes are those that reach {}.{cached}",
                match level {
                    "dram" => "main memory",
                    "slc" => "the system-level cache",
                    "l2" => "the second-level cache",
                    _ => "device memory",
                }
            ),
        })
    }

    fn reproduce(&self) -> Reproduce {
        let c = &self.view.state.config;
        let task = text::line(&c.task);
        let mut search = format!("ksearch search {task} --target {} --seed {}", text::line(&c.target), c.seed);
        for (flag, value) in [("planner", &c.planner), ("coder", &c.coder)] {
            if value != "builtin" {
                let _ = write!(search, " --{flag} {}", text::line(value));
            }
        }
        if let Some(context) = &c.context {
            let _ = write!(search, " --context {}", text::line(context));
        }
        let _ = write!(search, " --evaluations {} --policy {}", c.budget.evaluations, c.policy.kind);
        let run = text::line(&self.view.name);
        let mut commands = vec![("Search again; with the built-in roles the same tree comes out".to_owned(), search)];
        if let Some(b) = best(&self.view.state) {
            commands.push((
                "Print the best kernel".to_owned(),
                format!("ksearch show {run} --candidate {} > best.metal", b.candidate.short()),
            ));
            commands.push((
                "Judge it with inputs of your own seed, held-out workloads too".to_owned(),
                format!("ksearch eval {task} best.metal --target {} --heldout --seed 7", text::line(&c.target)),
            ));
        }
        let versions = &self.view.state.premises.versions;
        let versions: BTreeMap<String, String> = versions.iter().map(|(k, v)| (text::line(k), text::line(v))).collect();
        Reproduce { commands, versions }
    }
}

/// The title of a node.
pub(crate) fn title(node: &Node) -> String {
    if node.id == NodeId::ROOT { "naive".to_owned() } else { text::line(node.title()) }
}

fn standing(node: &Node) -> Standing {
    use ksearch_world::State;
    match &node.state {
        State::Solved(o) if o.gain.is_none_or(|g| g > 1.0 && !o.within_noise) => Standing::Better,
        State::Solved(_) => Standing::Passed,
        State::Active => Standing::Active,
        State::Abandoned { .. } | State::Deleted { .. } => Standing::Failed,
        State::Open if node.failures.is_empty() => Standing::Open,
        State::Open => Standing::Failed,
    }
}

/// `before` over `after`, with the interval that follows from theirs where both have one.
fn ratio(before: &Figure, after: &Figure) -> Figure {
    let ci = match (before.ci, after.ci) {
        (Some([low, high]), Some([l, h])) if l > 0.0 && h > 0.0 => Some([low / h, high / l]),
        _ => None,
    };
    Figure {
        value: before.value / after.value,
        unit: "x".to_owned(),
        kind: FigureKind::Derived,
        on: after.on.clone(),
        ci,
    }
}

/// Arithmetic per byte and GFLOP/s.
fn point(profile: &ksearch_device::Profile, level: Option<&str>) -> Option<(f64, f64)> {
    let arithmetic: f64 = profile
        .instructions
        .iter()
        .map(|(class, n)| match class.as_str() {
            "fp32" | "fp16" => n * 64.0,
            "mma32" | "mma16" => n * 1024.0,
            _ => 0.0,
        })
        .sum();
    let bytes = *profile.bytes.get(level?)?;
    let seconds = profile.time.value * 1e-6;
    (arithmetic > 0.0 && bytes > 0.0 && seconds > 0.0).then(|| (arithmetic / bytes, arithmetic / seconds / 1e9))
}
