//! Diagnostics: what is wrong, where in the user's own files, what to do. Knows nothing about compilation.

use serde::{Deserialize, Serialize};

/// A position in one of the user's files.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SourcePos {
    /// File as the user named it.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in characters; 0 when unknown.
    pub column: u32,
}

impl std::fmt::Display for SourcePos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.column == 0 {
            write!(f, "{}:{}", self.file, self.line)
        } else {
            write!(f, "{}:{}:{}", self.file, self.line, self.column)
        }
    }
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The module cannot be used.
    Error,
    /// Suspicious, but usable.
    Warning,
    /// Belongs to the diagnostic before it.
    Note,
}

/// One finding about a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable identifier, e.g. `unknown-function`, `unsupported-texture`.
    pub code: String,
    /// What happened, one sentence.
    pub message: String,
    /// Where, when there is a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pos: Option<SourcePos>,
    /// What to do, one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}
