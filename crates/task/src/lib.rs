//! Tasks, candidates and the vocabulary that every part of K-Search shares.
//!
//! Knows tensors, dtypes, shapes as expressions, workloads, f64 references, input generators, tolerances and the
//! physical floor of an operation. Must not know how anything is compiled, run or searched.

pub mod builtin;
pub mod candidate;
pub mod compare;
pub mod dtype;
pub mod expr;
pub mod figure;
pub mod file;
pub mod generate;
pub mod npy;
pub mod reference;
pub mod scaffold;
pub mod spec;
pub mod tensor;

pub use candidate::{Candidate, CandidateId, Language, SourceFile, Tunable};
pub use compare::{Comparison, Tolerance};
pub use dtype::DType;
pub use expr::{Expr, ExprError, Scope, Value};
pub use figure::{Bottleneck, Figure, FigureKind};
pub use file::FileError;
pub use spec::{Env, Purpose, Reference, Role, Set, Task, TaskError, TensorInfo, Tensors, Workload};
pub use tensor::{Exact, Tensor};
