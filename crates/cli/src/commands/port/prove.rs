//! `ksearch port FILE.cu`: analyse, draft, sweep, and judge every candidate against the original, which runs on the
//! simulator on the same inputs. Writes the kernel, the proof and a module for MLX.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use ksearch_device::{Inspect, SimTarget, original};
use ksearch_export::{Origin, mlx};
use ksearch_judge::prepare::Preparer;
use ksearch_judge::{Judge, Stage, Status, Verdict};
use ksearch_port::draft::Refused;
use ksearch_port::{Port, PortError, declare};
use ksearch_search::sweep::settings;
use ksearch_task::{Candidate, Reference, Set, Task, Workload};

use super::open::Open;
use super::proof::{Coverage, OriginalRun, Proof, Setting, Trial};
use super::{PortArgs, draft};
use crate::args::Global;
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};

/// Rounds of fresh inputs that the winner is judged on.
const ROUNDS: u64 = 3;

/// Ports one kernel.
pub fn run(file: &Path, args: &PortArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (knowledge, ends) = super::ends(global, &args.target.target, &args.from)?;
    let (name, cuda) = super::read(file)?;
    let path = super::declaration(file, args.declaration.as_deref());
    let (declared, toml) = super::read(&path).with_context(|| {
        format!("{} declares the kernel's arguments and shapes; docs/port.md says how", path.display())
    })?;
    let ends = (knowledge, ends);
    let port = match ksearch_port::prepare(&name, &cuda, (&declared, &toml), args.kernel.as_deref()) {
        Ok(port) => port,
        Err(PortError::Refused(Refused(notes))) => {
            let kernel = args.kernel.clone().or_else(|| draft::only_kernel(&name, &cuda)).unwrap_or_default();
            return draft::refuse(&draft::blockers(&name, &cuda, &kernel, &ends)?, &notes, printer);
        }
        Err(e) => return Err(e.into()),
    };
    let against = draft::blockers(&name, &cuda, &port.kernel, &ends)?;
    if !against.is_empty() {
        return draft::refuse(&against, &[], printer);
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}-port", port.draft.kernel)));
    write_inputs(&out, &port, &cuda)?;
    let task = Arc::new(Task::load(&out.join(declare::TASK))?);
    let search = args.search.as_ref().map(|who| Open::new(who, &out.join(declare::TASK), args, global)).transpose()?;
    let (target, chip) = context::sim(global, &args.target.target)?;
    let judge = Judge::new(Arc::clone(&task), context::target(global, &args.target.target)?);
    let seed = args.seed.unwrap_or_else(context::fresh_seed);

    printer.note("watching the original with every sanitizer");
    let watched = original_runs(&task, seed)?;
    let mut proof = Proof::new(&name, &port, &chip.name, watched);
    if proof.original.iter().any(|r| !r.faults.is_empty()) {
        return finish(&proof, &out, None, printer);
    }
    let drafted = task.naive.clone().context("the task of a port names its draft")?;
    printer.note("judging the draft");
    let first = judge.judge(&drafted, Stage::Full, seed);
    proof.draft = Some(first.clone());
    if first.status != Status::Passed {
        return finish(&proof, &out, None, printer);
    }
    let (mut best, tried) = sweep(&judge, &drafted, &first, seed, args.settings, printer);
    proof.settings = tried;
    if let Some(open) = search {
        let (found, report) = open.run(&best, printer)?;
        best = found;
        proof.search = Some(report);
    }
    // From here on with its recipe as a comment, so that line numbers are those of the file that is written.
    let best = best.with_recipe_comment();
    printer.note("judging the best kernel on fresh inputs, edge shapes and held-out shapes");
    for round in 1..=ROUNDS {
        let here = seed.wrapping_add(round);
        for stage in [Stage::Confirm, Stage::HeldOut] {
            let verdict = judge.judge(&best, stage, here);
            let passed = verdict.status == Status::Passed;
            proof.trials.push(Trial::new(&task, stage, verdict));
            if !passed {
                return finish(&proof, &out, Some(&best), printer);
            }
        }
    }
    proof.coverage = Some(coverage(&target, &task, &best, seed)?);
    let origin = Origin {
        lines: vec![
            format!("Ported from the CUDA kernel {} by K-Search.", port.kernel),
            format!("Proven against it on the simulator ({}); see proof.md.", chip.name),
        ],
    };
    proof.mlx = match mlx::module(&task, &best, &origin) {
        Ok(text) => {
            let file = out.join(format!("{}_mlx.py", port.draft.kernel));
            std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
            Ok(file)
        }
        Err(e) => Err(e.to_string()),
    };
    proof.proven = true;
    finish(&proof, &out, Some(&best), printer)
}

/// Writes the task, the original and the draft, so that every other command can work on them.
fn write_inputs(out: &Path, port: &Port, cuda: &str) -> Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    for (name, text) in [
        (declare::TASK, port.task.as_str()),
        (declare::ORIGINAL, cuda),
        (declare::ORIGINAL_RECIPE, port.original_recipe.as_str()),
        (declare::DRAFT, port.metal.as_str()),
    ] {
        let path = out.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The original on every workload that is checked, under all sanitizers.
fn original_runs(task: &Task, seed: u64) -> Result<Vec<OriginalRun>> {
    let Reference::Source(source) = &task.reference else { bail!("the task of a port has its original as reference") };
    let mut runs = Vec::new();
    for w in task.workloads.iter().filter(|w| w.purpose.checks()) {
        let resolved = source.resolve(task, &w.env).with_context(|| format!("the launch on `{}`", w.label))?;
        let inputs = task.inputs(w, seed)?;
        let answer = original::answer(source, &resolved, &inputs, true)
            .with_context(|| format!("the original on `{}`", w.label))?;
        let faults = answer
            .faults
            .iter()
            .map(|f| {
                let place = f.at.pos.as_ref().map_or_else(String::new, |p| format!("{p}: "));
                format!("{place}{f}. {}", f.help)
            })
            .collect();
        runs.push(OriginalRun { workload: w.label.clone(), faults });
    }
    Ok(runs)
}

/// Times settings of the tunables on the cheapest workload and judges the fastest of them in full.
fn sweep(
    judge: &Judge,
    drafted: &Candidate,
    first: &Verdict,
    seed: u64,
    most: u32,
    printer: Printer,
) -> (Candidate, Vec<Setting>) {
    let free: Vec<String> = drafted.tunables.iter().map(|t| t.name.clone()).collect();
    let list = settings(drafted, &free, most as usize, seed);
    let mut tried = Vec::new();
    let mut best = drafted.clone();
    let mut best_time = first.time.as_ref().map_or(f64::INFINITY, |t| t.value);
    let bar = judge.judge(drafted, Stage::Screen, seed).time.map_or(f64::INFINITY, |t| t.value);
    let mut faster: Vec<(f64, Candidate)> = Vec::new();
    printer.note(format!("timing {} settings", list.len()));
    for values in list {
        let candidate = Candidate { values, ..drafted.clone() };
        let verdict = judge.judge(&candidate, Stage::Screen, seed);
        if let (Status::Passed, Some(time)) = (verdict.status, &verdict.time)
            && time.value < bar
        {
            faster.push((time.value, candidate.clone()));
        }
        tried.push(Setting { values: candidate.values, screen: verdict.time, status: verdict.status, full: None });
    }
    faster.sort_by(|a, b| a.0.total_cmp(&b.0));
    // A setting that is fast and wrong is found out here.
    for (_, candidate) in faster.into_iter().take(4) {
        let verdict = judge.judge(&candidate, Stage::Full, seed);
        if let Some(setting) = tried.iter_mut().find(|s| s.values == candidate.values) {
            setting.full = Some(verdict.status);
        }
        if let (Status::Passed, Some(time)) = (verdict.status, &verdict.time)
            && time.value < best_time
        {
            best_time = time.value;
            best = candidate;
        }
    }
    (best, tried)
}

/// Which lines of the kernel ran on some workload.
fn coverage(target: &SimTarget, task: &Arc<Task>, best: &Candidate, seed: u64) -> Result<Coverage> {
    let mut coverage = Coverage::default();
    let preparer = Preparer::new(Arc::clone(task));
    let checked: Vec<&Workload> =
        task.workloads_of(Set::Search).chain(task.workloads_of(Set::HeldOut)).filter(|w| w.purpose.checks()).collect();
    for w in checked {
        let resolved = best.resolve(task, &w.env)?;
        let mut slots = preparer.prepare(w, seed)?.slots(seed);
        let inspection = target
            .inspect(best, &resolved, &mut slots, Inspect::Lines, None)
            .map_err(|e| anyhow::anyhow!("{e}"))
            .with_context(|| format!("counting lines on `{}`", w.label))?;
        for line in inspection.dispatches.iter().flat_map(|d| &d.lines) {
            coverage.add(line.line, line.total() > 0);
        }
    }
    Ok(coverage)
}

/// Writes the proof and the kernel, and says how it ended.
fn finish(proof: &Proof, out: &Path, best: Option<&Candidate>, printer: Printer) -> Result<Outcome> {
    if let (Some(best), true) = (best, proof.proven) {
        for (i, file) in best.files.iter().enumerate() {
            let path = out.join(if i == 0 { "kernel.metal" } else { &file.path });
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
            }
            std::fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    for (name, text) in [("proof.md", proof.markdown()), ("proof.json", serde_json::to_string_pretty(proof)?)] {
        let path = out.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let word = if proof.proven { Tone::Good.paint("proven") } else { Tone::Bad.paint("not proven") };
    printer.line(format!("{word} {}: {}", proof.kernel, proof.conclusion()))?;
    printer.line(format!("  {}", out.join("proof.md").display()))?;
    if proof.proven {
        printer.line(format!("  {}", out.join("kernel.metal").display()))?;
        match &proof.mlx {
            Ok(file) => printer.line(format!("  {}", file.display()))?,
            Err(why) => printer.line(format!("  no module for MLX: {why}"))?,
        }
    }
    printer.object(proof)?;
    Ok(if proof.proven { Outcome::Success } else { Outcome::No })
}
