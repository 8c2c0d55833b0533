//! Samples of a launch: which threadgroups to run when all would be too many. Knows grids; must not know chips or time.

use ksearch_simt::{Launch, Limits, Memory, Mode, Outcome, Program, RunError};

/// How much of a launch to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Simdgroup instructions that a launch may take before only a part of its threadgroups is run.
    pub instructions: u64,
    /// Threadgroups that are run at most, unless there are none beyond them.
    pub groups: u64,
}

impl Sampling {
    /// Everything runs.
    pub const EXACT: Self = Self { instructions: u64::MAX, groups: u64::MAX };
    /// Enough for a time: a second or so of simulation for each dispatch.
    pub const QUICK: Self = Self { instructions: 12_000_000, groups: 2048 };
}

/// Fewest threadgroups in a sample.
const FEWEST: u64 = 12;
/// Stretches of neighbouring threadgroups in a sample.
const STRETCHES: u64 = 6;
/// Threadgroups that are run to see what one costs.
const PROBES: u64 = 5;

/// The threadgroups to run of `total`, when one costs `each` instructions; `None` for all. The sample is stratified:
/// equal stretches of neighbours, one in each sixth of the grid, at places inside it that follow the golden ratio, so
/// that no period of the grid (rows of tiles, heads) can be in step with them.
pub fn choose(total: u64, each: u64, sampling: Sampling) -> Option<Vec<u64>> {
    let affordable = (sampling.instructions / each.max(1)).max(FEWEST).min(sampling.groups.max(FEWEST));
    if total <= affordable.saturating_add(affordable / 4) {
        return None;
    }
    let length = (affordable / STRETCHES).max(1);
    let stride = total / STRETCHES;
    let mut out = Vec::new();
    for i in 0..STRETCHES {
        let golden = (0.5 + i as f64 * 0.618_033_988_75).fract();
        let room = stride.saturating_sub(length) as f64;
        let start = i * stride + (golden * room) as u64;
        out.extend((start..start + length).filter(|g| *g < total));
    }
    out.dedup();
    Some(out)
}

/// Threadgroups that show what one costs. Several, at places that no period of the grid is in step with: the first tile of
/// a causal head, say, has next to nothing to do.
fn probes(total: u64) -> Vec<u64> {
    // Steele, Lea and Flood's mixing function (SplitMix64): the same places every time, without any order.
    let scattered = |i: u64| {
        let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % total
    };
    let mut out: Vec<u64> = (1..=PROBES).map(scattered).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Runs a launch, or a sample of it, with all counters. Memory is as the launch (or the sample) leaves it.
pub fn profile(
    program: &Program,
    kernel: &str,
    launch: &Launch,
    memory: &mut Memory,
    limits: &Limits,
    sampling: Sampling,
) -> Result<Outcome, RunError> {
    let total = launch.group_count();
    let mut launch = launch.clone();
    if sampling != Sampling::EXACT && total > FEWEST {
        let probes = probes(total);
        let count = probes.len() as u64;
        launch.only = Some(probes);
        let some = program.run(kernel, &launch, memory, limits, Mode::Fast)?;
        if !some.faults.is_empty() {
            return Ok(some);
        }
        let all: u64 = some.counters.instructions.iter().sum();
        launch.only = choose(total, all.div_ceil(count), sampling);
    }
    program.run(kernel, &launch, memory, limits, Mode::Profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_groups_run_whole_and_many_are_sampled_evenly() {
        let s = Sampling { instructions: 1000, groups: 600 };
        assert_eq!(choose(120, 10, s), None);
        let sample = choose(6000, 10, s).expect("a sample");
        assert_eq!(sample.len(), 96);
        for k in 0..6 {
            let inside = sample.iter().filter(|g| **g / 1000 == k).count();
            assert_eq!(inside, 16, "stratum {k}");
        }
        assert!(sample.windows(2).all(|w| w[0] < w[1]) && sample.iter().all(|g| *g < 6000));
        // However dear a group is, some run.
        assert_eq!(choose(6000, 1 << 40, s).map(|s| s.len()), Some(12));
        assert_eq!(choose(1 << 40, 1, Sampling::EXACT), None);
    }

    #[test]
    fn probes_meet_cheap_and_dear_tiles() {
        for (tiles, heads) in [(128, 8), (32, 8), (64, 32), (16, 4)] {
            let tiles_met: Vec<u64> = probes(tiles * heads).iter().map(|g| g % tiles).collect();
            let mean = tiles_met.iter().sum::<u64>() as f64 / tiles_met.len() as f64 / tiles as f64;
            assert!((0.3..0.75).contains(&mean), "{tiles} x {heads}: {tiles_met:?}");
        }
        assert_eq!(probes(1), [0]);
    }

    #[test]
    fn no_period_of_the_grid_is_in_step_with_the_sample() {
        let sample = choose(64 * 96, 1, Sampling { instructions: 96, groups: 96 }).expect("a sample");
        let mut phases: Vec<u64> = sample.iter().map(|g| g % 64 / 16).collect();
        phases.sort_unstable();
        phases.dedup();
        assert_eq!(phases.len(), 4, "all quarters of a row of 64 are seen");
    }
}
