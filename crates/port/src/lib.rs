//! The translation layer: reads CUDA, knows the concepts, drafts Metal, proves it equal.
//!
//! Knows CUDA, Metal and how they relate. Must not know the search.

pub mod analysis;
pub mod context;
pub mod cuda;
pub mod declare;
pub mod draft;
pub mod knowledge;

pub use analysis::{Analysis, ChipSide, Ends, KernelClass, analyze};
pub use declare::{Port, PortError, prepare};
pub use knowledge::Knowledge;
