//! The physical floor: no implementation can be faster on this target. Knows work and rates, no kernel.

use ksearch_device::TargetFacts;
use ksearch_task::spec::Work;

/// Caches may hold the data; how much faster than main memory the first of them can be at most. SLC is about twice
/// DRAM and L2 about three to six times (apple-gpu notes, section 3; the H200's L2 is about twice HBM).
const CACHE_SPEEDUP: f64 = 8.0;

/// Seconds below which a time is not possible, and whether anything is known at all.
///
/// Deliberately generous: what is faster than this is not a record but a mistake. 16-bit peak rates count for all
/// arithmetic (matrix units included in the facts), exponentials may be done on either pipe.
pub fn impossible_below(work: &Work, facts: &TargetFacts) -> f64 {
    let rate = facts.peak_gflops.unwrap_or(f64::INFINITY).max(facts.peak_f16_gflops.unwrap_or(0.0)) * 1e9;
    let memory = facts.memory_gbs.map_or(f64::INFINITY, |g| g * 1e9 * CACHE_SPEEDUP);
    (work.flops / rate).max(work.bytes / memory)
}

/// Seconds a perfect implementation would take: each resource at its attainable rate, perfectly overlapped.
pub fn attainable(work: &Work, facts: &TargetFacts) -> f64 {
    let rate = facts.peak_gflops.map_or(f64::INFINITY, |g| g * 1e9);
    let special = facts.exp_giga_per_s.map_or(f64::INFINITY, |g| g * 1e9);
    let memory = facts.memory_gbs.map_or(f64::INFINITY, |g| g * 1e9);
    (work.flops / rate).max(work.specials / special).max(work.bytes / memory)
}
