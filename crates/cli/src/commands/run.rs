//! `ksearch run`: any kernel once, with buffers from and to `.npy` files. Knows no task.

use anyhow::{Context as _, Result, bail, ensure};
use ksearch_device::target::Purpose;
use ksearch_device::{Failure, Inspect, SimTarget, Target};
use ksearch_simt::{Traced, TracedStep};
use ksearch_task::npy;
use serde_json::{Value, json};

use super::launch::{self, Prepared};
use super::sanitize;
use crate::args::{Global, RunArgs};
use crate::context::{self, show_figure};
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::show_source;

/// Executions that a trace keeps.
const MOST_STEPS: usize = 1000;

/// Runs the kernel and saves what was asked for.
pub fn run(args: &RunArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (target, chip) = context::sim(global, &args.launch.target.target)?;
    let mut prepared = match launch::prepare(&args.launch, &args.out)? {
        Ok(prepared) => prepared,
        Err((candidate, failure)) => return refuse(&failure, &candidate, printer),
    };
    if let Some(line) = args.trace {
        return trace(line, args, &target, prepared, printer);
    }
    ensure!(
        prepared.exact.is_none(),
        "a timed run launches whole threadgroups: make --grid-threads a multiple of --threads, or use `ksearch sanitize`"
    );
    if args.sanitize {
        let report = sanitize::inspect(&target, &chip.name, &mut prepared, true)?;
        if !report.findings.is_empty() {
            report.print(&prepared.candidate, printer)?;
        }
        if report.errors() > 0 {
            printer.object(&report.json())?;
            return Ok(Outcome::No);
        }
    }
    let Prepared { candidate, resolved, mut slots, saved, .. } = prepared;
    let mut runnable = match target.build(&candidate, &resolved) {
        Ok(runnable) => runnable,
        Err(failure) => return refuse(&failure, &candidate, printer),
    };
    let report = match runnable.run(&mut slots, Purpose::Measure) {
        Ok(report) => report,
        Err(failure) => return refuse(&failure, &candidate, printer),
    };
    for s in &saved {
        let Some(slot) = slots.get(&s.name) else { continue };
        if let Some(written) = &slot.written {
            let width = slot.tensor.dtype.bytes();
            let missing = written.chunks(width).filter(|e| e.contains(&false)).count();
            if missing > 0 {
                let total = slot.tensor.elements();
                printer.note(format!(
                    "{} {missing} of {total} elements of `{}` were never written",
                    Tone::Warn.paint("warning:"),
                    s.name
                ));
            }
        }
        std::fs::write(&s.file, npy::write(&slot.tensor))
            .with_context(|| format!("cannot write {}", s.file.display()))?;
        printer.line(format!("{} -> {}", s.name, s.file.display()))?;
    }
    if let Some(profile) = &report.profile {
        printer.line(format!("time {}, bound by {}", show_figure(&profile.time), profile.bottleneck))?;
    }
    let outputs: Vec<_> = saved.iter().map(|s| json!({ "name": s.name, "file": s.file })).collect();
    printer.object(
        &json!({ "status": "passed", "launched": report.launched, "profile": report.profile, "outputs": outputs }),
    )?;
    Ok(Outcome::Success)
}

/// Prints what the instructions of a line computed.
fn trace(line: u32, args: &RunArgs, target: &SimTarget, mut prepared: Prepared, printer: Printer) -> Result<Outcome> {
    let lanes = args.lane.iter().fold(0u32, |m, &l| m | 1 << (l & 31));
    let lanes = if args.lane.is_empty() { u32::MAX } else { lanes };
    let group = launch::position(&args.at_group, "--at-group", 0)?;
    let what = Inspect::Values { line, group, simdgroup: args.at_simdgroup, most: MOST_STEPS };
    let inspection =
        match target.inspect(&prepared.candidate, &prepared.resolved, &mut prepared.slots, what, prepared.exact) {
            Ok(inspection) => inspection,
            Err(failure) => return refuse(&failure, &prepared.candidate, printer),
        };
    let dispatch = inspection.dispatches.into_iter().next().context("nothing was launched")?;
    let traced: Traced = dispatch.traced.context("nothing was traced")?;
    if !traced.lines.contains(&line) {
        let near = traced.lines.iter().min_by_key(|l| l.abs_diff(line));
        bail!(
            "no instruction stems from line {line}{}",
            near.map_or_else(String::new, |l| format!("; the nearest line that has some is {l}"))
        );
    }
    let mut steps = Vec::new();
    for step in &traced.steps {
        steps.push(show_step(step, lanes, printer)?);
    }
    if traced.steps.is_empty() {
        printer.line(format!(
            "line {line} was never reached by simdgroup {} of threadgroup {group:?}",
            args.at_simdgroup
        ))?;
    }
    if traced.left_out > 0 {
        printer.note(format!("{} more executions are left out", traced.left_out));
    }
    for fault in &dispatch.faults {
        printer.note(format!("{} {fault}", Tone::Bad.paint("fault:")));
    }
    printer.object(&json!({
        "line": line, "group": group, "simdgroup": args.at_simdgroup, "steps": steps, "left_out": traced.left_out,
        "faults": dispatch.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }))?;
    Ok(if dispatch.faults.is_empty() { Outcome::Success } else { Outcome::No })
}

/// One execution: its place, what it is, and the values of the chosen lanes.
fn show_step(step: &TracedStep, lanes: u32, printer: Printer) -> Result<Value> {
    let active = step.mask & lanes;
    let ids: Vec<usize> = (0..32).filter(|l| active >> l & 1 == 1).collect();
    let mut columns = Vec::new();
    for values in &step.values {
        let chosen: Vec<u64> = ids.iter().map(|&l| values[l]).collect();
        let float = step.bits == 32 && looks_like_floats(&step.what, &chosen);
        let text = |v: u64| match step.bits {
            1 => (v != 0).to_string(),
            64 => (v as i64).to_string(),
            _ if float => format!("{}", f32::from_bits(v as u32)),
            _ => (v as u32 as i32).to_string(),
        };
        columns.push((float, chosen.iter().map(|&v| text(v)).collect::<Vec<_>>()));
    }
    let mut names: Vec<&str> = step.variables.iter().flatten().map(String::as_str).collect();
    names.dedup();
    let what = match (names.is_empty(), step.stored) {
        (true, _) => step.what.clone(),
        (false, true) => format!("{} of {}", step.what, names.join(", ")),
        (false, false) => format!("{} = {}", names.join(", "), step.what),
    };
    printer.line(format!("{} {what}", Tone::Strong.paint(&step.pos)))?;
    let same = ids.len() > 1 && columns.iter().all(|(_, c)| c.windows(2).all(|w| w[0] == w[1]));
    let row = |k: usize| columns.iter().map(|(_, c)| c[k].as_str()).collect::<Vec<_>>().join(", ");
    if ids.is_empty() {
        printer.line("  no chosen lane takes part")?;
    } else if same {
        printer.line(format!("  {} lanes: {}", ids.len(), row(0)))?;
    } else {
        for (k, lane) in ids.iter().enumerate() {
            printer.line(format!("  lane {lane:2}: {}", row(k)))?;
        }
    }
    let values: Vec<_> = step
        .values
        .iter()
        .zip(&columns)
        .map(|(v, (float, shown))| {
            let bits: Vec<u64> = ids.iter().map(|&l| v[l]).collect();
            json!({ "kind": if *float { "float" } else { "int" }, "bits": bits, "shown": shown })
        })
        .collect();
    Ok(json!({
        "pos": step.pos, "what": step.what, "lanes": ids, "values": values, "variables": step.variables,
    }))
}

/// Registers have no types. Results of floating operations are floats; others count as such where each one is zero or has
/// an exponent that small integers do not have.
fn looks_like_floats(what: &str, bits: &[u64]) -> bool {
    let plausible = |b: u64| {
        let word = b as u32;
        word << 1 == 0 || (40..=215).contains(&(word >> 23 & 0xff))
    };
    if what.starts_with("int") || what.starts_with("long") {
        return false;
    }
    (what.starts_with("float") && !what.contains("compare"))
        || (bits.iter().any(|b| *b as u32 != 0) && bits.iter().all(|b| plausible(*b)))
}

/// Prints a failure and says "no".
pub fn refuse(failure: &Failure, candidate: &ksearch_task::Candidate, printer: Printer) -> Result<Outcome> {
    let (status, pos, help) = match failure {
        Failure::Compile(d) => {
            ("compile_error", d.iter().find_map(|d| d.pos.clone()), d.iter().find_map(|d| d.help.clone()))
        }
        Failure::Launch { pos, help, .. } => ("launch_error", pos.clone(), Some(help.clone())),
        Failure::Fault { pos, help, .. } => ("fault", pos.clone(), Some(help.clone())),
        Failure::Timeout { pos, help, .. } => ("timeout", pos.clone(), Some(help.clone())),
        Failure::Infrastructure(message) => bail!("{message}"),
    };
    printer.line(format!("{}  {failure}", Tone::Bad.paint(status)))?;
    if let Some(pos) = &pos {
        printer.line(show_source::excerpt(candidate, pos))?;
    }
    if let Some(help) = &help {
        printer.line(format!("{} {help}", Tone::Strong.paint("help:")))?;
    }
    let kind = if let Failure::Fault { kind, .. } = failure { Some(kind) } else { None };
    let diagnostics = if let Failure::Compile(d) = failure { d.as_slice() } else { &[] };
    printer.object(&json!({
        "status": status, "kind": kind, "message": failure.to_string(), "pos": pos, "help": help, "diagnostics": diagnostics,
    }))?;
    Ok(Outcome::No)
}
