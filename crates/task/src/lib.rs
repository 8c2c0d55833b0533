//! Tasks, candidates and the vocabulary that every part of K-Search shares.
//!
//! Knows tensors, dtypes, shapes as expressions, workloads, f64 references, input generators, tolerances and the
//! physical floor of an operation. Must not know how anything is compiled, run or searched.

pub mod candidate;
pub mod dtype;
pub mod expr;
pub mod figure;

pub use candidate::{Candidate, CandidateId, Language, SourceFile, Tunable};
pub use dtype::DType;
pub use expr::{Expr, ExprError, Scope, Value};
pub use figure::{Bottleneck, Figure, FigureKind};
