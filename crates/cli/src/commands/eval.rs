//! `ksearch eval`: one kernel against a task, with verdict, place and advice.

use anyhow::{Context as _, Result};
use comfy_table::{Table, presets};
use ksearch_judge::{Judge, Stage, Status, Verdict};
use ksearch_task::{Candidate, Set, Task, Workload};
use serde_json::json;

use crate::args::{EvalArgs, Global};
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::show_source;

/// Judges the kernel and prints the verdict.
pub fn run(args: &EvalArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let task = context::task(&args.task)?;
    let target = context::target(global, &args.target.target)?;
    let mut candidate = Candidate::load(&args.file)?;
    for pair in &args.set {
        let (name, value) = pair.split_once('=').with_context(|| format!("--set {pair}: expected NAME=VALUE"))?;
        let value = value.parse().with_context(|| format!("--set {pair}: the value is not an integer"))?;
        candidate.values.insert(name.to_owned(), value);
    }
    let seed = args.seed.unwrap_or_else(context::fresh_seed);
    let judge = Judge::new(task.clone(), target);
    let workloads = chosen(&task, args)?;
    // With the relations between answers that a winner of a search has to keep too: nobody judges it after this.
    let verdict = judge.judge_on(&candidate, Stage::Confirm, seed, &workloads);
    print(&verdict, &candidate, printer)?;
    printer.object(&json!({
        "status": verdict.status,
        "summary": verdict.summary,
        "advice": verdict.advice,
        "candidate": verdict.candidate,
        "task": verdict.task,
        "target": verdict.target,
        "seed": verdict.seed,
        "time": verdict.time,
        "fault": verdict.fault,
        "workloads": verdict.workloads,
        "profile": verdict.profile,
        "evidence": verdict.evidence,
        "diagnostics": verdict.diagnostics,
        "wall_s": verdict.wall_s,
    }))?;
    match verdict.status {
        Status::Passed => Ok(Outcome::Success),
        Status::InfrastructureError => Ok(Outcome::Unable),
        _ => Ok(Outcome::No),
    }
}

fn chosen<'a>(task: &'a Task, args: &EvalArgs) -> Result<Vec<&'a Workload>> {
    if args.workload.is_empty() {
        return Ok(task.workloads.iter().filter(|w| args.heldout || w.set == Set::Search).collect());
    }
    args.workload
        .iter()
        .map(|label| {
            task.workload(label).with_context(|| {
                let known: Vec<_> = task.workloads.iter().map(|w| w.label.as_str()).collect();
                format!("task `{}` has no workload `{label}`; it has {}", task.name, known.join(", "))
            })
        })
        .collect()
}

fn print(verdict: &Verdict, candidate: &Candidate, printer: Printer) -> Result<()> {
    let good = verdict.status == Status::Passed;
    let tone = if good { Tone::Good } else { Tone::Bad };
    printer.line(format!("{}  {}", tone.paint(verdict.status), verdict.summary))?;
    let place = verdict.fault.as_ref().and_then(|f| f.pos.as_ref());
    let first = verdict.diagnostics.iter().find_map(|d| d.pos.as_ref());
    if let Some(pos) = place.or(first) {
        printer.line(show_source::excerpt(candidate, pos))?;
    }
    if let Some(other) = verdict.fault.as_ref().and_then(|f| f.other.as_ref()) {
        printer.line(format!("{} the other access is here:", Tone::Dim.paint("note:")))?;
        printer.line(show_source::excerpt(candidate, other))?;
    }
    for d in verdict.diagnostics.iter().skip(1) {
        let place = d.pos.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
        printer.line(format!("{place}{}", d.message))?;
    }
    if !verdict.advice.is_empty() {
        printer.line(format!("{} {}", Tone::Strong.paint("help:"), verdict.advice))?;
    }
    if !verdict.workloads.is_empty() {
        printer.line("")?;
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["workload", "status", "error/allowed", "time", "bound by"]);
        for w in &verdict.workloads {
            let time = w.time.as_ref().map(context::show_figure).unwrap_or_default();
            let error = w.error.map(|e| format!("{e:.2}")).unwrap_or_default();
            let bound = w.profile.as_ref().map(|p| p.bottleneck.to_string()).unwrap_or_default();
            table.add_row([w.label.clone(), w.status.to_string(), error, time, bound]);
        }
        printer.line(table)?;
    }
    if let Some(time) = &verdict.time {
        printer.line(format!("\ntime {} (geometric mean over the timed workloads)", context::show_figure(time)))?;
    }
    if let Some(profile) = &verdict.profile {
        for advice in &profile.advice {
            printer.line(format!("  {advice}"))?;
        }
    }
    for e in verdict.evidence.iter().filter(|e| !e.ok) {
        printer.line(format!("{} {}", Tone::Warn.paint("note:"), e.detail))?;
    }
    Ok(())
}
