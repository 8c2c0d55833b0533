//! `ksearch baseline`: library kernels on the simulator: installs MLX's headers, times its kernels.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use indexmap::IndexMap;
use ksearch_apple::model::{ModelFile, Robustness, compare};
use ksearch_apple::{Chip, Estimate, Model};
use ksearch_baseline::{Baseline, BaselineError, Operation, Wheel, WheelError, time};
use ksearch_device::Target;
use ksearch_device::sim::SimTarget;
use ksearch_device::sim::sample::Sampling;
use ksearch_task::spec::{Env, Purpose};
use ksearch_task::{Candidate, Expr, Figure, FigureKind, Set, Task, Tensor, Workload};
use serde::Serialize;
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
        after_help = "Without --set, the task's timed search workloads.\n\nExamples:\n  ksearch baseline mlx attention\n  ksearch baseline mlx attention --set Hq=32 --set Hkv=32 --set Lq=4096 --set Lk=4096 --set D=128\n  ksearch baseline mlx attention --task attention_long --against best.metal"
    )]
    Mlx(MlxArgs),
    /// Time a kernel and libraries on this machine's processor, in turns.
    #[cfg(target_os = "linux")]
    #[command(
        after_help = "Example:\n  ksearch baseline cpu attention best.cpp --row \"B=1 Hq=8 Hkv=8 Lq=1024 Lk=1024 D=64 T=f32\" --row \"B=1 Hq=8 Hkv=8 Lq=1024 Lk=1024 D=64 causal=1 T=f32\""
    )]
    Cpu(crate::commands::peers::CpuArgs),
    /// Fetch a library's kernels (mlx), or libraries for the processor (cpu), into the cache.
    Install {
        /// Which library.
        #[arg(value_parser = ["mlx", "cpu"])]
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
    /// Take the timed workloads of this task, held-out ones too: a shipped task or a file that extends one.
    #[arg(long, value_name = "TASK", conflicts_with = "set")]
    pub task: Option<String>,
    /// Time this kernel on the same workloads and show by how much it is faster.
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
    /// Simulate all threadgroups, however many.
    #[arg(long)]
    pub exact: bool,
}

/// A kernel that is compared with the library's.
pub struct Rival {
    candidate: Candidate,
    task: Arc<Task>,
    target: SimTarget,
    model: ModelFile,
}

impl Rival {
    fn load(file: &Path, task: &Arc<Task>, chip: &Chip, sampling: Sampling) -> Result<Self> {
        Self::of(Candidate::load(file)?, task, chip, sampling)
    }

    /// A candidate as a rival.
    pub fn of(candidate: Candidate, task: &Arc<Task>, chip: &Chip, sampling: Sampling) -> Result<Self> {
        let target = SimTarget::new(chip.clone()).map_err(|e| anyhow!(e.to_string()))?.sampled(sampling);
        Ok(Self { candidate, task: Arc::clone(task), target, model: ModelFile::embedded()? })
    }

    /// How it stands against the library on a workload; right or wrong is for `ksearch eval` to say.
    pub fn against(&self, label: &str, env: &Env, library: &Baseline) -> Result<(Figure, Robustness)> {
        let resolved = self.candidate.resolve(&self.task, env)?;
        let workload = Workload {
            label: label.to_owned(),
            set: Set::Search,
            purpose: Purpose::Time,
            kind: String::new(),
            weight: 1.0,
            env: env.clone(),
        };
        let inputs = self.task.inputs(&workload, 1)?;
        let mut slots = ksearch_device::slots(&resolved.tensors, &inputs, |info| Tensor {
            dtype: info.dtype,
            shape: info.shape.clone(),
            bytes: vec![0; info.bytes()],
        });
        let features = self
            .target
            .features(&self.candidate, &resolved, &mut slots)
            .map_err(|f: ksearch_device::Failure| anyhow!("{label}: {f}"))?;
        let chip = self.target.chip();
        let estimate = Model::shipped()?.estimate(chip, &features).context("nothing was launched")?;
        Ok((figure(&estimate, chip), compare(chip, &self.model, &features, &library.features)))
    }
}

/// Runs the command.
pub fn run(command: &BaselineCommand, global: &Global, printer: Printer) -> Result<Outcome> {
    match command {
        #[cfg(target_os = "linux")]
        BaselineCommand::Cpu(args) => crate::commands::peers::run(args, global, printer),
        BaselineCommand::Install { library } if library == "cpu" => {
            let root = ksearch_baseline::peer::install().map_err(|e| anyhow::anyhow!(e))?;
            printer.line(format!("libraries for the processor are in {}", root.display()))?;
            printer.object(&json!({ "packages": ksearch_baseline::peer::PACKAGES, "root": root }))?;
            Ok(Outcome::Success)
        }
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
    let operation = Operation::named(&args.operation).context("no such operation")?;
    let task = context::task(args.task.as_deref().unwrap_or_else(|| operation.task()))?;
    if task.family != operation.family() {
        bail!("--task {}: that is a task of {}, not of {}", task.name, task.family, operation.family());
    }
    let workloads: Vec<(String, Env)> = if args.set.is_empty() {
        let chosen = |w: &&Workload| w.purpose.times() && (args.task.is_some() || w.set == Set::Search);
        task.workloads.iter().filter(chosen).map(|w| (w.label.clone(), w.env.clone())).collect()
    } else {
        let mut given = IndexMap::new();
        for (name, value) in context::pairs(&args.set, "--set", None)? {
            given.insert(name, Expr::parse(&value)?);
        }
        vec![(args.set.join(" "), task.env(&given)?)]
    };
    let sampling = if args.exact { Sampling::EXACT } else { Sampling::QUICK };
    let rival = args.against.as_deref().map(|f| Rival::load(f, &task, &chip, sampling)).transpose()?;
    let wheel = Wheel::find()?;
    let mut table = Table::new();
    let (mut ratios, mut wins) = (Vec::new(), 0);
    let compared = if rival.is_some() { &["against", "faster by", "nine in ten", "wins in"][..] } else { &[] };
    table.load_style(presets::NOTHING).set_header(
        [&["workload", "time"], compared, &["GFLOP/s", "of peak", "bounded by", "sampled", "kernel"]].concat(),
    );
    let mut objects = Vec::new();
    let mut all = true;
    for (label, env) in &workloads {
        match time(&wheel, operation, env, &chip, sampling) {
            Ok(b) => {
                let figure = figure(&b.estimate, &chip);
                let flops = task.work(env)?.flops;
                let rate = flops / b.estimate.seconds / 1e9;
                let mut row = vec![label.clone(), show_figure(&figure)];
                let against = rival.as_ref().map(|r| r.against(label, env, &b)).transpose()?;
                if let Some((t, r)) = &against {
                    let verdict = if r.wins() { "" } else { " (no win)" };
                    row.extend([
                        context::show_figure(t),
                        format!("{:.3}x{verdict}", r.ratio),
                        format!("{:.2} to {:.2}", r.interval.0, r.interval.1),
                        format!("{:.0}%", r.share * 100.0),
                    ]);
                    ratios.push(r.ratio);
                    wins += usize::from(r.wins());
                }
                row.extend([
                    format!("{rate:.0}"),
                    format!("{:.0}%", rate / chip.peak_gflops() * 100.0),
                    b.estimate.bottleneck.to_string(),
                    format!("{:.1}%", b.estimate.sampled * 100.0),
                    b.name.clone(),
                ]);
                table.add_row(row);
                let terms: IndexMap<_, _> = b.estimate.terms.iter().map(|(t, s)| (t.name(), s * 1e6)).collect();
                objects.push(json!({
                    "label": label, "name": b.name, "time": figure, "gflops": rate, "bottleneck": b.estimate.bottleneck,
                    "terms_us": terms, "sampled": b.estimate.sampled, "simple_us": b.estimate.simple * 1e6,
                    "occupancy": b.estimate.occupancy.fraction, "against": against.as_ref().map(|a| &a.0),
                    "ratio": against.as_ref().map(|a| a.1.ratio),
                    "robustness": against.as_ref().map(|(_, r)| Sureness::of(r)),
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
    let mean =
        (!ratios.is_empty()).then(|| (ratios.iter().map(|r: &f64| r.ln()).sum::<f64>() / ratios.len() as f64).exp());
    if let (Some(mean), Some(file)) = (mean, &args.against) {
        printer.line(format!(
            "\n{} is {mean:.3}x as fast (geometric mean over {} workloads, simulated on {}); it wins beyond doubt on {wins}: \
             nine in ten draws of the model's parameters and its simple estimate agree",
            file.display(),
            ratios.len(),
            chip.name
        ))?;
    }
    printer.object(&json!({
        "operation": args.operation, "target": args.target.target, "workloads": objects, "geometric_mean_ratio": mean,
    }))?;
    Ok(if all { Outcome::Success } else { Outcome::No })
}

fn figure(e: &Estimate, chip: &Chip) -> Figure {
    let us = |s: f64| s * 1e6;
    let (low, high) = e.interval;
    Figure { ci: Some([us(low), us(high)]), ..Figure::simulated_us(us(e.seconds), chip.name.clone()) }
}

/// A [`Robustness`] for programs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sureness {
    interval: (f64, f64),
    share: f64,
    simple_ratio: f64,
    wins: bool,
}

impl Sureness {
    /// Of this comparison.
    pub fn of(r: &Robustness) -> Self {
        Self { interval: r.interval, share: r.share, simple_ratio: r.simple, wins: r.wins() }
    }
}

/// Time of library kernels over the timed search workloads of a task, weighted as a verdict's time is. `timed` gives
/// microseconds and the kernel's name on one workload, or why there is none.
pub fn over_workloads(
    task: &Task,
    kind: FigureKind,
    on: &str,
    mut timed: impl FnMut(&Workload) -> std::result::Result<(f64, String), String>,
) -> std::result::Result<ksearch_search::Baseline, String> {
    let (mut log_sum, mut weights) = (0.0, 0.0);
    let mut names: Vec<String> = Vec::new();
    for w in task.workloads_of(Set::Search).filter(|w| w.purpose.times()) {
        let (us, name) = timed(w).map_err(|why| format!("{}: {why}", w.label))?;
        log_sum += w.weight * us.ln();
        weights += w.weight;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if weights <= 0.0 {
        return Err("no workload is timed".into());
    }
    let time = Figure { value: (log_sum / weights).exp(), unit: "us".into(), kind, on: on.to_owned(), ci: None };
    Ok(ksearch_search::Baseline { name: names.join(", "), time })
}

/// MLX's time over the timed search workloads of a task; or why there is none.
pub fn of_task(task: &Task, chip: &Chip) -> std::result::Result<ksearch_search::Baseline, String> {
    let operation = Operation::of_task(&task.family).ok_or_else(|| format!("MLX has no kernel for `{}`", task.name))?;
    let wheel = Wheel::find().map_err(|e: WheelError| e.to_string())?;
    over_workloads(task, FigureKind::Simulated, &chip.name, |w| {
        let b = time(&wheel, operation, &w.env, chip, Sampling::QUICK).map_err(|e: BaselineError| e.to_string())?;
        Ok((b.estimate.seconds * 1e6, b.name))
    })
}

/// Calls of a library kernel for one figure.
const CALLS: u32 = 30;

/// The fastest library kernel's time on each of the timed search workloads of a task, on an NVIDIA GPU; or why there is
/// none.
pub fn of_libraries(task: &Task, target: &dyn Target) -> std::result::Result<ksearch_search::Baseline, String> {
    let known = ksearch_baseline::library::known(&task.family);
    over_workloads(task, FigureKind::Measured, &target.facts().name, |w| {
        let mut best: Option<(f64, String)> = None;
        let mut reasons = Vec::new();
        for name in known {
            let started = context::library(name, task, w, target).map_err(|e| e.to_string()).and_then(|l| l);
            match started.and_then(|mut l| l.time(CALLS).map_err(|e| e.to_string())) {
                Ok(times) => {
                    let us = ksearch_device::statistics::median(&times);
                    if best.as_ref().is_none_or(|b| us < b.0) {
                        best = Some((us, (*name).to_owned()));
                    }
                }
                Err(why) => reasons.push(format!("{name}: {why}")),
            }
        }
        best.ok_or_else(|| {
            if reasons.is_empty() {
                format!("no library kernel is known for `{}`", task.family)
            } else {
                reasons.join("; ")
            }
        })
    })
}
