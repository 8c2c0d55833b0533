//! Exact answers in f64, one operation a file. Know the mathematics of an operation; must not know tolerances or runs.

mod attention;
mod selective_scan;
mod softmax;

use indexmap::IndexMap;

use crate::expr::{Scope, Value};
use crate::spec::{Env, Tensors};
use crate::tensor::Exact;

/// An operation that this crate can compute itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// Scaled dot-product attention, forward.
    Attention,
    /// Mamba-1 selective scan, forward.
    SelectiveScan,
    /// Softmax along the last axis.
    Softmax,
}

impl Builtin {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Attention, Self::SelectiveScan, Self::Softmax];

    /// Name as written in task files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::SelectiveScan => "selective_scan",
            Self::Softmax => "softmax",
        }
    }

    /// The operation with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|b| b.name() == name)
    }

    /// Computes every output from the inputs as the kernel gets them (already rounded to their dtypes).
    pub fn compute(self, env: &Env, inputs: &Tensors) -> Result<IndexMap<String, Exact>, ReferenceError> {
        let args = Args { env, inputs };
        match self {
            Self::Attention => attention::compute(&args),
            Self::SelectiveScan => selective_scan::compute(&args),
            Self::Softmax => softmax::compute(&args),
        }
    }
}

/// Why a built-in reference cannot be computed on these inputs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the built-in reference needs {0}")]
pub struct ReferenceError(String);

/// Inputs of a reference, with checked access.
struct Args<'a> {
    env: &'a Env,
    inputs: &'a Tensors,
}

/// An input decoded to f64 with its shape.
struct Array {
    shape: Vec<usize>,
    values: Vec<f64>,
}

impl Args<'_> {
    /// The input `name`, which must have `N` axes.
    fn array<const N: usize>(&self, name: &str) -> Result<([usize; N], Array), ReferenceError> {
        self.optional(name)?.ok_or_else(|| ReferenceError(format!("a tensor `{name}`")))
    }

    /// Like `array`, `None` when it is absent.
    fn optional<const N: usize>(&self, name: &str) -> Result<Option<([usize; N], Array)>, ReferenceError> {
        let Some(tensor) = self.inputs.get(name) else { return Ok(None) };
        let values = tensor.values();
        let shape: [usize; N] = tensor
            .shape
            .as_slice()
            .try_into()
            .ok()
            .filter(|_| values.len() == tensor.elements())
            .ok_or_else(|| ReferenceError(format!("`{name}` to be whole and to have {N} axes")))?;
        Ok(Some((shape, Array { shape: tensor.shape.clone(), values })))
    }

    fn number(&self, name: &str) -> Result<f64, ReferenceError> {
        Scope::get(self.env, name).and_then(Value::as_f64).ok_or_else(|| ReferenceError(format!("a number `{name}`")))
    }

    fn flag(&self, name: &str) -> Result<bool, ReferenceError> {
        Ok(self.number(name)? != 0.0)
    }
}

impl Array {
    /// The `i`-th run of elements along the last axis.
    fn row(&self, i: usize) -> &[f64] {
        let width = self.shape.last().copied().unwrap_or(1);
        self.values.get(i * width..(i + 1) * width).unwrap_or(&[])
    }
}

/// Checks that shapes that must agree do.
fn require(holds: bool, what: &str) -> Result<(), ReferenceError> {
    if holds { Ok(()) } else { Err(ReferenceError(what.to_owned())) }
}
