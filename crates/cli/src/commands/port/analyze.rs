//! `ksearch port analyze`: what a CUDA file uses, and what becomes of it.

use std::path::Path;

use anyhow::Result;
use ksearch_port::analysis::render;

use crate::args::{Global, TargetArgs};
use crate::exit::Outcome;
use crate::printer::Printer;

/// Prints the analysis.
pub fn run(file: &Path, target: &TargetArgs, from: &str, global: &Global, printer: Printer) -> Result<Outcome> {
    let (knowledge, ends) = super::ends(global, &target.target, from)?;
    let (name, text) = super::read(file)?;
    let analysis = ksearch_port::analyze(&name, &text, &knowledge, &ends)?;
    printer.line(render(&analysis))?;
    printer.object(&analysis)?;
    Ok(if analysis.kernels.is_empty() { Outcome::No } else { Outcome::Success })
}
