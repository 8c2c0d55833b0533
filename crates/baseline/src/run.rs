//! Times MLX's launches in the simulator as one chip. Knows the machine and the model; must not know who asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use ksearch_apple::{Chip, ChipError, Dispatched, Estimate, Features, Model};
use ksearch_device::sim::sample::{self, Sampling};
use ksearch_msl::{CompileOptions, Compiler, Diagnostic, EntryPoint, NoToolchain, Optimise, ParamKind, SourceFile};
use ksearch_simt::{ArgValue, Buffer, BufferId, Launch, Limits, Memory, Program};
use ksearch_task::{DType, Scope};

use crate::mlx::{self, Argument, Dispatch, NoKernel, Operation};
use crate::wheel::{Wheel, WheelError};

/// A timed library kernel.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// Name: the library and its kernels.
    pub name: String,
    /// What the model says of it.
    pub estimate: Estimate,
    /// What it did, by dispatch.
    pub features: Vec<Features>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// No headers.
    #[error(transparent)]
    Wheel(#[from] WheelError),
    /// No kernel for the workload.
    #[error(transparent)]
    Kernel(#[from] NoKernel),
    /// No clang.
    #[error(transparent)]
    Toolchain(#[from] NoToolchain),
    /// The model's data.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// MLX's source does not compile here.
    #[error("MLX's kernel `{kernel}` does not compile: {message}")]
    Compile {
        /// The kernel.
        kernel: String,
        /// The first error.
        message: String,
    },
    /// It does not run here.
    #[error("MLX's kernel `{kernel}` does not run in the simulator: {message}")]
    Run {
        /// The kernel.
        kernel: String,
        /// Why.
        message: String,
    },
}

/// Last letter of the chip's architecture name, which MLX's choices depend on.
pub fn architecture(chip: &Chip) -> char {
    match chip.name.rsplit('-').next() {
        Some("max") => 's',
        Some("ultra") => 'd',
        Some("pro") => 's',
        _ => 'g',
    }
}

/// Times what MLX would launch for a workload on `chip`.
pub fn time(
    wheel: &Wheel,
    operation: Operation,
    workload: &dyn Scope,
    chip: &Chip,
    sampling: Sampling,
) -> Result<Baseline, BaselineError> {
    let launches = mlx::launches(operation, workload, architecture(chip))?;
    let compiler = Compiler::shared()?;
    let mut headers = wheel.headers()?;
    if operation == Operation::RmsNorm {
        let missing = NoKernel::NotInWheel("rms_norm", mlx::RMS_NORM);
        headers.push(wheel.file(mlx::RMS_NORM).ok_or(missing)?);
    }
    let mut memory = Memory::default();
    for (i, bytes) in launches.buffers.iter().enumerate() {
        let bytes = contents(launches.dtype, *bytes as usize);
        memory.add(Buffer { name: format!("buffer {i}"), bytes, written: None, read_only: false });
    }
    let mut features = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for d in &launches.dispatches {
        let dispatched = dispatch(&compiler, &headers, d, &mut memory, sampling)?;
        features.push(Features::new(&dispatched));
        names.push(d.kernel.clone());
    }
    let estimate = Model::shipped()?
        .estimate(chip, &features)
        .ok_or_else(|| NoKernel::Shape("an operation without dispatches".into()))?;
    Ok(Baseline { name: format!("MLX {} {}", wheel.version(), names.join(" + ")), estimate, features })
}

fn dispatch(
    compiler: &Arc<Compiler>,
    headers: &[SourceFile],
    d: &Dispatch,
    memory: &mut Memory,
    sampling: Sampling,
) -> Result<Dispatched, BaselineError> {
    let constants: BTreeMap<String, String> = d.constants.iter().map(|(i, v)| (i.to_string(), v.clone())).collect();
    let options = CompileOptions {
        constants,
        optimise: Optimise::Speed,
        fast_math: true,
        only: vec![d.kernel.clone()],
        ..CompileOptions::default()
    };
    let mut files = vec![SourceFile::new("baseline.metal", d.source.clone())];
    files.extend_from_slice(headers);
    let first = |list: &[Diagnostic]| list.first().map_or_else(String::new, |d| d.message.clone());
    let module = compiler
        .compile(&files, &options)
        .map_err(|e| BaselineError::Compile { kernel: d.kernel.clone(), message: first(&e) })?;
    let fail = |message: String| BaselineError::Run { kernel: d.kernel.clone(), message };
    let program = Program::load(&module).map_err(|e| fail(e.to_string()))?;
    let entry = module.entries.iter().find(|e| e.name == d.kernel).ok_or_else(|| fail("it is not there".into()))?;
    let launch = Launch::new(d.groups, d.threads, arguments(entry, d).map_err(fail)?);
    let outcome = sample::profile(&program, &d.kernel, &launch, memory, &Limits::default(), sampling)
        .map_err(|e| fail(e.to_string()))?;
    if let Some(fault) = outcome.faults.first() {
        return Err(fail(fault.message.clone()));
    }
    let sizes = memory.buffers.iter().map(|b| b.bytes.len() as u64).collect();
    Dispatched::new(&d.kernel, outcome, launch.group_count(), launch.threads.iter().product(), sizes)
        .ok_or_else(|| fail("the machine gave no profile".into()))
}

fn arguments(entry: &EntryPoint, d: &Dispatch) -> Result<Vec<ArgValue>, String> {
    let mut out = Vec::new();
    for p in &entry.params {
        let ParamKind::Buffer { index, .. } = &p.kind else { continue };
        out.push(match d.arguments.iter().find(|(i, _)| i == index) {
            Some((_, Argument::Buffer(n))) => ArgValue::Buffer(BufferId(*n as u32), 0),
            Some((_, Argument::Bytes(bytes))) => ArgValue::Bytes(bytes.clone()),
            None if p.condition.is_some() => ArgValue::Bytes(Vec::new()),
            None => return Err(format!("parameter `{}` has no argument", p.name)),
        });
    }
    Ok(out)
}

/// Small values of both signs: what a softmax meets.
fn contents(dtype: DType, bytes: usize) -> Vec<u8> {
    let pattern: Vec<f64> =
        (0..4096u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761) >> 20) / 2048.0 - 1.0).collect();
    let mut out = dtype.encode(&pattern);
    while !out.is_empty() && out.len() < bytes {
        let more = out.len().min(bytes - out.len());
        out.extend_from_within(..more);
    }
    out.truncate(bytes);
    out
}
