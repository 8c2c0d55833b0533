//! Prints the kernel that the built-in coder writes for a plan: `render TASK STRATEGY… [NAME=VALUE…]`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use ksearch_search::{ChipFacts, Facts, Plan, coder};
use ksearch_task::{DType, Set, Value, builtin};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let name = args.next().context("usage: render TASK STRATEGY… [NAME=VALUE…]")?;
    let generator = coder::generator(&name).context("no generator for this task")?;
    let facts = facts(&name)?;
    let mut plan = Plan::default();
    for arg in args {
        match arg.split_once('=') {
            Some((tunable, value)) => {
                plan.values.insert(tunable.to_owned(), value.parse()?);
            }
            None => plan = generator.catalogue().extend(&plan, &arg, &facts)?,
        }
    }
    let candidate = generator.render(&plan, &facts)?;
    for file in &candidate.files {
        #[allow(clippy::print_stdout)]
        {
            print!("{}", file.text);
        }
    }
    Ok(())
}

fn facts(name: &str) -> Result<Facts> {
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
