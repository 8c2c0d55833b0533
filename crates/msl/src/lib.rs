//! Front end for the Metal Shading Language and for CUDA device code: checks, reflection, LLVM IR (or PTX) through clang, diagnostics in the user's lines.
//!
//! Knows both languages. Must not know how a module is executed.

pub mod abi;
mod clang;
mod compile;
pub mod corpus;
pub mod diag;
mod driver;
mod ir;
mod library;
mod messages;
pub mod module;
mod pp;
mod prepass;
mod source;

pub use compile::{Checked, Compiler, compile, entry_points};
pub use diag::{Diagnostic, Severity, SourcePos};
pub use driver::toolchain::{NoToolchain, Origin, Toolchain, cache_dir};
pub use module::{
    CompileOptions, EntryPoint, Language, Module, Optimise, Param, ParamKind, PtxModule, ThreadgroupVariable,
};
pub use source::SourceFile;
