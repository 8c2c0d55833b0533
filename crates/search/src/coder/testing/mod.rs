//! What the generators' tests share: facts, plans, and walks over the catalogue.

mod cuda;
#[cfg(target_os = "linux")]
mod processor;
mod run;
mod target;
pub(super) mod workloads;

use std::collections::BTreeMap;

use ksearch_simt::Mode;
use ksearch_task::{Candidate, DType, Expr, Language, Purpose, Set, Task, Value, Workload, builtin};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::facts::{ChipFacts, Facts};
use crate::generator::Generator;
use crate::strategy::{Plan, PlanError};

/// Facts of a built-in task on the default chip.
pub(super) fn facts(task: &str) -> Facts {
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

/// Facts of the generator's task on a chip that runs its language.
fn facts_for(generator: &dyn Generator) -> Facts {
    match generator.language() {
        Language::Cuda => super::cuda::testing::facts(generator.task()),
        Language::Msl | Language::Cpp => facts(generator.task()),
    }
}

/// `plan` with `id` and, before it, whatever it requires.
fn extended(generator: &dyn Generator, plan: &Plan, id: &str, facts: &Facts) -> Result<Plan, PlanError> {
    let mut plan = plan.clone();
    if plan.has(id) {
        return Err(PlanError::Present(id.to_owned()));
    }
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
        let plan = extended(generator, &Plan::default(), strategy.id, &facts)
            .unwrap_or_else(|e| panic!("{}: {e}", strategy.id));
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

/// A stream of arbitrary choices, which a property test shrinks; it ends in zeros.
pub(super) struct Choices(std::vec::IntoIter<u32>);

impl Choices {
    /// One of `items`.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.0.next().unwrap_or(0) as usize % items.len()]
    }

    /// A number of a range.
    pub(super) fn number(&mut self, range: std::ops::RangeInclusive<i64>) -> i64 {
        range.start() + i64::from(self.0.next().unwrap_or(0)) % (range.end() - range.start() + 1)
    }
}

/// A random plan: strategies added one after another wherever the catalogue allows, and random tunable values.
fn random_plan(generator: &dyn Generator, facts: &Facts, choices: &mut Choices) -> Plan {
    let ids: Vec<&str> = generator.catalogue().iter().map(|s| s.id).collect();
    let mut plan = Plan::default();
    for _ in 0..choices.number(0..=ids.len() as i64) {
        let id = choices.pick(&ids);
        match extended(generator, &plan, id, facts) {
            Ok(next) => plan = next,
            Err(PlanError::Present(_)) => {}
            Err(other) => panic!("{id} on {plan:?}: {other}"),
        }
    }
    let candidate = generator.render(&plan, facts).unwrap_or_else(|e| panic!("{plan:?}: {e}"));
    for tunable in &candidate.tunables {
        plan.values.insert(tunable.name.clone(), choices.pick(&tunable.values));
    }
    plan
}

/// Runs a candidate where its language runs, and compares.
fn check(candidate: &Candidate, task: &Task, workload: &Workload, seed: u64, mode: Mode) -> Result<(), String> {
    match candidate.language {
        #[cfg(target_os = "linux")]
        Language::Cpp => processor::check(candidate, task, workload, seed),
        Language::Cuda => cuda::check(candidate, task, workload, seed, mode),
        _ => run::check(candidate, task, workload, seed, mode).map(|_| ()),
    }
}

/// Every plan that the catalogue allows is right on every workload that the task allows, with sanitizers watching:
/// `values` draws what a small workload gives. `KSEARCH_CASES` sets the number of cases.
pub(super) fn random_plans_are_right(
    generator: &dyn Generator,
    cases: u32,
    values: fn(&mut Choices) -> workloads::Values,
) {
    let facts = facts_for(generator);
    let task = builtin::task(generator.task()).unwrap();
    let cases = std::env::var("KSEARCH_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(cases);
    let config = ProptestConfig { cases, max_shrink_iters: 60, failure_persistence: None, ..ProptestConfig::default() };
    let choices = proptest::collection::vec(any::<u32>(), 60);
    let result = TestRunner::new(config).run(&(choices, any::<u64>()), |(choices, seed)| {
        let mut choices = Choices(choices.into_iter());
        let given = values(&mut choices);
        let given = given.into_iter().map(|(name, value)| (name.to_owned(), Expr::parse(&value).unwrap())).collect();
        let env = task.env(&given).unwrap_or_else(|e| panic!("{given:?}: {e}"));
        let workload = Workload {
            label: "random".into(),
            set: Set::Search,
            purpose: Purpose::Check,
            kind: "random".into(),
            weight: 1.0,
            env,
        };
        let plan = random_plan(generator, &facts, &mut choices);
        let candidate = generator.render(&plan, &facts).unwrap();
        check(&candidate, &task, &workload, seed, Mode::Sanitize)
            .map_err(|why| TestCaseError::fail(format!("{why}\n{plan:?}\n{:?}", workload.env)))
    });
    if let Err(e) = result {
        panic!("{e}");
    }
}

/// The naive kernel is right on every held-out workload that checks.
pub(super) fn naive_is_right(generator: &dyn Generator) {
    let task = builtin::task(generator.task()).unwrap();
    let candidate = generator.render(&Plan::default(), &facts_for(generator)).unwrap();
    for workload in task.workloads_of(Set::HeldOut).filter(|w| w.purpose.checks()) {
        check(&candidate, &task, workload, 11, Mode::Fast)
            .unwrap_or_else(|why| panic!("{}/{}: {why}", task.name, workload.label));
    }
}
