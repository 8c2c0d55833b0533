//! `ksearch matrix`: one task under several settings and seeds, and what they reach after so many evaluations.

use anyhow::{Result, bail};
use comfy_table::{Table, presets};
use ksearch_search::builtin::Refinement;
use ksearch_search::matrix::{Mean, Race, mean, race, speedup_after};
use ksearch_search::shared::Shared;
use ksearch_search::{
    BuiltinCoder, BuiltinPlanner, Journal, Planner, Players, RunState, RunStore, SearchConfig, Silent, coder,
};
use ksearch_world::PolicyConfig;

use crate::args::{Global, MatrixArgs};
use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;
use crate::session::{Material, Session};

/// Seed of all inputs.
const INPUTS: u64 = 0;
/// The setting that others are raced against.
const RIVAL: &str = "paper";

/// One setting.
struct Arm {
    name: String,
    refinement: bool,
    policy: PolicyConfig,
    stagnation: u32,
}

/// Runs the matrix and prints the table.
pub fn run(args: &MatrixArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let base = SearchConfig {
        task: context::stable_task_name(&args.task),
        target: args.target.target.clone(),
        ..SearchConfig::default()
    };
    let session = Session::new(global, &base, Material::default())?;
    let judged = session.judge();
    let Some(generator) = coder::generator_for(&judged.task().family, judged.target().id().language()) else {
        bail!("a matrix needs the built-in roles, and they do not know task `{}`", session.task_name());
    };
    let judge = Shared::new(session.judge(), INPUTS);
    let mut judge = if args.quick { judge.quick() } else { judge };
    if let Some(path) = &args.verdicts {
        judge = judge.kept_in(path, &session.verdict_premises(args.quick)?)?;
        printer.note(format!("{} verdicts are known from {}", judge.known(), path.display()));
    }
    let store = RunStore::new(&global.runs);
    let mut rows = Vec::new();
    for arm in arms(args)? {
        let mut states: Vec<RunState> = Vec::new();
        for seed in 0..args.seeds {
            let mut config = SearchConfig { seed, policy: arm.policy, stagnation: arm.stagnation, ..base.clone() };
            config.budget.evaluations = args.evaluations;
            config.budget.floor_fraction = None;
            // The last phase says nothing about how a search got there.
            config.finalists = 0;
            let planner: Box<dyn Planner> = if arm.refinement {
                Box::new(Refinement::new(Some(generator.catalogue())))
            } else {
                Box::new(BuiltinPlanner::new(&*generator))
            };
            let players = Players {
                planner: &*planner,
                coder: &BuiltinCoder::new(&*generator),
                evaluator: &judge,
                observer: &Silent,
                cancel: session.cancel(),
            };
            // The lock, where there is one, is held while the run is worked on.
            let (_lock, journal) = if args.keep {
                let name = format!("{}-{}", session.task_name(), arm.name.replace(" K=", "-k"));
                let (lock, journal) = store.create(&name)?;
                (Some(lock), journal)
            } else {
                (None, Journal::in_memory()?)
            };
            let state = session.start(config, &players, journal)?;
            if session.cancel().is_cancelled() {
                return Ok(Outcome::Interrupted);
            }
            // A run that could not begin or go on says nothing about its setting.
            if let Some(stop) = state.stop.as_ref().filter(|s| s.is_premature()) {
                bail!("{} seed {seed}: {stop}", arm.name);
            }
            printer.note(format!(
                "{} seed {seed}: {} ({} judged so far)",
                arm.name,
                state
                    .best()
                    .and_then(|b| b.speedup)
                    .map_or_else(|| "nothing passed".to_owned(), |s| format!("{s:.2}x naive")),
                judge.judged()
            ));
            states.push(state);
        }
        rows.push((arm, states));
    }
    if let Some(lost) = judge.lost() {
        printer.note(format!("not all verdicts could be kept: {lost}"));
    }
    show(args, &rows, printer)?;
    Ok(Outcome::Success)
}

fn arms(args: &MatrixArgs) -> Result<Vec<Arm>> {
    let mut arms = Vec::new();
    for policy in &args.policy {
        for k in &args.stagnation {
            let refinement = policy == "refinement";
            let kind = if refinement { "default" } else { policy.as_str() };
            let kind = kind.parse().map_err(|e: String| anyhow::anyhow!("--policy: {e}"))?;
            let name = if args.stagnation.len() > 1 { format!("{policy} K={k}") } else { policy.clone() };
            let policy = PolicyConfig { kind, ..PolicyConfig::default() };
            arms.push(Arm { name, refinement, policy, stagnation: *k });
        }
    }
    Ok(arms)
}

fn show(args: &MatrixArgs, rows: &[(Arm, Vec<RunState>)], printer: Printer) -> Result<()> {
    let at = |states: &[RunState], n: u32| mean(&states.iter().filter_map(|s| speedup_after(s, n)).collect::<Vec<_>>());
    let rival = rows.iter().find(|(arm, _)| arm.name == RIVAL).map(|(_, states)| states);
    let mut table = Table::new();
    let mut header = vec!["setting".to_owned()];
    header.extend(args.at.iter().map(|n| format!("speedup after {n}")));
    if rival.is_some() {
        header.push(format!("evaluations to {RIVAL}'s best / {RIVAL}'s own"));
        header.push("ratio".into());
    }
    table.load_style(presets::NOTHING).set_header(header);
    let mut objects = Vec::new();
    for (arm, states) in rows {
        let points: Vec<Option<Mean>> = args.at.iter().map(|n| at(states, *n)).collect();
        let mut row = vec![arm.name.clone()];
        row.extend(points.iter().map(|m| m.map_or_else(String::new, |m| interval(m, "x"))));
        let races: Vec<Option<Race>> =
            rival.map(|r| states.iter().zip(r).map(|(ours, theirs)| race(ours, theirs)).collect()).unwrap_or_default();
        if rival.is_some() {
            row.push(races.iter().map(|r| r.map_or_else(|| "-".to_owned(), lap)).collect::<Vec<_>>().join("  "));
            row.push(ratio(&races).map_or_else(|| "not in all seeds".to_owned(), |m| interval(m, "")));
        }
        table.add_row(row);
        objects.push(serde_json::json!({
            "setting": arm.name, "at": args.at, "speedup": points, "races": races, "ratio": ratio(&races),
            "runs": states.iter().map(one).collect::<Vec<_>>(),
        }));
    }
    printer.line(format!(
        "{} on {}{}: speedup over the naive kernel (derived from times on that target), geometric mean and 95% interval \
         over {} seeds; inputs of seed {INPUTS}",
        args.task,
        args.target.target,
        if args.quick { ", cheapest workload only" } else { "" },
        args.seeds
    ))?;
    printer.line("")?;
    printer.line(table)?;
    Ok(printer.object(&serde_json::json!({ "task": args.task, "target": args.target.target, "seeds": args.seeds, "quick": args.quick, "inputs": INPUTS, "settings": objects }))?)
}

fn lap(race: Race) -> String {
    race.ours.map_or_else(|| format!("-/{}", race.theirs), |n| format!("{n}/{}", race.theirs))
}

/// Evaluations to the rival's best over its own, where every seed got there.
fn ratio(races: &[Option<Race>]) -> Option<Mean> {
    let ratios: Option<Vec<f64>> =
        races.iter().map(|r| r.and_then(|r| Some(f64::from(r.ours?) / f64::from(r.theirs)))).collect();
    mean(&ratios?)
}

/// One run: how it went and what it came to.
fn one(state: &RunState) -> serde_json::Value {
    let best = state.best().and_then(|b| state.candidates.get(&b.candidate));
    serde_json::json!({
        "seed": state.config.seed,
        "evaluations": state.evaluations,
        "stopped": state.stop.as_ref().map(ToString::to_string),
        "improvements": state.improvements.iter().map(|i| (i.evaluations, i.speedup, &i.title)).collect::<Vec<_>>(),
        "strategies": best.and_then(|b| b.plan.as_ref()).map(|p| &p.strategies),
        "values": best.map(|b| &b.candidate.values),
    })
}

fn interval(m: Mean, unit: &str) -> String {
    if m.count < 2 {
        format!("{:.2}{unit}", m.mean)
    } else {
        format!("{:.2}{unit} [{:.2}, {:.2}]", m.mean, m.low, m.high)
    }
}
