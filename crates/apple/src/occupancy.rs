//! How many simdgroups stay resident on a core, and what limits them. Knows no time.

use crate::chip::Chip;

/// What limits residency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OccupancyLimit {
    /// The register file.
    Registers,
    /// Threadgroup memory of the core.
    ThreadgroupMemory,
    /// The core's own maximum of simdgroups.
    Threads,
    /// Fewer threadgroups than the cores could hold.
    Grid,
}

impl OccupancyLimit {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::ThreadgroupMemory => "threadgroup_memory",
            Self::Threads => "threads",
            Self::Grid => "grid",
        }
    }
}

/// Residency of one dispatch on one core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// Threadgroups resident on a busy core.
    pub groups: u32,
    /// Simdgroups resident on a busy core.
    pub simdgroups: u32,
    /// `simdgroups` over the chip's maximum.
    pub fraction: f64,
    /// What limits it.
    pub limit: OccupancyLimit,
}

/// Threads a threadgroup of a kernel with this many live 16-bit register halves may have.
/// The table of Mesa's Asahi compiler: floor(212992 / (2 halves)) down to a multiple of 64, at most 1024, at least 384.
pub fn max_threads_by_registers(chip: &Chip, halves: u32) -> u32 {
    if !chip.registers_bound_occupancy || halves == 0 {
        return chip.max_threads;
    }
    // Registers are handed out eight halves at a time.
    let halves = halves.div_ceil(8) * 8;
    (106_496 / halves / 64 * 64).clamp(384, chip.max_threads)
}

/// 16-bit register halves that a thread may have where a threadgroup may have `threads` threads: the same table, read
/// the other way.
pub fn register_halves_by_threads(chip: &Chip, threads: u32) -> u32 {
    if !chip.registers_bound_occupancy {
        return 256;
    }
    (106_496 / threads.max(1) / 8 * 8).clamp(8, 256)
}

/// Residency of threadgroups of `threads` threads, `halves` register halves a thread and `memory` bytes of threadgroup
/// memory, when `groups` of them are launched.
pub fn occupancy(chip: &Chip, threads: u32, halves: u32, memory: u32, groups: u64) -> Occupancy {
    let simds = threads.div_ceil(32).max(1);
    // Spilling starts at 256 halves; a thread never occupies more.
    let halves = halves.clamp(8, 256).div_ceil(8) * 8;
    let by_registers =
        if chip.registers_bound_occupancy { chip.register_file_bytes / (64 * halves) } else { chip.max_simdgroups };
    let candidates = [
        (by_registers / simds, OccupancyLimit::Registers),
        (chip.core_threadgroup_bytes.checked_div(memory).unwrap_or(u32::MAX), OccupancyLimit::ThreadgroupMemory),
        (chip.max_simdgroups / simds, OccupancyLimit::Threads),
        (groups.div_ceil(u64::from(chip.cores)).min(u64::from(u32::MAX)) as u32, OccupancyLimit::Grid),
    ];
    let (resident, limit) = candidates.into_iter().min_by_key(|(n, _)| *n).unwrap_or((1, OccupancyLimit::Threads));
    // What was launched fits at least once: the launch limits guarantee it.
    let resident = resident.max(1);
    let simdgroups = (resident * simds).min(chip.max_simdgroups.max(simds));
    Occupancy { groups: resident, simdgroups, fraction: f64::from(simdgroups) / f64::from(chip.max_simdgroups), limit }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn m1_max() -> Chip {
        crate::Chips::embedded().and_then(|c| c.get("m1-max")).unwrap()
    }

    #[test]
    fn launch_limits_reproduce_the_published_table() {
        let chip = m1_max();
        for (halves, threads) in [
            (104, 1024),
            (112, 896),
            (128, 832),
            (136, 768),
            (144, 704),
            (160, 640),
            (184, 576),
            (208, 512),
            (232, 448),
            (256, 384),
        ] {
            assert_eq!(max_threads_by_registers(&chip, halves), threads, "{halves} halves");
            assert_eq!(register_halves_by_threads(&chip, threads), halves, "{threads} threads");
        }
    }

    #[test]
    fn each_resource_can_be_the_limit() {
        let chip = m1_max();
        assert_eq!(occupancy(&chip, 128, 128, 0, 1 << 20).limit, OccupancyLimit::Registers);
        let tg = occupancy(&chip, 128, 32, 20 * 1024, 1 << 20);
        assert_eq!((tg.limit, tg.groups), (OccupancyLimit::ThreadgroupMemory, 3));
        assert_eq!(occupancy(&chip, 128, 16, 0, 1 << 20).limit, OccupancyLimit::Threads);
        assert_eq!(occupancy(&chip, 128, 32, 0, 32).limit, OccupancyLimit::Grid);
        assert_eq!(occupancy(&chip, 1024, 256, 32768, 1).groups, 1);
    }
}
