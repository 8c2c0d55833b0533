//! Runs a candidate on the simulator and compares it with the exact answer: what the generators' tests need, and no
//! more. Judging candidates is another crate's work.

use indexmap::IndexMap;
use ksearch_device::reference::exact_answer;
use ksearch_msl::{CompileOptions, Compiler, Optimise, ParamKind, SourceFile};
use ksearch_simt::{ArgValue, Buffer, BufferId, Launch, Limits, Memory, Mode, Outcome, Program};
use ksearch_task::candidate::{Bound, scalar};
use ksearch_task::compare::compare;
use ksearch_task::spec::Reference;
use ksearch_task::{Candidate, Exact, Task, Tensors, Workload};

/// One dispatch as it was counted.
pub struct Counted {
    /// What the launch did.
    #[allow(dead_code)] // Read by the example, not by the tests.
    pub outcome: Outcome,
    /// Threadgroups.
    #[allow(dead_code)]
    pub groups: u64,
    /// Threads per threadgroup.
    #[allow(dead_code)]
    pub threads: u32,
    /// Bytes of the buffers.
    #[allow(dead_code)]
    pub buffers: Vec<u64>,
}

/// Runs `candidate` on a workload and compares every output; `Err` says what is wrong.
pub fn check(
    candidate: &Candidate,
    task: &Task,
    workload: &Workload,
    seed: u64,
    mode: Mode,
) -> Result<Vec<Counted>, String> {
    let inputs = task.inputs(workload, seed).map_err(|e| e.to_string())?;
    let (memory, counted) = run(candidate, task, workload, &inputs, mode)?;
    let exact = exact(task, workload, &inputs)?;
    let infos = task.tensors_at(&workload.env).map_err(|e| e.to_string())?;
    for info in infos.iter().filter(|t| t.present && t.role.is_written()) {
        let buffer = memory.buffers.iter().find(|b| b.name == info.name).ok_or("an output has no buffer")?;
        let got = info.dtype.decode(&buffer.bytes);
        let result = compare(&exact[&info.name], &got, info.dtype, &task.tolerance(info.dtype));
        if !result.passed() {
            let place = result.first_nonfinite.as_ref().or(result.worst.as_ref());
            let place = place.map(ToString::to_string).unwrap_or_default();
            return Err(format!("`{}` is wrong: {:.3} times the tolerance, {place}", info.name, result.ratio));
        }
    }
    Ok(counted)
}

/// The exact answer, by the task's reference.
pub fn exact(task: &Task, workload: &Workload, inputs: &Tensors) -> Result<IndexMap<String, Exact>, String> {
    match (task.builtin_answer(&workload.env, inputs), &task.reference) {
        (Some(answer), _) => answer.map_err(|e| e.to_string()),
        (None, Reference::Source(source)) => {
            let resolved = source.resolve(task, &workload.env).map_err(|e| e.to_string())?;
            exact_answer(source, &resolved, inputs).map_err(|e| e.to_string())
        }
        (None, Reference::Builtin(_)) => Err("no built-in reference".to_owned()),
    }
}

fn run(
    candidate: &Candidate,
    task: &Task,
    workload: &Workload,
    inputs: &Tensors,
    mode: Mode,
) -> Result<(Memory, Vec<Counted>), String> {
    let resolved = candidate.resolve(task, &workload.env).map_err(|e| e.to_string())?;
    let options = CompileOptions {
        defines: resolved.defines.clone(),
        optimise: if mode == Mode::Sanitize { Optimise::Faithful } else { Optimise::Speed },
        fast_math: true,
        ..CompileOptions::default()
    };
    let files: Vec<_> = candidate.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
    let compiler = Compiler::shared().map_err(|e| e.to_string())?;
    let module = compiler.compile(&files, &options).map_err(|d| format!("{d:#?}"))?;
    let program = Program::load(&module).map_err(|e| e.to_string())?;

    let mut memory = Memory::default();
    for info in &resolved.tensors {
        let (bytes, written) = match inputs.get(&info.name) {
            Some(tensor) => (tensor.bytes.clone(), None),
            // Outputs are poisoned: what is not written is NaN, or an odd integer.
            None => (vec![0xFF; info.bytes()], Some(vec![false; info.bytes()])),
        };
        memory.add(Buffer { name: info.name.clone(), bytes, written, read_only: !info.role.is_written() });
    }
    for scratch in &resolved.scratch {
        let (bytes, written) = (vec![0xFF; scratch.bytes], Some(vec![false; scratch.bytes]));
        memory.add(Buffer { name: scratch.name.clone(), bytes, written, read_only: false });
    }
    let id = |memory: &Memory, name: &str| {
        let index = memory.buffers.iter().position(|b| b.name == *name).ok_or_else(|| format!("no buffer {name}"))?;
        Ok::<_, String>(BufferId(index as u32))
    };

    let mut counted = Vec::new();
    for dispatch in &resolved.dispatches {
        let entry = module.entries.iter().find(|e| e.name == dispatch.kernel).ok_or("no such kernel")?;
        let mut args = Vec::new();
        for param in &entry.params {
            let (index, element) = match &param.kind {
                ParamKind::Buffer { index, element, .. } | ParamKind::Threadgroup { index, element, .. } => {
                    (index, element)
                }
                ParamKind::Builtin(_) => continue,
            };
            args.push(match resolved.bind(dispatch, &param.name, *index).map_err(|e| e.to_string())? {
                Bound::Tensor(name) | Bound::Absent(name) | Bound::Scratch(name) => {
                    ArgValue::Buffer(id(&memory, &name)?, 0)
                }
                Bound::Scalar(value) => ArgValue::Bytes(scalar::bytes(element, value)?),
                Bound::Struct(fields) => ArgValue::Bytes(scalar::struct_bytes(&fields)?),
                Bound::Threadgroup(bytes) => ArgValue::Threadgroup(bytes),
            });
        }
        let launch = Launch::new(dispatch.grid, dispatch.threadgroup, args);
        for _ in 0..dispatch.repeat {
            let outcome = program
                .run(&dispatch.kernel, &launch, &mut memory, &Limits::default(), mode)
                .map_err(|e| e.to_string())?;
            if let Some(fault) = outcome.faults.first() {
                return Err(format!("{fault} at {:?}, other {:?}; {}", fault.at, fault.other, fault.help));
            }
            counted.push(Counted {
                outcome,
                groups: dispatch.grid.iter().map(|&g| u64::from(g)).product(),
                threads: dispatch.threadgroup.iter().product(),
                buffers: memory.buffers.iter().map(|b| b.bytes.len() as u64).collect(),
            });
        }
    }
    Ok((memory, counted))
}
