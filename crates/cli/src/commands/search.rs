//! `ksearch search`: a new run.

use anyhow::Result;
use ksearch_search::{RunStore, SearchConfig};
use ksearch_world::{PolicyConfig, policy::PolicyKind};

use crate::args::{Global, SearchArgs};
use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;
use crate::roles;
use crate::session::{self, Session};

/// Searches and shows what was found.
pub fn run(args: &SearchArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let mut config = SearchConfig {
        task: context::stable_task_name(&args.task),
        target: args.target.target.clone(),
        planner: args.planner.clone(),
        coder: args.coder.clone(),
        seed: args.seed,
        parallel: args.parallel,
        policy: policy(&args.policy),
        ..SearchConfig::default()
    };
    if args.no_world_model {
        "refinement".clone_into(&mut config.planner);
    }
    if let Some(k) = args.stagnation {
        config.stagnation = k;
    }
    roles::choose(&mut config, &args.models);
    session::widen(&mut config, &args.budget);
    let session = Session::new(global, &config)?;
    let store = RunStore::new(&global.runs);
    let (lock, journal) = store.create(session.task_name())?;
    printer.note(format!("run {} in {}", lock.name, lock.folder.display()));
    let evaluations = config.budget.evaluations;
    session.work(&lock, evaluations, printer, |players| session.start(config, players, journal))
}

fn policy(name: &str) -> PolicyConfig {
    let kind = match name {
        "paper" => PolicyKind::Paper,
        "random" => PolicyKind::Random,
        _ => PolicyKind::Default,
    };
    PolicyConfig { kind, ..PolicyConfig::default() }
}
