//! Everything a launch on one workload needs: fresh inputs, poisoned outputs, the exact answer. Knows tasks; must not
//! know candidates.

use std::sync::{Arc, Mutex, PoisonError};

use indexmap::IndexMap;
use ksearch_device::Slots;
use ksearch_task::{Exact, Reference, Role, Task, TaskError, Tensor, TensorInfo, Tensors, Workload, tensor::elements};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Exact answers kept for reuse; several candidates of a run see the same inputs.
const KEPT: usize = 48;

/// Inputs of one workload for one seed, with the exact outputs.
#[derive(Debug)]
pub struct Prepared {
    /// Present tensors that the kernel reads.
    pub inputs: Tensors,
    /// Exact value of every present output.
    pub expected: IndexMap<String, Exact>,
    /// All tensors, in task order.
    pub infos: Vec<TensorInfo>,
    /// Trivial answers that the tolerance would let through.
    pub trivial: Vec<String>,
    /// Outputs whose exact answer is one value throughout, so that nothing can be told from a constant here.
    pub degenerate: Vec<String>,
}

/// Why a workload cannot be set up. Not the candidate's fault.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PrepareError {
    /// The task is inconsistent.
    #[error("task: {0}")]
    Task(#[from] TaskError),
    /// The task's reference, given as source, did not run.
    #[error("the task's reference failed: {0}")]
    Reference(String),
}

/// Prepares workloads of one task and keeps the most recent.
#[derive(Debug)]
pub struct Preparer {
    task: Arc<Task>,
    kept: Mutex<Vec<(String, u64, Arc<Prepared>)>>,
}

impl Preparer {
    /// A preparer for `task`.
    pub fn new(task: Arc<Task>) -> Self {
        Self { task, kept: Mutex::new(Vec::new()) }
    }

    /// Inputs and exact outputs of `workload` for `seed`.
    pub fn prepare(&self, workload: &Workload, seed: u64) -> Result<Arc<Prepared>, PrepareError> {
        {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, _, found)) = kept.iter().find(|(label, s, _)| *label == workload.label && *s == seed) {
                return Ok(Arc::clone(found));
            }
        }
        let inputs = self.task.inputs(workload, seed)?;
        let made = Arc::new(self.with_inputs(workload, inputs)?);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((workload.label.clone(), seed, Arc::clone(&made)));
        Ok(made)
    }

    /// The exact outputs for inputs that the caller made.
    pub fn with_inputs(&self, workload: &Workload, inputs: Tensors) -> Result<Prepared, PrepareError> {
        let infos = self.task.tensors_at(&workload.env)?;
        let expected = match (&self.task.reference, self.task.builtin_answer(&workload.env, &inputs)) {
            (_, Some(answer)) => answer?,
            (Reference::Source(source), None) => {
                let resolved =
                    source.resolve(&self.task, &workload.env).map_err(|e| PrepareError::Reference(e.to_string()))?;
                ksearch_device::reference::exact_answer(source, &resolved, &inputs)
                    .map_err(|e| PrepareError::Reference(e.to_string()))?
            }
            (Reference::Builtin(b), None) => {
                return Err(PrepareError::Reference(format!("the built-in `{}` gave no answer", b.name())));
            }
        };
        let mut trivial = Vec::new();
        let mut degenerate = Vec::new();
        for (name, exact) in &expected {
            if let Some(info) = infos.iter().find(|i| i.name == *name) {
                let tolerance = self.task.tolerance(info.dtype);
                // Where the exact answer is itself one value (a softmax over one column, say), no check of it can tell
                // a constant; the other workloads have to.
                let first = exact.values.first();
                if exact.values.iter().all(|v| Some(v) == first) {
                    degenerate.push(name.clone());
                    continue;
                }
                let found = ksearch_task::compare::trivial_answers_that_pass(exact, info.dtype, &tolerance, &inputs);
                trivial.extend(found.into_iter().map(|what| format!("{what} as `{name}`")));
            }
        }
        Ok(Prepared { inputs, expected, infos, trivial, degenerate })
    }
}

/// Slots for one launch: inputs as they are, outputs filled with plausible random values and marked unwritten, so that
/// stale, partial and skipped answers show. `poison` varies the fill.
pub fn slots(infos: &[TensorInfo], inputs: &Tensors, poison: u64) -> Slots {
    let mut rng = ChaCha8Rng::seed_from_u64(poison ^ 0x706f_6973_6f6e);
    ksearch_device::slots(infos, inputs, |info| {
        let values: Vec<f64> = (0..elements(&info.shape)).map(|_| rng.random_range(-2.0..2.0)).collect();
        Tensor::from_values(info.dtype, info.shape.clone(), &values)
    })
}

impl Prepared {
    /// Slots for one launch, see [`slots`].
    pub fn slots(&self, poison: u64) -> Slots {
        slots(&self.infos, &self.inputs, poison)
    }

    /// Inputs that the kernel must leave as they are, but which `slots` shows changed.
    pub fn changed_inputs(&self, slots: &Slots) -> Vec<String> {
        let read_only = self.infos.iter().filter(|i| i.present && i.role == Role::Input);
        read_only
            .filter(|i| match (self.inputs.get(&i.name), slots.get(&i.name)) {
                (Some(before), Some(after)) => before.bytes != after.tensor.bytes,
                _ => true,
            })
            .map(|i| i.name.clone())
            .collect()
    }
}
