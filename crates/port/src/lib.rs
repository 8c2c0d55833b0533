//! The translation layer: reads CUDA, knows the concepts, drafts Metal, proves it equal.
//!
//! Knows CUDA, Metal and how they relate. Must not know the search.

pub mod cuda;
