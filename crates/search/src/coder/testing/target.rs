//! Runs a candidate on a target and compares it with the exact answer. Must not know which target it is.

use ksearch_device::{Purpose, Target};
use ksearch_task::compare::compare;
use ksearch_task::{Candidate, Task, Tensor, Workload};

use super::run::exact;

/// `Err` says what is wrong. Outputs begin as `fill`, which no answer may be made of.
pub fn check(
    target: &dyn Target,
    (candidate, purpose, fill): (&Candidate, Purpose, f64),
    task: &Task,
    workload: &Workload,
    seed: u64,
) -> Result<(), String> {
    let resolved = candidate.resolve(task, &workload.env).map_err(|e| e.to_string())?;
    let inputs = task.inputs(workload, seed).map_err(|e| e.to_string())?;
    let mut slots = ksearch_device::slots(&resolved.tensors, &inputs, |info| {
        Tensor::from_values(info.dtype, info.shape.clone(), &vec![fill; info.bytes() / info.dtype.bytes()])
    });
    let mut runnable = target.build(candidate, &resolved).map_err(|e| format!("{e:#?}"))?;
    runnable.run(&mut slots, purpose).map_err(|e| format!("{e:#?}"))?;
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
