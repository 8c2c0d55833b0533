//! A recipe on one workload: every expression becomes a number, every name a thing. Knows tasks; must not know how a
//! kernel is compiled, nor the limits of a chip.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::{Binding, Candidate, DefineValue, Dispatch};
use crate::expr::{Expr, ExprError, Scope, Value};
use crate::spec::{Env, Task, TaskError, TensorInfo};

/// Launches that one `repeat` may ask for.
const MAX_REPEAT: i64 = 1 << 20;

/// Why a recipe does not work on a workload.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecipeError {
    /// An expression failed.
    #[error("{place}: {error}")]
    Expr {
        /// Where in the recipe.
        place: String,
        /// Why.
        error: ExprError,
    },
    /// A number is out of its range.
    #[error("{place} is {value}, but must be {expected}")]
    Range {
        /// Where in the recipe.
        place: String,
        /// What it came to.
        value: i64,
        /// What is allowed.
        expected: &'static str,
    },
    /// The candidate says itself that it does not apply.
    #[error("the candidate does not apply here: {why} (`{expr}` does not hold)")]
    Requirement {
        /// The condition.
        expr: String,
        /// Its reason.
        why: String,
    },
    /// A name that stands for nothing, or for two things.
    #[error("{0}")]
    Name(String),
    /// The task itself cannot be set up on these values.
    #[error(transparent)]
    Task(#[from] TaskError),
}

/// A scratch buffer with its size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedScratch {
    /// Name.
    pub name: String,
    /// Size in bytes.
    pub bytes: usize,
}

/// What an argument is bound to, in numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// A present tensor of the task.
    Tensor(String),
    /// An optional tensor that is not there: an empty buffer that must not be touched.
    Absent(String),
    /// A scratch buffer.
    Scratch(String),
    /// A scalar; [`super::scalar::bytes`] gives its bytes once the parameter's type is known.
    Scalar(Value),
    /// A struct of `(type name, value)`; [`super::scalar::struct_bytes`] gives its bytes.
    Struct(Vec<(String, Value)>),
    /// Threadgroup memory of this many bytes.
    Threadgroup(u32),
}

/// One dispatch in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedDispatch {
    /// Entry point.
    pub kernel: String,
    /// Threadgroups per axis, at least 1 each.
    pub grid: [u32; 3],
    /// Threads per threadgroup per axis, at least 1 each.
    pub threadgroup: [u32; 3],
    /// Explicit arguments by parameter name or decimal index.
    pub args: IndexMap<String, Bound>,
    /// Function constants by name or decimal index.
    pub constants: BTreeMap<String, Value>,
    /// How many times in a row, at least 1.
    pub repeat: u32,
    /// Threadgroups per cluster per axis; 1 each without clusters.
    pub cluster: [u32; 3],
}

/// A recipe in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    /// Macros for the compiler, tunables first.
    pub defines: Vec<(String, String)>,
    /// Scratch buffers.
    pub scratch: Vec<ResolvedScratch>,
    /// Dispatches that are launched, in order.
    pub dispatches: Vec<ResolvedDispatch>,
    /// The task's tensors on this workload.
    pub tensors: Vec<TensorInfo>,
    /// Every symbol: the task's, the tunables, and the defines that are numbers.
    pub symbols: Env,
}

impl Candidate {
    /// The recipe on the workload whose values are `env`.
    pub fn resolve(&self, task: &Task, env: &Env) -> Result<Resolved, RecipeError> {
        let mut symbols = env.clone();
        let mut defines = Vec::new();
        for tunable in &self.tunables {
            let value = self.value_of(tunable);
            if !tunable.values.contains(&value) {
                let list: Vec<_> = tunable.values.iter().map(i64::to_string).collect();
                let message = format!("tunable `{}` is {value}, not one of {}", tunable.name, list.join(", "));
                return Err(RecipeError::Name(message));
            }
            if symbols.insert(tunable.name.clone(), Value::Int(value)).is_some() {
                let message = format!("tunable `{}` has the name of a symbol of the task; rename it", tunable.name);
                return Err(RecipeError::Name(message));
            }
            defines.push((tunable.name.clone(), value.to_string()));
        }
        if let Some(unknown) = self.values.keys().find(|k| !self.tunables.iter().any(|t| t.name == **k)) {
            return Err(RecipeError::Name(format!("a value is chosen for `{unknown}`, which is not a tunable")));
        }
        let tensors = task.tensors_at(env)?;
        for define in &self.recipe.defines {
            let text = match &define.value {
                DefineValue::Text(text) => text.clone(),
                DefineValue::Expr(e) => {
                    let value = eval(e, &symbols, &format!("define `{}`", define.name), Expr::eval)?;
                    // What follows may use it by name; a symbol of the task keeps its own meaning.
                    symbols.entry(define.name.clone()).or_insert(value);
                    literal(value, self)
                }
                DefineValue::TypeOf(name) => match tensors.iter().find(|t| t.name == *name) {
                    Some(info) => self.language.type_name(info.dtype).to_owned(),
                    None => return Err(unknown("tensor", name, tensors.iter().map(|t| t.name.as_str()))),
                },
            };
            defines.push((define.name.clone(), text));
        }
        for requirement in &self.recipe.requires {
            if !eval(&requirement.expr, &symbols, "a requirement", Expr::eval_bool)? {
                let (expr, why) = (requirement.expr.text().to_owned(), requirement.why.clone());
                return Err(RecipeError::Requirement { expr, why });
            }
        }
        let mut scratch = Vec::new();
        for s in &self.recipe.scratch {
            let place = format!("the size of scratch `{}`", s.name);
            let bytes = eval(&s.bytes, &symbols, &place, Expr::eval_int)?;
            let bytes = usize::try_from(bytes).ok().filter(|b| *b <= 1 << 34).ok_or(RecipeError::Range {
                place,
                value: bytes,
                expected: "between 0 and 2^34 bytes",
            })?;
            scratch.push(ResolvedScratch { name: s.name.clone(), bytes });
        }
        let mut resolved = Resolved { defines, scratch, dispatches: Vec::new(), tensors, symbols };
        for dispatch in &self.recipe.dispatches {
            if let Some(dispatch) = resolved.dispatch(dispatch)? {
                resolved.dispatches.push(dispatch);
            }
        }
        Ok(resolved)
    }
}

impl Resolved {
    /// What the parameter `param`, the `index`-th buffer, is bound to in `dispatch`: its explicit argument by name or
    /// index, else the tensor, scratch buffer or symbol of its name.
    pub fn bind(&self, dispatch: &ResolvedDispatch, param: &str, index: u32) -> Result<Bound, RecipeError> {
        if let Some(bound) = dispatch.args.get(param).or_else(|| dispatch.args.get(&index.to_string())) {
            return Ok(bound.clone());
        }
        if let Some(info) = self.tensors.iter().find(|t| t.name == param) {
            return Ok(tensor(info));
        }
        if self.scratch.iter().any(|s| s.name == param) {
            return Ok(Bound::Scratch(param.to_owned()));
        }
        if let Some(value @ (Value::Int(_) | Value::Real(_))) = self.symbols.get(param) {
            return Ok(Bound::Scalar(*value));
        }
        let tensors = self.tensors.iter().map(|t| t.name.as_str());
        let scratch = self.scratch.iter().map(|s| s.name.as_str());
        let symbols = self.symbols.keys().map(String::as_str);
        let what = format!("argument of kernel `{}` for parameter", dispatch.kernel);
        Err(unknown(&what, param, tensors.chain(scratch).chain(symbols)))
    }

    fn dispatch(&self, dispatch: &Dispatch) -> Result<Option<ResolvedDispatch>, RecipeError> {
        let scope = &self.symbols;
        let place = |what: &str| format!("`{what}` of kernel `{}`", dispatch.kernel);
        if let Some(when) = &dispatch.when
            && !eval(when, scope, &place("when"), Expr::eval_bool)?
        {
            return Ok(None);
        }
        let repeat = match &dispatch.repeat {
            None => 1,
            Some(repeat) => ranged(repeat, scope, place("repeat"), MAX_REPEAT, "between 1 and 2^20")?,
        };
        let three = |axes: &[Expr; 3], what: &str| {
            let axis = |e: &Expr| ranged(e, scope, place(what), i64::from(u32::MAX), "at least 1 and below 2^32");
            let [x, y, z] = axes;
            Ok::<_, RecipeError>([axis(x)?, axis(y)?, axis(z)?])
        };
        let mut args = IndexMap::new();
        for arg in &dispatch.args {
            let place = place(&format!("args.{}", arg.param));
            let bound = match &arg.binding {
                Binding::Tensor(name) => match self.tensors.iter().find(|t| t.name == *name) {
                    Some(info) => tensor(info),
                    None => return Err(unknown("tensor", name, self.tensors.iter().map(|t| t.name.as_str()))),
                },
                Binding::Scratch(name) if self.scratch.iter().any(|s| s.name == *name) => Bound::Scratch(name.clone()),
                Binding::Scratch(name) => {
                    return Err(unknown("scratch buffer", name, self.scratch.iter().map(|s| s.name.as_str())));
                }
                Binding::Scalar(e) => Bound::Scalar(eval(e, scope, &place, Expr::eval)?),
                Binding::Threadgroup(e) => {
                    Bound::Threadgroup(ranged(e, scope, place, i64::from(u32::MAX), "at least 1 byte and below 2^32")?)
                }
                Binding::Struct(fields) => Bound::Struct(
                    fields
                        .iter()
                        .map(|(ty, e)| Ok((ty.clone(), eval(e, scope, &place, Expr::eval)?)))
                        .collect::<Result<_, RecipeError>>()?,
                ),
            };
            args.insert(arg.param.clone(), bound);
        }
        let mut constants = BTreeMap::new();
        for (name, e) in &dispatch.constants {
            constants.insert(name.clone(), eval(e, scope, &place(&format!("constants.{name}")), Expr::eval)?);
        }
        Ok(Some(ResolvedDispatch {
            kernel: dispatch.kernel.clone(),
            grid: three(&dispatch.grid, "grid")?,
            threadgroup: three(&dispatch.threadgroup, "threadgroup")?,
            args,
            constants,
            repeat,
            cluster: dispatch.cluster.as_ref().map_or(Ok([1; 3]), |c| three(c, "cluster"))?,
        }))
    }
}

fn tensor(info: &TensorInfo) -> Bound {
    if info.present { Bound::Tensor(info.name.clone()) } else { Bound::Absent(info.name.clone()) }
}

fn eval<T>(
    expr: &Expr,
    scope: &dyn Scope,
    place: &str,
    how: fn(&Expr, &dyn Scope) -> Result<T, ExprError>,
) -> Result<T, RecipeError> {
    how(expr, scope).map_err(|error| RecipeError::Expr { place: place.to_owned(), error })
}

fn ranged(
    expr: &Expr,
    scope: &dyn Scope,
    place: String,
    most: i64,
    expected: &'static str,
) -> Result<u32, RecipeError> {
    let value = eval(expr, scope, &place, Expr::eval_int)?;
    if value < 1 || value > most {
        return Err(RecipeError::Range { place, value, expected });
    }
    u32::try_from(value).map_err(|_| RecipeError::Range { place, value, expected })
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> RecipeError {
    let list: Vec<_> = known.collect();
    RecipeError::Name(format!("no {what} `{name}` (known: {})", list.join(", ")))
}

/// A value as a literal of a C-like language; negative ones in parentheses, so that `a - X` stays what it says.
fn literal(value: Value, candidate: &Candidate) -> String {
    let signed = |negative: bool, text: String| if negative { format!("({text})") } else { text };
    match value {
        Value::Int(i) => signed(i < 0, i.to_string()),
        Value::Real(r) if (r as f32).is_finite() => signed(r < 0.0, format!("{:?}f", r as f32)),
        Value::Real(r) => signed(r < 0.0, format!("{r:?}")),
        Value::Type(d) => candidate.language.type_name(d).to_owned(),
    }
}
