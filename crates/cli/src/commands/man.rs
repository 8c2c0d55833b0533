//! `ksearch man`: manual pages, made from the grammar.

use std::path::Path;

use anyhow::{Context as _, Result};
use clap::CommandFactory;

use crate::args::Cli;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Writes a page per command into `dir`.
pub fn run(dir: &Path, printer: Printer) -> Result<Outcome> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    clap_mangen::generate_to(Cli::command(), dir)
        .with_context(|| format!("cannot write pages into {}", dir.display()))?;
    printer.line(format!("Manual pages are in {}", dir.display()))?;
    printer.object(&serde_json::json!({ "dir": dir }))?;
    Ok(Outcome::Success)
}
