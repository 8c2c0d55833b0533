//! Commands, one file each: typed arguments and a printer in, an outcome out.

pub mod ablate;
pub mod baseline;
mod check;
mod completions;
mod corpus;
mod dispatch;
mod doctor;
mod eval;
pub mod export;
mod launch;
pub mod mamba;
mod man;
mod matrix;
pub mod model;
#[cfg(target_os = "linux")]
pub mod peers;
pub mod port;
mod profile;
pub mod ptx;
mod replay;
pub mod report;
mod resume;
mod run;
mod runs;
mod sanitize;
mod search;
mod show;
mod task;
mod tasks;
pub mod time;
pub mod ui;

use anyhow::Result;

pub use sanitize::Finding;

use crate::args::{Cli, Command, CorpusCommand};
use crate::exit::Outcome;
use crate::printer::Printer;

/// Runs the command.
pub fn run(cli: Cli, printer: Printer) -> Result<Outcome> {
    let global = &cli.global;
    match cli.command {
        Command::Tasks(args) => tasks::run(&args, printer),
        Command::Task { command } => task::run(&command, printer),
        Command::Eval(args) => eval::run(&args, global, printer),
        Command::Ablate(args) => ablate::run(&args, global, printer),
        Command::Baseline { command } => baseline::run(&command, global, printer),
        Command::Model { command } => model::run(&command, global, printer),
        Command::Time(args) => time::run(&args, global, printer),
        Command::Ptx(args) => ptx::run(&args, printer),
        Command::Doctor => doctor::run(global, printer),
        Command::GpuWorker => gpu_worker(),
        Command::Completions { shell } => Ok(completions::run(shell)),
        Command::Export(args) => export::run(&args, global, printer),
        Command::Mamba { command } => mamba::run(&command, global, printer),
        Command::Man { dir } => man::run(&dir, printer),
        Command::Search(args) => search::run(&args, global, printer),
        Command::Ui(args) => ui::run(&args, global, printer),
        Command::Port(args) => port::run(&args, global, printer),
        Command::Report(args) => report::run(&args, global, printer),
        Command::Resume(args) => resume::run(&args, global, printer),
        Command::Runs => runs::run(global, printer),
        Command::Show(args) => show::run(&args, global, printer),
        Command::Replay(args) => replay::run(&args, global, printer),
        Command::Matrix(args) => matrix::run(&args, global, printer),
        Command::Check(args) => check::run(&args, global, printer),
        Command::Corpus { command: CorpusCommand::Check(args) } => corpus::check(&args, printer),
        Command::Dispatch(args) => dispatch::run(&args, global, printer),
        Command::Run(args) => run::run(&args, global, printer),
        Command::Sanitize(args) => sanitize::run(&args, global, printer),
        Command::Profile(args) => profile::run(&args, global, printer),
    }
}

/// Serves another process of this program as the owner of the GPU, until it ends.
fn gpu_worker() -> Result<Outcome> {
    ksearch_device::cuda::serve(&mut std::io::stdin().lock(), &mut std::io::BufWriter::new(std::io::stdout().lock()))?;
    Ok(Outcome::Success)
}
