//! Candidates: source files, a launch recipe, tunables and their values. Immutable, plain, hashed, serialisable.
//! Must not know who wrote them, how they are compiled, or whether they are right.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::expr::Expr;

/// Language of a candidate's sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Metal Shading Language.
    Msl,
    /// CUDA C++.
    Cuda,
    /// C++ for CPUs.
    Cpp,
}

/// One source file; `path` is relative to the candidate and uses `/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Relative path, e.g. `attention.metal`.
    pub path: String,
    /// Full text.
    pub text: String,
}

/// A declared parameter with its allowed values; the tool sweeps it without a model call.
/// Its value reaches the source as a macro of the same name and the recipe as a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tunable {
    /// Macro and symbol name, e.g. `BLOCK_K`.
    pub name: String,
    /// Allowed values, ascending.
    pub values: Vec<i64>,
    /// Value used when none is chosen; one of `values`.
    pub default: i64,
}

/// A macro given to the compiler: `-D name=value`, where value is an expression over task symbols and tunables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Define {
    /// Macro name.
    pub name: String,
    /// What it expands to.
    pub value: DefineValue,
}

/// Right-hand side of a [`Define`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefineValue {
    /// The number an expression yields.
    Expr(Expr),
    /// The candidate language's name for the dtype of this tensor.
    TypeOf(String),
    /// Verbatim text.
    Text(String),
}

/// A device buffer the candidate needs beside the task's tensors; uninitialised at launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scratch {
    /// Name that arguments refer to.
    pub name: String,
    /// Size in bytes.
    pub bytes: Expr,
}

/// What a kernel argument is bound to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Binding {
    /// A tensor of the task, by name.
    Tensor(String),
    /// A scratch buffer of the recipe, by name.
    Scratch(String),
    /// The bytes of one scalar, converted to the parameter's own type.
    Scalar(Expr),
    /// A packed struct or array of scalars, in order; `(MSL scalar type name, value)`.
    Struct(Vec<(String, Expr)>),
    /// Threadgroup memory of this many bytes.
    Threadgroup(Expr),
}

/// One argument: which parameter, and what it is bound to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Parameter name in the kernel's signature, or its decimal buffer index.
    pub param: String,
    /// What it is bound to.
    pub binding: Binding,
}

/// One dispatch of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dispatch {
    /// Entry point (its `host_name` if it has one).
    pub kernel: String,
    /// Number of threadgroups per axis.
    pub grid: [Expr; 3],
    /// Threads per threadgroup per axis.
    pub threadgroup: [Expr; 3],
    /// Explicit arguments. A parameter that is not listed is bound by its own name to a tensor, scratch buffer or
    /// scalar symbol of the task; if there is none, that is an error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Argument>,
    /// Function constants, by name or decimal index.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, Expr>,
    /// Launched only where this is non-zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Expr>,
    /// How many times it is launched in a row (default once).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Expr>,
}

/// A condition on symbols and tunables, with the sentence shown when it does not hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Non-zero where the candidate applies.
    pub expr: Expr,
    /// Why it is needed.
    pub why: String,
}

/// The launch recipe: everything needed to run a candidate on one workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Macros for the compiler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defines: Vec<Define>,
    /// Extra buffers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scratch: Vec<Scratch>,
    /// Dispatches, in order; each sees the writes of those before it.
    pub dispatches: Vec<Dispatch>,
    /// Where the candidate applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Requirement>,
}

/// Content address of a candidate: 128 bits of BLAKE3 over its normalised content, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CandidateId(pub String);

impl CandidateId {
    /// First eight characters, for display.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }
}

impl std::fmt::Display for CandidateId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A candidate: what the coder writes and the judge is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Source language.
    pub language: Language,
    /// Source files; the first is the one that is compiled, the others can be included by it.
    pub files: Vec<SourceFile>,
    /// Launch recipe.
    pub recipe: Recipe,
    /// Declared tunables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunables: Vec<Tunable>,
    /// Chosen value per tunable; a tunable that is missing here has its default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, i64>,
}
