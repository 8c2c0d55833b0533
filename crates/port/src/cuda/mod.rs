//! Reading CUDA: what a file defines, and how its host code launches it. Knows CUDA's syntax; must not judge.

pub mod constant;
pub mod host;
pub mod lex;
pub mod syntax;
pub mod unit;
