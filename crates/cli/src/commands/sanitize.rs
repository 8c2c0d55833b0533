//! `ksearch sanitize`: one launch with every sanitizer on, reported as a compiler reports. Knows no task.

use anyhow::{Context as _, Result, bail};
use ksearch_device::{Failure, Inspect, Inspected, SimTarget, Slots};
use ksearch_msl::{Diagnostic, Severity, SourcePos};
use ksearch_simt::{Access, Fault};
use ksearch_task::{Candidate, tensor};
use serde::Serialize;

use super::launch::{self, Prepared};
use crate::args::{Global, SanitizeArgs};
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::sarif;
use crate::show_source;

/// A thread, as people count them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Thread {
    /// Position of its threadgroup.
    pub threadgroup: [u32; 3],
    /// Simdgroup in it.
    pub simdgroup: u32,
    /// Lane in that.
    pub lane: u32,
}

/// One thing to report.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Stable identifier, e.g. `data_race`.
    pub rule: String,
    /// How bad.
    pub severity: Severity,
    /// What happened, one sentence.
    pub message: String,
    /// Where.
    pub pos: Option<SourcePos>,
    /// Which thread.
    pub thread: Option<Thread>,
    /// The other place: of a race, the earlier access; of an unwritten value, its use.
    pub other: Option<SourcePos>,
    /// The thread there.
    pub other_thread: Option<Thread>,
    /// What to do.
    pub help: Option<String>,
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// In order: faults, then what the launch as a whole shows.
    pub findings: Vec<Finding>,
    /// Threadgroups that ran.
    pub groups: u64,
    /// Chip whose limits held.
    pub chip: String,
}

/// Watches the kernel.
pub fn run(args: &SanitizeArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (target, chip) = context::sim(global, &args.launch.target.target)?;
    let (report, candidate) = match launch::prepare(&args.launch, &[])? {
        Ok(mut prepared) => (inspect(&target, &chip.name, &mut prepared, false)?, prepared.candidate),
        Err((candidate, failure)) => {
            let findings = refused(&failure)?;
            (Report { findings, chip: chip.name.clone(), ..Report::default() }, candidate)
        }
    };
    if let Some(file) = &args.sarif {
        let text = serde_json::to_string_pretty(&sarif::log(&report.findings))?;
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    report.print(&candidate, printer)?;
    printer.object(&report.json())?;
    Ok(if report.errors() == 0 { Outcome::Success } else { Outcome::No })
}

/// Runs the launch with every sanitizer; `keep` leaves the buffers as they were.
pub fn inspect(target: &SimTarget, chip: &str, prepared: &mut Prepared, keep: bool) -> Result<Report> {
    let mut copy = Slots::new();
    let slots = if keep {
        copy.clone_from(&prepared.slots);
        &mut copy
    } else {
        &mut prepared.slots
    };
    let ran = target.inspect(&prepared.candidate, &prepared.resolved, slots, Inspect::Faults, prepared.exact);
    let mut report = Report { chip: chip.to_owned(), ..Report::default() };
    match ran {
        Err(failure) => report.findings = refused(&failure)?,
        Ok(inspection) => {
            report.findings.extend(inspection.warnings.iter().map(of_diagnostic));
            for d in &inspection.dispatches {
                report.groups += d.counters.groups;
                report.findings.extend(d.faults.iter().map(of_fault));
                report.findings.extend(of_launch(d, chip));
            }
            // After a fault the rest of the output is no evidence.
            if report.errors() == 0 {
                report.findings.extend(coverage(slots, inspection.place()));
            }
        }
    }
    Ok(report)
}

impl Report {
    /// Findings that fail the kernel.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|f| f.severity == Severity::Error).count()
    }

    /// Prints the findings with excerpts, and a line that sums them up.
    pub fn print(&self, candidate: &Candidate, printer: Printer) -> Result<()> {
        for f in &self.findings {
            let (tone, word) = match f.severity {
                Severity::Error => (Tone::Bad, "error"),
                Severity::Warning => (Tone::Warn, "warning"),
                Severity::Note => (Tone::Dim, "note"),
            };
            printer.line(format!("{}: {}", tone.paint(format!("{word}[{}]", f.rule)), f.message))?;
            if let Some(pos) = &f.pos {
                printer.line(show_source::excerpt(candidate, pos))?;
            }
            if let Some(t) = &f.thread {
                printer.line(format!("   = {}", name(t)))?;
            }
            if let Some(pos) = &f.other {
                let what = if f.rule == "uninitialized_read" { "used here" } else { "the other access" };
                printer.line(format!("{} {what}", Tone::Strong.paint("note:")))?;
                printer.line(show_source::excerpt(candidate, pos))?;
                if let Some(t) = f.other_thread.as_ref().filter(|_| f.rule != "uninitialized_read") {
                    printer.line(format!("   = {}", name(t)))?;
                }
            }
            if let Some(help) = &f.help {
                printer.line(format!("{} {help}", Tone::Strong.paint("help:")))?;
            }
            printer.line("")?;
        }
        let warnings = self.findings.iter().filter(|f| f.severity == Severity::Warning).count();
        let n = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let sum = match (self.errors(), warnings) {
            (0, 0) => Tone::Good.paint("clean"),
            (0, w) => format!("{} with {}", Tone::Good.paint("clean"), n(w, "warning")),
            (e, w) => format!("{}, {}", Tone::Bad.paint(n(e, "error")), n(w, "warning")),
        };
        printer.line(format!("{sum} on {}", self.chip))?;
        Ok(())
    }

    /// The answer as one object.
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "status": if self.errors() == 0 { "clean" } else { "faulty" },
            "chip": self.chip, "threadgroups": self.groups, "findings": self.findings,
        })
    }
}

fn name(t: &Thread) -> String {
    let [x, y, z] = t.threadgroup;
    format!("threadgroup ({x}, {y}, {z}), simdgroup {}, lane {}", t.simdgroup, t.lane)
}

fn thread(a: &Access) -> Thread {
    Thread { threadgroup: a.group, simdgroup: a.simdgroup, lane: a.lane }
}

fn finding(rule: &str, severity: Severity, message: String, pos: Option<SourcePos>, help: Option<String>) -> Finding {
    Finding { rule: rule.to_owned(), severity, message, pos, thread: None, other: None, other_thread: None, help }
}

fn of_diagnostic(d: &Diagnostic) -> Finding {
    finding(&d.code, d.severity, d.message.clone(), d.pos.clone(), d.help.clone())
}

fn of_fault(f: &Fault) -> Finding {
    Finding {
        thread: Some(thread(&f.at)),
        other: f.other.as_ref().and_then(|o| o.pos.clone()),
        other_thread: f.other.as_ref().map(thread),
        ..finding(f.kind.name(), Severity::Error, f.message.clone(), f.at.pos.clone(), Some(f.help.clone()))
    }
}

/// What a launch that never ran is to be blamed for.
fn refused(failure: &Failure) -> Result<Vec<Finding>> {
    Ok(match failure {
        Failure::Compile(diagnostics) => diagnostics.iter().map(of_diagnostic).collect(),
        Failure::Launch { message, help, pos } => {
            vec![finding("launch_limit", Severity::Error, message.clone(), pos.clone(), Some(help.clone()))]
        }
        Failure::Fault { kind, message, help, pos, .. } => {
            vec![finding(kind, Severity::Error, message.clone(), pos.clone(), Some(help.clone()))]
        }
        Failure::Timeout { message, help, pos } => {
            vec![finding("runaway", Severity::Error, message.clone(), pos.clone(), Some(help.clone()))]
        }
        Failure::Infrastructure(message) => bail!("{message}"),
    })
}

fn of_launch(d: &Inspected, chip: &str) -> Vec<Finding> {
    let mut out: Vec<Finding> = d
        .unread
        .iter()
        .map(|p| {
            let message = format!("parameter `{}` of kernel `{}` is never used", p.name, d.entry.name);
            let help = "Remove it, or look for the place that should use it.".to_owned();
            finding("unused_argument", Severity::Warning, message, Some(p.pos.clone()), Some(help))
        })
        .collect();
    if let Some(room) = d.crowded {
        let message = format!(
            "the registers of kernel `{}` leave room for about {room} threads per threadgroup on {chip}, and more are \
             launched",
            d.entry.name
        );
        let help =
            "Launch at most the pipeline's maxTotalThreadsPerThreadgroup (a larger dispatch is dropped), or bound \
                    the kernel with [[max_total_threads_per_threadgroup(n)]]."
                .to_owned();
        out.push(finding("register_limit", Severity::Warning, message, Some(d.entry.pos.clone()), Some(help)));
    }
    out
}

/// Buffers whose every element was to be written.
fn coverage(slots: &Slots, place: Option<&SourcePos>) -> Vec<Finding> {
    let mut out = Vec::new();
    for (name, slot) in slots {
        let Some(written) = &slot.written else { continue };
        let width = slot.tensor.dtype.bytes().max(1);
        let mut missing = written.chunks(width).enumerate().filter(|(_, e)| e.contains(&false)).map(|(i, _)| i);
        let Some(first) = missing.next() else { continue };
        let (rest, total) = (1 + missing.count(), slot.tensor.elements());
        let at = tensor::unravel(first, &slot.tensor.shape);
        let (rule, message, help) = if rest == total {
            (
                "output_never_written",
                format!("the dispatch writes nothing to `{name}`"),
                "Check the guard at the start of the kernel and the arguments of the dispatch.",
            )
        } else {
            (
                "partial_coverage",
                format!("{rest} of {total} elements of `{name}` are never written, the first at {at:?}"),
                "Launch enough threads to cover the output: --grid counts threadgroups, --grid-threads threads.",
            )
        };
        out.push(finding(rule, Severity::Error, message, place.cloned(), Some(help.to_owned())));
    }
    out
}
