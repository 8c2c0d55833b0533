//! A launch from command-line arguments: the kernel, its buffers, scalars and sizes. Knows no task, and no command's work.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use indexmap::IndexMap;
use ksearch_device::{Failure, Slot, Slots};
use ksearch_msl::{CompileOptions, SourceFile};
use ksearch_task::candidate::{Bound, Resolved, ResolvedDispatch};
use ksearch_task::{Candidate, DType, Role, Tensor, TensorInfo, Value, npy, tensor::elements};

use super::check::{compiled_as, source};
use crate::args::LaunchArgs;
use crate::context;

/// Elements that one buffer may have.
const MAX_ELEMENTS: usize = 1 << 33;

/// An output to be saved.
pub struct Saved {
    /// Buffer.
    pub name: String,
    /// Where to.
    pub file: PathBuf,
}

/// A launch that can be built.
pub struct Prepared {
    /// The source.
    pub candidate: Candidate,
    /// Its one dispatch.
    pub resolved: Resolved,
    /// Buffers.
    pub slots: Slots,
    /// Threads per axis, where they are no multiple of the threadgroup.
    pub exact: Option<[u32; 3]>,
    /// Outputs to be saved.
    pub saved: Vec<Saved>,
}

/// Reads the arguments; the inner error is the kernel's own fault (it does not compile).
pub fn prepare(args: &LaunchArgs, out: &[String]) -> Result<Result<Prepared, (Candidate, Failure)>> {
    let candidate = source(&args.file, &args.includes)?;
    let defines = context::pairs(&args.defines, "-D", Some("1"))?;
    let files: Vec<_> = candidate.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
    let options = CompileOptions {
        language: compiled_as(candidate.language),
        defines: defines.clone(),
        ..CompileOptions::default()
    };
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
            Err(diagnostics) => return Ok(Err((candidate, Failure::Compile(diagnostics)))),
        },
    };
    let mut slots = Slots::new();
    for (name, value) in context::pairs(&args.buffer, "--buffer", None)? {
        let slot = buffer(&value).with_context(|| format!("--buffer {name}={value}"))?;
        slots.insert(name, slot);
    }
    let saved = out.iter().map(|text| output(text, &mut slots)).collect::<Result<_>>()?;
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
    let threadgroup = axes(&args.threads, "--threads")?;
    let exact = args.grid_threads.as_deref().map(|t| axes(t, "--grid-threads")).transpose()?;
    let grid = match exact {
        Some(all) => std::array::from_fn(|k| all[k].div_ceil(threadgroup[k])),
        None => axes(&args.grid, "--grid")?,
    };
    let dispatch = ResolvedDispatch { kernel, grid, threadgroup, args: bound, constants, repeat: 1, cluster: [1; 3] };
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
    let exact = exact.filter(|all| (0..3).any(|k| all[k] % threadgroup[k] != 0));
    Ok(Ok(Prepared { candidate, resolved, slots, exact, saved }))
}

/// `DTYPE:D0xD1…`.
fn layout(dtype: &str, shape: &str) -> Result<(DType, Vec<usize>)> {
    let dtype = DType::parse(dtype).with_context(|| format!("`{dtype}` is not an element type"))?;
    let shape: Vec<usize> = shape
        .split('x')
        .map(|d| d.parse().with_context(|| format!("`{d}` is not an extent")))
        .collect::<Result<_>>()?;
    let total = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    ensure!(total.is_some_and(|n| n <= MAX_ELEMENTS), "more than 2^33 elements");
    Ok((dtype, shape))
}

/// A file, or `zeros`, `ones`, `iota`, `random` or `unwritten` with an element type and a shape.
fn buffer(text: &str) -> Result<Slot> {
    let parts: Vec<&str> = text.split(':').collect();
    let [how @ ("zeros" | "ones" | "iota" | "random" | "unwritten"), dtype, shape] = parts.as_slice() else {
        let bytes = std::fs::read(text).with_context(|| {
            format!("cannot read {text} (a .npy file, or zeros|ones|iota|random|unwritten:DTYPE:SHAPE)")
        })?;
        let tensor = npy::read(&bytes).with_context(|| text.to_owned())?;
        return Ok(Slot { tensor, writable: true, written: None });
    };
    let (dtype, shape) = layout(dtype, shape)?;
    let n = elements(&shape);
    let bytes = n * dtype.bytes();
    // Zeroed memory costs nothing until it is touched, so buffers may be far larger than the host's memory.
    let tensor = match *how {
        "ones" => Tensor::from_values(dtype, shape, &vec![1.0; n]),
        "iota" => Tensor::from_values(dtype, shape, &(0..n).map(|i| i as f64).collect::<Vec<_>>()),
        "random" => Tensor::from_values(dtype, shape, &noise(n)),
        _ => Tensor { dtype, shape, bytes: vec![0; bytes] },
    };
    let written = (*how == "unwritten").then(|| vec![false; bytes]);
    Ok(Slot { tensor, writable: true, written })
}

/// Numbers in [-1, 1), the same in every run. Knuth's MMIX generator.
fn noise(n: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// `NAME=FILE` or `NAME=FILE:DTYPE:D0xD1…`; the latter makes a new buffer that nothing has written.
fn output(text: &str, slots: &mut Slots) -> Result<Saved> {
    let how = "expected NAME=FILE.npy:DTYPE:D0xD1…, or NAME=FILE.npy for a buffer given with --buffer";
    let (name, rest) = text.split_once('=').with_context(|| format!("--out {text}: {how}"))?;
    let parts: Vec<&str> = rest.rsplitn(3, ':').collect();
    let file = match parts.as_slice() {
        [shape, dtype, file] if DType::parse(dtype).is_some() => {
            let (dtype, shape) = layout(dtype, shape).with_context(|| format!("--out {text}"))?;
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

/// `X`, `X,Y` or `X,Y,Z`, all at least one.
pub fn axes(text: &str, flag: &str) -> Result<[u32; 3]> {
    let out = position(text, flag, 1)?;
    ensure!(out.iter().all(|&n| n > 0), "{flag} {text}: must be at least 1");
    Ok(out)
}

/// `X`, `X,Y` or `X,Y,Z`; what is missing is `rest`.
pub fn position(text: &str, flag: &str, rest: u32) -> Result<[u32; 3]> {
    let mut out = [rest; 3];
    let parts: Vec<&str> = text.split(',').collect();
    ensure!(parts.len() <= 3, "{flag} {text}: at most three numbers");
    for (o, p) in out.iter_mut().zip(&parts) {
        *o = p.trim().parse().with_context(|| format!("{flag} {text}: `{p}` is not a number"))?;
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

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.
mod tests {
    use super::*;

    #[test]
    fn buffers_are_made_from_a_word() {
        let slot = buffer("iota:i32:2x3").unwrap();
        assert_eq!((slot.tensor.shape, slot.tensor.bytes[4], slot.written), (vec![2, 3], 1, None));
        let slot = buffer("unwritten:f16:4").unwrap();
        assert_eq!(slot.written, Some(vec![false; 8]));
        let slot = buffer("random:f32:64").unwrap();
        assert!(slot.tensor.values().iter().all(|v| (-1.0..1.0).contains(v)));
        for bad in ["zeros:f31:4", "zeros:f32:4x", "zeros:f32:99999999999x99999999999", "nothing.npy"] {
            assert!(buffer(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn axes_are_one_to_three_numbers() {
        assert_eq!(axes("4, 5", "--grid").unwrap(), [4, 5, 1]);
        assert_eq!(position("0,2", "--at", 0).unwrap(), [0, 2, 0]);
        assert!(axes("0", "--grid").is_err() && axes("1,2,3,4", "--grid").is_err() && axes("x", "--grid").is_err());
    }
}
