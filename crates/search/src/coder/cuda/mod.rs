//! Generators of CUDA kernels: one module a task. Must not know what is measured.

pub(super) mod attention;
pub(super) mod selective_scan;
#[cfg(test)]
mod testing;
