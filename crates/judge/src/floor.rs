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

/// Seconds a perfect implementation would take: each resource at its attainable rate, perfectly overlapped. Arithmetic on
/// 16-bit inputs may be done by units that take such operands (an NVIDIA GPU's tensor cores), at their rate.
pub fn attainable(work: &Work, facts: &TargetFacts) -> f64 {
    let half = facts.peak_f16_gflops.filter(|_| work.half).unwrap_or(0.0);
    let rate = facts.peak_gflops.map_or(f64::INFINITY, |g| g.max(half) * 1e9);
    let special = facts.exp_giga_per_s.map_or(f64::INFINITY, |g| g * 1e9);
    let memory = facts.memory_gbs.map_or(f64::INFINITY, |g| g * 1e9);
    (work.flops / rate).max(work.specials / special).max(work.bytes / memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ksearch_task::builtin;

    /// A card whose tensor cores multiply fifteen times as fast as its other units.
    fn card() -> TargetFacts {
        TargetFacts {
            name: "a card".into(),
            peak_gflops: Some(60_000.0),
            peak_f16_gflops: Some(900_000.0),
            exp_giga_per_s: None,
            memory_gbs: Some(4_000.0),
            cores: 100,
            max_threads: 1024,
            threadgroup_memory: 49152,
            estimated: Vec::new(),
        }
    }

    #[test]
    fn tensor_cores_count_for_16_bit_inputs_only() {
        let task = builtin::task("attention").unwrap();
        let mut seen = [false; 2];
        for w in &task.workloads {
            let work = task.work(&w.env).unwrap();
            let dtype = w.env["T"].to_string();
            assert_eq!(work.half, dtype != "f32", "{}", w.label);
            let rate = if work.half { 900e12 } else { 60e12 };
            assert_eq!(attainable(&work, &card()), (work.flops / rate).max(work.bytes / 4e12), "{}", w.label);
            assert!(attainable(&work, &card()) >= impossible_below(&work, &card()));
            seen[usize::from(work.half)] = true;
        }
        assert_eq!(seen, [true, true]);
    }
}
