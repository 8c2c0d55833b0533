//! `ksearch tasks`: the tasks that ship, or one in full.

use anyhow::Result;
use comfy_table::{Table, presets};
use ksearch_task::spec::Kind;
use ksearch_task::{Set, Task, Workload, builtin};
use serde_json::json;

use crate::args::TasksArgs;
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};

/// Lists tasks, or shows one.
pub fn run(args: &TasksArgs, printer: Printer) -> Result<Outcome> {
    match &args.task {
        Some(name) => show(&*context::task(name)?, printer),
        None => list(printer),
    }
}

fn list(printer: Printer) -> Result<Outcome> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["task", "what", "search", "held-out"]);
    let mut objects = Vec::new();
    for name in builtin::task_names() {
        let task = builtin::task(name)?;
        let [search, heldout] = [Set::Search, Set::HeldOut].map(|set| task.workloads_of(set).count());
        table.add_row([name.to_owned(), task.title.clone(), search.to_string(), heldout.to_string()]);
        objects.push(json!({ "name": name, "title": task.title, "search": search, "heldout": heldout }));
    }
    printer.line(table)?;
    printer.note("\n`ksearch tasks NAME` shows one; `ksearch task new NAME` makes your own.");
    printer.object(&json!({ "tasks": objects }))?;
    Ok(Outcome::Success)
}

fn show(task: &Task, printer: Printer) -> Result<Outcome> {
    printer.line(Tone::Strong.paint(format!("{}: {}", task.name, task.title)))?;
    printer.line(task.description.trim_end())?;
    printer.line("")?;
    let mut symbols = table(["symbol", "range", "meaning"]);
    for s in &task.symbols {
        symbols.add_row([s.name.clone(), range(&s.kind), s.doc.clone()]);
    }
    printer.line(symbols)?;
    printer.line("")?;
    let mut tensors = table(["tensor", "role", "dtype", "shape", "meaning"]);
    for t in &task.tensors {
        let shape: Vec<_> = t.shape.iter().map(|e| e.text().to_owned()).collect();
        let role = format!("{:?}{}", t.role, if t.when.is_some() { ", optional" } else { "" }).to_lowercase();
        tensors.add_row([
            t.name.clone(),
            role,
            t.dtype.text().to_owned(),
            format!("[{}]", shape.join(", ")),
            t.doc.clone(),
        ]);
    }
    printer.line(tensors)?;
    printer.line("")?;
    let mut workloads = table(["workload", "set", "kind", "used for"]);
    for w in &task.workloads {
        workloads.add_row([
            w.label.clone(),
            set(w).to_owned(),
            w.kind.clone(),
            format!("{:?}", w.purpose).to_lowercase(),
        ]);
    }
    printer.line(workloads)?;
    printer.object(&json!({
        "name": task.name,
        "title": task.title,
        "description": task.description,
        "symbols": task.symbols.iter().map(|s| json!({ "name": s.name, "range": range(&s.kind), "parameter": s.parameter, "doc": s.doc })).collect::<Vec<_>>(),
        "tensors": task.tensors.iter().map(|t| json!({
            "name": t.name,
            "role": format!("{:?}", t.role).to_lowercase(),
            "dtype": t.dtype.text(),
            "shape": t.shape.iter().map(ksearch_task::Expr::text).collect::<Vec<_>>(),
            "optional": t.when.is_some(),
            "doc": t.doc,
        })).collect::<Vec<_>>(),
        "workloads": task.workloads.iter().map(|w| json!({ "label": w.label, "set": set(w), "kind": w.kind, "weight": w.weight })).collect::<Vec<_>>(),
    }))?;
    Ok(Outcome::Success)
}

fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table
}

fn set(w: &Workload) -> &'static str {
    match w.set {
        Set::Search => "search",
        Set::HeldOut => "held-out",
    }
}

fn range(kind: &Kind) -> String {
    match kind {
        Kind::Int { values, .. } if !values.is_empty() => {
            values.iter().map(i64::to_string).collect::<Vec<_>>().join(" | ")
        }
        Kind::Int { min, max, .. } if *max == i64::MAX => format!("{min}…"),
        Kind::Int { min, max, .. } => format!("{min}…{max}"),
        Kind::DType(types) => types.iter().map(|d| d.name()).collect::<Vec<_>>().join(" | "),
        Kind::Real => "real".into(),
        Kind::Flag => "0 | 1".into(),
    }
}
