//! `ksearch dispatch`: a list of dispatches over raw buffers, as a Metal command buffer would run them. Knows no task.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use indexmap::IndexMap;
use ksearch_msl::{CompileOptions, Compiler, EntryPoint, Optimise, ParamKind, SourceFile, SourcePos};
use ksearch_simt::{ArgValue, Buffer, BufferId, Launch, Limits, Memory, Mode, Program, RunError};
use serde::Deserialize;
use serde_json::json;

use super::check::source;
use crate::args::{DispatchArgs, Global};
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::show_source;

/// The file. Paths are relative to its folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    source: PathBuf,
    #[serde(default)]
    includes: Vec<PathBuf>,
    #[serde(default)]
    defines: IndexMap<String, String>,
    /// Function constants by name or index, as C++ literals.
    #[serde(default)]
    constants: BTreeMap<String, String>,
    #[serde(default = "yes")]
    fast_math: bool,
    buffers: IndexMap<String, BufferPlan>,
    dispatches: Vec<DispatchPlan>,
}

/// A device buffer: contents from a file of raw bytes, or `bytes` zeros; written to a file of raw bytes after the run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferPlan {
    from: Option<PathBuf>,
    bytes: Option<u64>,
    to: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DispatchPlan {
    kernel: String,
    /// `dispatchThreadgroups`: threadgroups per axis.
    groups: Option<[u32; 3]>,
    /// `dispatchThreads`: threads per axis.
    threads: Option<[u32; 3]>,
    /// Threads per threadgroup.
    threadgroup: [u32; 3],
    args: Vec<ArgPlan>,
}

/// Exactly one of `buffer`, `hex` and `threadgroup`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgPlan {
    /// The buffer index, or the threadgroup memory's.
    index: u32,
    buffer: Option<String>,
    /// Bytes into the buffer.
    #[serde(default)]
    offset: u64,
    /// Bytes of a constant argument.
    hex: Option<String>,
    /// Bytes of threadgroup memory.
    threadgroup: Option<u32>,
}

const fn yes() -> bool {
    true
}

/// Why the answer is no.
struct Refusal {
    status: &'static str,
    message: String,
    pos: Option<SourcePos>,
    help: Option<String>,
}

/// Runs the plan.
pub fn run(args: &DispatchArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (_, chip) = context::sim(global, &args.target.target)?;
    let text = std::fs::read_to_string(&args.plan).with_context(|| format!("cannot read {}", args.plan.display()))?;
    let plan: Plan = serde_json::from_str(&text).with_context(|| format!("{} is no plan", args.plan.display()))?;
    let dir = args.plan.parent().unwrap_or(Path::new(""));
    let includes: Vec<PathBuf> = plan.includes.iter().map(|p| dir.join(p)).collect();
    let candidate = source(&dir.join(&plan.source), &includes)?;
    let files: Vec<_> = candidate.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
    let mut only: Vec<String> = plan.dispatches.iter().map(|d| d.kernel.clone()).collect();
    only.sort();
    only.dedup();
    let options = CompileOptions {
        defines: plan.defines.clone().into_iter().collect(),
        constants: plan.constants.clone(),
        optimise: if args.sanitize { Optimise::Faithful } else { Optimise::Speed },
        fast_math: plan.fast_math,
        only,
        ..CompileOptions::default()
    };
    let module = match Compiler::shared()?.compile(&files, &options) {
        Ok(module) => module,
        Err(diagnostics) => {
            let first = diagnostics.first();
            let refusal = Refusal {
                status: "compile_error",
                message: first.map_or_else(String::new, |d| d.message.clone()),
                pos: first.and_then(|d| d.pos.clone()),
                help: first.and_then(|d| d.help.clone()),
            };
            return refuse(&refusal, &candidate, printer);
        }
    };
    let program = Program::load(&module)?;
    let mut memory = Memory::default();
    for (name, b) in &plan.buffers {
        let bytes = contents(dir, b).with_context(|| format!("buffer `{name}`"))?;
        memory.add(Buffer { name: name.clone(), bytes, written: None, read_only: false });
    }
    let limits = Limits {
        max_threads: chip.max_threads,
        max_threadgroup_bytes: chip.max_threadgroup_bytes,
        ..Limits::default()
    };
    let mode = if args.sanitize { Mode::Sanitize } else { Mode::Fast };
    for (n, d) in plan.dispatches.iter().enumerate() {
        let Some(entry) = module.entries.iter().find(|e| e.name == d.kernel) else {
            let message = format!("the source has no kernel `{}`", d.kernel);
            return refuse(&Refusal { status: "launch_error", message, pos: None, help: None }, &candidate, printer);
        };
        let launch = launch(d, entry, &plan.buffers).with_context(|| format!("dispatch {n}, of `{}`", d.kernel))?;
        let found = match program.run(&d.kernel, &launch, &mut memory, &limits, mode) {
            Ok(outcome) => outcome.faults.into_iter().next().map(|f| Refusal {
                status: "fault",
                message: f.to_string(),
                pos: f.at.pos,
                help: Some(f.help),
            }),
            Err(e @ RunError::Launch(_)) => Some(Refusal {
                status: "launch_error",
                message: e.to_string(),
                pos: Some(entry.pos.clone()),
                help: None,
            }),
            Err(RunError::Unsupported { what, pos }) => {
                let message = format!("the simulator cannot run {what}");
                Some(Refusal { status: "fault", message, pos, help: None })
            }
            Err(e) => return Err(e.into()),
        };
        if let Some(refusal) = found {
            return refuse(&refusal, &candidate, printer);
        }
    }
    for ((name, b), buffer) in plan.buffers.iter().zip(&memory.buffers) {
        if let Some(to) = &b.to {
            let path = dir.join(to);
            std::fs::write(&path, &buffer.bytes).with_context(|| format!("cannot write {}", path.display()))?;
            printer.line(format!("{name} -> {}", path.display()))?;
        }
    }
    printer.object(&json!({ "status": "passed", "dispatches": plan.dispatches.len() }))?;
    Ok(Outcome::Success)
}

fn refuse(r: &Refusal, candidate: &ksearch_task::Candidate, printer: Printer) -> Result<Outcome> {
    printer.line(format!("{}  {}", Tone::Bad.paint(r.status), r.message))?;
    if let Some(pos) = &r.pos {
        printer.line(show_source::excerpt(candidate, pos))?;
    }
    if let Some(help) = &r.help {
        printer.line(format!("{} {help}", Tone::Strong.paint("help:")))?;
    }
    printer.object(&json!({ "status": r.status, "message": r.message, "pos": r.pos, "help": r.help }))?;
    Ok(Outcome::No)
}

fn contents(dir: &Path, b: &BufferPlan) -> Result<Vec<u8>> {
    match (&b.from, b.bytes) {
        (Some(from), None) => {
            let path = dir.join(from);
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        }
        (None, Some(bytes)) => {
            let bytes = usize::try_from(bytes).context("more bytes than this machine addresses")?;
            let mut out = Vec::new();
            out.try_reserve_exact(bytes).with_context(|| format!("{bytes} bytes do not fit into memory"))?;
            out.resize(bytes, 0);
            Ok(out)
        }
        _ => bail!("give either `from` (a file) or `bytes` (that many zeros)"),
    }
}

fn launch(d: &DispatchPlan, entry: &EntryPoint, buffers: &IndexMap<String, BufferPlan>) -> Result<Launch> {
    let mut args = Vec::new();
    for p in &entry.params {
        let (kind, index) = match &p.kind {
            ParamKind::Builtin(_) => continue,
            ParamKind::Threadgroup { index, .. } => ("threadgroup memory", *index),
            ParamKind::Buffer { index, .. } => ("buffer", *index),
        };
        let wants_memory = kind != "buffer";
        let given = d.args.iter().find(|a| a.index == index && a.threadgroup.is_some() == wants_memory);
        args.push(match given {
            Some(a) => value(a, buffers).with_context(|| format!("{kind} {index} (`{}`)", p.name))?,
            // What a function constant switches off may be left out.
            None if p.condition.is_some() => ArgValue::Bytes(Vec::new()),
            None => bail!("no argument for {kind} {index} (`{}`)", p.name),
        });
    }
    match (d.groups, d.threads) {
        (Some(groups), None) => Ok(Launch::new(groups, d.threadgroup, args)),
        (None, Some(threads)) => Ok(Launch::exact(threads, d.threadgroup, args)),
        _ => bail!("give either `groups` (threadgroups) or `threads`"),
    }
}

fn value(a: &ArgPlan, buffers: &IndexMap<String, BufferPlan>) -> Result<ArgValue> {
    match (&a.buffer, &a.hex, a.threadgroup) {
        (Some(name), None, None) => {
            let id = buffers.get_index_of(name).with_context(|| format!("there is no buffer `{name}`"))?;
            Ok(ArgValue::Buffer(BufferId(id as u32), a.offset))
        }
        (None, Some(hex), None) => {
            ensure!(hex.len() % 2 == 0 && hex.is_ascii(), "`hex` takes two digits a byte");
            let byte = |n| u8::from_str_radix(&hex[n..n + 2], 16).context("`hex` takes two digits a byte");
            Ok(ArgValue::Bytes((0..hex.len()).step_by(2).map(byte).collect::<Result<_>>()?))
        }
        (None, None, Some(bytes)) => Ok(ArgValue::Threadgroup(bytes)),
        _ => bail!("give one of `buffer`, `hex` and `threadgroup`"),
    }
}
