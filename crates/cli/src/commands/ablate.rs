//! `ksearch ablate`: what the translation layer is worth. Three configurations with the same budget, as ratios to the
//! library's own kernel, and the best kernel strategy by strategy.

use anyhow::{Context as _, Result, bail};
use clap::Args;
use comfy_table::{Table, presets};
use ksearch_report::model::{Ablation, Named};
use ksearch_search::ablation::{FROM_THE_LAYER, Withheld};
use ksearch_search::builtin::Refinement;
use ksearch_search::matrix::{Mean, mean};
use ksearch_search::shared::Shared;
use ksearch_search::{
    BuiltinCoder, BuiltinPlanner, Evaluator, Generator, Journal, Planner, Players, RunState, RunStore, SearchConfig,
    Silent, Stage, coder,
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
    let baseline = match session.baseline() {
        Ok(baseline) => baseline,
        Err(why) => bail!("an ablation is a ratio to the library's kernel, and there is none: {why}"),
    };
    let withheld = Withheld::new(&*generator, FROM_THE_LAYER);
    let judge = Shared::new(session.judge(), 0);
    let store = RunStore::new(&global.runs);
    let mut folder = None;
    let mut naive = None;
    let mut best: Option<RunState> = None;
    let mut without = Arm { name: "evolution without context", times: Vec::new() };
    let mut with = Arm { name: "evolution with the translation layer", times: Vec::new() };
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
            let ratio = baseline.time.value / found.time.value;
            printer.note(format!("{} seed {seed}: {ratio:.3} of {}", arm.name, baseline.name));
            arm.times.push(found.time.value);
            naive = naive.or(state.naive_time());
            if let Some(lock) = lock {
                folder = Some(lock.folder.clone());
            }
            let better = best.as_ref().and_then(RunState::best).is_none_or(|b| found.time.value < b.time.value);
            if layer && better {
                best = Some(state);
            }
        }
    }
    let naive = Arm { name: "naive", times: naive.into_iter().collect() };
    let steps = match &best {
        Some(state) => leave_out(state, &*generator, &judge, &session),
        None => Vec::new(),
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
    let mut variants: Vec<Named> =
        arms.iter().filter_map(|arm| Some(Named { name: arm.name.to_owned(), time: shown(ratio(arm)?) })).collect();
    variants.extend(steps.iter().filter_map(|(name, time)| {
        let time = figure(baseline.time.value / time.as_ref().ok()?, None);
        Some(Named { name: format!("best, without {name}"), time })
    }));
    let ablation = Ablation { variants };
    if let Some(folder) = &folder {
        let path = folder.join(ksearch_report::ABLATION);
        std::fs::write(&path, serde_json::to_string_pretty(&ablation)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    show(args, &ablation, &steps, &withheld, &baseline, printer)?;
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

/// The best kernel without each of its strategies in turn, and without what needs it.
fn leave_out(state: &RunState, generator: &dyn Generator, judge: &dyn Evaluator, session: &Session) -> Vec<Step> {
    let Some(best) = state.best() else { return Vec::new() };
    let Some(plan) = state.candidates.get(&best.candidate).and_then(|r| r.plan.clone()) else { return Vec::new() };
    let facts = session.premises().facts;
    let mut out = Vec::new();
    for id in &plan.strategies {
        let less = generator.catalogue().without(&plan, id);
        let gone: Vec<&str> =
            plan.strategies.iter().filter(|s| !less.has(s)).map(String::as_str).filter(|s| s != id).collect();
        let name = if gone.is_empty() { id.clone() } else { format!("{id} (and {}, which need it)", gone.join(", ")) };
        let time = match generator.render(&less, &facts) {
            Ok(candidate) => {
                let verdict = judge.judge(&candidate, Stage::Full, 0);
                verdict.time.map(|t| t.value).ok_or(verdict.summary)
            }
            Err(why) => Err(why.to_string()),
        };
        out.push((name, time));
    }
    out
}

fn show(
    args: &AblateArgs,
    ablation: &Ablation,
    steps: &[Step],
    withheld: &Withheld<'_>,
    baseline: &ksearch_search::Baseline,
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
    for (name, why) in steps.iter().filter_map(|(name, time)| Some((name, time.as_ref().err()?))) {
        printer.line(format!("best, without {name}: no kernel that passes ({why})"))?;
    }
    printer.line(format!("withheld: {}", withheld.missing().join(", ")))?;
    Ok(())
}
