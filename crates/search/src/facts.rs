//! Facts: what planners and generators may know about a task and a chip before anything has run. Plain values, filled
//! by the caller from the task file and the chip table. Must not know the search, nor any measurement.

use std::collections::BTreeMap;

use ksearch_task::DType;
use serde::{Deserialize, Serialize};

/// Limits and rates of one chip, as far as planning needs them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChipFacts {
    /// Name, e.g. `m1-max`.
    pub name: String,
    /// Lanes per simdgroup (or warp).
    pub simd_width: u32,
    /// Most threads in a threadgroup.
    pub max_threads: u32,
    /// Threadgroup memory per threadgroup, bytes.
    pub threadgroup_memory: u32,
    /// 32-bit registers per thread at full occupancy.
    pub registers_at_full_occupancy: u32,
    /// GPU cores.
    pub cores: u32,
    /// Bandwidth of main memory, GB/s.
    pub dram_gbps: f64,
    /// Peak f32 arithmetic, GFLOP/s.
    pub f32_gflops: f64,
    /// Peak f16 arithmetic, GFLOP/s.
    pub f16_gflops: f64,
    /// Does the compiler for it know `bfloat`?
    pub bfloat: bool,
    /// Does it have 8x8 simdgroup matrices?
    pub simdgroup_matrix: bool,
}

/// What is known about a task on a chip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Task name.
    pub task: String,
    /// Element types that occur over the search workloads.
    pub dtypes: Vec<DType>,
    /// Smallest and largest value of each integer symbol over the search workloads.
    pub symbols: BTreeMap<String, (i64, i64)>,
    /// The chip that is searched for.
    pub chip: ChipFacts,
}

impl Facts {
    /// Largest value of `symbol` over the search workloads, if the task has such a symbol.
    pub fn largest(&self, symbol: &str) -> Option<i64> {
        self.symbols.get(symbol).map(|range| range.1)
    }

    /// Smallest value of `symbol` over the search workloads, if the task has such a symbol.
    pub fn smallest(&self, symbol: &str) -> Option<i64> {
        self.symbols.get(symbol).map(|range| range.0)
    }
}
