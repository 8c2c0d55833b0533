//! `ksearch profile`: what each source line of a kernel costs, as a table or an annotated page. Knows no task.
//!
//! A line's cells come from [`Column`]s: a model that splits time over lines adds its own beside the counters.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use ksearch_device::{Inspect, Inspected};
use ksearch_simt::{InstrClass, LineCounts};
use serde_json::{Value, json};

use super::launch;
use super::run::refuse;
use crate::args::{Global, ProfileArgs};
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};

/// One column of the table.
struct Column {
    title: &'static str,
    /// What it says, for the page's legend.
    about: &'static str,
    cell: fn(&LineCounts, u64) -> String,
}

/// A number, or nothing for zero: a table of zeros hides what matters.
fn shown(n: u64) -> String {
    if n == 0 { String::new() } else { n.to_string() }
}

const COLUMNS: [Column; 8] = [
    Column {
        title: "share",
        about: "share of all simdgroup instructions",
        cell: |l, total| format!("{:.1}%", 100.0 * l.total() as f64 / total.max(1) as f64),
    },
    Column { title: "instr", about: "simdgroup instructions", cell: |l, _| shown(l.total()) },
    Column {
        title: "lanes",
        about: "mean share of the 32 lanes that were active",
        cell: |l, _| if l.total() == 0 { String::new() } else { format!("{:.0}%", 100.0 * l.efficiency()) },
    },
    Column { title: "split", about: "branches whose lanes went both ways", cell: |l, _| shown(l.splits) },
    Column { title: "dev B", about: "bytes of device memory asked for", cell: |l, _| shown(l.device_bytes) },
    Column {
        title: "dev lines",
        about: "128-byte lines of device memory, per instruction, summed",
        cell: |l, _| shown(l.device_lines),
    },
    Column { title: "tg B", about: "bytes of threadgroup memory asked for", cell: |l, _| shown(l.threadgroup_bytes) },
    Column {
        title: "conflicts",
        about: "passes over threadgroup memory beyond the least possible",
        cell: |l, _| shown(l.conflicts),
    },
];

/// Runs the kernel and lays its counters on its lines.
pub fn run(args: &ProfileArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (target, chip) = context::sim(global, &args.launch.target.target)?;
    let mut prepared = match launch::prepare(&args.launch, &[])? {
        Ok(prepared) => prepared,
        Err((candidate, failure)) => return refuse(&failure, &candidate, printer),
    };
    let ran =
        target.inspect(&prepared.candidate, &prepared.resolved, &mut prepared.slots, Inspect::Lines, prepared.exact);
    let inspection = match ran {
        Ok(inspection) => inspection,
        Err(failure) => return refuse(&failure, &prepared.candidate, printer),
    };
    let dispatch = inspection.dispatches.into_iter().next().context("nothing was launched")?;
    let file = prepared.candidate.files.first().context("the candidate has no file")?;
    if let Some(path) = &args.html {
        std::fs::write(path, page(&dispatch, &file.path, &file.text, &chip.name))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    table(&dispatch, &file.path, &file.text, printer)?;
    for fault in &dispatch.faults {
        printer.note(format!("{} {fault}", Tone::Bad.paint("fault:")));
    }
    printer.object(&object(&dispatch, &chip.name))?;
    Ok(if dispatch.faults.is_empty() { Outcome::Success } else { Outcome::No })
}

fn total(lines: &[LineCounts]) -> u64 {
    lines.iter().map(LineCounts::total).sum()
}

fn heading(d: &Inspected) -> String {
    let c = &d.counters;
    let conflicts = c.bank_conflicts;
    format!(
        "kernel {}: {} simdgroup instructions in {} simdgroups of {} threadgroups, {} registers a thread, {} B of \
         threadgroup memory, {} B loaded and {} B stored in device memory, {conflicts} bank conflicts (simulated)",
        d.entry.name,
        c.instructions.iter().sum::<u64>(),
        c.simdgroups,
        c.groups,
        c.register_halves.div_ceil(2),
        c.threadgroup_memory,
        c.device_bytes[0],
        c.device_bytes[1],
    )
}

fn table(d: &Inspected, file: &str, text: &str, printer: Printer) -> Result<()> {
    printer.line(heading(d))?;
    let sum = total(&d.lines);
    let rows: Vec<Vec<String>> = d.lines.iter().map(|l| COLUMNS.iter().map(|c| (c.cell)(l, sum)).collect()).collect();
    let widths: Vec<usize> = COLUMNS
        .iter()
        .enumerate()
        .map(|(k, c)| rows.iter().map(|r| r[k].len()).fold(c.title.len(), usize::max))
        .collect();
    let mut head = String::new();
    for (c, w) in COLUMNS.iter().zip(&widths) {
        let _ = write!(head, "{:>w$}  ", c.title);
    }
    printer.line(Tone::Strong.paint(format!("{head} line  source")))?;
    for (l, row) in d.lines.iter().zip(&rows) {
        let mut out = String::new();
        for (cell, w) in row.iter().zip(&widths) {
            let _ = write!(out, "{cell:>w$}  ");
        }
        let source = if l.file == file { text.lines().nth(l.line.saturating_sub(1) as usize) } else { Some(&*l.file) };
        let source: String = source.unwrap_or_default().trim_end().chars().filter(|c| !c.is_control()).collect();
        printer.line(format!("{out}{:5}  {source}", l.line))?;
    }
    Ok(())
}

fn object(d: &Inspected, chip: &str) -> Value {
    let lines: Vec<Value> = d
        .lines
        .iter()
        .map(|l| {
            let classes: serde_json::Map<String, Value> = classes()
                .zip(&l.instructions)
                .filter(|(_, n)| **n > 0)
                .map(|(class, n)| (class.name().to_owned(), json!(n)))
                .collect();
            json!({
                "file": l.file, "line": l.line, "instructions": l.total(), "by_class": classes,
                "lane_efficiency": l.efficiency(), "splits": l.splits, "device_bytes": l.device_bytes,
                "device_lines": l.device_lines, "threadgroup_bytes": l.threadgroup_bytes,
                "threadgroup_passes": l.passes, "bank_conflicts": l.conflicts, "private_bytes": l.private_bytes,
            })
        })
        .collect();
    json!({
        "kernel": d.entry.name, "kind": "simulated", "on": chip, "counters": d.counters, "lines": lines,
        "faults": d.faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn classes() -> impl Iterator<Item = InstrClass> {
    ksearch_apple::instr::classes().map(|(_, class)| class)
}

/// Text that may stand in a page.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

const STYLE: &str = "body{font:14px system-ui,sans-serif;margin:2em;color:#222;background:#fff}\
table{border-collapse:collapse;font:13px ui-monospace,monospace}\
th,td{padding:1px 10px;text-align:right;white-space:pre}th{border-bottom:1px solid #888;position:sticky;top:0;\
background:#fff}td.s{text-align:left}td.n{color:#888}tr:hover td{outline:1px solid #bbb}dt{font-weight:bold}\
@media(prefers-color-scheme:dark){body,th{background:#181818;color:#ddd}}";

/// The whole source with its counters beside it, as one file that needs no other.
fn page(d: &Inspected, file: &str, text: &str, chip: &str) -> String {
    let sum = total(&d.lines);
    let most = d.lines.iter().map(LineCounts::total).max().unwrap_or(0).max(1);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{STYLE}</style></head>\
         <body>\n<h1>{0}</h1>\n<p>{1}, on {2}.</p>\n<table>\n<tr>",
        escape(&format!("{} in {file}", d.entry.name)),
        escape(&heading(d)),
        escape(chip)
    );
    for c in &COLUMNS {
        let _ = write!(out, "<th title=\"{}\">{}</th>", escape(c.about), escape(c.title));
    }
    out.push_str("<th>line</th><th></th></tr>\n");
    for (k, source) in text.lines().enumerate() {
        let counts = d.lines.iter().find(|l| l.file == file && l.line as usize == k + 1);
        match counts {
            Some(l) => {
                let heat = 100.0 * l.total() as f64 / most as f64;
                let classes: Vec<String> = classes()
                    .zip(&l.instructions)
                    .filter(|(_, n)| **n > 0)
                    .map(|(c, n)| format!("{} {n}", c.name()))
                    .collect();
                let _ = write!(
                    out,
                    "<tr title=\"{}\" style=\"background:color-mix(in srgb,#e4572e {:.0}%,transparent)\">",
                    escape(&classes.join(", ")),
                    heat * 0.6
                );
                for c in &COLUMNS {
                    let _ = write!(out, "<td>{}</td>", escape(&(c.cell)(l, sum)));
                }
            }
            None => {
                let _ = write!(out, "<tr><td colspan=\"{}\"></td>", COLUMNS.len());
            }
        }
        let _ = writeln!(out, "<td class=\"n\">{}</td><td class=\"s\">{}</td></tr>", k + 1, escape(source));
    }
    out.push_str("</table>\n<dl>\n");
    for c in &COLUMNS {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(c.title), escape(c.about));
    }
    out.push_str("</dl>\n</body></html>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_escape_what_the_source_holds() {
        assert_eq!(escape("a<b> & \"c\"\u{1b}"), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}");
    }
}
