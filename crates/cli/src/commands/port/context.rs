//! `ksearch port context`: the pack that both roles get, as a document.

use std::path::Path;

use anyhow::Result;
use ksearch_port::{Knowledge, context as pack};
use ksearch_search::coder;
use ksearch_task::Task;
use serde_json::json;

use crate::args::Global;
use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;

/// The pack for a task on a target.
pub fn render(task: &Task, target: &str, global: &Global, folder: Option<&Path>, budget: usize) -> Result<pack::Pack> {
    let knowledge = match folder {
        Some(dir) => Knowledge::with_folder(dir)?,
        None => Knowledge::embedded()?,
    };
    let (_, chip) = context::sim(global, target)?;
    let strategies: Vec<String> = coder::generator(&task.name)
        .map(|g| g.catalogue().iter().map(|s| s.id.to_owned()).collect())
        .unwrap_or_default();
    Ok(pack::pack(&knowledge, task, &chip, pack::class_of(&task.name), &strategies, budget))
}

/// Prints the pack.
pub fn run(
    task: &str,
    target: &str,
    folder: Option<&Path>,
    budget: usize,
    global: &Global,
    printer: Printer,
) -> Result<Outcome> {
    let task = context::task(task)?;
    let pack = render(&task, target, global, folder, budget)?;
    printer.line(pack.text.trim_end())?;
    printer.note(format!(
        "about {} tokens, {} entries, {} more left out",
        pack.tokens,
        pack.entries.len(),
        pack.left_out.len()
    ));
    printer.object(&json!({
        "text": pack.text, "tokens": pack.tokens, "entries": pack.entries, "left_out": pack.left_out,
    }))?;
    Ok(Outcome::Success)
}
