//! What the generators' tests share: facts, plans, and walks over the catalogue.

use std::collections::BTreeMap;

use ksearch_task::{DType, Value, builtin};

use crate::facts::{ChipFacts, Facts};
use crate::generator::Generator;
use crate::strategy::{Plan, PlanError};

/// Facts of a built-in task on the default chip.
pub(super) fn facts(task: &str) -> Facts {
    let task = builtin::task(task).unwrap();
    let mut symbols: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for workload in task.workloads_of(ksearch_task::Set::Search) {
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
        },
    }
}

/// A plan with `id` and, before it, whatever it requires.
pub(super) fn plan_with(generator: &dyn Generator, id: &str, facts: &Facts) -> Result<Plan, PlanError> {
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
            Err(other) => return Err(other),
        }
    }
    Ok(plan)
}

/// Renders a plan for every strategy, with every value of every tunable, and resolves it on every workload.
pub(super) fn every_strategy_resolves(generator: &dyn Generator) {
    let facts = facts(generator.task());
    let task = builtin::task(generator.task()).unwrap();
    for strategy in generator.catalogue().iter() {
        let plan = plan_with(generator, strategy.id, &facts).unwrap_or_else(|e| panic!("{}: {e}", strategy.id));
        let candidate = generator.render(&plan, &facts).unwrap_or_else(|e| panic!("{}: {e}", strategy.id));
        assert_eq!(candidate.files[0].text.matches("/* ksearch").count(), 1);
        for name in strategy.tunables {
            assert!(candidate.tunables.iter().any(|t| t.name == *name), "{}: no tunable {name}", strategy.id);
        }
        for tunable in &candidate.tunables {
            for value in &tunable.values {
                let mut variant = candidate.clone();
                variant.values.insert(tunable.name.clone(), *value);
                for workload in &task.workloads {
                    let resolved = variant.resolve(&task, &workload.env);
                    resolved.unwrap_or_else(|e| panic!("{} with {}={value}: {e}", strategy.id, tunable.name));
                }
            }
        }
    }
}
