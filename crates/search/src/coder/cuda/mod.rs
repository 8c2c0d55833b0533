//! Generators of CUDA kernels: one module a task. Must not know what is measured.

pub(super) mod attention;
pub(super) mod conv1d_silu;
pub(super) mod gated_rms_norm;
pub(super) mod scan_step;
pub(super) mod selective_scan;
pub(super) mod ssd;
#[cfg(test)]
pub(super) mod testing;
