//! Runs a CUDA candidate on the simulator, through the target that `ksearch eval` uses, and compares it with the exact
//! answer. The chip is an Apple one with the shared memory of an NVIDIA card: instructions that only the card has are
//! not here.

use std::sync::OnceLock;

use ksearch_apple::Chips;
use ksearch_device::{Purpose, SimTarget, Target};
use ksearch_simt::Mode;
use ksearch_task::compare::compare;
use ksearch_task::{Candidate, Task, Tensor, Workload};

use super::run::exact;

/// Shared memory of a block on Hopper cards, bytes.
const SHARED: u32 = 232_448;

fn target() -> Result<&'static SimTarget, String> {
    static TARGET: OnceLock<Result<SimTarget, String>> = OnceLock::new();
    let make = || {
        let chips = Chips::embedded().map_err(|e| e.to_string())?;
        let mut chip = chips.get("m1-max").map_err(|e| e.to_string())?;
        chip.max_threadgroup_bytes = SHARED;
        SimTarget::new(chip).map_err(|e| e.to_string())
    };
    TARGET.get_or_init(make).as_ref().map_err(Clone::clone)
}

/// `Err` says what is wrong. Sanitizers watch unless `mode` is the fast one.
pub fn check(candidate: &Candidate, task: &Task, workload: &Workload, seed: u64, mode: Mode) -> Result<(), String> {
    let resolved = candidate.resolve(task, &workload.env).map_err(|e| e.to_string())?;
    let inputs = task.inputs(workload, seed).map_err(|e| e.to_string())?;
    let mut slots = ksearch_device::slots(&resolved.tensors, &inputs, |info| {
        Tensor::from_values(info.dtype, info.shape.clone(), &vec![f64::NAN; info.bytes() / info.dtype.bytes()])
    });
    let purpose = if mode == Mode::Sanitize { Purpose::Check } else { Purpose::Measure };
    let mut runnable = target()?.build(candidate, &resolved).map_err(|e| format!("{e:#?}"))?;
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
