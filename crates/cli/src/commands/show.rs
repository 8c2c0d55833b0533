//! `ksearch show`: what a run tried and gave.

use anyhow::{Result, bail};
use ksearch_report::terminal::Live;
use ksearch_search::state::CandidateRecord;
use ksearch_search::{Event, RunStore, RunView};
use ksearch_task::CandidateId;
use ksearch_world::{Node, NodeId, State};

use crate::args::{Global, ShowArgs};
use crate::context::show_figure;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::session;

/// Shows the run, its tree, or one candidate.
pub fn run(args: &ShowArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let view = RunStore::new(&global.runs).open(&args.run)?;
    if let Some(id) = &args.candidate {
        return candidate(&view, id, printer);
    }
    if let Some(name) = &args.node {
        return node(&view, name, printer);
    }
    if let Some([a, b]) = args.diff.as_deref() {
        return diff(&view, a, b, printer);
    }
    if args.transcript {
        return transcript(&view, printer);
    }
    let summary = view.summary();
    session::show(&summary, Some(&ending(&view)?), printer)?;
    let object = if args.robustness {
        session::with_contest(&summary, &view, global, printer)?
    } else {
        serde_json::to_value(&summary)?
    };
    if args.tree {
        printer.line("")?;
        branch(&view, view.state.world.root(), 0, printer)?;
    }
    printer.object(&object)?;
    Ok(Outcome::Success)
}

/// The last picture of the run that its live view gave, or would have given.
fn ending(view: &RunView) -> Result<Vec<String>> {
    let events = view.events()?;
    // Times against naive and baseline stand in the table.
    let live =
        Live { best: String::new(), against: String::new(), ..Live::of(events.iter().map(|e| &e.event), &view.state) };
    let columns = console::Term::stdout().size_checked().map_or(100, |(_, columns)| columns.saturating_sub(1));
    Ok(live.lines(columns.into()).split_off(1))
}

fn candidate(view: &RunView, id: &str, printer: Printer) -> Result<Outcome> {
    let (key, record) = find(view, id)?;
    let full = record.candidate.clone().with_recipe_comment();
    for file in &full.files {
        printer.verbatim(&file.text)?;
    }
    printer.object(&serde_json::json!({ "candidate": key, "by": record.by, "parent": record.parent, "plan": record.plan, "content": record.candidate }))?;
    Ok(Outcome::Success)
}

/// The candidate that is meant: attached to a node, `best`, `naive`, or with this beginning of its id.
fn find<'a>(view: &'a RunView, name: &str) -> Result<(CandidateId, &'a CandidateRecord)> {
    let node = match name {
        "best" => view.summary().best.map(|b| b.node),
        "naive" => Some(NodeId::ROOT),
        other => NodeId::parse(other),
    };
    let attached = node.and_then(|n| view.state.world.get(n)?.outcome()).map(|o| o.candidate.0.clone());
    if let (Some(node), None) = (node, &attached) {
        bail!("{node} has no candidate attached in run `{}`", view.name);
    }
    let wanted = attached.unwrap_or_else(|| name.to_owned());
    let found: Vec<_> = view.state.candidates.iter().filter(|(key, _)| key.0.starts_with(&wanted)).collect();
    let [(key, record)] = found.as_slice() else {
        bail!("run `{}` has {} candidates whose id begins with `{wanted}`", view.name, found.len());
    };
    Ok(((*key).clone(), record))
}

fn diff(view: &RunView, a: &str, b: &str, printer: Printer) -> Result<Outcome> {
    let ((id_a, old), (id_b, new)) = (find(view, a)?, find(view, b)?);
    let text = |r: &CandidateRecord| {
        let files = r.candidate.clone().with_recipe_comment().files;
        files.into_iter().map(|f| f.text).collect::<Vec<_>>().join("\n")
    };
    let (old, new) = (text(old), text(new));
    let changes = similar::TextDiff::from_lines(&old, &new);
    let unified = changes
        .unified_diff()
        .header(&format!("{a} ({})", id_a.short()), &format!("{b} ({})", id_b.short()))
        .to_string();
    for line in unified.lines() {
        printer.line(match line.chars().next() {
            Some('+') => Tone::Good.paint(line),
            Some('-') => Tone::Bad.paint(line),
            Some('@') => Tone::Dim.paint(line),
            _ => line.to_owned(),
        })?;
    }
    printer.object(&serde_json::json!({ "a": id_a, "b": id_b, "diff": unified }))?;
    Ok(if unified.is_empty() { Outcome::Success } else { Outcome::No })
}

/// Everything that is known of one node.
fn node(view: &RunView, name: &str, printer: Printer) -> Result<Outcome> {
    let state = &view.state;
    let Some(node) = NodeId::parse(name).and_then(|id| state.world.get(id)) else {
        bail!("run `{}` has no node `{name}`; see `ksearch show {} --tree`", view.name, view.name);
    };
    printer.line(Tone::Strong.paint(format!("{} {}", node.id, node.title())))?;
    printer.line(format!("{}; proposed by {}, {}", standing(node), node.by, describe(node)))?;
    let path: Vec<String> = state.world.path(node.id).iter().map(|n| n.id.to_string()).collect();
    printer.line(format!("path       {}", path.join(" > ")))?;
    if let Some(action) = &node.action {
        for (label, text) in [("what", &action.description), ("why", &action.rationale)] {
            if !text.is_empty() {
                printer.line(format!("{label:<10} {text}"))?;
            }
        }
        printer.line(format!("difficulty {} of 5", action.difficulty))?;
    }
    for (resource, impact) in &node.impacts {
        let name = serde_json::to_value(resource)?;
        printer.line(format!(
            "impact     {} {}: {}",
            name.as_str().unwrap_or_default(),
            impact.rating,
            impact.notes
        ))?;
    }
    if !node.notes.is_empty() {
        printer.line(format!("notes      {}", node.notes))?;
    }
    for work in state.closed.iter().filter(|c| c.node == node.id) {
        let terms: Vec<String> = work.selection.terms.iter().map(|(n, v)| format!("{n} {v:.3}")).collect();
        printer.line(format!(
            "\nwork {}: chosen from {} ({})",
            work.cycle,
            work.selection.frontier,
            terms.join(", ")
        ))?;
        for a in &work.report.attempts {
            let id = a.candidate.as_ref().map_or("", |c| c.short());
            let time = a.time.as_ref().map(|t| format!("{}, ", show_figure(t))).unwrap_or_default();
            printer.line(format!("  {:<8} {id:<8} {}: {time}{}", a.step, a.status, a.summary))?;
            if let Some(s) = &a.sweep {
                printer.line(format!(
                    "           swept {} settings, {} in full: {:.2}x {:?}",
                    s.screened, s.full, s.gain, s.values
                ))?;
            }
        }
    }
    printer.object(node)?;
    Ok(Outcome::Success)
}

/// Questions to models and their answers, in order.
fn transcript(view: &RunView, printer: Printer) -> Result<Outcome> {
    let mut all = Vec::new();
    for recorded in view.events()? {
        let (who, exchanges) = match recorded.event {
            Event::Planned { request, exchanges, .. } => (format!("planner, {}", request.name()), exchanges),
            Event::Coded { cycle, attempt, step, exchanges, .. } => {
                (format!("coder, work {cycle}, attempt {attempt}, {step}"), exchanges)
            }
            _ => continue,
        };
        for e in exchanges {
            printer.line(
                Tone::Strong
                    .paint(format!("=== event {}: {who} ({} {}, {})", recorded.seq, e.provider, e.model, e.template)),
            )?;
            printer.line(format!("{}\n\n{}", e.system, e.user))?;
            printer.line(Tone::Strong.paint(format!(
                "--- answer after {:.1} s, {} tokens in, {} out",
                e.seconds, e.tokens_in, e.tokens_out
            )))?;
            match &e.error {
                Some(error) => printer.line(Tone::Bad.paint(&error.message))?,
                None => printer.line(&e.answer)?,
            }
            for fault in &e.faults {
                printer.line(Tone::Warn.paint(format!("refused: {fault}")))?;
            }
            printer.line("")?;
            all.push(e);
        }
    }
    if all.is_empty() {
        printer.note("no model was asked in this run");
    }
    printer.object(&all)?;
    Ok(Outcome::Success)
}

fn standing(node: &Node) -> String {
    match &node.state {
        State::Open if node.attempts > 0 => format!("open after {} failed tries", node.attempts),
        State::Open => "open".to_owned(),
        State::Active => "in work".to_owned(),
        State::Solved(o) => {
            let gain = o.gain.map(|g| format!(", {g:.2}x its parent")).unwrap_or_default();
            let predicted = node.predicted_gain.map(|g| format!(" (predicted {g:.2}x)")).unwrap_or_default();
            let bound = o.bottleneck.map(|b| format!(", bound by {b}")).unwrap_or_default();
            format!("{}{gain}{predicted}{bound}", show_figure(&o.time))
        }
        State::Abandoned { why } => format!("given up: {why}"),
        State::Deleted { why } => format!("deleted: {why}"),
    }
}

fn branch(view: &RunView, node: &Node, depth: usize, printer: Printer) -> Result<()> {
    let mark = match (node.outcome().is_some(), view.state.world.on_frontier(node)) {
        (true, _) => Tone::Good.paint("●"),
        (false, true) => Tone::Warn.paint("○"),
        (false, false) => Tone::Dim.paint("·"),
    };
    let about = format!("{} · {}", standing(node), describe(node));
    printer.line(format!("{}{mark} {} {}  {}", "  ".repeat(depth), node.id, node.title(), Tone::Dim.paint(about)))?;
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
