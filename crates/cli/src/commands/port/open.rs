//! The open search of a port: models go on from the draft, and the engine keeps its journal as for any search. Every
//! candidate is judged against the original. Must not know how the draft came about.

use std::path::Path;

use anyhow::{Result, bail};
use ksearch_search::llm::Player;
use ksearch_search::{RunStore, SearchConfig};
use ksearch_task::{Candidate, Figure};
use serde::Serialize;

use super::PortArgs;
use crate::args::Global;
use crate::commands::search;
use crate::context;
use crate::printer::Printer;
use crate::roles;
use crate::session::{self, Material, Session};

/// What an open search came to.
#[derive(Clone, Debug, Serialize)]
pub struct OpenSearch {
    /// Name of the run, for `ksearch show`.
    pub run: String,
    /// Candidates that were judged in full.
    pub evaluations: u32,
    /// Time of the kernel it began with.
    pub began: Option<Figure>,
    /// Time of its best kernel.
    pub best: Option<Figure>,
    /// Why it ended.
    pub stopped: Option<String>,
}

/// A search that is ready to go on from a draft.
pub struct Open<'a> {
    session: Session,
    config: SearchConfig,
    global: &'a Global,
}

impl<'a> Open<'a> {
    /// Finds out whether `who` can play both roles on the task file, before any work is done.
    pub fn new(who: &str, task: &Path, args: &PortArgs, global: &'a Global) -> Result<Self> {
        if matches!(who.parse(), Ok(Player::Builtin | Player::Refinement)) {
            bail!(
                "--search {who}: the built-in roles can only set a port's tunables; use llm, manual:FOLDER or replay:RUN"
            );
        }
        let task = task.to_string_lossy();
        let mut config = SearchConfig {
            task: context::stable_task_name(&task),
            target: args.target.target.clone(),
            planner: who.to_owned(),
            coder: who.to_owned(),
            seed: args.seed.unwrap_or_default(),
            ..SearchConfig::default()
        };
        roles::choose(&mut config, &args.models);
        session::widen(&mut config, &args.budget);
        let mut material = Material::default();
        search::pack(&args.context, &task, &mut config, &mut material, global)?;
        let session = Session::new(global, &config, material)?;
        Ok(Self { session, config, global })
    }

    /// Searches on from `drafted`; gives what is best now.
    pub fn run(self, drafted: &Candidate, printer: Printer) -> Result<(Candidate, OpenSearch)> {
        let Self { session, config, global } = self;
        let session = if drafted.values.is_empty() { session } else { session.from(drafted.clone()) };
        let (lock, journal) = RunStore::new(&global.runs).create(session.task_name())?;
        printer.note(format!("run {} in {}", lock.name, lock.folder.display()));
        let evaluations = config.budget.evaluations;
        let (state, view) =
            session.play(&lock, evaluations, printer, |players| session.start(config, players, journal))?;
        session::failed(&state)?;
        let summary = view.summary();
        let best = ksearch_search::view::best(&state);
        let Some(record) = best.as_ref().and_then(|b| state.candidates.get(&b.candidate)) else {
            bail!("run `{}` ended without a kernel that passed; ksearch show {} tells more", lock.name, lock.name);
        };
        let found = OpenSearch {
            run: lock.name.clone(),
            evaluations: summary.evaluations,
            began: summary.improvements.first().map(|s| s.time.clone()),
            best: best.map(|b| b.time),
            stopped: summary.stopped,
        };
        Ok((record.candidate.clone(), found))
    }
}
