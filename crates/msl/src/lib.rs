//! Metal Shading Language front end: checks, reflection, LLVM IR (or PTX) through clang, diagnostics in the user's lines.
//!
//! Knows MSL. Must not know how a module is executed.

pub mod abi;
pub mod diag;
pub mod module;

pub use diag::{Diagnostic, Severity, SourcePos};
pub use module::{CompileOptions, EntryPoint, Module, Optimise, Param, ParamKind};
