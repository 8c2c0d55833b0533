//! `ksearch model`: the timing model against published measurements: scores, fits, which parameters matter.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use indicatif::ProgressBar;
use ksearch_apple::model::{ModelFile, Param, Params};
use ksearch_apple::{Chip, Chips};
use ksearch_device::sim::sample::Sampling;
use ksearch_truth::fit::{Effort, Sample, fit, leave_one_out, simulate};
use ksearch_truth::{Clocks, Report, Score, Simulator, TruthSet, plot, samples, score};
use serde_json::json;

use crate::args::Global;
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch model …`.
#[derive(Clone, Debug, Subcommand)]
pub enum ModelCommand {
    /// Simulate what was measured and say how well the times agree.
    #[command(
        after_help = "DIR holds `truth.toml` (format: docs/timing-model.md) or is a checkout of metal-sci-kernels.\n\nExamples:\n  ksearch model validate metal-sci-kernels --task nbody --task fft3d\n  ksearch model validate metal-sci-kernels --leave-one-out --plot calibration.svg --json"
    )]
    Validate(ValidateArgs),
    /// Fit the model's parameters to measurements and write them to a file.
    #[command(
        after_help = "Example:\n  ksearch model fit metal-sci-kernels --task nbody --task heat2d --out model.toml"
    )]
    Fit(FitArgs),
    /// Say which parameters matter, and by how much.
    Sensitivity(TruthArgs),
}

/// Which measurements.
#[derive(Clone, Debug, Args)]
pub struct TruthArgs {
    /// Folder of measurements.
    pub dir: PathBuf,
    /// Only this task (may be given several times); files of others are not opened.
    #[arg(long)]
    pub task: Vec<String>,
    /// Folder with a geometry file for each task, `TASK.toml`, before those that ship.
    #[arg(long, value_name = "DIR")]
    pub geometry: Option<PathBuf>,
    /// Where counters are kept, so that they are simulated once.
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,
    /// Parameters to use instead of the shipped ones.
    #[arg(long, value_name = "FILE")]
    pub parameters: Option<PathBuf>,
    /// Simulate all threadgroups, however many.
    #[arg(long)]
    pub exact: bool,
}

/// `ksearch model validate`.
#[derive(Clone, Debug, Args)]
pub struct ValidateArgs {
    /// Which measurements.
    #[command(flatten)]
    pub truth: TruthArgs,
    /// Time each task with parameters fitted on the others.
    #[arg(long)]
    pub leave_one_out: bool,
    /// Steps of each of those fits.
    #[arg(long, default_value_t = 3000)]
    pub steps: u32,
    /// Write the calibration plot here.
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Print this many of the programs that are furthest off.
    #[arg(long, default_value_t = 0)]
    pub worst: usize,
}

/// `ksearch model fit`.
#[derive(Clone, Debug, Args)]
pub struct FitArgs {
    /// Which measurements.
    #[command(flatten)]
    pub truth: TruthArgs,
    /// Where to write the parameters.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Steps of the fit.
    #[arg(long, default_value_t = 6000)]
    pub steps: u32,
    /// Seed of the steps.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// A quarter of what one verdict takes: a set has hundreds of programs, and what is counted per simdgroup settles early.
const LIGHT: Sampling = Sampling { instructions: 3_000_000, groups: 1024 };

/// Everything a command needs.
struct Ground {
    chip: Chip,
    file: ModelFile,
    text: String,
    source: String,
    samples: Vec<Sample>,
    failed: Vec<String>,
}

/// Runs the command.
pub fn run(command: &ModelCommand, global: &Global, printer: Printer) -> Result<Outcome> {
    match command {
        ModelCommand::Validate(args) => validate(args, global, printer),
        ModelCommand::Fit(args) => refit(args, global, printer),
        ModelCommand::Sensitivity(args) => sensitivity(args, global, printer),
    }
}

fn ground(args: &TruthArgs, global: &Global, printer: Printer) -> Result<Ground> {
    let tasks = (!args.task.is_empty()).then(|| args.task.iter().cloned().collect::<BTreeSet<_>>());
    let set = TruthSet::load(&args.dir, args.geometry.as_deref(), tasks.as_ref())?;
    anyhow::ensure!(
        !set.rows.is_empty(),
        "{} has no measurements of these tasks with a geometry file; --geometry DIR adds geometry files",
        args.dir.display()
    );
    let chips = match &global.chips {
        Some(dir) => Chips::with_overrides(dir)?,
        None => Chips::embedded()?,
    };
    let chip = chips.get(&set.chip)?;
    let text = match &args.parameters {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?,
        None => ModelFile::SHIPPED.to_owned(),
    };
    let file = ModelFile::parse(&text)?;
    let cache = args.cache.clone().or_else(|| ksearch_msl::cache_dir().map(|d| d.join("counters")));
    let sampling = if args.exact { Sampling::EXACT } else { LIGHT };
    let simulator = Simulator::new(cache, sampling)?;
    let bar = if printer.progress() { ProgressBar::new(set.rows.len() as u64) } else { ProgressBar::hidden() };
    let (samples, failed) = samples(&set, &simulator, &mut |done, _| bar.set_position(done as u64));
    bar.finish_and_clear();
    for s in &set.skipped {
        printer.note(format!("left out: {s}"));
    }
    for f in failed.iter().take(5) {
        printer.note(format!("not simulated: {f}"));
    }
    anyhow::ensure!(!samples.is_empty(), "no program could be simulated: {}", failed.join("; "));
    Ok(Ground { chip, file, text, source: set.source, samples, failed })
}

fn validate(args: &ValidateArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let g = ground(&args.truth, global, printer)?;
    let shipped = g.file.params();
    let (points, how) = if args.leave_one_out {
        let effort = Effort { steps: args.steps, seed: 0 };
        (leave_one_out(&g.chip, &g.file, &g.samples, effort), "each task fitted on the others")
    } else {
        (simulate(&g.chip, &shipped, &g.samples), "the parameters as they are")
    };
    let report = score(&points);
    printer.line(format!(
        "{} programs simulated on {} against measurements ({}), {how}",
        points.len(),
        g.chip.name,
        g.source
    ))?;
    show(&report, printer)?;
    if !g.failed.is_empty() {
        printer.line(format!("{} programs could not be simulated", g.failed.len()))?;
    }
    let mut worst: Vec<_> = points.iter().collect();
    worst.sort_by(|a, b| {
        let off = |p: &ksearch_truth::Point| (p.simulated / p.top(Clocks::Two)).ln().abs();
        off(b).total_cmp(&off(a))
    });
    for p in worst.iter().take(args.worst) {
        printer.line(format!(
            "{} {} {}: simulated {:.3} ms, measured {:.3} ms",
            p.task,
            p.size,
            p.name,
            p.simulated * 1e3,
            p.measured * 1e3
        ))?;
    }
    if let Some(path) = &args.plot {
        let title = format!("simulated on {} against measured, {how}", g.chip.name);
        write(path, &plot::calibration(&points, &title))?;
    }
    printer.object(&json!({
        "chip": g.chip.name, "source": g.source, "how": how, "report": report, "failed": g.failed, "points": points,
    }))?;
    Ok(Outcome::Success)
}

fn show(report: &Report, printer: Printer) -> Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "task",
        "programs",
        "pairs",
        "pairwise",
        "ceiling",
        "tau",
        "one clock",
        "beyond noise",
        "pairs",
        "regret",
        "median",
        "p90",
        "bias",
    ]);
    let mut row = |name: &str, s: &Score| {
        table.add_row([
            name.to_owned(),
            s.points.to_string(),
            s.pairs.to_string(),
            format!("{:.3}", s.pairwise),
            format!("{:.3}", s.ceiling),
            format!("{:.3}", s.tau),
            format!("{:.3}", s.one_clock),
            format!("{:.3}", s.resolved),
            s.resolved_pairs.to_string(),
            format!("{:.1}%", s.regret * 100.0),
            format!("{:.3}", s.median),
            format!("{:.3}", s.p90),
            format!("{:+.3}", s.bias),
        ]);
    };
    for (task, s) in &report.tasks {
        row(task, s);
        for (size, s) in report.sizes.iter().filter(|(k, _)| k.split(' ').next() == Some(task.as_str())) {
            row(&format!("  {}", size.split(' ').nth(1).unwrap_or_default()), s);
        }
    }
    row("overall", &report.overall);
    printer.line(table)?;
    printer.note(
        "pairs: measured times more than 10% apart, each short time taken at the nearer of two clocks; beyond noise: \
         further apart than one in twenty pairs of programs that do the same; ceiling: what other measurements of the \
         same programs order right",
    );
    Ok(())
}

fn refit(args: &FitArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let g = ground(&args.truth, global, printer)?;
    let all: Vec<&Sample> = g.samples.iter().collect();
    let effort = Effort { steps: args.steps, seed: args.seed };
    let (found, loss) = fit(&g.chip, &g.file, &g.file.centre(), &all, effort);
    let text = replaced(&g.text, &found)?;
    write(&args.out, &text)?;
    let report = score(&simulate(&g.chip, &found, &g.samples));
    printer.line(format!("loss {loss:.4}; wrote {}", args.out.display()))?;
    show(&report, printer)?;
    printer.object(&json!({ "loss": loss, "file": args.out, "report": report }))?;
    Ok(Outcome::Success)
}

/// The file with other values, everything else as it was.
fn replaced(text: &str, p: &Params) -> Result<String> {
    let mut section = None;
    let mut out = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("[parameter.").and_then(|l| l.strip_suffix(']')) {
            section = Param::ALL.iter().find(|q| q.key() == name);
        } else if line.starts_with('[') {
            section = None;
        }
        match section {
            Some(&q) if line.starts_with("v = ") => out.extend(["v = ", &format!("{:.5}", p.get(q))]),
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    // What was written must read back.
    ModelFile::parse(&out)?;
    Ok(out)
}

fn sensitivity(args: &TruthArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let g = ground(args, global, printer)?;
    let base = g.file.params();
    let of = |p: &Params| score(&simulate(&g.chip, p, &g.samples)).overall;
    let now = of(&base);
    let mut rows = Vec::new();
    for &q in Param::ALL {
        let (lo, hi) = g.file.bounds(q);
        let ends = [lo, hi].map(|v| of(&base.with(q, v)));
        let ranking = ends.iter().map(|s| (s.pairwise - now.pairwise).abs()).fold(0.0, f64::max);
        let time = ends.iter().map(|s| (s.bias - now.bias).abs()).fold(0.0, f64::max);
        rows.push((q, lo, hi, ranking, time));
    }
    rows.sort_by(|a, b| b.3.total_cmp(&a.3));
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "parameter",
        "value",
        "from",
        "to",
        "pairwise moves",
        "time moves",
        "what",
    ]);
    let mut objects = Vec::new();
    for (q, lo, hi, ranking, time) in rows {
        table.add_row([
            q.key().to_owned(),
            format!("{:.3}", base.get(q)),
            format!("{lo}"),
            format!("{hi}"),
            format!("{ranking:.3}"),
            format!("{:.1}%", (time.exp() - 1.0) * 100.0),
            q.about().trim().to_owned(),
        ]);
        objects.push(json!({ "parameter": q.key(), "value": base.get(q), "from": lo, "to": hi, "pairwise": ranking, "ln_time": time }));
    }
    printer.line(table)?;
    printer
        .object(&json!({ "chip": g.chip.name, "source": g.source, "pairwise": now.pairwise, "parameters": objects }))?;
    Ok(Outcome::Success)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
