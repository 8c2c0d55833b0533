//! Candidates: source files, a launch recipe, tunables and their values. Immutable, plain, hashed, serialisable.
//! Must not know who wrote them, how they are compiled, or whether they are right.

mod load;
mod normal;
mod recipe;
mod resolve;
pub mod scalar;

pub use load::from_source;
pub(crate) use recipe::is_identifier;
pub use resolve::{Bound, RecipeError, Resolved, ResolvedDispatch, ResolvedScratch};

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::dtype::DType;
use crate::expr::Expr;
use crate::file::FileError;

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

impl Language {
    /// The language of a file, by its name.
    pub fn of_path(path: &str) -> Option<Self> {
        match Path::new(path).extension()?.to_str()? {
            "metal" | "msl" => Some(Self::Msl),
            "cu" | "cuh" => Some(Self::Cuda),
            "cpp" | "cc" | "cxx" => Some(Self::Cpp),
            _ => None,
        }
    }

    /// What the language calls a dtype.
    pub const fn type_name(self, dtype: DType) -> &'static str {
        match (self, dtype) {
            (Self::Msl, d) => d.msl_name(),
            (_, DType::F32) => "float",
            (Self::Cuda, DType::F16) => "__half",
            (Self::Cuda, DType::BF16) => "__nv_bfloat16",
            (Self::Cpp, DType::F16) => "_Float16",
            (Self::Cpp, DType::BF16) => "__bf16",
            (_, DType::I32) => "int",
            (_, DType::U32) => "unsigned int",
            (_, DType::U8) => "unsigned char",
        }
    }
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

/// A macro given to the compiler: `-D name=value`, where value is an expression over task symbols, tunables and defines
/// before it. A numeric define is a symbol to everything after it in the recipe.
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
    /// Threadgroups per cluster per axis, where the target has clusters (CUDA); without it there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[Expr; 3]>,
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

impl Candidate {
    /// Reads a candidate: the source file, its launch recipe (a `/* ksearch … */` comment in it, or `FILE.toml` beside
    /// it), and the files beside it that it includes by a quoted name.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        load::from_path(path)
    }

    /// Makes a candidate of texts that are at hand: `main` is the path of the main file, which holds its recipe in a
    /// `/* ksearch … */` comment; files that it does not include are left out.
    pub fn from_texts(main: &str, files: &[SourceFile]) -> Result<Self, FileError> {
        let text = |path: &str| files.iter().find(|f| f.path == path).map(|f| f.text.clone());
        let main_text = text(main).ok_or_else(|| FileError::whole(main, "is not among the files"))?;
        load::from_source(main, &main_text, None, &text)
    }

    /// Content address: equal for candidates that differ only in comments, spacing, the name of the main file and the
    /// spelling of equal expressions.
    pub fn id(&self) -> CandidateId {
        normal::id(self)
    }

    /// Value of a tunable: the chosen one, else its default.
    pub fn value_of(&self, tunable: &Tunable) -> i64 {
        self.values.get(&tunable.name).copied().unwrap_or(tunable.default)
    }

    /// The recipe and tunables in the format that [`Candidate::load`] reads; chosen values become the defaults.
    pub fn recipe_toml(&self) -> String {
        recipe::write(self)
    }

    /// This candidate with its recipe written as a comment at the head of the main file (in place of one that is
    /// there), so that the file alone is the candidate.
    #[must_use]
    pub fn with_recipe_comment(mut self) -> Self {
        let block = format!("/* ksearch\n{}*/\n", self.recipe_toml());
        if let Some(main) = self.files.first_mut() {
            main.text = match load::find_block(&main.text) {
                Some(found) => {
                    let end = main.text.get(found.end..).unwrap_or("");
                    let rest = end.strip_prefix('\n').unwrap_or(end);
                    format!("{}{block}{rest}", main.text.get(..found.start).unwrap_or(""))
                }
                None => format!("{block}{}", main.text),
            };
        }
        self
    }
}
