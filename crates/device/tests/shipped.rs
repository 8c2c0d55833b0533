//! Tasks whose reference is a kernel: every workload has a sound answer, no trivial answer passes, and a perfect kernel is
//! far inside the tolerance.

#![allow(clippy::unwrap_used)] // A test that cannot go on must say so at once.

use ksearch_device::reference::exact_answer;
use ksearch_task::compare::{compare, trivial_answers_that_pass};
use ksearch_task::spec::Reference;
use ksearch_task::{Tensor, builtin};

#[test]
fn every_workload_has_a_sound_answer() {
    let mut seen = 0;
    for name in builtin::task_names() {
        let task = builtin::task(name).unwrap();
        let Reference::Source(source) = &task.reference else { continue };
        seen += 1;
        for workload in task.workloads.iter().filter(|w| w.purpose.checks()) {
            for seed in 0..2 {
                let place = format!("{name}/{} seed {seed}", workload.label);
                let inputs = task.inputs(workload, seed).unwrap();
                let resolved = source.resolve(&task, &workload.env).unwrap();
                let answers = exact_answer(source, &resolved, &inputs).unwrap_or_else(|e| panic!("{place}: {e}"));
                for info in task.tensors_at(&workload.env).unwrap().iter().filter(|t| t.present && t.role.is_written())
                {
                    let exact = &answers[&info.name];
                    assert!(exact.values.iter().all(|v| v.is_finite()), "{place}");
                    let tolerance = task.tolerance(info.dtype);
                    // The last inputs of a sequence are a copy of the inputs, whatever computes them.
                    let copied = name == "conv1d_silu" && info.name == "final_state";
                    let trivial = trivial_answers_that_pass(exact, info.dtype, &tolerance, &inputs);
                    assert!(copied || trivial.is_empty(), "{place}: {}: {trivial:?} pass", info.name);
                    let rounded = Tensor::from_values(info.dtype, info.shape.clone(), &exact.values).values();
                    let c = compare(exact, &rounded, info.dtype, &tolerance);
                    assert!(c.ratio < 0.5, "{place}: {}: rounding alone takes {} of the tolerance", info.name, c.ratio);
                }
            }
        }
    }
    assert!(seen >= 4, "{seen} tasks");
}
