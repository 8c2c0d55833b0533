//! The translation layer: reads CUDA, knows the concepts, drafts Metal, proves it equal.
//!
//! Knows CUDA, Metal and how they relate. Must not know the search.

pub mod analysis;
pub mod cuda;
pub mod knowledge;

pub use analysis::{Analysis, ChipSide, Ends, KernelClass, analyze};
pub use knowledge::Knowledge;
