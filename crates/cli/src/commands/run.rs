//! `ksearch run`: any kernel once, with buffers from and to `.npy` files. Knows no task.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use indexmap::IndexMap;
use ksearch_device::target::Purpose;
use ksearch_device::{Failure, Slot, Slots, Target};
use ksearch_msl::{CompileOptions, SourceFile};
use ksearch_task::candidate::{Bound, Resolved, ResolvedDispatch};
use ksearch_task::{DType, Role, Tensor, TensorInfo, Value, npy, tensor::elements};
use serde_json::json;

use super::check::source;
use crate::args::{Global, RunArgs};
use crate::context::{self, show_figure};
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::show_source;

/// Tensors a run may take together.
const MAX_ELEMENTS: usize = 1 << 32;

/// An output to be saved.
struct Saved {
    name: String,
    file: PathBuf,
}

/// Runs the kernel and saves what was asked for.
pub fn run(args: &RunArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (target, _) = context::sim(global, &args.target.target)?;
    let candidate = source(&args.file, &args.includes)?;
    let defines = context::pairs(&args.defines, "-D", Some("1"))?;
    let files: Vec<_> = candidate.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
    let options = CompileOptions { defines: defines.clone(), ..CompileOptions::default() };
    let kernel = match &args.kernel {
        Some(name) => name.clone(),
        None => match ksearch_msl::entry_points(&files, &options) {
            Ok(entries) => match entries.as_slice() {
                [one] => one.name.clone(),
                [] => bail!("{} has no kernel", args.file.display()),
                many => {
                    let names: Vec<_> = many.iter().map(|e| e.name.as_str()).collect();
                    bail!(
                        "{} has several kernels; choose one with --kernel: {}",
                        args.file.display(),
                        names.join(", ")
                    );
                }
            },
            Err(diagnostics) => return refuse(&Failure::Compile(diagnostics), &candidate, printer),
        },
    };
    let mut slots = Slots::new();
    for (name, file) in context::pairs(&args.buffer, "--buffer", None)? {
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {file}"))?;
        let tensor = npy::read(&bytes).with_context(|| file.clone())?;
        slots.insert(name, Slot { tensor, writable: true, written: None });
    }
    let mut saved = Vec::new();
    for text in &args.out {
        saved.push(output(text, &mut slots)?);
    }
    let mut bound: IndexMap<String, Bound> = IndexMap::new();
    for (name, value) in context::pairs(&args.scalar, "--scalar", None)? {
        bound.insert(name.clone(), Bound::Scalar(number(&name, &value)?));
    }
    for (name, bytes) in context::pairs(&args.threadgroup, "--threadgroup", None)? {
        let bytes = bytes.parse().with_context(|| format!("--threadgroup {name}={bytes}: not a number of bytes"))?;
        bound.insert(name, Bound::Threadgroup(bytes));
    }
    for name in slots.keys() {
        bound.insert(name.clone(), Bound::Tensor(name.clone()));
    }
    let constants = context::pairs(&args.constants, "--constant", None)?
        .into_iter()
        .map(|(n, v)| number(&n, &v).map(|v| (n, v)))
        .collect::<Result<_>>()?;
    let dispatch = ResolvedDispatch {
        kernel,
        grid: axes(&args.grid, "--grid")?,
        threadgroup: axes(&args.threads, "--threads")?,
        args: bound,
        constants,
        repeat: 1,
    };
    let tensors = slots
        .iter()
        .map(|(name, s)| TensorInfo {
            name: name.clone(),
            role: Role::InOut,
            dtype: s.tensor.dtype,
            shape: s.tensor.shape.clone(),
            present: true,
        })
        .collect();
    let resolved =
        Resolved { defines, scratch: Vec::new(), dispatches: vec![dispatch], tensors, symbols: IndexMap::new() };
    let mut runnable = match target.build(&candidate, &resolved) {
        Ok(runnable) => runnable,
        Err(failure) => return refuse(&failure, &candidate, printer),
    };
    if args.sanitize
        && let Err(failure) = runnable.run(&mut slots.clone(), Purpose::Check)
    {
        return refuse(&failure, &candidate, printer);
    }
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

fn refuse(failure: &Failure, candidate: &ksearch_task::Candidate, printer: Printer) -> Result<Outcome> {
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

/// `NAME=FILE` or `NAME=FILE:DTYPE:D0xD1…`; the latter makes a new buffer that nothing has written.
fn output(text: &str, slots: &mut Slots) -> Result<Saved> {
    let how = "expected NAME=FILE.npy:DTYPE:D0xD1…, or NAME=FILE.npy for a buffer given with --buffer";
    let (name, rest) = text.split_once('=').with_context(|| format!("--out {text}: {how}"))?;
    let parts: Vec<&str> = rest.rsplitn(3, ':').collect();
    let file = match parts.as_slice() {
        [shape, dtype, file] if DType::parse(dtype).is_some() => {
            let dtype = DType::parse(dtype).with_context(|| format!("--out {text}: {how}"))?;
            let shape: Vec<usize> = shape
                .split('x')
                .map(|d| d.parse().with_context(|| format!("--out {text}: `{d}` is not an extent")))
                .collect::<Result<_>>()?;
            ensure!(elements(&shape) <= MAX_ELEMENTS, "--out {text}: more than 2^32 elements");
            let bytes = elements(&shape) * dtype.bytes();
            let tensor = Tensor { dtype, shape, bytes: vec![0; bytes] };
            slots.insert(name.to_owned(), Slot { tensor, writable: true, written: Some(vec![false; bytes]) });
            *file
        }
        _ if slots.contains_key(name) => rest,
        _ => bail!("--out {text}: {how}"),
    };
    Ok(Saved { name: name.to_owned(), file: file.into() })
}

fn axes(text: &str, flag: &str) -> Result<[u32; 3]> {
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    ensure!(parts.len() <= 3, "{flag} {text}: at most three numbers");
    for (o, p) in out.iter_mut().zip(&parts) {
        *o = p.trim().parse().with_context(|| format!("{flag} {text}: `{p}` is not a number"))?;
        ensure!(*o > 0, "{flag} {text}: must be at least 1");
    }
    Ok(out)
}

fn number(name: &str, text: &str) -> Result<Value> {
    match text {
        "true" => return Ok(Value::Int(1)),
        "false" => return Ok(Value::Int(0)),
        _ => {}
    }
    if let Ok(i) = text.parse() {
        return Ok(Value::Int(i));
    }
    text.parse().map(Value::Real).with_context(|| format!("{name}={text}: not a number"))
}
