//! `ksearch runs`: the runs there are.

use anyhow::Result;
use comfy_table::{Table, presets};
use ksearch_search::RunStore;
use serde_json::json;

use crate::args::Global;
use crate::context::show_figure;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Lists them, also those that cannot be read.
pub fn run(global: &Global, printer: Printer) -> Result<Outcome> {
    let store = RunStore::new(&global.runs);
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "run",
        "target",
        "status",
        "evaluations",
        "best",
        "vs naive",
        "held-out",
    ]);
    let mut objects = Vec::new();
    let listed = store.list()?;
    for (name, view) in &listed {
        match view {
            Ok(view) => {
                let s = view.summary();
                let best = s.best.as_ref();
                table.add_row([
                    name.clone(),
                    s.target.clone(),
                    s.status.to_owned(),
                    s.evaluations.to_string(),
                    best.map(|b| show_figure(&b.time)).unwrap_or_default(),
                    best.and_then(|b| b.speedup_vs_naive).map(|x| format!("{x:.2}x")).unwrap_or_default(),
                    s.heldout.map(|h| format!("{}/{}", h.passed, h.total)).unwrap_or_default(),
                ]);
                objects.push(serde_json::to_value(&s)?);
            }
            Err(e) => {
                printer.err(format!("{name}: {e}"));
                objects.push(json!({ "run": name, "error": e.to_string() }));
            }
        }
    }
    if listed.is_empty() {
        printer.note(format!("no runs in {}; start one with `ksearch search attention`", global.runs.display()));
    } else {
        printer.line(table)?;
    }
    printer.object(&json!({ "runs": objects }))?;
    Ok(Outcome::Success)
}
