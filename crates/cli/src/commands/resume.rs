//! `ksearch resume`: goes on with a run.

use anyhow::Result;
use ksearch_search::{RunStore, RunView};

use crate::args::{Global, ResumeArgs};
use crate::exit::Outcome;
use crate::printer::Printer;
use crate::session::{self, Material, Session};

/// Goes on where the journal ends.
pub fn run(args: &ResumeArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let store = RunStore::new(&global.runs);
    let (lock, journal) = store.reopen(&args.run)?;
    let state = RunView::load(&lock.folder)?.state;
    let mut config = state.config;
    session::widen(&mut config, &args.budget);
    let session = Session::new(global, &config, Material { context: state.premises.context, ..Material::default() })?;
    printer.note(format!("run {} in {}", lock.name, lock.folder.display()));
    session.work(&lock, config.budget.evaluations, printer, |players| {
        ksearch_search::resume(players, journal, |c| session::widen(c, &args.budget))
    })
}
