//! `ksearch ablate`: what the translation layer is worth. Three configurations with the same budget, as ratios to the
//! library's own kernel, and the best kernel strategy by strategy.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use comfy_table::{Table, presets};
use ksearch_report::model::{Ablation, Named};
use ksearch_search::ablation::{FROM_THE_LAYER, Withheld};
use ksearch_search::builtin::Refinement;
use ksearch_search::matrix::{Mean, mean};
use ksearch_search::shared::Shared;
use ksearch_search::{
    Baseline, BuiltinCoder, BuiltinPlanner, Evaluator, Generator, Journal, Plan, Planner, Players, RunState, RunStore,
    SearchConfig, Silent, Stage, coder,
};
use ksearch_task::{Figure, FigureKind};
use serde_json::json;

use crate::args::{Global, TargetArgs};
use crate::context::{self, show_figure};
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::session::{Material, Session};

/// `ksearch ablate`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "docs/port.md says what is withheld. The first run with the layer is kept in the runs folder with the\nablation beside its journal; `ksearch report RUN` shows the chart. With models in the roles, the same\nexperiment is `ksearch search T --planner llm --coder llm --context none` against `--context full`.\n\nExample:\n  ksearch ablate attention --target sim:m1-max --seeds 5"
)]
pub struct AblateArgs {
    /// A task that the built-in roles know: `attention`, `selective_scan`.
    pub task: String,
    /// Where to run.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Seeds per configuration.
    #[arg(long, default_value_t = 5)]
    pub seeds: u64,
    /// Evaluations per run.
    #[arg(long, default_value_t = 60)]
    pub evaluations: u32,
    /// Keep verdicts in this file, and take those that it holds.
    #[arg(long, value_name = "FILE")]
    pub verdicts: Option<PathBuf>,
}

/// A configuration with its final times in microseconds, one a seed.
struct Arm {
    name: &'static str,
    times: Vec<f64>,
}

/// What was left out, and the time without it in microseconds, or why there is none.
type Step = (String, Result<f64, String>);

/// Runs the experiment.
pub fn run(args: &AblateArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let base = SearchConfig {
        task: context::stable_task_name(&args.task),
        target: args.target.target.clone(),
        ..SearchConfig::default()
    };
    let session = Session::new(global, &base, Material::default())?;
    let Some(generator) = coder::generator(&session.judge().task().family) else {
        bail!("the built-in roles do not know task `{}`", session.task_name());
    };
    let withheld = Withheld::new(&*generator, FROM_THE_LAYER);
    let mut judge = Shared::new(session.judge(), 0);
    if let Some(path) = &args.verdicts {
        judge = judge.kept_in(path, &session.verdict_premises(false)?)?;
        printer.note(format!("{} verdicts are known from {}", judge.known(), path.display()));
    }
    let store = RunStore::new(&global.runs);
    let mut folder = None;
    let mut naive = None;
    let mut best: Option<RunState> = None;
    let mut without = Arm { name: "without context", times: Vec::new() };
    let mut with = Arm { name: "with the translation layer", times: Vec::new() };
    for layer in [false, true] {
        let known: &dyn Generator = if layer { &*generator } else { &withheld };
        for seed in 0..args.seeds {
            let mut config = SearchConfig { seed, ..base.clone() };
            config.budget.evaluations = args.evaluations;
            config.budget.floor_fraction = None;
            config.context = Some(if layer { "full" } else { "none" }.to_owned());
            let planner: Box<dyn Planner> = if layer {
                Box::new(BuiltinPlanner::new(known))
            } else {
                Box::new(Refinement::new(Some(known.catalogue())))
            };
            let players = Players {
                planner: &*planner,
                coder: &BuiltinCoder::new(known),
                evaluator: &judge,
                observer: &Silent,
                cancel: session.cancel(),
            };
            let kept = (layer && seed == 0).then(|| store.create(session.task_name())).transpose()?;
            let (lock, journal) = match kept {
                Some((lock, journal)) => (Some(lock), journal),
                None => (None, Journal::in_memory()?),
            };
            let state = session.start(config, &players, journal)?;
            if session.cancel().is_cancelled() {
                return Ok(Outcome::Interrupted);
            }
            let arm = if layer { &mut with } else { &mut without };
            if let Some(stop) = state.stop.as_ref().filter(|s| s.is_premature()) {
                bail!("{} seed {seed}: {stop}", arm.name);
            }
            let found = state.best().with_context(|| format!("{} seed {seed}: nothing passed", arm.name))?;
            naive = naive.or(state.naive_time());
            printer.note(format!(
                "{} seed {seed}: {} ({} judged so far)",
                arm.name,
                show_figure(&found.time),
                judge.judged()
            ));
            arm.times.push(found.time.value);
            if let Some(lock) = lock {
                folder = Some(lock.folder.clone());
            }
            let better = best.as_ref().and_then(RunState::best).is_none_or(|b| found.time.value < b.time.value);
            if layer && better {
                best = Some(state);
            }
        }
    }
    if let Some(lost) = judge.lost() {
        printer.note(format!("not all verdicts could be kept: {lost}"));
    }
    let measured = best.as_ref().and_then(RunState::best).map(|b| b.time.clone()).context("nothing passed")?;
    let baseline = match (session.baseline(), naive) {
        (Ok(baseline), _) => baseline,
        (Err(why), Some(value)) => {
            printer.note(format!("no library kernel to compare with ({why}): ratios are to the naive kernel"));
            Baseline { name: "the naive kernel".to_owned(), time: Figure { value, ci: None, ..measured } }
        }
        (Err(why), None) => bail!("there is nothing to compare with: {why}, and the naive kernel has no time"),
    };
    let naive = Arm { name: "naive", times: naive.into_iter().collect() };
    let parts = match &best {
        Some(state) => Parts::of(state, &*generator, &judge, &session),
        None => Parts::default(),
    };
    let figure = |value: f64, ci| Figure {
        value,
        unit: "x".into(),
        kind: FigureKind::Derived,
        on: baseline.time.on.clone(),
        ci,
    };
    let ratio = |arm: &Arm| mean(&arm.times.iter().map(|t| baseline.time.value / t).collect::<Vec<_>>());
    let shown = |m: Mean| figure(m.mean, (m.count > 1).then_some([m.low, m.high]));
    let arms = [&with, &without, &naive];
    let named = |(name, time): &Step| {
        let time = figure(baseline.time.value / time.as_ref().ok()?, None);
        Some(Named { name: name.clone(), time })
    };
    let ablation = Ablation {
        variants: arms
            .iter()
            .filter_map(|arm| Some(Named { name: arm.name.to_owned(), time: shown(ratio(arm)?) }))
            .collect(),
        against: baseline.name.clone(),
        ladder: parts.ladder.iter().filter_map(named).collect(),
        without: parts.without.iter().filter_map(named).collect(),
    };
    if let Some(folder) = &folder {
        let path = folder.join(ksearch_report::ABLATION);
        std::fs::write(&path, serde_json::to_string_pretty(&ablation)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    show(args, &ablation, &parts, &withheld, &baseline, printer)?;
    if let Some(run) = folder.as_ref().and_then(|f| f.file_name()) {
        printer.line(format!("\nksearch report {} shows the chart", run.to_string_lossy()))?;
    }
    printer.object(&json!({
        "task": args.task, "target": args.target.target, "seeds": args.seeds, "evaluations": args.evaluations,
        "baseline": baseline, "withheld": withheld.missing(), "ablation": ablation,
        "times_us": { "naive": naive.times, "without_context": without.times, "with_layer": with.times },
        "run": folder,
    }))?;
    Ok(Outcome::Success)
}

/// What the strategies of the best kernel bring.
#[derive(Default)]
struct Parts {
    /// Added one after another, in the order in which the search did.
    ladder: Vec<Step>,
    /// Left out one at a time, with what needs it.
    without: Vec<Step>,
}

impl Parts {
    /// Of the best kernel of a run. Tunables keep the values of the best kernel where a kernel has them.
    fn of(state: &RunState, generator: &dyn Generator, judge: &dyn Evaluator, session: &Session) -> Self {
        let Some(best) = state.best() else { return Self::default() };
        let Some(record) = state.candidates.get(&best.candidate) else { return Self::default() };
        let Some(plan) = record.plan.clone() else { return Self::default() };
        let facts = session.premises().facts;
        let time = |plan: &Plan| match generator.render(plan, &facts) {
            Ok(mut candidate) => {
                for tunable in &candidate.tunables {
                    let kept = record.candidate.values.get(&tunable.name).filter(|v| tunable.values.contains(v));
                    if let Some(value) = kept {
                        candidate.values.insert(tunable.name.clone(), *value);
                    }
                }
                let verdict = judge.judge(&candidate, Stage::Full, 0);
                verdict.time.map(|t| t.value).ok_or(verdict.summary)
            }
            Err(why) => Err(why.to_string()),
        };
        let catalogue = generator.catalogue();
        let mut parts = Self::default();
        for (i, id) in plan.strategies.iter().enumerate() {
            let layer = if FROM_THE_LAYER.contains(&id.as_str()) { " (from the layer)" } else { "" };
            parts.ladder.push((format!("+ {id}{layer}"), time(&catalogue.prefix(&plan, i + 1))));
            let less = catalogue.without(&plan, id);
            let gone: Vec<&str> =
                plan.strategies.iter().filter(|s| !less.has(s)).map(String::as_str).filter(|s| s != id).collect();
            let name =
                if gone.is_empty() { format!("without {id}") } else { format!("without {id}, {}", gone.join(", ")) };
            parts.without.push((name, time(&less)));
        }
        parts
    }
}

fn show(
    args: &AblateArgs,
    ablation: &Ablation,
    parts: &Parts,
    withheld: &Withheld<'_>,
    baseline: &Baseline,
    printer: Printer,
) -> Result<()> {
    printer.line(Tone::Strong.paint(format!(
        "{} on {}: time of {} ({}) over the kernel's, {} seeds, {} evaluations each",
        args.task,
        args.target.target,
        baseline.name,
        show_figure(&baseline.time),
        args.seeds,
        args.evaluations
    )))?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["configuration", "ratio", "95% interval over seeds"]);
    for v in &ablation.variants {
        let interval = v.time.ci.map_or_else(String::new, |[low, high]| format!("{low:.3} to {high:.3}"));
        table.add_row([v.name.clone(), format!("{:.3}", v.time.value), interval]);
    }
    printer.line(table)?;
    for (head, rows, steps) in [
        ("the best kernel, a strategy at a time", &ablation.ladder, &parts.ladder),
        ("the best kernel without one of them", &ablation.without, &parts.without),
    ] {
        printer.line(format!("\n{head}"))?;
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for v in rows {
            table.add_row([v.name.clone(), format!("{:.3}", v.time.value)]);
        }
        printer.line(table)?;
        for (name, why) in steps.iter().filter_map(|(name, time)| Some((name, time.as_ref().err()?))) {
            printer.line(format!("{name}: no kernel that passes ({why})"))?;
        }
    }
    printer.line(format!("\nwithheld: {}", withheld.missing().join(", ")))?;
    Ok(())
}
