//! Runs a C++ candidate on this machine's processor, watched, and compares it with the exact answer.

use std::sync::OnceLock;

use ksearch_device::cpu::{CpuTarget, WorkerProgram};
use ksearch_device::{Purpose, Target};
use ksearch_task::compare::compare;
use ksearch_task::{Candidate, Task, Tensor, Workload};

use super::run::exact;

fn target() -> Result<&'static CpuTarget, String> {
    static TARGET: OnceLock<Result<CpuTarget, String>> = OnceLock::new();
    // Workers are this test program, in which that test serves.
    let program = || WorkerProgram::this_test("coder::cpu::tests::cpu_worker").map_err(|e| e.to_string());
    TARGET.get_or_init(|| CpuTarget::new(program()?)).as_ref().map_err(Clone::clone)
}

/// `Err` says what is wrong.
pub fn check(candidate: &Candidate, task: &Task, workload: &Workload, seed: u64) -> Result<(), String> {
    let resolved = candidate.resolve(task, &workload.env).map_err(|e| e.to_string())?;
    let inputs = task.inputs(workload, seed).map_err(|e| e.to_string())?;
    let mut slots = ksearch_device::slots(&resolved.tensors, &inputs, |info| {
        Tensor::from_values(info.dtype, info.shape.clone(), &vec![0.25; info.bytes() / info.dtype.bytes()])
    });
    let mut runnable = target()?.build(candidate, &resolved).map_err(|e| e.to_string())?;
    runnable.run(&mut slots, Purpose::Check).map_err(|e| e.to_string())?;
    let exact = exact(task, workload, &inputs)?;
    for (name, slot) in slots.iter().filter(|(_, s)| s.writable) {
        if slot.written.as_ref().is_some_and(|w| w.iter().any(|w| !w)) {
            return Err(format!("`{name}` is not written whole"));
        }
        let dtype = slot.tensor.dtype;
        let result = compare(&exact[name.as_str()], &slot.tensor.values(), dtype, &task.tolerance(dtype));
        if !result.passed() {
            let place = result.first_nonfinite.as_ref().or(result.worst.as_ref());
            let place = place.map(ToString::to_string).unwrap_or_default();
            return Err(format!("`{name}` is wrong: {:.3} times the tolerance, {place}", result.ratio));
        }
    }
    Ok(())
}
