//! `ksearch port draft`: the Metal form by rule, or what stands in its way.

use std::path::Path;

use anyhow::Result;
use ksearch_port::analysis::{Finding, Severity};
use ksearch_port::cuda::syntax::Source;
use ksearch_port::cuda::unit::Unit;
use ksearch_port::draft::{Note, Refused};
use ksearch_port::{Ends, Knowledge, PortError, declare};
use serde_json::json;

use crate::exit::Outcome;
use crate::printer::{Printer, Tone};

/// What the analysis says against a draft.
pub fn blockers(name: &str, text: &str, kernel: &str, (knowledge, ends): &(Knowledge, Ends)) -> Result<Vec<Finding>> {
    let analysis = ksearch_port::analyze(name, text, knowledge, ends)?;
    let base = kernel.split('<').next().unwrap_or(kernel);
    Ok(analysis
        .kernels
        .into_iter()
        .filter(|k| k.name == base)
        .flat_map(|k| k.findings)
        .filter(|f| f.severity == Severity::Blocks)
        .collect())
}

/// Prints what stands in the way.
pub fn refuse(blockers: &[Finding], refused: &[Note], printer: Printer) -> Result<Outcome> {
    for f in blockers {
        let place = f.pos.as_ref().map_or_else(String::new, |p| format!("{p}: "));
        printer.line(format!("{} {place}[{}] {}", Tone::Bad.paint("blocked"), f.code, f.message))?;
        printer.line(format!("        {}", f.help))?;
    }
    for n in refused {
        printer.line(format!("{} {}: {}", Tone::Bad.paint("no rule"), n.pos, n.text))?;
    }
    printer.object(&json!({ "ok": false, "blocked": blockers, "no_rule": refused }))?;
    Ok(Outcome::No)
}

/// Prints the draft.
pub fn run(
    file: &Path,
    kernel: Option<&str>,
    declaration: Option<&Path>,
    ends: &(Knowledge, Ends),
    printer: Printer,
) -> Result<Outcome> {
    let (name, text) = super::read(file)?;
    let path = super::declaration(file, declaration);
    if path.is_file() || declaration.is_some() {
        let (declared, toml) = super::read(&path)?;
        return match ksearch_port::prepare(&name, &text, (&declared, &toml), kernel) {
            Ok(port) => {
                let against = blockers(&name, &text, &port.kernel, ends)?;
                if !against.is_empty() {
                    return refuse(&against, &[], printer);
                }
                printer.line(port.metal.trim_end())?;
                printer.object(&json!({ "ok": true, "metal": port.metal, "draft": port.draft }))?;
                Ok(Outcome::Success)
            }
            Err(PortError::Refused(Refused(notes))) => {
                let wanted = kernel.map(str::to_owned);
                let against = match wanted.or_else(|| only_kernel(&name, &text)) {
                    Some(k) => blockers(&name, &text, &k, ends)?,
                    None => Vec::new(),
                };
                refuse(&against, &notes, printer)
            }
            Err(e) => Err(e.into()),
        };
    }
    let source = Source::parse(&name, &text)?;
    let unit = Unit::read(&source);
    let (full, k) = declare::choose(&unit, kernel)?;
    let instance = declare::instance(&unit, k, &full)?;
    let against = blockers(&name, &text, &full, ends)?;
    match ksearch_port::draft::draft(&unit, k, &instance, &[]) {
        Ok(draft) if against.is_empty() => {
            printer.note(format!("no {}: the draft has no launch recipe", path.display()));
            for (name, value) in &draft.defines {
                printer.line(format!("#define {name} {value}"))?;
            }
            printer.line(draft.source.trim_end())?;
            printer.object(&json!({ "ok": true, "metal": draft.source, "draft": draft }))?;
            Ok(Outcome::Success)
        }
        Ok(_) => refuse(&against, &[], printer),
        Err(Refused(notes)) => refuse(&against, &notes, printer),
    }
}

/// The name of a file's only kernel.
pub fn only_kernel(name: &str, text: &str) -> Option<String> {
    let source = Source::parse(name, text).ok()?;
    let unit = Unit::read(&source);
    declare::choose(&unit, None).ok().map(|(full, _)| full)
}
