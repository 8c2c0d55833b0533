//! `ksearch baseline cpu`: a kernel and libraries on this machine's processor, timed in turns on the same inputs.

use super::baseline::over_workloads;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use comfy_table::{Table, presets};
use indexmap::IndexMap;
use ksearch_baseline::{Material, Peer, PeerError, peer};
use ksearch_device::statistics::{bootstrap, median};
use ksearch_device::{Purpose, Runnable, Target};
use ksearch_task::compare::compare;
use ksearch_task::spec::Env;
use ksearch_task::{Candidate, DType, Exact, Expr, Figure, FigureKind, Set, Task, Tensor, Value, Workload};
use serde_json::json;

use crate::args::Global;
use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch baseline cpu`.
#[derive(Clone, Debug, Args)]
pub struct CpuArgs {
    /// A task that ships, or a path to a task file.
    pub task: String,
    /// The kernel.
    pub file: std::path::PathBuf,
    /// One workload by values of the task's symbols, e.g. "B=1 Hq=8 Hkv=8 Lq=1024 Lk=1024 D=64 T=f32" (may be given several times).
    #[arg(long = "row", value_name = "NAME=VALUE …", required = true)]
    pub rows: Vec<String>,
    /// Only these libraries.
    #[arg(long = "peer", value_name = "NAME")]
    pub peers: Vec<String>,
    /// Times that everybody is asked in turn.
    #[arg(long, default_value_t = 15)]
    pub rounds: u32,
    /// Seed of the inputs.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Seconds of calls in one sample, for the kernel as for libraries.
const SAMPLE: f64 = 0.12;

/// Times and prints.
pub fn run(args: &CpuArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let task = context::task(&args.task)?;
    let target = context::target(global, "cpu")?;
    let candidate = Candidate::load(&args.file)?;
    let python = peer::python()?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "workload",
        "kernel",
        "library",
        "time",
        "ratio",
        "95%",
        "of minima",
    ]);
    let mut objects = Vec::new();
    let mut all = true;
    for row in &args.rows {
        let (cells, object, good) = one(args, row, &task, &*target, &candidate, &python, printer)?;
        for c in cells {
            table.add_row(c);
        }
        objects.push(object);
        all &= good;
    }
    printer.line(table)?;
    printer.line("ratio: the library's time over the kernel's, median over rounds in turns; more than 1 is faster than the library")?;
    let facts = target.facts();
    printer.object(&json!({
        "task": task.name, "kernel": args.file, "candidate": candidate.id(), "on": facts.name, "threads": facts.cores,
        "rounds": args.rounds, "seed": args.seed, "rows": objects,
    }))?;
    Ok(if all { Outcome::Success } else { Outcome::No })
}

/// The kernel ready to be timed on this workload, its answer checked; and how many calls make a sample.
fn prepare(
    task: &Task,
    target: &dyn Target,
    candidate: &Candidate,
    env: &Env,
    inputs: &ksearch_task::Tensors,
    exact: &IndexMap<String, Exact>,
) -> Result<(Box<dyn Runnable>, u32)> {
    let resolved = candidate.resolve(task, env)?;
    let mut runnable = target.build(candidate, &resolved)?;
    let mut slots = ksearch_device::slots(&resolved.tensors, inputs, |info| Tensor {
        dtype: info.dtype,
        shape: info.shape.clone(),
        bytes: vec![0x3c; info.bytes()],
    });
    let report = runnable.run(&mut slots, Purpose::Measure)?;
    if let Some(finding) = report.findings.iter().find(|f| !f.ok) {
        bail!("{}", finding.detail);
    }
    for (name, exact) in exact {
        let slot = slots.get(name).context("an output is missing")?;
        let result = compare(exact, &slot.tensor.values(), slot.tensor.dtype, &task.tolerance(slot.tensor.dtype));
        if !result.passed() {
            bail!("the kernel's `{name}` is wrong: {:.1} times the allowed error", result.ratio);
        }
    }
    let us = report.profile.context("the target gave no time")?.time.value;
    Ok((runnable, ((SAMPLE * 1e6 / us) as u32).clamp(1, 60)))
}

type Row = (Vec<Vec<String>>, serde_json::Value, bool);

fn one(
    args: &CpuArgs,
    row: &str,
    task: &Task,
    target: &dyn Target,
    candidate: &Candidate,
    python: &std::path::Path,
    printer: Printer,
) -> Result<Row> {
    let words: Vec<String> = row.split_whitespace().map(str::to_owned).collect();
    let mut given = IndexMap::new();
    for (name, value) in context::pairs(&words, "--row", None)? {
        given.insert(name, Expr::parse(&value)?);
    }
    let env = task.env(&given)?;
    let workload = Workload {
        label: row.to_owned(),
        set: Set::Search,
        purpose: ksearch_task::Purpose::Both,
        kind: "row".into(),
        weight: 1.0,
        env: env.clone(),
    };
    let inputs = task.inputs(&workload, args.seed)?;
    printer.note(format!("{row}: exact answer"));
    let exact = task.builtin_answer(&env, &inputs).context("the task has no built-in reference")??;
    let (mut kernel, calls) = prepare(task, target, candidate, &env, &inputs, &exact)?;
    let material = Material::new(&task.family, &env, &inputs)?;
    let out = exact.first().map(|(_, e)| e).context("the task has no output")?;
    let mut peers = Vec::new();
    let mut absent = Vec::new();
    let wanted = |n: &&&str| args.peers.is_empty() || args.peers.iter().any(|p| p == **n);
    for name in peer::names(&task.family).iter().filter(wanted) {
        match started(name, python, target.facts().cores, &material, out) {
            Ok(peer) => peers.push(peer),
            Err(e) => absent.push(e.to_string()),
        }
    }
    let mut mine = Vec::new();
    let mut theirs: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    for round in 0..args.rounds {
        let mut order: Vec<usize> = (0..=peers.len()).collect();
        // Whoever comes first in one round comes last in the next.
        if round % 2 == 1 {
            order.reverse();
        }
        for who in order {
            if let Some(peer) = peers.get_mut(who) {
                theirs[who].push(peer.time()?.us);
            } else {
                let times = kernel.again(calls)?;
                mine.push(times.iter().sum::<f64>() / times.len().max(1) as f64);
            }
        }
    }
    let least = |v: &[f64]| v.iter().copied().fold(f64::INFINITY, f64::min);
    let mut cells = Vec::new();
    let mut objects = Vec::new();
    let mut good = true;
    for (peer, times) in peers.iter().zip(&theirs) {
        let ratios: Vec<f64> = times.iter().zip(&mine).map(|(t, m)| t / m).collect();
        let (ratio, [lo, hi]) = (median(&ratios), bootstrap(&ratios, median));
        let minima = least(times) / least(&mine);
        good &= ratio >= 1.0;
        cells.push(vec![
            row.to_owned(),
            format!("{:.2} ms", median(&mine) / 1e3),
            peer.label(),
            format!("{:.2} ms", median(times) / 1e3),
            format!("{ratio:.3}"),
            format!("{lo:.3} to {hi:.3}"),
            format!("{minima:.3}"),
        ]);
        objects.push(json!({
            "peer": peer.name, "versions": peer.versions.iter().cloned().collect::<IndexMap<_, _>>(), "us": times,
            "ratio": Figure { ci: Some([lo, hi]), ..Figure::ratio(ratio, target.facts().name.clone()) },
            "ratio_of_minima": minima,
        }));
    }
    for why in &absent {
        cells.push(vec![row.to_owned(), String::new(), format!("absent: {why}")]);
    }
    Ok((cells, json!({ "row": row, "kernel_us": mine, "peers": objects, "absent": absent }), good))
}

fn started(
    name: &str,
    python: &std::path::Path,
    threads: u32,
    material: &Material,
    exact: &Exact,
) -> Result<Peer, PeerError> {
    let mut peer = Peer::start(name, python, threads, material)?;
    peer.verify(exact)?;
    Ok(peer)
}

/// The fastest library on the timed search workloads of a task, weighted as a verdict's time is; or why there is none.
pub fn of_task(task: &Task, target: &dyn Target) -> Result<ksearch_search::Baseline, String> {
    let python = peer::python().map_err(|e| e.to_string())?;
    over_workloads(task, FigureKind::Measured, &target.facts().name, |w| {
        if w.env.values().any(|v| matches!(v, Value::Type(d) if *d != DType::F32)) {
            return Err("libraries are timed in f32 only".into());
        }
        let inputs = task.inputs(w, 1).map_err(|e| e.to_string())?;
        let material = Material::new(&task.family, &w.env, &inputs).map_err(|e| e.to_string())?;
        let mut best: Option<(f64, String)> = None;
        let mut why = format!("no library is known for `{}`", task.name);
        for name in peer::names(&task.family) {
            let timed = Peer::start(name, &python, target.facts().cores, &material).and_then(|mut peer| {
                let times = (0..7).map(|_| peer.time().map(|s| s.us)).collect::<Result<Vec<_>, _>>()?;
                Ok((median(&times), peer.label()))
            });
            match timed {
                Ok(found) if best.as_ref().is_none_or(|b| found.0 < b.0) => best = Some(found),
                Ok(_) => {}
                Err(e) => why = e.to_string(),
            }
        }
        best.ok_or(why)
    })
}
