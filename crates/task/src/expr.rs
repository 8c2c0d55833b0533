//! Expressions over named integers and reals: shapes, launch sizes, work counts. Knows nothing about tasks.

use serde::{Deserialize, Serialize};

/// Result of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An exact integer.
    Int(i64),
    /// A real number.
    Real(f64),
}

/// Why an expression was refused or could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (column {column} of `{text}`)")]
pub struct ExprError {
    /// What is wrong and what to do.
    pub message: String,
    /// The expression.
    pub text: String,
    /// 1-based column in `text`.
    pub column: usize,
}

/// Names an expression may use, with their values.
pub trait Scope {
    /// Value of `name`, if it is known.
    fn get(&self, name: &str) -> Option<Value>;
    /// Known names, for messages.
    fn names(&self) -> Vec<String>;
}

/// A parsed expression. Serialised as its text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expr {
    text: String,
}
