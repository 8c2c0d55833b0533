//! One simulated dispatch, as the model takes it: counts and shapes, nothing of a chip. Knows no time.

use ksearch_simt::{Counters, Detail, Outcome};
use serde::{Deserialize, Serialize};

/// What one dispatch did, as the simulator counted it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dispatched {
    /// Kernel.
    pub kernel: String,
    /// Threadgroups launched; those that ran may be a sample of them.
    pub groups: u64,
    /// Threads per threadgroup.
    pub threads: u32,
    /// How many times in a row, each after the one before.
    pub repeat: u32,
    /// `[[max_total_threads_per_threadgroup]]`, where the kernel declares it.
    pub max_threads: Option<u32>,
    /// Counts over the threadgroups that ran.
    pub counters: Counters,
    /// The kernel's shape, and counts by block and program point.
    pub detail: Detail,
    /// Bytes of the device buffers, by number; those of the launch's constants come last.
    pub buffers: Vec<u64>,
}

impl Dispatched {
    /// From what a profiling run gave. `None` when the run was no profile.
    pub fn new(kernel: &str, outcome: Outcome, groups: u64, threads: u32, buffers: Vec<u64>) -> Option<Self> {
        Some(Self {
            kernel: kernel.to_owned(),
            groups,
            threads,
            repeat: 1,
            max_threads: None,
            counters: outcome.counters,
            detail: outcome.detail?,
            buffers,
        })
    }

    /// Launched threadgroups over those that ran.
    pub fn scale(&self) -> f64 {
        self.groups.max(1) as f64 / self.counters.groups.max(1) as f64
    }

    /// Simdgroups per threadgroup.
    pub fn simdgroups(&self) -> u32 {
        self.threads.div_ceil(32).max(1)
    }
}
