//! `ksearch time`: kernels timed in turns on one target, with what the figures can tell apart.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use comfy_table::{Table, presets};
use ksearch_device::statistics::{self, Comparison, Summary};
use ksearch_device::target::Purpose;
use ksearch_device::{Runnable, Target};
use ksearch_judge::prepare::slots;
use ksearch_judge::{Judge, Stage, Status};
use ksearch_task::{Candidate, Figure, FigureKind, Set, Task, Workload, builtin};
use serde::Serialize;
use serde_json::json;

use crate::args::{Global, TargetArgs};
use crate::context::{self, show_figure};
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};

/// `ksearch time`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Every kernel is judged first, then all are called in turns, each call on poisoned outputs; twice, on two sets of inputs. Intervals are 95% bootstrap intervals of medians.\n\nExamples:\n  ksearch time a.cu b.cu --task attention --target cuda\n  ksearch time a.cu lib:torch-flash --task workloads/h200/attention.toml --target cuda --json"
)]
pub struct TimeArgs {
    /// Kernels (source files with their launch recipes), or library kernels as lib:NAME; the first is what the others
    /// are compared with.
    #[arg(required = true, num_args = 1.., value_name = "KERNEL")]
    pub kernels: Vec<String>,
    /// The task that they do: one that ships, or a path to a task file; by default the shipped one that all fit.
    #[arg(long)]
    pub task: Option<String>,
    /// Where to run.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Time on this workload only (may be given several times); by default on all timed search workloads.
    #[arg(long, value_name = "LABEL")]
    pub workload: Vec<String>,
    /// Turns for each set of inputs.
    #[arg(long, default_value_t = 20)]
    pub rounds: u32,
    /// Seed of the inputs; by default a fresh one.
    #[arg(long)]
    pub seed: Option<u64>,
}

/// Calls of one kernel in a turn.
const TURN: u32 = 3;
/// Drift of a series beyond which its figures are doubted.
const DRIFT: f64 = 0.03;

/// One who takes turns.
enum Entrant {
    Kernel { name: String, candidate: Candidate },
    Library { name: String },
}

impl Entrant {
    fn name(&self) -> &str {
        match self {
            Self::Kernel { name, .. } | Self::Library { name } => name,
        }
    }
}

#[derive(Debug, Serialize)]
struct Entry {
    kernel: String,
    time: Figure,
    samples: Summary,
    /// Against the first kernel: above 1, this one is faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    against_first: Option<Comparison>,
    /// The same on the second set of inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<Comparison>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    versions: Vec<(String, String)>,
}

#[derive(Debug, Serialize)]
struct Row {
    workload: String,
    kernels: Vec<Entry>,
    /// Kernels that could not take part, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    absent: Vec<(String, String)>,
}

/// Times the kernels and prints who is faster.
pub fn run(args: &TimeArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let target = context::target(global, &args.target.target)?;
    let entrants = args
        .kernels
        .iter()
        .map(|text| match text.strip_prefix("lib:") {
            Some(name) => Ok(Entrant::Library { name: name.to_owned() }),
            None => Ok(Entrant::Kernel { name: text.clone(), candidate: Candidate::load(Path::new(text))? }),
        })
        .collect::<Result<Vec<_>>>()?;
    let task = match &args.task {
        Some(name) => context::task(name)?,
        None => guess(&entrants)?,
    };
    let workloads = chosen(&task, args)?;
    let seed = args.seed.unwrap_or_else(context::fresh_seed);
    let judge = Judge::new(Arc::clone(&task), Arc::clone(&target));
    let mut rows = Vec::new();
    for workload in workloads {
        for entrant in &entrants {
            let Entrant::Kernel { name, candidate } = entrant else { continue };
            let verdict = judge.judge_on(candidate, Stage::Full, seed, &[workload]);
            if verdict.status != Status::Passed {
                printer.line(format!("{name}: {}", Tone::Bad.paint(&verdict.summary)))?;
                printer.object(
                    &json!({ "task": task.name, "target": args.target.target, "failed": name, "verdict": verdict }),
                )?;
                return Ok(Outcome::No);
            }
        }
        rows.push(turns(&task, &*target, workload, &entrants, args, seed)?);
    }
    show(&rows, printer)?;
    printer.object(&json!({ "task": task.name, "target": args.target.target, "seed": seed, "workloads": rows }))?;
    Ok(Outcome::Success)
}

/// The one shipped task whose workloads all kernels resolve on.
fn guess(entrants: &[Entrant]) -> Result<Arc<Task>> {
    let fits = |task: &Task| {
        entrants.iter().all(|e| match e {
            Entrant::Kernel { candidate, .. } => {
                task.workloads_of(Set::Search).all(|w| candidate.resolve(task, &w.env).is_ok())
            }
            Entrant::Library { .. } => true,
        })
    };
    let mut found: Vec<Task> = builtin::task_names().into_iter().filter_map(|n| builtin::task(n).ok()).collect();
    // An extension has the same symbols as the task it extends, and other workloads.
    found.retain(|t| t.name == t.family && fits(t));
    match found.len() {
        1 => found.pop().map(Arc::new).context("no task"),
        0 => bail!("no shipped task has the symbols that these recipes use; name one with --task"),
        _ => {
            let names: Vec<_> = found.iter().map(|t| t.name.as_str()).collect();
            bail!("these kernels fit several tasks ({}); name one with --task", names.join(", "))
        }
    }
}

fn chosen<'a>(task: &'a Task, args: &TimeArgs) -> Result<Vec<&'a Workload>> {
    if args.workload.is_empty() {
        let timed: Vec<_> = task.workloads_of(Set::Search).filter(|w| w.purpose.times()).collect();
        ensure!(!timed.is_empty(), "task `{}` has no timed workload; name one with --workload", task.name);
        return Ok(timed);
    }
    args.workload
        .iter()
        .map(|label| task.workload(label).with_context(|| format!("task `{}` has no workload `{label}`", task.name)))
        .collect()
}

/// Something that can be called again over inputs it holds.
trait Called {
    fn call(&mut self, calls: u32) -> Result<Vec<f64>>;
}

struct Built(Box<dyn Runnable>);

impl Called for Built {
    fn call(&mut self, calls: u32) -> Result<Vec<f64>> {
        Ok(self.0.again(calls)?)
    }
}

impl Called for ksearch_baseline::Library {
    fn call(&mut self, calls: u32) -> Result<Vec<f64>> {
        Ok(self.time(calls)?)
    }
}

fn turns(
    task: &Arc<Task>,
    target: &dyn Target,
    workload: &Workload,
    entrants: &[Entrant],
    args: &TimeArgs,
    seed: u64,
) -> Result<Row> {
    let infos = task.tensors_at(&workload.env)?;
    let mut series: Vec<Vec<Vec<f64>>> = Vec::new();
    let mut absent = Vec::new();
    let mut versions: Vec<Vec<(String, String)>> = vec![Vec::new(); entrants.len()];
    for set in 0..2 {
        let inputs = task.inputs(workload, seed.wrapping_add(set))?;
        let mut callers: Vec<Option<Box<dyn Called>>> = Vec::new();
        for (n, entrant) in entrants.iter().enumerate() {
            callers.push(match entrant {
                Entrant::Kernel { candidate, .. } => {
                    let resolved = candidate.resolve(task, &workload.env)?;
                    let mut built = target.build(candidate, &resolved)?;
                    let mut slots = slots(&infos, &inputs, seed);
                    built.run(&mut slots, Purpose::Measure)?;
                    Some(Box::new(Built(built)))
                }
                Entrant::Library { name } => match context::library(name, task, workload, target)? {
                    Ok(library) => {
                        versions[n] = library.versions().to_vec();
                        Some(Box::new(library))
                    }
                    Err(why) => {
                        if set == 0 {
                            absent.push((name.clone(), why));
                        }
                        None
                    }
                },
            });
        }
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); callers.len()];
        for round in 0..args.rounds.max(1) {
            // Forth and back, so that what changes slowly meets all alike.
            let order: Vec<usize> =
                if round % 2 == 0 { (0..callers.len()).collect() } else { (0..callers.len()).rev().collect() };
            for n in order {
                if let (Some(Some(caller)), Some(times)) = (callers.get_mut(n), times.get_mut(n)) {
                    times.push(statistics::median(&caller.call(TURN)?));
                }
            }
        }
        series.push(times);
    }
    let on = &target.facts().name;
    let mut kernels = Vec::new();
    for (n, entrant) in entrants.iter().enumerate() {
        let of = |set: usize, n: usize| series.get(set).and_then(|s| s.get(n)).cloned().unwrap_or_default();
        let all: Vec<f64> = [of(0, n), of(1, n)].concat();
        let Some(samples) = statistics::summary(&all) else { continue };
        kernels.push(Entry {
            kernel: entrant.name().to_owned(),
            time: Figure {
                value: samples.median,
                unit: "us".into(),
                kind: FigureKind::Measured,
                on: on.clone(),
                ci: Some(samples.interval),
            },
            samples,
            against_first: (n > 0).then(|| statistics::compare(&of(0, 0), &of(0, n))).flatten(),
            again: (n > 0).then(|| statistics::compare(&of(1, 0), &of(1, n))).flatten(),
            versions: versions.get(n).cloned().unwrap_or_default(),
        });
    }
    Ok(Row { workload: workload.label.clone(), kernels, absent })
}

fn show(rows: &[Row], printer: Printer) -> Result<()> {
    for row in rows {
        printer.line(Tone::Strong.paint(&row.workload))?;
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["kernel", "time", "interval", "against the first", "again", ""]);
        for e in &row.kernels {
            let [low, high] = e.samples.interval;
            let ratio = |c: &Option<Comparison>| {
                c.as_ref().map_or_else(String::new, |c| {
                    if c.different {
                        format!("{:.3}x [{:.3}, {:.3}]", c.ratio, c.interval[0], c.interval[1])
                    } else {
                        format!("no difference (one of {:.1}% would show)", 100.0 * c.detectable)
                    }
                })
            };
            let drift = if (e.samples.drift - 1.0).abs() > DRIFT {
                format!("drifts by {:+.0}%", 100.0 * (e.samples.drift - 1.0))
            } else {
                String::new()
            };
            table.add_row([
                e.kernel.clone(),
                show_figure(&e.time),
                format!("{low:.2} to {high:.2}"),
                ratio(&e.against_first),
                ratio(&e.again),
                drift,
            ]);
        }
        printer.line(table)?;
        for (name, why) in &row.absent {
            printer.line(format!("{} {name}: {why}", Tone::Warn.paint("absent:")))?;
        }
        for e in row.kernels.iter().filter(|e| !e.versions.is_empty()) {
            let list: Vec<_> = e.versions.iter().map(|(n, v)| format!("{n} {v}")).collect();
            printer.line(format!("{}: {}", e.kernel, list.join(", ")))?;
        }
    }
    Ok(())
}
