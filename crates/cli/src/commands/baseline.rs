//! `ksearch baseline`: library kernels on the simulator: installs MLX's headers, times its kernels.

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use indexmap::IndexMap;
use ksearch_apple::Chip;
use ksearch_baseline::mlx::launches;
use ksearch_baseline::{Baseline, BaselineError, Operation, Wheel, WheelError, time};
use ksearch_device::sim::sample::Sampling;
use ksearch_task::expr::Empty;
use ksearch_task::spec::Env;
use ksearch_task::{Expr, Figure, FigureKind, Set, Task};
use serde_json::json;

use crate::args::{Global, TargetArgs};
use crate::context::{self, show_figure};
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch baseline …`.
#[derive(Clone, Debug, Subcommand)]
pub enum BaselineCommand {
    /// Time MLX's own kernel on a simulated chip.
    #[command(
        after_help = "Without --set, the task's timed search workloads.\n\nExamples:\n  ksearch baseline mlx attention\n  ksearch baseline mlx attention --set Hq=32 --set Hkv=32 --set Lq=4096 --set Lk=4096 --set D=128"
    )]
    Mlx(MlxArgs),
    /// Fetch a library's kernels into the cache.
    Install {
        /// Which library.
        #[arg(value_parser = ["mlx"])]
        library: String,
    },
}

/// `ksearch baseline mlx`.
#[derive(Clone, Debug, Args)]
pub struct MlxArgs {
    /// Which operation.
    #[arg(value_parser = ["attention", "softmax", "rms_norm", "scan"])]
    pub operation: String,
    /// Where it runs.
    #[command(flatten)]
    pub target: TargetArgs,
    /// One workload, by values of the task's symbols: NAME=VALUE (may be given several times).
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Simulate all threadgroups, however many.
    #[arg(long)]
    pub exact: bool,
}

/// Runs the command.
pub fn run(command: &BaselineCommand, global: &Global, printer: Printer) -> Result<Outcome> {
    match command {
        BaselineCommand::Install { .. } => {
            let wheel = Wheel::install()?;
            printer.line(format!("MLX {} is in {}", ksearch_baseline::wheel::VERSION, wheel.root().display()))?;
            printer.object(&json!({ "version": ksearch_baseline::wheel::VERSION, "root": wheel.root() }))?;
            Ok(Outcome::Success)
        }
        BaselineCommand::Mlx(args) => mlx(args, global, printer),
    }
}

fn mlx(args: &MlxArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (_, chip) = context::sim(global, &args.target.target)?;
    let operation = Operation::of_task(&args.operation).context("no such operation")?;
    if let (Operation::RmsNorm | Operation::Scan, Err(why)) = (operation, launches(operation, &Empty, 'g')) {
        printer.line(format!("no baseline: {why}"))?;
        printer.object(&json!({ "operation": args.operation, "target": args.target.target, "workloads": [], "why": why.to_string() }))?;
        return Ok(Outcome::No);
    }
    let task = context::task(&args.operation)?;
    let workloads: Vec<(String, Env)> = if args.set.is_empty() {
        task.workloads_of(Set::Search).filter(|w| w.purpose.times()).map(|w| (w.label.clone(), w.env.clone())).collect()
    } else {
        let mut given = IndexMap::new();
        for (name, value) in context::pairs(&args.set, "--set", None)? {
            given.insert(name, Expr::parse(&value)?);
        }
        vec![(args.set.join(" "), task.env(&given)?)]
    };
    let wheel = Wheel::find()?;
    let sampling = if args.exact { Sampling::EXACT } else { Sampling::QUICK };
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "workload",
        "time",
        "GFLOP/s",
        "of peak",
        "bounded by",
        "sampled",
        "kernel",
    ]);
    let mut objects = Vec::new();
    let mut all = true;
    for (label, env) in &workloads {
        match time(&wheel, operation, env, &chip, sampling) {
            Ok(b) => {
                let figure = figure(&b, &chip);
                let flops = task.work(env)?.flops;
                let rate = flops / b.estimate.seconds / 1e9;
                table.add_row([
                    label.clone(),
                    show_figure(&figure),
                    format!("{rate:.0}"),
                    format!("{:.0}%", rate / chip.peak_gflops() * 100.0),
                    b.estimate.bottleneck.to_string(),
                    format!("{:.1}%", b.estimate.sampled * 100.0),
                    b.name.clone(),
                ]);
                let terms: IndexMap<_, _> = b.estimate.terms.iter().map(|(t, s)| (t.name(), s * 1e6)).collect();
                objects.push(json!({
                    "label": label, "name": b.name, "time": figure, "gflops": rate, "bottleneck": b.estimate.bottleneck,
                    "terms_us": terms, "sampled": b.estimate.sampled, "simple_us": b.estimate.simple * 1e6,
                    "occupancy": b.estimate.occupancy.fraction,
                }));
            }
            Err(e) => {
                all = false;
                table.add_row([label.clone(), "none".into(), String::new(), String::new(), e.to_string()]);
                objects.push(json!({ "label": label, "time": null, "why": e.to_string() }));
            }
        }
    }
    printer.line(table)?;
    printer.object(&json!({ "operation": args.operation, "target": args.target.target, "workloads": objects }))?;
    Ok(if all { Outcome::Success } else { Outcome::No })
}

fn figure(b: &Baseline, chip: &Chip) -> Figure {
    let us = |s: f64| s * 1e6;
    let (low, high) = b.estimate.interval;
    Figure { ci: Some([us(low), us(high)]), ..Figure::simulated_us(us(b.estimate.seconds), chip.name.clone()) }
}

/// MLX's time over the timed search workloads of a task, weighted as a verdict's time is; or why there is none.
pub fn of_task(task: &Task, chip: &Chip) -> std::result::Result<ksearch_search::Baseline, String> {
    let operation = Operation::of_task(&task.family).ok_or_else(|| format!("MLX has no kernel for `{}`", task.name))?;
    let wheel = Wheel::find().map_err(|e: WheelError| e.to_string())?;
    let (mut log_sum, mut weights) = (0.0, 0.0);
    let mut name = String::new();
    for w in task.workloads_of(Set::Search).filter(|w| w.purpose.times()) {
        let b = time(&wheel, operation, &w.env, chip, Sampling::QUICK)
            .map_err(|e: BaselineError| format!("{}: {e}", w.label))?;
        log_sum += w.weight * (b.estimate.seconds * 1e6).ln();
        weights += w.weight;
        if name.is_empty() {
            name = b.name;
        }
    }
    if weights <= 0.0 {
        return Err("no workload is timed".into());
    }
    let value = (log_sum / weights).exp();
    let time = Figure { value, unit: "us".into(), kind: FigureKind::Simulated, on: chip.name.clone(), ci: None };
    Ok(ksearch_search::Baseline { name, time })
}
