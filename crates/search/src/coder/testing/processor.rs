//! Runs a C++ candidate on this machine's processor, watched, and compares it with the exact answer.

use std::sync::OnceLock;

use ksearch_device::Purpose;
use ksearch_device::cpu::{CpuTarget, WorkerProgram};
use ksearch_task::{Candidate, Task, Workload};

fn target() -> Result<&'static CpuTarget, String> {
    static TARGET: OnceLock<Result<CpuTarget, String>> = OnceLock::new();
    // Workers are this test program, in which that test serves.
    let program = || WorkerProgram::this_test("coder::cpu::tests::cpu_worker").map_err(|e| e.to_string());
    TARGET.get_or_init(|| CpuTarget::new(program()?)).as_ref().map_err(Clone::clone)
}

/// `Err` says what is wrong.
pub fn check(candidate: &Candidate, task: &Task, workload: &Workload, seed: u64) -> Result<(), String> {
    super::target::check(target()?, (candidate, Purpose::Check, 0.25), task, workload, seed)
}
