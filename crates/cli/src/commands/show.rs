//! `ksearch show`: what a run tried and gave.

use anyhow::{Result, bail};
use ksearch_search::{RunStore, RunView};
use ksearch_world::{Node, NodeId};

use crate::args::{Global, ShowArgs};
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::session;

/// Shows the run, its tree, or one candidate.
pub fn run(args: &ShowArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let view = RunStore::new(&global.runs).open(&args.run)?;
    if let Some(id) = &args.candidate {
        return candidate(&view, id, printer);
    }
    let summary = view.summary();
    session::show(&summary, printer)?;
    if args.tree {
        printer.line("")?;
        branch(&view, view.state.world.root(), 0, printer)?;
    }
    printer.object(&summary)?;
    Ok(Outcome::Success)
}

fn candidate(view: &RunView, id: &str, printer: Printer) -> Result<Outcome> {
    let wanted = match id {
        "best" => view.summary().best.map(|b| b.candidate.0).unwrap_or_default(),
        other => other.to_owned(),
    };
    let found: Vec<_> = view.state.candidates.iter().filter(|(key, _)| key.0.starts_with(&wanted)).collect();
    let [(key, record)] = found.as_slice() else {
        bail!("run `{}` has {} candidates whose id begins with `{wanted}`", view.name, found.len());
    };
    let full = record.candidate.clone().with_recipe_comment();
    for file in &full.files {
        printer.line(&file.text)?;
    }
    printer.object(&serde_json::json!({ "candidate": key, "by": record.by, "parent": record.parent, "plan": record.plan, "content": record.candidate }))?;
    Ok(Outcome::Success)
}

fn branch(view: &RunView, node: &Node, depth: usize, printer: Printer) -> Result<()> {
    let mark = match (node.outcome().is_some(), view.state.world.on_frontier(node)) {
        (true, _) => Tone::Good.paint("●"),
        (false, true) => Tone::Warn.paint("○"),
        (false, false) => Tone::Dim.paint("·"),
    };
    printer.line(format!("{}{mark} {}  {}", "  ".repeat(depth), node.title(), Tone::Dim.paint(describe(node))))?;
    let children: Vec<NodeId> = view.state.world.children(node.id).map(|c| c.id).collect();
    for id in children {
        if let Some(child) = view.state.world.get(id) {
            branch(view, child, depth + 1, printer)?;
        }
    }
    Ok(())
}

fn describe(node: &Node) -> String {
    format!("rating {:.1}, confidence {:.2}", node.rating, node.confidence)
}
