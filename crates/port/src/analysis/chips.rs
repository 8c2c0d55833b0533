//! The two ends of a port: the CUDA chip a kernel was written for and the Apple chip it goes to, as far as a static
//! estimate needs them. Knows no kernel.

use ksearch_apple::Chip;
use serde::{Deserialize, Serialize};

/// Rates and limits of a chip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChipSide {
    /// Name, e.g. `h100`, `m3-max`.
    pub name: String,
    /// Bandwidth of main memory, GB/s.
    pub dram_gbs: f64,
    /// Peak f32 arithmetic, GFLOP/s.
    pub f32_gflops: f64,
    /// Peak of the matrix path in 16 bits with f32 accumulation, GFLOP/s.
    pub matrix_gflops: f64,
    /// Shared or threadgroup memory a block may use, bytes.
    pub shared_bytes: u64,
    /// Threads per block at most.
    pub max_threads: u32,
    /// Where the values are from.
    #[serde(default)]
    pub sources: Vec<String>,
}

impl ChipSide {
    /// The Apple side.
    pub fn of_apple(chip: &Chip) -> Self {
        Self {
            name: chip.name.clone(),
            dram_gbs: chip.dram_gbs,
            f32_gflops: chip.peak_gflops(),
            // 8x8 products run on the ordinary ALUs.
            matrix_gflops: chip.peak_gflops() * chip.fp16_ratio,
            shared_bytes: u64::from(chip.max_threadgroup_bytes),
            max_threads: chip.max_threads,
            sources: vec!["chips/ of this project".into()],
        }
    }

    /// Floating operations per byte at which arithmetic and memory take the same time.
    pub fn balance(&self, matrix: bool) -> f64 {
        (if matrix { self.matrix_gflops } else { self.f32_gflops }) / self.dram_gbs
    }
}
