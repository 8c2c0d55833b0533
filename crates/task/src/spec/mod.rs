//! Tasks: an operation to make fast, with everything needed to judge an implementation of it.
//! Must not know how anything is compiled, run or searched.

mod load;
mod raw;

use std::path::Path;

use indexmap::IndexMap;
use rayon::prelude::*;

use crate::candidate::Candidate;
use crate::compare::Tolerance;
use crate::dtype::DType;
use crate::expr::{Expr, ExprError, Value};
use crate::file::FileError;
use crate::generate::{Generator, Stream, generate};
use crate::reference::{Builtin, ReferenceError};
use crate::tensor::{Exact, Tensor, elements};

/// Values of every symbol, parameter and derived name of a task on one workload.
pub type Env = IndexMap<String, Value>;

/// Tensors by name.
pub type Tensors = IndexMap<String, Tensor>;

/// Bytes that the tensors of one workload may take together.
const MAX_WORKLOAD_BYTES: usize = 1 << 34;

/// What a symbol or parameter ranges over.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// An integer within bounds, or one of a list.
    Int {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
        /// Allowed values; empty for all within the bounds.
        values: Vec<i64>,
    },
    /// A dtype out of a list.
    DType(Vec<DType>),
    /// A real parameter, passed to kernels as f32.
    Real,
    /// A condition, 0 or 1.
    Flag,
}

/// A name whose value each workload gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// Name in expressions and, for parameters, in kernels' signatures.
    pub name: String,
    /// What it ranges over.
    pub kind: Kind,
    /// A scalar argument of the operation, not a size: kernels are expected to read it, so it must vary.
    pub parameter: bool,
    /// Value where a workload gives none; over the symbols before it.
    pub default: Option<Expr>,
    /// One line for people.
    pub doc: String,
}

/// A condition on the symbols, with the sentence shown when it does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Non-zero where it holds.
    pub expr: Expr,
    /// Why it is needed.
    pub why: String,
}

/// What a tensor is to the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Read only.
    Input,
    /// Written in full; poisoned before a run.
    Output,
    /// Read, then written in full.
    InOut,
}

impl Role {
    /// Does a kernel get contents in it?
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Input | Self::InOut)
    }

    /// Must a kernel write it?
    pub const fn is_written(self) -> bool {
        matches!(self, Self::Output | Self::InOut)
    }
}

/// A tensor of the operation.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    /// Name in recipes and kernels' signatures.
    pub name: String,
    /// What it is to the operation.
    pub role: Role,
    /// Element type: a dtype or a dtype symbol.
    pub dtype: Expr,
    /// Extent per axis, row-major.
    pub shape: Vec<Expr>,
    /// An optional tensor is there where this is non-zero. A kernel gets an empty buffer in its place elsewhere.
    pub when: Option<Expr>,
    /// How contents are drawn (tensors that are read).
    pub generators: Vec<Generator>,
    /// Must a change of its contents change some output? A right kernel that ignores it would be suspect.
    pub matters: bool,
    /// One line for people.
    pub doc: String,
}

/// A tensor on one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name.
    pub name: String,
    /// What it is to the operation.
    pub role: Role,
    /// Element type.
    pub dtype: DType,
    /// Extent per axis.
    pub shape: Vec<usize>,
    /// Is it there? An absent optional tensor keeps its would-be shape.
    pub present: bool,
}

impl TensorInfo {
    /// Size in bytes; 0 when absent.
    pub fn bytes(&self) -> usize {
        if self.present { elements(&self.shape).saturating_mul(self.dtype.bytes()) } else { 0 }
    }
}

/// Which workloads steer the search and which only judge its winner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Set {
    /// Seen by the search.
    Search,
    /// Never seen by the search.
    HeldOut,
}

/// What a workload is used for. Answers are compared wherever a kernel was run in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Small: the kernel is watched by every sanitizer; its time does not count.
    Check,
    /// Large: its time counts; sanitizers are not needed (and a few threadgroups may stand for all).
    Time,
    /// Both.
    Both,
}

impl Purpose {
    /// Do sanitizers watch it?
    pub const fn checks(self) -> bool {
        matches!(self, Self::Check | Self::Both)
    }

    /// Does its time count?
    pub const fn times(self) -> bool {
        matches!(self, Self::Time | Self::Both)
    }
}

/// One concrete set of shapes, dtypes and parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Unique within the task.
    pub label: String,
    /// Search or held-out.
    pub set: Set,
    /// Check, time or both.
    pub purpose: Purpose,
    /// What is special about it, a word or two; workloads of one kind stress the same things.
    pub kind: String,
    /// Relative weight of its time.
    pub weight: f64,
    /// Value of every name.
    pub env: Env,
}

/// The least work an implementation has to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// Floating-point operations (a multiply-add is two), exponentials and the like left out.
    pub flops: Expr,
    /// Exponentials, logarithms and other special functions.
    pub specials: Expr,
    /// Bytes of main memory; every present tensor once when absent.
    pub bytes: Option<Expr>,
}

/// The floor on one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Floating-point operations.
    pub flops: f64,
    /// Special functions.
    pub specials: f64,
    /// Bytes of main memory.
    pub bytes: f64,
    /// Some input has 16-bit elements, so that units for 16-bit operands may do the arithmetic.
    pub half: bool,
}

/// Where exact answers come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Reference {
    /// Rust code in this crate.
    Builtin(Builtin),
    /// A kernel in `double` with its own launch recipe. Every tensor of the task is handed to it as `double`, by name;
    /// whoever can run it does.
    Source(Box<Candidate>),
}

/// A relation between answers on related inputs, which holds for the operation whatever the implementation.
#[derive(Clone, Debug, PartialEq)]
pub struct Metamorphic {
    /// The relation.
    pub relation: Relation,
    /// Only where this is non-zero.
    pub when: Option<Expr>,
}

/// Kinds of [`Metamorphic`] relations.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// Doubling `input` doubles `output`, up to rounding.
    Linear {
        /// Tensor that is doubled.
        input: String,
        /// Tensor that doubles.
        output: String,
    },
    /// Adding one number to all of `input` leaves the outputs as they are, up to rounding.
    ShiftInvariant {
        /// Tensor that is shifted.
        input: String,
    },
    /// Permuting these tensors alike along the given axes leaves the outputs as they are, up to rounding.
    PermutationInvariant {
        /// Tensor and axis, per permuted tensor.
        inputs: Vec<(String, usize)>,
    },
}

/// Why a task cannot do what was asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TaskError {
    /// A value that a workload gives, or fails to give.
    #[error("`{name}`: {message}")]
    Value {
        /// Symbol or tensor.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// An expression of the task failed on these values.
    #[error("{what}: {error}")]
    Expr {
        /// Where it stands in the task.
        what: String,
        /// Why it failed.
        error: ExprError,
    },
    /// A constraint does not hold.
    #[error("`{expr}` does not hold: {why}")]
    Constraint {
        /// The condition.
        expr: String,
        /// Its reason.
        why: String,
    },
    /// The built-in reference refused its inputs.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
}

/// An operation to make fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Identifier, `[a-z][a-z0-9_]*`.
    pub name: String,
    /// Name of the task that says what is computed: its own, or that of the task whose workloads it replaces. Generators and
    /// library kernels go by it.
    pub family: String,
    /// A few words.
    pub title: String,
    /// What it computes, exactly.
    pub description: String,
    /// Symbols, then parameters, in order.
    pub symbols: Vec<Symbol>,
    /// Names computed from those, in order.
    pub derived: Vec<(String, Expr)>,
    /// Where the operation is defined.
    pub constraints: Vec<Constraint>,
    /// Tensors, in order.
    pub tensors: Vec<TensorSpec>,
    /// Largest errors allowed per dtype of an output. Integers must match exactly.
    pub tolerances: IndexMap<DType, Tolerance>,
    /// The least work.
    pub floor: Floor,
    /// Exact answers.
    pub reference: Reference,
    /// The straightforward kernel that speedups are counted from.
    pub naive: Option<Candidate>,
    /// Relations that hold for every implementation.
    pub metamorphic: Vec<Metamorphic>,
    /// Search and held-out workloads, in order.
    pub workloads: Vec<Workload>,
}

impl Task {
    /// Reads a task file. Files it names are looked up beside it.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        load::from_path(path)
    }

    /// Reads a task from text; `open` returns the text of a file that it names, by the path written in the task.
    pub fn parse(name: &str, text: &str, open: &dyn Fn(&str) -> Result<String, String>) -> Result<Self, FileError> {
        load::from_text(name, text, open)
    }

    /// Workloads of one set, in order.
    pub fn workloads_of(&self, set: Set) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().filter(move |w| w.set == set)
    }

    /// The workload with this label.
    pub fn workload(&self, label: &str) -> Option<&Workload> {
        self.workloads.iter().find(|w| w.label == label)
    }

    /// The tensor with this name.
    pub fn tensor(&self, name: &str) -> Option<&TensorSpec> {
        self.tensors.iter().find(|t| t.name == name)
    }

    /// The symbol or parameter with this name.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|s| s.name == name)
    }

    /// Every name that expressions over a workload may use.
    pub fn names(&self) -> Vec<&str> {
        self.symbols.iter().map(|s| s.name.as_str()).chain(self.derived.iter().map(|(n, _)| n.as_str())).collect()
    }

    /// Values of all names from those that `given` states; checks kinds, ranges and constraints.
    pub fn env(&self, given: &IndexMap<String, Expr>) -> Result<Env, TaskError> {
        if let Some(unknown) = given.keys().find(|k| self.symbol(k).is_none()) {
            let known: Vec<_> = self.symbols.iter().map(|s| s.name.as_str()).collect();
            let message = format!("the task has no such symbol or parameter (known: {})", known.join(", "));
            return Err(TaskError::Value { name: unknown.clone(), message });
        }
        let mut env = Env::new();
        for symbol in &self.symbols {
            let expr = given.get(&symbol.name).or(symbol.default.as_ref()).ok_or_else(|| TaskError::Value {
                name: symbol.name.clone(),
                message: "no value is given and there is no default".into(),
            })?;
            let value =
                expr.eval(&env).map_err(|error| TaskError::Expr { what: format!("`{}`", symbol.name), error })?;
            let value =
                symbol.kind.admit(value).map_err(|m| TaskError::Value { name: symbol.name.clone(), message: m })?;
            env.insert(symbol.name.clone(), value);
        }
        for (name, expr) in &self.derived {
            let value =
                expr.eval(&env).map_err(|error| TaskError::Expr { what: format!("derived `{name}`"), error })?;
            env.insert(name.clone(), value);
        }
        for constraint in &self.constraints {
            let holds = constraint
                .expr
                .eval_bool(&env)
                .map_err(|error| TaskError::Expr { what: format!("constraint `{}`", constraint.expr), error })?;
            if !holds {
                let (expr, why) = (constraint.expr.text().to_owned(), constraint.why.clone());
                return Err(TaskError::Constraint { expr, why });
            }
        }
        Ok(env)
    }

    /// Dtype, shape and presence of every tensor, in order.
    pub fn tensors_at(&self, env: &Env) -> Result<Vec<TensorInfo>, TaskError> {
        let infos = self.tensors.iter().map(|t| t.at(env)).collect::<Result<Vec<_>, _>>()?;
        let total = infos.iter().fold(0usize, |n, t| n.saturating_add(t.bytes()));
        if total > MAX_WORKLOAD_BYTES {
            let name = infos.iter().max_by_key(|t| t.bytes()).map(|t| t.name.clone()).unwrap_or_default();
            let message = format!("the tensors take {total} bytes together, more than {MAX_WORKLOAD_BYTES}");
            return Err(TaskError::Value { name, message });
        }
        Ok(infos)
    }

    /// Fresh contents of every present tensor that is read, for this seed.
    pub fn inputs(&self, workload: &Workload, seed: u64) -> Result<Tensors, TaskError> {
        let infos = self.tensors_at(&workload.env)?;
        let drawn = self
            .tensors
            .par_iter()
            .zip(infos.par_iter())
            .filter(|(spec, info)| spec.role.is_read() && info.present)
            .map(|(spec, info)| {
                let stream = Stream { task: &self.name, workload: &workload.label, tensor: &spec.name, seed };
                let tensor = generate(&spec.generators, &workload.env, info.dtype, info.shape.clone(), stream)
                    .map_err(|error| TaskError::Expr { what: format!("generator of `{}`", spec.name), error })?;
                let missing = || TaskError::Value { name: spec.name.clone(), message: "no generator applies".into() };
                Ok((spec.name.clone(), tensor.ok_or_else(missing)?))
            })
            .collect::<Result<Vec<_>, TaskError>>()?;
        Ok(drawn.into_iter().collect())
    }

    /// The least work on a workload.
    pub fn work(&self, env: &Env) -> Result<Work, TaskError> {
        let eval = |expr: &Expr, what: &str| {
            expr.eval_real(env).map_err(|error| TaskError::Expr { what: format!("floor.{what}"), error })
        };
        let tensors = self.tensors_at(env)?;
        let bytes = match &self.floor.bytes {
            Some(expr) => eval(expr, "bytes")?,
            None => tensors.iter().map(|t| t.bytes() as f64).sum(),
        };
        let is_half = |t: &TensorInfo| t.present && t.role.is_read() && matches!(t.dtype, DType::F16 | DType::BF16);
        let (flops, specials) = (eval(&self.floor.flops, "flops")?, eval(&self.floor.specials, "specials")?);
        Ok(Work { flops, specials, bytes, half: tensors.iter().any(is_half) })
    }

    /// Exact value of every present output, by the built-in reference; `None` if the task's reference is a source file.
    pub fn builtin_answer(&self, env: &Env, inputs: &Tensors) -> Option<Result<IndexMap<String, Exact>, TaskError>> {
        match &self.reference {
            Reference::Source(_) => None,
            Reference::Builtin(builtin) => Some(self.outputs_of(*builtin, env, inputs)),
        }
    }

    fn outputs_of(&self, builtin: Builtin, env: &Env, inputs: &Tensors) -> Result<IndexMap<String, Exact>, TaskError> {
        let infos = self.tensors_at(env)?;
        let mut answer = builtin.compute(env, inputs)?;
        let mut outputs = IndexMap::new();
        for info in infos.iter().filter(|t| t.present && t.role.is_written()) {
            let exact = answer.swap_remove(&info.name).filter(|exact| exact.shape == info.shape);
            let exact = exact.ok_or_else(|| TaskError::Value {
                name: info.name.clone(),
                message: format!("the built-in reference `{}` yields no such output of that shape", builtin.name()),
            })?;
            outputs.insert(info.name.clone(), exact);
        }
        Ok(outputs)
    }

    /// Errors allowed for outputs of `dtype`.
    pub fn tolerance(&self, dtype: DType) -> Tolerance {
        let exact = Tolerance { max: 0.0, rms: 0.0, row: 0.0 };
        self.tolerances.get(&dtype).copied().unwrap_or(exact)
    }
}

impl Kind {
    /// `value` as this kind holds it, or why it is refused.
    pub fn admit(&self, value: Value) -> Result<Value, String> {
        match (self, value) {
            (Self::DType(allowed), Value::Type(d)) if allowed.contains(&d) => Ok(value),
            (Self::DType(allowed), _) => {
                let names: Vec<_> = allowed.iter().map(|d| d.name()).collect();
                Err(format!("{value} is not one of the dtypes {}", names.join(", ")))
            }
            (_, Value::Type(d)) => Err(format!("expected a number, got the dtype {d}")),
            (Self::Real, _) => value.as_f64().map(Value::Real).ok_or_else(|| format!("{value} is not a number")),
            (Self::Flag, _) => match value.as_int() {
                Some(bit @ (0 | 1)) => Ok(Value::Int(bit)),
                _ => Err(format!("{value} is not 0 or 1")),
            },
            (Self::Int { min, max, values }, _) => {
                let i = value.as_int().ok_or_else(|| format!("{value} is not an integer"))?;
                if !values.is_empty() && !values.contains(&i) {
                    let list: Vec<_> = values.iter().map(i64::to_string).collect();
                    return Err(format!("{i} is not one of {}", list.join(", ")));
                }
                if i < *min || i > *max {
                    return Err(format!("{i} is outside {min}..={max}"));
                }
                Ok(Value::Int(i))
            }
        }
    }
}

impl TensorSpec {
    fn at(&self, env: &Env) -> Result<TensorInfo, TaskError> {
        let expr_error = |what: String| move |error| TaskError::Expr { what, error };
        let refuse = |message: String| TaskError::Value { name: self.name.clone(), message };
        let dtype = match self.dtype.eval(env).map_err(expr_error(format!("dtype of `{}`", self.name)))? {
            Value::Type(d) => d,
            other => return Err(refuse(format!("its dtype evaluates to {other}"))),
        };
        let mut shape = Vec::with_capacity(self.shape.len());
        for (axis, extent) in self.shape.iter().enumerate() {
            let n = extent.eval_int(env).map_err(expr_error(format!("axis {axis} of `{}`", self.name)))?;
            shape.push(usize::try_from(n).map_err(|_| refuse(format!("axis {axis} has the negative extent {n}")))?);
        }
        let present = match &self.when {
            None => true,
            Some(when) => when.eval_bool(env).map_err(expr_error(format!("`when` of `{}`", self.name)))?,
        };
        Ok(TensorInfo { name: self.name.clone(), role: self.role, dtype, shape, present })
    }
}

#[cfg(test)]
mod tests;
