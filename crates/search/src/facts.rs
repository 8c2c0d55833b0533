//! Facts: what planners and generators may know about a task and a chip before anything has run. Plain values, filled
//! by the caller from the task file and the chip table. Must not know the search, nor any measurement.

use std::collections::BTreeMap;

use ksearch_device::TargetFacts;
use ksearch_task::{DType, Set, Task, Value};
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

impl ChipFacts {
    /// What a target says of itself, as far as planning needs it. What is not known of a target is taken from the
    /// smallest chip that is sold, so that plans err on the careful side.
    pub fn of(target: &TargetFacts) -> Self {
        let f32_gflops = target.peak_gflops.unwrap_or(2_600.0);
        Self {
            name: target.name.clone(),
            simd_width: 32,
            max_threads: target.max_threads,
            threadgroup_memory: target.threadgroup_memory,
            // 104 halves a thread still let 1024 threads in (Mesa's occupancy table for Apple7).
            registers_at_full_occupancy: 52,
            cores: target.cores,
            dram_gbps: target.memory_gbs.unwrap_or(60.0),
            f32_gflops,
            f16_gflops: target.peak_f16_gflops.unwrap_or(f32_gflops),
            bfloat: true,
            simdgroup_matrix: true,
        }
    }
}

impl Facts {
    /// What planning may know of `task` on `target`: the range of every symbol over the search workloads.
    pub fn of(task: &Task, target: &TargetFacts) -> Self {
        let mut dtypes = Vec::new();
        let mut symbols: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for (name, value) in task.workloads_of(Set::Search).flat_map(|w| &w.env) {
            match value {
                Value::Type(d) if !dtypes.contains(d) => dtypes.push(*d),
                Value::Int(i) => {
                    let range = symbols.entry(name.clone()).or_insert((*i, *i));
                    *range = (range.0.min(*i), range.1.max(*i));
                }
                Value::Type(_) | Value::Real(_) => {}
            }
        }
        Self { task: task.name.clone(), dtypes, symbols, chip: ChipFacts::of(target) }
    }

    /// Largest value of `symbol` over the search workloads, if the task has such a symbol.
    pub fn largest(&self, symbol: &str) -> Option<i64> {
        self.symbols.get(symbol).map(|range| range.1)
    }

    /// Smallest value of `symbol` over the search workloads, if the task has such a symbol.
    pub fn smallest(&self, symbol: &str) -> Option<i64> {
        self.symbols.get(symbol).map(|range| range.0)
    }
}
