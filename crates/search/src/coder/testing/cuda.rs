//! Runs a CUDA candidate on the simulator, through the target that `ksearch eval` uses, and compares it with the exact
//! answer. The chip is an Apple one with the shared memory of an NVIDIA card: instructions that only the card has are
//! not here.

use std::sync::OnceLock;

use ksearch_apple::Chips;
use ksearch_device::{Purpose, SimTarget};
use ksearch_simt::Mode;
use ksearch_task::{Candidate, Task, Workload};

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
    let purpose = if mode == Mode::Sanitize { Purpose::Check } else { Purpose::Measure };
    super::target::check(target()?, (candidate, purpose, f64::NAN), task, workload, seed)
}
