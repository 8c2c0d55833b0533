//! Reads textual LLVM IR as clang 16 to 22 print it. Knows the IR's grammar; must not know how it is run.
//!
//! The reader is tolerant: attributes, flags, linkage, metadata and records that cannot change what a kernel computes
//! are skipped, whatever their names are. What it does not understand is a [`ReadError`] with the line of the IR.

mod cursor;
mod debug;
pub mod ir;
mod lexer;
mod parse_const;
mod parse_inst;
mod parser;

pub use parser::read;

/// The text is not LLVM IR that the reader knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("LLVM IR, line {line}: {message}")]
pub struct ReadError {
    /// 1-based line of the IR text.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

impl ReadError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}
