//! Metamorphic relations: what must hold between a kernel's answers on related inputs, whatever the exact answer.
//! Independent of the reference. Knows tasks; must not know how a kernel works.

use ksearch_task::compare::compare;
use ksearch_task::expr::Expr;
use ksearch_task::spec::Relation;
use ksearch_task::{Candidate, DType, Exact, Tensor, TensorInfo, Tensors, Workload};

use crate::trial::{Bench, Rejection};
use crate::verdict::{Evidence, Status};

/// Both sides of a relation are rounded, so twice the tolerance is allowed between them.
const ROUNDINGS: f64 = 2.0;

/// What is added to every element of a shift-invariant input: beyond 88.7, the largest exponent of e that f32 holds, so that
/// an answer that is only right while nothing overflows shows itself; few enough bits that the rounding of the sum stays
/// far below every tolerance in f32.
const SHIFT: f64 = 128.0;

/// Checks every relation of the task that applies to `workload`, on fresh inputs.
pub fn check(
    bench: &Bench<'_>,
    candidate: &Candidate,
    workload: &Workload,
    seed: u64,
    evidence: &mut Vec<Evidence>,
) -> Result<(), Rejection> {
    if !workload.purpose.checks() {
        return Ok(());
    }
    let applies = |when: &Option<Expr>| when.as_ref().is_none_or(|e| e.eval_bool(&workload.env).unwrap_or(false));
    let relations: Vec<&Relation> =
        bench.task.metamorphic.iter().filter(|m| applies(&m.when)).map(|m| &m.relation).collect();
    if relations.is_empty() {
        return Ok(());
    }
    let seed = seed.wrapping_add(0x6d65_7461);
    let base = bench.preparer.prepare(workload, seed)?;
    let relations: Vec<&Relation> = relations.into_iter().filter(|r| exact(r, &base.inputs)).collect();
    let before = bench.run_on(candidate, workload, &base, seed, evidence)?;
    for relation in relations {
        let changed = transform(relation, &base.inputs);
        let prepared = bench.preparer.with_inputs(workload, changed)?;
        let after = bench.run_on(candidate, workload, &prepared, seed, evidence)?;
        let name = name(relation);
        compare_runs(bench, relation, &before, &after).map_err(|detail| {
            evidence.push(Evidence {
                check: "relation".into(),
                ok: false,
                detail: format!("{}: {name}: {detail}", workload.label),
            });
            Rejection {
                status: Status::Suspect,
                summary: format!("{}: {name} does not hold: {detail}", workload.label),
                advice: "The kernel's answer depends on something it should not depend on.".into(),
                fault: None,
                diagnostics: Vec::new(),
                error: None,
            }
        })?;
        evidence.push(Evidence {
            check: "relation".into(),
            ok: true,
            detail: format!("{}: {name} holds", workload.label),
        });
    }
    Ok(())
}

/// Can the transformed inputs be represented without a rounding of their own that the outputs would show?
/// Doubling and permuting always can; adding a number only in f32.
fn exact(relation: &Relation, inputs: &Tensors) -> bool {
    match relation {
        Relation::ShiftInvariant { input } => inputs.get(input).is_some_and(|t| t.dtype == DType::F32),
        Relation::Linear { .. } | Relation::PermutationInvariant { .. } => true,
    }
}

fn name(relation: &Relation) -> String {
    match relation {
        Relation::Linear { input, output } => format!("`{output}` doubles with `{input}`"),
        Relation::ShiftInvariant { input } => format!("adding a number to all of `{input}` changes nothing"),
        Relation::PermutationInvariant { inputs } => {
            let names: Vec<_> = inputs.iter().map(|(n, _)| format!("`{n}`")).collect();
            format!("permuting {} alike changes nothing", names.join(" and "))
        }
    }
}

fn transform(relation: &Relation, inputs: &Tensors) -> Tensors {
    let mut out = inputs.clone();
    let mut change = |name: &str, f: &dyn Fn(&Tensor) -> Vec<f64>| {
        if let Some(t) = out.get_mut(name) {
            *t = Tensor::from_values(t.dtype, t.shape.clone(), &f(t));
        }
    };
    match relation {
        Relation::Linear { input, .. } => change(input, &|t| t.values().iter().map(|v| 2.0 * v).collect()),
        Relation::ShiftInvariant { input } => change(input, &|t| t.values().iter().map(|v| v + SHIFT).collect()),
        Relation::PermutationInvariant { inputs } => {
            for (name, axis) in inputs {
                change(name, &|t| reversed(t, *axis));
            }
        }
    }
    out
}

/// The tensor's values with `axis` reversed: a permutation that moves everything.
fn reversed(t: &Tensor, axis: usize) -> Vec<f64> {
    let values = t.values();
    let Some(&extent) = t.shape.get(axis) else { return values };
    let inner: usize = t.shape.iter().skip(axis + 1).product();
    let mut out = Vec::with_capacity(values.len());
    for block in values.chunks((extent * inner).max(1)) {
        for row in block.chunks(inner.max(1)).rev() {
            out.extend_from_slice(row);
        }
    }
    out
}

fn compare_runs(
    bench: &Bench<'_>,
    relation: &Relation,
    before: &[(TensorInfo, Vec<f64>)],
    after: &[(TensorInfo, Vec<f64>)],
) -> Result<(), String> {
    for ((info, first), (_, second)) in before.iter().zip(after) {
        let factor = match relation {
            Relation::Linear { output, .. } if info.name == *output => 2.0,
            // A linear relation says nothing of the other outputs.
            Relation::Linear { .. } => continue,
            _ => 1.0,
        };
        let expected = Exact { shape: info.shape.clone(), values: first.iter().map(|v| factor * v).collect() };
        let mut tolerance = bench.task.tolerance(info.dtype);
        tolerance.max *= ROUNDINGS;
        tolerance.rms *= ROUNDINGS;
        tolerance.row *= ROUNDINGS;
        let result = compare(&expected, second, info.dtype, &tolerance);
        if !result.passed() {
            let place = result.worst.or(result.first_nonfinite).map(|w| w.to_string()).unwrap_or_default();
            return Err(format!("`{}` {place}", info.name));
        }
    }
    Ok(())
}
