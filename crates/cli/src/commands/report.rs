//! `ksearch report`: a run as one file that can be sent.

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use ksearch_device::Inspect;
use ksearch_judge::prepare::Preparer;
use ksearch_report::model::{LineCosts, Shown};
use ksearch_report::{Loaded, Plot, formats, page};
use ksearch_search::{RunStore, RunView, view};
use ksearch_simt::LineCounts;
use ksearch_task::{Set, Workload};
use serde_json::json;

use crate::args::Global;
use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch report`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The file is written into the run's folder unless --out names another; `--out -` prints it.\n\nExamples:\n  ksearch report latest\n  ksearch report attention-1 --out attention.html\n  ksearch report attention-1 --format svg --plot progress"
)]
pub struct ReportArgs {
    /// Name of the run, a path to its folder, or `latest`.
    pub run: String,
    /// Where to.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Form of the report.
    #[arg(long, default_value = "html", value_parser = ["html", "md", "json", "csv", "svg"])]
    pub format: String,
    /// Which plot, with `--format svg`.
    #[arg(long, default_value = "waterfall", value_parser = ["waterfall", "progress", "roofline", "split", "ablation"])]
    pub plot: String,
}

/// Writes the report.
pub fn run(args: &ReportArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let folder = RunStore::new(&global.runs).resolve(&args.run)?;
    let mut loaded = Loaded::load(&folder)?;
    if matches!(args.format.as_str(), "html" | "md" | "json") {
        loaded.line_costs = match line_costs(&loaded.view, global) {
            Ok(costs) => Shown::Known(costs),
            Err(why) => Shown::missing(format!("What each line costs is not known: {why:#}.")),
        };
    }
    let text = match args.format.as_str() {
        "html" => page::stand_alone(&loaded),
        "md" => formats::markdown(&loaded.report()),
        "json" => formats::json(&loaded)?,
        "csv" => formats::csv(&loaded.report()),
        "svg" => {
            let plot = Plot::parse(&args.plot).with_context(|| format!("--plot {}: no such plot", args.plot))?;
            plot.stand_alone(&loaded.report()).map_err(|why| anyhow!("there is no {} to draw: {why}", args.plot))?
        }
        other => bail!("--format {other}: expected html, md, json, csv or svg"),
    };
    if args.out.as_ref().is_some_and(|o| o.as_os_str() == "-") {
        printer.verbatim(text.trim_end())?;
        return Ok(Outcome::Success);
    }
    let file = args.out.clone().unwrap_or_else(|| default_name(&folder, args));
    std::fs::write(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    printer.line(format!("{} ({} kB)", file.display(), text.len().div_ceil(1000)))?;
    printer.object(&json!({ "run": loaded.view.name, "file": file, "format": args.format, "bytes": text.len() }))?;
    Ok(Outcome::Success)
}

/// Counts what each line of the best kernel does, on the first search workload that was timed. Only the simulator can.
pub fn line_costs(run: &RunView, global: &Global) -> Result<LineCosts> {
    let state = &run.state;
    let best = view::best(state).context("no candidate has passed")?;
    let candidate = &state.candidates.get(&best.candidate).context("the journal lacks the best candidate")?.candidate;
    let verdict = state.full_verdict(&best.candidate).context("it was not judged")?;
    let (target, chip) = context::sim(global, &state.config.target)?;
    let task = context::task(&state.config.task)?;
    let timed = |w: &&Workload| verdict.workloads.iter().any(|r| r.label == w.label && r.time.is_some());
    let workload = task.workloads_of(Set::Search).find(timed).context("no workload was timed")?.clone();
    let resolved = candidate.resolve(&task, &workload.env)?;
    let prepared = Preparer::new(task).prepare(&workload, verdict.seed)?;
    let mut slots = prepared.slots(0);
    let inspection = target
        .inspect(candidate, &resolved, &mut slots, Inspect::Lines, None)
        .map_err(|failure| anyhow!("the kernel did not run again: {failure}"))?;
    let all: u64 = inspection.dispatches.iter().flat_map(|d| &d.lines).map(LineCounts::total).sum();
    let lines = inspection.dispatches.iter().flat_map(|d| &d.lines).map(|l| {
        let mut notes = Vec::new();
        if l.device_bytes > 0 {
            notes.push(format!("{} of device memory", bytes(l.device_bytes)));
        }
        if l.threadgroup_bytes > 0 {
            notes.push(format!("{} of threadgroup memory", bytes(l.threadgroup_bytes)));
        }
        if l.conflicts > 0 {
            notes.push(format!("{} bank conflicts", l.conflicts));
        }
        if l.splits > 0 {
            notes.push(format!("{} branches diverged", l.splits));
        }
        if l.private_bytes > 0 {
            notes.push(format!("{} bytes of private memory", l.private_bytes));
        }
        (l.file.clone(), l.line, l.total() as f64 / all.max(1) as f64, notes.join(", "))
    });
    Ok(LineCosts {
        label: format!("share of simdgroup instructions on {}, simulated on {}", workload.label, chip.name),
        lines: lines.collect(),
    })
}

/// `2.1 MB`.
fn bytes(n: u64) -> String {
    let n = n as f64;
    match n {
        n if n >= 1e9 => format!("{:.1} GB", n / 1e9),
        n if n >= 1e6 => format!("{:.1} MB", n / 1e6),
        n if n >= 1e3 => format!("{:.1} kB", n / 1e3),
        n => format!("{n} B"),
    }
}

/// Within the run's own folder.
fn default_name(folder: &std::path::Path, args: &ReportArgs) -> PathBuf {
    match args.format.as_str() {
        "svg" => folder.join(format!("{}.svg", args.plot)),
        format => folder.join(format!("report.{format}")),
    }
}
