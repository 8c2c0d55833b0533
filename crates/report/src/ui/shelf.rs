//! Runs as they were last read: a run is read whole once, then only what was written since. Must not know what is shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use ksearch_search::store::JOURNAL;
use ksearch_search::view::best;
use ksearch_search::{RunStore, RunSummary};
use ksearch_task::CandidateId;

use crate::build::Loaded;
use crate::model::{LineCosts, Shown};

/// Runs that are kept in memory; more are read again when they are asked for.
const MOST_KEPT: usize = 6;

/// Changes whenever a journal does.
pub type Stamp = Vec<Option<(SystemTime, u64)>>;

type Kept = Arc<Mutex<Loaded>>;

/// What there is to say of a run, or why it cannot be read.
type Summary = Result<RunSummary, String>;

/// What the lines of a run's best kernel cost: of which candidate, and the answer once there is one.
type Costs = (CandidateId, Option<Shown<LineCosts>>);

/// A run in the list.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// What there is to say, or why it cannot be read.
    pub summary: Result<RunSummary, String>,
    /// Is a process working on it?
    pub busy: bool,
}

/// See the module.
pub struct Shelf {
    store: RunStore,
    kept: Mutex<Vec<(String, Kept)>>,
    summaries: Mutex<HashMap<String, (Stamp, Summary)>>,
    costs: Mutex<HashMap<String, Costs>>,
}

impl Shelf {
    /// A shelf for the runs of `store`.
    pub fn new(store: RunStore) -> Self {
        Self { store, kept: Mutex::default(), summaries: Mutex::default(), costs: Mutex::default() }
    }

    /// Where the runs are.
    pub const fn store(&self) -> &RunStore {
        &self.store
    }

    /// Is there a run of exactly this name? Nothing else becomes part of a path.
    pub fn knows(&self, name: &str) -> bool {
        self.store.names().is_ok_and(|names| names.iter().any(|n| n == name))
    }

    /// What is done with the run as it is now.
    pub fn with<T>(&self, name: &str, what: impl FnOnce(&Loaded) -> T) -> Result<T, String> {
        if !self.knows(name) {
            return Err("there is no such run".to_owned());
        }
        let folder = self.store.root().join(name);
        let found = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().find(|(n, _)| n == name).map(|(_, k)| Arc::clone(k))
        };
        if let Some(run) = found {
            let mut run = run.lock().unwrap_or_else(PoisonError::into_inner);
            if run.refresh().is_ok() {
                self.price(name, &mut run);
                return Ok(what(&run));
            }
            // It is another run of the same name by now: read it whole.
        }
        let mut run = Loaded::load(&folder).map_err(|e| e.to_string())?;
        self.price(name, &mut run);
        let result = what(&run);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(n, _)| n != name);
        kept.push((name.to_owned(), Arc::new(Mutex::new(run))));
        if kept.len() > MOST_KEPT {
            kept.remove(0);
        }
        Ok(result)
    }

    /// Lays what is known of its lines' costs onto the run.
    fn price(&self, name: &str, run: &mut Loaded) {
        let costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((candidate, costs)) = costs.get(name) else { return };
        if best(&run.view.state).is_some_and(|b| b.candidate == *candidate) {
            run.line_costs = costs.clone().unwrap_or_else(|| Shown::missing("What each line costs is being counted."));
        }
    }

    /// Has nobody asked yet what the lines of this candidate cost? Then the caller has to find out, and say so with
    /// [`Shelf::priced`].
    pub fn is_to_be_priced(&self, name: &str, candidate: &CandidateId) -> bool {
        let mut costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        if costs.get(name).is_some_and(|(known, _)| known == candidate) {
            return false;
        }
        costs.insert(name.to_owned(), (candidate.clone(), None));
        true
    }

    /// Keeps what the lines of this candidate cost.
    pub fn priced(&self, name: &str, candidate: CandidateId, found: Shown<LineCosts>) {
        let mut costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        costs.insert(name.to_owned(), (candidate, Some(found)));
    }

    /// Changes when it becomes known what the lines of the best kernel cost.
    pub fn is_priced(&self, name: &str) -> bool {
        let costs = self.costs.lock().unwrap_or_else(PoisonError::into_inner);
        costs.get(name).is_some_and(|(_, found)| found.is_some())
    }

    /// Changes when the journal of the run does.
    pub fn stamp(&self, name: &str) -> Stamp {
        let of = |file: String| {
            let meta = std::fs::metadata(self.store.root().join(name).join(file)).ok()?;
            Some((meta.modified().ok()?, meta.len()))
        };
        vec![of(JOURNAL.to_owned()), of(format!("{JOURNAL}-wal"))]
    }

    /// Changes when any run does.
    pub fn stamps(&self) -> Vec<(String, Stamp)> {
        let names = self.store.names().unwrap_or_default();
        names.into_iter().map(|n| (n.clone(), self.stamp(&n))).collect()
    }

    /// All runs, also those that cannot be read, newest first.
    pub fn list(&self) -> Result<Vec<Entry>, String> {
        let names = self.store.names().map_err(|e| e.to_string())?;
        let mut entries: Vec<(Option<SystemTime>, Entry)> = Vec::new();
        for name in names {
            let stamp = self.stamp(&name);
            let known = {
                let summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
                summaries.get(&name).filter(|(s, _)| *s == stamp).map(|(_, summary)| summary.clone())
            };
            let summary = known.unwrap_or_else(|| {
                let summary = self.with(&name, |run| run.view.summary());
                let mut summaries = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
                summaries.insert(name.clone(), (stamp.clone(), summary.clone()));
                summary
            });
            let finished = summary.as_ref().is_ok_and(|s| s.status == "finished");
            let busy = !finished && self.store.is_busy(&name);
            let touched = stamp.iter().flatten().map(|(t, _)| *t).max();
            entries.push((touched, Entry { name, summary, busy }));
        }
        entries.sort_by_key(|(touched, _)| std::cmp::Reverse(*touched));
        Ok(entries.into_iter().map(|(_, e)| e).collect())
    }
}
