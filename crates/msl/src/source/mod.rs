//! Source text: the user's files, tokens, and where each token stands. Knows nothing of MSL's meaning.

pub mod lexer;
pub mod token;

pub use token::{Kind, Loc, Token};

/// One file a candidate consists of. The first file of a set is the one that is compiled; the others resolve
/// `#include "name"`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceFile {
    /// Name as the user knows it; diagnostics and debug locations use it verbatim.
    pub name: String,
    /// UTF-8 text.
    pub text: String,
}

impl SourceFile {
    /// A file from its name and text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}
