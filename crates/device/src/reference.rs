//! Exact answers from a reference given as source: run on the simulator in `double`. Knows recipes and the machine;
//! must not know tolerances.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ksearch_msl::{CompileOptions, Compiler, Optimise, ParamKind, SourceFile};
use ksearch_simt::launch::Buffer;
use ksearch_simt::{ArgValue, BufferId, Launch, Limits, Memory, Mode, Program};
use ksearch_task::candidate::{Bound, Resolved, ResolvedDispatch, scalar};
use ksearch_task::{Candidate, Exact, Language, Tensors, tensor::elements};

use crate::original;

/// Simdgroup instructions a reference may take.
const BUDGET: u64 = 20_000_000_000;

/// A reference that did not give an answer.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReferenceFailure(pub String);

/// One dispatch, compiled: its program, and its arguments in `buffers` by name.
pub(crate) fn prepare(
    files: &[SourceFile],
    options: &CompileOptions,
    resolved: &Resolved,
    dispatch: &ResolvedDispatch,
    buffers: &IndexMap<&str, BufferId>,
) -> Result<(Program, Vec<ArgValue>), ReferenceFailure> {
    let fail = |what: String| ReferenceFailure(what);
    let compiler = Compiler::shared().map_err(|e| fail(e.to_string()))?;
    let module = compiler.compile(files, options).map_err(|d| {
        let first = d.first().map(|d| match &d.pos {
            Some(pos) => format!("{pos}: {}", d.message),
            None => d.message.clone(),
        });
        fail(first.unwrap_or_else(|| "it does not compile".into()))
    })?;
    let program = Program::load(&module).map_err(|e| fail(e.to_string()))?;
    let entry = module
        .entries
        .iter()
        .find(|e| e.name == dispatch.kernel)
        .ok_or_else(|| fail(format!("it has no kernel `{}`", dispatch.kernel)))?;
    let mut args = Vec::new();
    for param in &entry.params {
        let (index, element) = match &param.kind {
            ParamKind::Buffer { index, element, .. } => (*index, element.as_str()),
            ParamKind::Threadgroup { index, .. } => (*index, ""),
            ParamKind::Builtin(_) => continue,
        };
        let bound = resolved.bind(dispatch, &param.name, index).map_err(|e| fail(e.to_string()))?;
        args.push(match bound {
            Bound::Tensor(name) | Bound::Absent(name) | Bound::Scratch(name) => {
                let id = buffers.get(name.as_str()).ok_or_else(|| fail(format!("there is no buffer `{name}`")))?;
                ArgValue::Buffer(*id, 0)
            }
            Bound::Scalar(value) => ArgValue::Bytes(scalar::bytes(element, value).map_err(&fail)?),
            Bound::Struct(fields) => ArgValue::Bytes(scalar::struct_bytes(&fields).map_err(&fail)?),
            Bound::Threadgroup(bytes) => ArgValue::Threadgroup(bytes),
        });
    }
    Ok((program, args))
}

/// Every present output of the reference kernel, on inputs widened to f64. Each tensor is handed over as `double`, by
/// its name; outputs start as NaN, so that what the reference leaves out is seen.
pub fn exact_answer(
    source: &Candidate,
    resolved: &Resolved,
    inputs: &Tensors,
) -> Result<IndexMap<String, Exact>, ReferenceFailure> {
    if source.language == Language::Cuda {
        // A CUDA original answers in its own precision.
        return original::answer(source, resolved, inputs, false).map(|a| a.outputs);
    }
    let fail = |what: String| ReferenceFailure(what);
    let files: Vec<_> = source.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
    let mut memory = Memory::default();
    let mut buffers: IndexMap<&str, BufferId> = IndexMap::new();
    for info in &resolved.tensors {
        let values = match inputs.get(&info.name) {
            Some(tensor) => tensor.values(),
            None if info.present => vec![f64::NAN; elements(&info.shape)],
            None => Vec::new(),
        };
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let buffer = Buffer { name: info.name.clone(), bytes, written: None, read_only: !info.role.is_written() };
        buffers.insert(&info.name, memory.add(buffer));
    }
    for s in &resolved.scratch {
        buffers
            .insert(&s.name, memory.add(Buffer { name: s.name.clone(), bytes: vec![0; s.bytes], ..Buffer::default() }));
    }
    for dispatch in &resolved.dispatches {
        let constants: BTreeMap<_, _> = dispatch.constants.iter().map(|(n, v)| (n.clone(), v.to_string())).collect();
        let options = CompileOptions {
            defines: resolved.defines.clone(),
            constants,
            optimise: Optimise::Speed,
            fast_math: false,
            double: true,
            ..CompileOptions::default()
        };
        let (program, args) = prepare(&files, &options, resolved, dispatch, &buffers)?;
        let limits = Limits { max_instructions: BUDGET, ..Limits::default() };
        let launch = Launch::new(dispatch.grid, dispatch.threadgroup, args);
        for _ in 0..dispatch.repeat {
            let outcome = program
                .run(&dispatch.kernel, &launch, &mut memory, &limits, Mode::Fast)
                .map_err(|e| fail(e.to_string()))?;
            if let Some(fault) = outcome.faults.first() {
                let place = fault.at.pos.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
                return Err(fail(format!("{place}{}", fault.message)));
            }
        }
    }
    let mut answer = IndexMap::new();
    for info in resolved.tensors.iter().filter(|t| t.present && t.role.is_written()) {
        let buffer = buffers.get(info.name.as_str()).and_then(|id| memory.buffers.get(id.0 as usize));
        let bytes = buffer.map_or(&[][..], |b| &b.bytes);
        let values: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        if values.iter().any(|v| v.is_nan()) {
            return Err(fail(format!("it left elements of `{}` unwritten, or computed NaN", info.name)));
        }
        answer.insert(info.name.clone(), Exact { shape: info.shape.clone(), values });
    }
    Ok(answer)
}
