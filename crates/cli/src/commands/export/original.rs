//! A run in the original K-Search's formats.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ksearch_search::{RunStore, solution};
use ksearch_world::paper;

use super::ExportArgs;
use crate::args::Global;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Writes the files.
pub fn run(args: &ExportArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    if args.task.is_some() {
        bail!("--task is for kernels; this format holds a run");
    }
    let view = RunStore::new(&global.runs).open(&args.what)?;
    let state = &view.state;
    let dir = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-export", view.name)));
    let solutions = dir.join("solutions");
    fs::create_dir_all(&solutions).with_context(|| format!("cannot make {}", solutions.display()))?;
    let baseline = state.premises.baseline.as_ref().map(|b| b.time.value);
    let tree = dir.join("world_model.json");
    write(&tree, &format!("{:#}\n", paper::export(&state.world, baseline)))?;

    // In the order in which they were first judged, so that the same run gives the same file.
    let mut lines = String::new();
    let mut seen = std::collections::HashSet::new();
    for recorded in view.events()? {
        let ksearch_search::Event::Judged { candidate, .. } = recorded.event else { continue };
        let (Some(record), Some(verdict)) = (state.candidates.get(&candidate), state.full_verdict(&candidate)) else {
            continue;
        };
        if seen.insert(candidate.clone()) {
            writeln!(lines, "{}", solution::store_line(state, &candidate, record, verdict))?;
        }
    }
    let store = dir.join("solution_db.jsonl");
    write(&store, &lines)?;

    let attached = state.ranking();
    for outcome in attached.iter().filter_map(|n| n.outcome()) {
        let id = &outcome.candidate;
        let Some(record) = state.candidates.get(id) else { continue };
        write(
            &solutions.join(format!("{}.json", id.short())),
            &format!("{:#}\n", solution::export(state, id, record)),
        )?;
    }
    printer.line(format!("{}  {} nodes", tree.display(), state.world.counts().nodes + 1))?;
    printer.line(format!("{}  {} candidates", store.display(), seen.len()))?;
    printer.line(format!("{}  {} candidates", solutions.display(), attached.len()))?;
    printer.object(&serde_json::json!({
        "run": view.name, "world_model": tree, "solution_db": store, "solutions": solutions,
        "nodes": state.world.counts().nodes + 1, "candidates": seen.len(), "attached": attached.len(),
    }))?;
    Ok(Outcome::Success)
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
