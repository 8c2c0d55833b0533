//! The answer of a CUDA original: its kernels run on the simulator as they are, on the tensors as they are. Knows
//! recipes and the machine; must not know tolerances.

use indexmap::IndexMap;
use ksearch_msl::{CompileOptions, Optimise, SourceFile};
use ksearch_simt::launch::Buffer;
use ksearch_simt::{BufferId, Fault, Launch, Limits, Memory, Mode};
use ksearch_task::candidate::Resolved;
use ksearch_task::{Candidate, Exact, Tensor, Tensors, tensor::elements};

use crate::reference::{self, ReferenceFailure};

/// Simdgroup instructions that an original may take.
const BUDGET: u64 = 20_000_000_000;
/// Shared memory of a block on the GPUs that originals were written for (compute capability 9.0, with opt-in).
const SHARED: u32 = 227 << 10;

/// What running an original gave.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Every present output.
    pub outputs: IndexMap<String, Exact>,
    /// What the sanitizers found; empty without them.
    pub faults: Vec<Fault>,
}

/// Every present output of the original. Outputs start unwritten and must be written whole; scratch starts zeroed, as
/// the launches in its own file see to. With `watch` all sanitizers run, and faults are returned instead of ending it.
pub fn answer(
    source: &Candidate,
    resolved: &Resolved,
    inputs: &Tensors,
    watch: bool,
) -> Result<Answer, ReferenceFailure> {
    let fail = |what: String| ReferenceFailure(what);
    let files: Vec<_> = source.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
    let mut memory = Memory::default();
    let mut buffers: IndexMap<&str, BufferId> = IndexMap::new();
    for info in &resolved.tensors {
        let (bytes, written) = match inputs.get(&info.name) {
            Some(tensor) => (tensor.bytes.clone(), None),
            None if info.present => {
                let n = elements(&info.shape) * info.dtype.bytes();
                (vec![0x5a; n], Some(vec![false; n]))
            }
            None => (Vec::new(), None),
        };
        let buffer = Buffer { name: info.name.clone(), bytes, written, read_only: !info.role.is_written() };
        buffers.insert(&info.name, memory.add(buffer));
    }
    for s in &resolved.scratch {
        let buffer = Buffer { name: s.name.clone(), bytes: vec![0; s.bytes], ..Buffer::default() };
        buffers.insert(&s.name, memory.add(buffer));
    }
    let mut faults = Vec::new();
    for dispatch in &resolved.dispatches {
        let options = CompileOptions {
            language: ksearch_msl::Language::Cuda,
            defines: resolved.defines.clone(),
            optimise: if watch { Optimise::Faithful } else { Optimise::Speed },
            only: vec![dispatch.kernel.clone()],
            ..CompileOptions::default()
        };
        let (program, args) = reference::prepare(&files, &options, resolved, dispatch, &buffers)?;
        let limits = Limits { max_instructions: BUDGET, max_threadgroup_bytes: SHARED, ..Limits::default() };
        let launch = Launch::new(dispatch.grid, dispatch.threadgroup, args);
        let mode = if watch { Mode::Sanitize } else { Mode::Fast };
        for _ in 0..dispatch.repeat {
            let outcome =
                program.run(&dispatch.kernel, &launch, &mut memory, &limits, mode).map_err(|e| fail(e.to_string()))?;
            if let (Some(fault), false) = (outcome.faults.first(), watch) {
                let place = fault.at.pos.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
                return Err(fail(format!("{place}{}", fault.message)));
            }
            faults.extend(outcome.faults);
        }
    }
    let mut outputs = IndexMap::new();
    for info in resolved.tensors.iter().filter(|t| t.present && t.role.is_written()) {
        let Some(buffer) = buffers.get(info.name.as_str()).and_then(|id| memory.buffers.get(id.0 as usize)) else {
            continue;
        };
        let missing = buffer.written.as_ref().map_or(0, |w| w.iter().filter(|b| !**b).count());
        if missing > 0 && faults.is_empty() {
            return Err(fail(format!("the original left {missing} bytes of `{}` unwritten", info.name)));
        }
        let tensor = Tensor { dtype: info.dtype, shape: info.shape.clone(), bytes: buffer.bytes.clone() };
        outputs.insert(info.name.clone(), Exact { shape: info.shape.clone(), values: tensor.values() });
    }
    Ok(Answer { outputs, faults })
}
