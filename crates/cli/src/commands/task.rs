//! `ksearch task new`: scaffolds a task that runs as it is.

use std::path::PathBuf;

use anyhow::Result;

use crate::args::TaskCommand;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Writes the files of a new task.
pub fn run(command: &TaskCommand, printer: Printer) -> Result<Outcome> {
    let TaskCommand::New { name, dir } = command;
    let dir = dir.clone().unwrap_or_else(|| PathBuf::from(name));
    let files = ksearch_task::scaffold::write(&dir, name)?;
    for file in &files {
        printer.line(file.display())?;
    }
    printer.note(format!(
        "\nEdit them, then:\n  ksearch eval {dir}/{name}.toml {dir}/{name}_naive.metal",
        dir = dir.display()
    ));
    printer.object(&serde_json::json!({ "task": name, "files": files }))?;
    Ok(Outcome::Success)
}
