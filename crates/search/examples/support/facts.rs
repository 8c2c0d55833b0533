//! Facts of a built-in task for the examples: the M1 family's limits.

use std::collections::BTreeMap;

use anyhow::Result;
use ksearch_search::{ChipFacts, Facts};
use ksearch_task::{DType, Set, Value, builtin};

/// What a generator may know about `name` on an M1 Max.
pub fn facts(name: &str) -> Result<Facts> {
    let task = builtin::task(name)?;
    let mut symbols: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for workload in task.workloads_of(Set::Search) {
        for (name, value) in &workload.env {
            if let Value::Int(v) = value {
                let range = symbols.entry(name.clone()).or_insert((*v, *v));
                *range = (range.0.min(*v), range.1.max(*v));
            }
        }
    }
    // Limits of the M1 family.
    let chip = ChipFacts {
        name: "m1-max".into(),
        simd_width: 32,
        max_threads: 1024,
        threadgroup_memory: 32768,
        registers_at_full_occupancy: 104,
        cores: 32,
        dram_gbps: 400.0,
        f32_gflops: 10_600.0,
        f16_gflops: 10_600.0,
        bfloat: false,
        simdgroup_matrix: true,
    };
    Ok(Facts { task: name.to_owned(), dtypes: vec![DType::F32, DType::F16], symbols, chip })
}
