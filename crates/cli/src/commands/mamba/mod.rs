//! `ksearch mamba`: Mamba models at work. Knows no kernel and no search.

pub mod args;
mod bench;
mod generate;
mod model;
mod simulate;
mod verify;

use anyhow::Result;
use ksearch_mamba::checkpoint;
use ksearch_mamba::random::RandomWeights;
use serde_json::json;

use self::args::{InitArgs, MambaCommand};
use crate::args::Global;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Runs one of the commands.
pub fn run(command: &MambaCommand, global: &Global, printer: Printer) -> Result<Outcome> {
    match command {
        MambaCommand::Generate(args) => generate::run(args, printer),
        MambaCommand::Bench(args) => bench::run(args, printer),
        MambaCommand::Verify(args) => verify::run(args, printer),
        MambaCommand::Simulate(args) => simulate::run(args, global, printer),
        MambaCommand::Init(args) => init(args, printer),
    }
}

fn init(args: &InitArgs, printer: Printer) -> Result<Outcome> {
    let config = model::preset(&args.preset, args.layers)?;
    checkpoint::export(&config, &RandomWeights::new(&config, args.weight_seed), &args.dir)?;
    printer.line(format!("{} parameters, random, in {}", config.parameters(), args.dir.display()))?;
    printer.object(&json!({ "dir": args.dir, "parameters": config.parameters(), "layers": config.layers }))?;
    Ok(Outcome::Success)
}
