//! What there is to show of a run, derived from its journal and nothing else. Must not know how it is shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ksearch_task::{Bottleneck, CandidateId, Figure};
use ksearch_world::{Counts, Node, NodeId};
use serde::Serialize;

use crate::journal::{Journal, JournalError};
use crate::record::{Event, Recorded};
use crate::state::{Ledger, RunState, StateError};
use crate::store::JOURNAL;

/// Why a run cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its journal does not make sense.
    #[error("{}: {source}", .path.display())]
    State {
        /// The journal.
        path: PathBuf,
        /// What does not fit.
        source: StateError,
    },
}

/// A run as read from its journal.
#[derive(Clone, Debug)]
pub struct RunView {
    /// Name of the run: its folder.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Everything it holds, folded.
    pub state: RunState,
    /// When it began, milliseconds since 1970, UTC.
    pub began_ms: u64,
    /// When it was last written to.
    pub last_ms: u64,
}

/// A time under its contract name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timed {
    /// The time.
    pub time: Figure,
}

/// The baseline as shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineView {
    /// What it is.
    pub name: String,
    /// Its time.
    pub time: Figure,
}

/// The best candidate as shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestView {
    /// Its content address.
    pub candidate: CandidateId,
    /// Where its main file is written, if it has been.
    pub file: Option<PathBuf>,
    /// Its time: the confirmed one where the run is concluded.
    pub time: Figure,
    /// Naive time over its time.
    pub speedup_vs_naive: Option<f64>,
    /// Baseline's time over its time.
    pub ratio_vs_baseline: Option<f64>,
    /// What bounds it.
    pub bottleneck: Option<Bottleneck>,
    /// Strategies that lead to it, in order; titles where an action is not from the catalogue.
    pub strategies: Vec<String>,
    /// Node it is attached to.
    pub node: NodeId,
}

/// Held-out result as shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeldOut {
    /// Workloads that passed.
    pub passed: u32,
    /// Workloads that were tried.
    pub total: u32,
}

/// Money and tokens as shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// US dollars, as far as prices are known.
    pub usd: f64,
    /// Tokens in.
    pub tokens_in: u64,
    /// Tokens out.
    pub tokens_out: u64,
}

/// An improvement as shown: a row of the final table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// What gave it; `naive` for the start.
    pub title: String,
    /// Node it is attached to.
    pub node: NodeId,
    /// Which candidate.
    pub candidate: CandidateId,
    /// Its time.
    pub time: Figure,
    /// Naive time over its time.
    pub speedup_vs_naive: Option<f64>,
    /// Baseline's time over its time.
    pub ratio_vs_baseline: Option<f64>,
    /// What bounds it.
    pub bottleneck: Option<Bottleneck>,
    /// Evaluations used by then.
    pub evaluations: u32,
}

/// The object that `search --json` and `show --json` print.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Name of the run.
    pub run: String,
    /// Task.
    pub task: String,
    /// Target.
    pub target: String,
    /// Planner.
    pub planner: String,
    /// Coder.
    pub coder: String,
    /// Context pack shown to the roles.
    pub context: Option<String>,
    /// Seed.
    pub seed: u64,
    /// Selection policy.
    pub policy: String,
    /// `running` (or cut off), `stopped`, or `finished`.
    pub status: &'static str,
    /// Why it stopped, in words.
    pub stopped: Option<String>,
    /// Full judgements of distinct candidates.
    pub evaluations: u32,
    /// Settings of tunables that were screened.
    pub screens: u32,
    /// Seconds of wall clock over all sessions.
    pub wall_s: f64,
    /// The kernel it started from.
    pub naive: Option<Timed>,
    /// The best library kernel.
    pub baseline: Option<BaselineView>,
    /// The physical floor.
    pub floor: Option<Figure>,
    /// The best candidate.
    pub best: Option<BestView>,
    /// Held-out result of the best; none before the run is concluded.
    pub heldout: Option<HeldOut>,
    /// Counts of the tree.
    pub tree: Counts,
    /// Model cost.
    pub cost: Cost,
    /// Use by role.
    pub ledger: BTreeMap<String, Ledger>,
    /// The naive kernel and each improvement.
    pub improvements: Vec<Step>,
    /// Versions on record.
    pub versions: BTreeMap<String, String>,
}

impl RunView {
    /// Reads the run in `folder`; it may be worked on meanwhile.
    pub fn load(folder: &Path) -> Result<Self, ViewError> {
        let path = folder.join(JOURNAL);
        let name = folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        Self::fold(name, folder.to_owned(), &path, &Journal::read(&path)?.events()?)
    }

    /// The view of these events.
    fn fold(name: String, folder: PathBuf, path: &Path, events: &[Recorded]) -> Result<Self, ViewError> {
        let state = RunState::fold(events).map_err(|source| ViewError::State { path: path.to_owned(), source })?;
        let at = |e: Option<&Recorded>| e.map_or(0, |e| e.at_ms);
        Ok(Self { name, folder, state, began_ms: at(events.first()), last_ms: at(events.last()) })
    }

    /// All events, for whoever needs more than the state: prompts, answers, timings.
    pub fn events(&self) -> Result<Vec<Recorded>, JournalError> {
        Journal::read(&self.folder.join(JOURNAL))?.events()
    }

    /// The summary object.
    pub fn summary(&self) -> RunSummary {
        summary(&self.name, &self.state, self.best_file())
    }

    /// Where [`RunView::write_best`] puts the main file, if it is there.
    fn best_file(&self) -> Option<PathBuf> {
        let best = best(&self.state)?;
        let candidate = &self.state.candidates.get(&best.candidate)?.candidate;
        let file = self.folder.join("best").join(&candidate.files.first()?.path);
        file.is_file().then_some(file)
    }

    /// Writes the best candidate's files under the run, the launch recipe as a comment in the main one, and gives the
    /// path of that. None when there is no candidate yet.
    pub fn write_best(&self) -> std::io::Result<Option<PathBuf>> {
        let Some(record) = best(&self.state).and_then(|b| self.state.candidates.get(&b.candidate)) else {
            return Ok(None);
        };
        let candidate = record.candidate.clone().with_recipe_comment();
        let folder = self.folder.join("best");
        for file in &candidate.files {
            let path = folder.join(&file.path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, &file.text)?;
        }
        Ok(candidate.files.first().map(|f| folder.join(&f.path)))
    }
}

/// The winner of a concluded run, else the best so far.
pub fn best(state: &RunState) -> Option<BestView> {
    let winner = state.finished.as_ref().and_then(|(finalists, winner)| finalists.get((*winner)?));
    let (node, candidate, time) = match (winner, state.best()) {
        (Some(f), _) => (f.node, &f.candidate, f.confirmed.clone().unwrap_or_else(|| f.time.clone())),
        (None, Some(b)) => (b.node, &b.candidate, b.time.clone()),
        (None, None) => return None,
    };
    let verdict = state.full_verdict(candidate);
    let bottleneck = verdict.and_then(|v| v.profile.as_ref()).map(|p| p.bottleneck);
    Some(BestView {
        candidate: candidate.clone(),
        file: None,
        speedup_vs_naive: state.naive_time().map(|naive| naive / time.value),
        ratio_vs_baseline: state.premises.baseline.as_ref().map(|b| b.time.value / time.value),
        bottleneck,
        strategies: strategies(state, node, candidate),
        time,
        node,
    })
}

/// The strategies of a candidate: those of its plan, else the actions on its node's path.
fn strategies(state: &RunState, node: NodeId, candidate: &CandidateId) -> Vec<String> {
    match state.candidates.get(candidate).and_then(|c| c.plan.as_ref()) {
        Some(plan) => plan.strategies.iter().cloned().collect(),
        None => state
            .world
            .path(node)
            .into_iter()
            .skip(1)
            .map(|n: &Node| n.strategy().unwrap_or_else(|| n.title()).to_owned())
            .collect(),
    }
}

/// The summary of a state; `file` is where the best candidate was written.
pub fn summary(run: &str, state: &RunState, file: Option<PathBuf>) -> RunSummary {
    let config = &state.config;
    let baseline = state.premises.baseline.as_ref();
    let (usd, tokens_in, tokens_out) = state.cost();
    let winner = state.finished.as_ref().and_then(|(finalists, winner)| finalists.get((*winner)?));
    RunSummary {
        run: run.to_owned(),
        task: config.task.clone(),
        target: config.target.clone(),
        planner: config.planner.clone(),
        coder: config.coder.clone(),
        context: config.context.clone(),
        seed: config.seed,
        policy: config.policy.kind.to_string(),
        status: match (&state.finished, &state.stop) {
            (Some(_), _) => "finished",
            (None, Some(_)) => "stopped",
            (None, None) => "running",
        },
        stopped: state.stop.as_ref().map(ToString::to_string),
        evaluations: state.evaluations,
        screens: state.screens,
        wall_s: state.elapsed_s,
        naive: state.world.root().outcome().map(|o| Timed { time: o.time.clone() }),
        baseline: baseline.map(|b| BaselineView { name: b.name.clone(), time: b.time.clone() }),
        floor: state.premises.floor.clone(),
        best: best(state).map(|b| BestView { file, ..b }),
        heldout: winner.and_then(|w| w.heldout).map(|(passed, total)| HeldOut { passed, total }),
        tree: state.world.counts(),
        cost: Cost { usd, tokens_in, tokens_out },
        ledger: state.ledger.clone(),
        improvements: state
            .improvements
            .iter()
            .map(|i| Step {
                title: i.title.clone(),
                node: i.node,
                candidate: i.candidate.clone(),
                time: i.time.clone(),
                speedup_vs_naive: i.speedup,
                ratio_vs_baseline: baseline.map(|b| b.time.value / i.time.value),
                bottleneck: i.bottleneck,
                evaluations: i.evaluations,
            })
            .collect(),
        versions: state.premises.versions.clone(),
    }
}

/// One line on an event, for logs and plain terminals; none for events that say nothing by themselves.
pub fn line(event: &Event, state: &RunState) -> Option<String> {
    let title = |node: NodeId| state.world.get(node).map_or_else(|| node.to_string(), |n| n.title().to_owned());
    match event {
        Event::Tree { change: ksearch_world::WorldEvent::Seeded { outcome } } => {
            Some(format!("naive: {:.1} {}", outcome.time.value, outcome.time.unit))
        }
        Event::Selected { cycle, selection, .. } => {
            Some(format!("[{cycle}] {} ({}), one of {}", title(selection.node), selection.node, selection.frontier))
        }
        Event::Closed { cycle, node, report } if report.best.is_none() => {
            let (status, summary, _) = crate::cycle::last_failure(report);
            Some(format!("[{cycle}] {}: {status}: {summary}", title(*node)))
        }
        Event::Tree { change: ksearch_world::WorldEvent::Solved { node, outcome } } => Some(format!(
            "    {}: {:.1} {}{}",
            title(*node),
            outcome.time.value,
            outcome.time.unit,
            outcome.gain.map_or_else(String::new, |g| format!(", {g:.2}x its parent"))
        )),
        Event::Best { node, time, speedup, .. } => Some(format!(
            "    best so far: {} at {:.1} {}{}",
            title(*node),
            time.value,
            time.unit,
            speedup.map_or_else(String::new, |s| format!(", {s:.2}x naive"))
        )),
        Event::Stopped { reason } => Some(format!("stopped: {reason}")),
        _ => None,
    }
}
