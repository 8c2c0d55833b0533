//! What the tests of the CUDA generators share. The kernels' own tests run on a GPU: `ksearch eval … --target cuda`.

use std::collections::BTreeMap;

use ksearch_task::{DType, Set, Value, builtin};

use crate::facts::{ChipFacts, Facts};
use crate::generator::Generator;
use crate::strategy::{Plan, PlanError};

/// Facts of a built-in task on a Hopper card.
pub(in crate::coder) fn facts(task: &str) -> Facts {
    let task = builtin::task(task).unwrap();
    let mut symbols: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for workload in task.workloads_of(Set::Search) {
        for (name, value) in &workload.env {
            if let Value::Int(v) = value {
                let range = symbols.entry(name.clone()).or_insert((*v, *v));
                *range = (range.0.min(*v), range.1.max(*v));
            }
        }
    }
    Facts {
        task: task.name,
        dtypes: vec![DType::F32, DType::F16],
        symbols,
        chip: ChipFacts {
            name: "NVIDIA H200".into(),
            simd_width: 32,
            max_threads: 1024,
            threadgroup_memory: 232_448,
            registers_at_full_occupancy: 32,
            cores: 132,
            dram_gbps: 4300.0,
            f32_gflops: 66_900.0,
            f16_gflops: 989_000.0,
            bfloat: true,
            simdgroup_matrix: true,
        },
    }
}

/// `plan` with `id` and, before it, whatever it requires.
fn extended(generator: &dyn Generator, id: &str, facts: &Facts) -> Plan {
    let mut plan = Plan::default();
    let mut wanted = vec![id.to_owned()];
    while let Some(next) = wanted.last().cloned() {
        match generator.catalogue().extend(&plan, &next, facts) {
            Ok(extended) => {
                plan = extended;
                wanted.pop();
            }
            Err(PlanError::Missing { missing, .. }) => wanted.push(missing),
            Err(PlanError::Present(_)) => {
                wanted.pop();
            }
            Err(other) => panic!("{id}: {other}"),
        }
    }
    plan
}

/// Renders a plan for every strategy, with every value of every tunable, and resolves it on every workload; every kernel
/// the recipe launches is defined in the source, and everything in template brackets is filled in.
pub(super) fn every_strategy_resolves(generator: &dyn Generator) {
    let facts = facts(generator.task());
    let task = builtin::task(generator.task()).unwrap();
    for strategy in generator.catalogue().iter() {
        let plan = extended(generator, strategy.id, &facts);
        let candidate = generator.render(&plan, &facts).unwrap_or_else(|e| panic!("{}: {e}", strategy.id));
        let text = &candidate.files[0].text;
        assert_eq!(candidate.language, generator.language());
        assert_eq!(text.matches("/* ksearch").count(), 1);
        assert!(!text.contains("{{") && !text.contains("{%"), "{}: {text}", strategy.id);
        for dispatch in &candidate.recipe.dispatches {
            assert!(text.contains(&format!(" {}(", dispatch.kernel)), "{}: {}", strategy.id, dispatch.kernel);
        }
        for name in strategy.tunables {
            let tunable = candidate.tunables.iter().find(|t| t.name == *name).unwrap_or_else(|| panic!("{name}"));
            for value in &tunable.values {
                let mut tuned = candidate.clone();
                tuned.values.insert((*name).to_owned(), *value);
                for workload in &task.workloads {
                    let resolved =
                        tuned.resolve(&task, &workload.env).unwrap_or_else(|e| panic!("{}: {e}", strategy.id));
                    assert!(!resolved.dispatches.is_empty());
                }
            }
        }
    }
}
