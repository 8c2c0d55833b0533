//! `ksearch check`: does a source compile and fit the chip? Knows no task.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use ksearch_msl::{CompileOptions, Compiler, Diagnostic, EntryPoint, Optimise, ParamKind, Severity, SourceFile};
use ksearch_simt::{Program, RunError};
use ksearch_task::{Candidate, Language, candidate::Recipe};
use serde_json::json;

use crate::args::{CheckArgs, Global};
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::show_source;

/// Compiles, lowers and prints the kernels.
pub fn run(args: &CheckArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (_, chip) = context::sim(global, &args.target.target)?;
    let candidate = source(&args.file, &args.includes)?;
    let options = CompileOptions {
        language: compiled_as(candidate.language),
        defines: context::pairs(&args.defines, "-D", Some("1"))?,
        constants: context::pairs(&args.constants, "--constant", None)?.into_iter().collect(),
        optimise: Optimise::Speed,
        fast_math: true,
        ..CompileOptions::default()
    };
    let files: Vec<_> = candidate.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
    let module = match Compiler::shared()?.compile(&files, &options) {
        Ok(module) => module,
        Err(diagnostics) => {
            for d in &diagnostics {
                print(d, &candidate, printer)?;
            }
            if let Some(names) = missing_defines(&args.file, &options) {
                printer.note(format!(
                    "the recipe in {} takes {names} from a task's workload: judge it with `ksearch eval TASK {0}`, or give values with -D",
                    args.file.display()
                ));
            }
            printer.object(&json!({ "ok": false, "kernels": [], "diagnostics": diagnostics }))?;
            return Ok(Outcome::No);
        }
    };
    let program = Program::load(&module)?;
    let mut findings = module.warnings.clone();
    let mut kernels = Vec::new();
    for entry in &module.entries {
        let registers = match program.lowered(&entry.name) {
            Ok(lowered) => Some(lowered.register_halves.div_ceil(2)),
            Err(RunError::Unsupported { what, pos }) => {
                findings.push(problem("unsupported", format!("the simulator cannot run {what}"), pos));
                None
            }
            Err(e) => return Err(e.into()),
        };
        if entry.threadgroup_bytes > chip.max_threadgroup_bytes {
            let largest = module.threadgroup.iter().max_by_key(|v| v.bytes).map(|v| v.pos.clone());
            let message = format!(
                "kernel `{}` needs {} bytes of threadgroup memory, but a threadgroup on {} has {}",
                entry.name, entry.threadgroup_bytes, chip.name, chip.max_threadgroup_bytes
            );
            findings.push(problem("threadgroup-memory", message, largest.or_else(|| Some(entry.pos.clone()))));
        }
        printer.line(format!(
            "{} {}({})",
            Tone::Strong.paint("kernel"),
            entry.name,
            entry.params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ")
        ))?;
        printer.line(format!(
            "  threadgroup memory {} B, registers about {}",
            entry.threadgroup_bytes,
            registers.map_or_else(|| "?".to_owned(), |r| r.to_string())
        ))?;
        kernels.push(describe(entry, registers));
    }
    for d in &findings {
        print(d, &candidate, printer)?;
    }
    if module.entries.is_empty() {
        printer.note("the source has no kernel");
    }
    let ok = findings.iter().all(|d| d.severity != Severity::Error);
    printer.object(&json!({ "ok": ok, "kernels": kernels, "diagnostics": findings }))?;
    Ok(if ok { Outcome::Success } else { Outcome::No })
}

/// Names that the file's own recipe would define and the command line does not.
fn missing_defines(path: &Path, options: &CompileOptions) -> Option<String> {
    let recipe = Candidate::load(path).ok()?.recipe;
    let names: Vec<_> = recipe
        .defines
        .iter()
        .filter(|define| options.defines.iter().all(|(given, _)| *given != define.name))
        .map(|define| format!("`{}`", define.name))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The front end's name for the language of a candidate.
pub fn compiled_as(language: Language) -> ksearch_msl::Language {
    match language {
        Language::Cuda => ksearch_msl::Language::Cuda,
        Language::Msl | Language::Cpp => ksearch_msl::Language::Metal,
    }
}

/// A source without a recipe of its own need, with what it includes from its folder and `includes`.
pub fn source(path: &Path, includes: &[PathBuf]) -> Result<Candidate> {
    let files = ksearch_msl::corpus::load(path, includes).with_context(|| format!("cannot read {}", path.display()))?;
    let files = files.into_iter().map(|f| ksearch_task::SourceFile { path: f.name, text: f.text }).collect();
    Ok(Candidate {
        language: Language::of_path(&path.to_string_lossy()).unwrap_or(Language::Msl),
        files,
        recipe: Recipe::default(),
        tunables: Vec::new(),
        values: std::collections::BTreeMap::new(),
    })
}

fn problem(code: &str, message: String, pos: Option<ksearch_msl::SourcePos>) -> Diagnostic {
    Diagnostic { severity: Severity::Error, code: code.into(), message, pos, help: None }
}

fn describe(entry: &EntryPoint, registers: Option<u32>) -> serde_json::Value {
    let params: Vec<_> = entry
        .params
        .iter()
        .map(|p| match &p.kind {
            ParamKind::Buffer { index, constant, read_only, element, element_bytes, .. } => json!({
                "name": p.name, "kind": if *constant { "constant" } else { "device" }, "index": index,
                "element": element, "element_bytes": element_bytes, "read_only": read_only,
            }),
            ParamKind::Threadgroup { index, element, .. } => {
                json!({ "name": p.name, "kind": "threadgroup", "index": index, "element": element })
            }
            ParamKind::Builtin(builtin) => {
                json!({ "name": p.name, "kind": "builtin", "builtin": format!("{builtin:?}") })
            }
        })
        .collect();
    json!({
        "name": entry.name, "params": params, "threadgroup_bytes": entry.threadgroup_bytes,
        "max_threads": entry.max_threads, "registers": registers, "pos": entry.pos,
    })
}

fn print(d: &Diagnostic, candidate: &Candidate, printer: Printer) -> Result<()> {
    let (tone, word) = match d.severity {
        Severity::Error => (Tone::Bad, "error:"),
        Severity::Warning => (Tone::Warn, "warning:"),
        Severity::Note => (Tone::Dim, "note:"),
    };
    printer.line(format!("{} {}", tone.paint(word), d.message))?;
    if let Some(pos) = &d.pos {
        printer.line(show_source::excerpt(candidate, pos))?;
    }
    if let Some(help) = &d.help {
        printer.line(format!("{} {help}", Tone::Strong.paint("help:")))?;
    }
    Ok(())
}
