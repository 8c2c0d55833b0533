//! What a strategy should gain on a kernel with a given profile. Must not know the tree.

use ksearch_device::Profile;
use ksearch_task::Bottleneck;

use crate::strategy::Effect;

/// The exponent with which the timing model joins its terms; between the sum (1) and the largest alone (infinity).
const NORM: f64 = 4.0;

/// The class of a term of a profile; terms that are not known count towards what bounds the kernel.
fn class(term: &str, bound: Bottleneck) -> Bottleneck {
    match term {
        "issue" | "compute" | "alu" => Bottleneck::Compute,
        "l1" | "threadgroup" | "l2" | "slc" | "dram" | "memory" | "bandwidth" => Bottleneck::Bandwidth,
        "latency" => Bottleneck::Latency,
        "sync" | "synchronization" | "dispatch" | "launch" => Bottleneck::Synchronization,
        _ => bound,
    }
}

/// Share of the time that each class bounds, in the order of [`Bottleneck::ALL`]; they add up to 1.
pub fn shares(profile: Option<&Profile>) -> [f64; 4] {
    let Some(profile) = profile else { return [0.25; 4] };
    let mut sums = [0.0; 4];
    for (term, time) in &profile.terms {
        let class = class(term, profile.bottleneck);
        for (sum, known) in sums.iter_mut().zip(Bottleneck::ALL) {
            if known == class && *time > 0.0 {
                *sum += time.powf(NORM);
            }
        }
    }
    let total: f64 = sums.iter().sum();
    if total <= 0.0 {
        return Bottleneck::ALL.map(|c| if c == profile.bottleneck { 1.0 } else { 0.0 });
    }
    sums.map(|s| s / total)
}

/// Expected time before over time after.
pub fn gain(profile: Option<&Profile>, effect: &Effect) -> f64 {
    let after: f64 =
        shares(profile).iter().zip(Bottleneck::ALL).map(|(share, class)| share * effect.on(class).powf(NORM)).sum();
    after.powf(-1.0 / NORM).clamp(0.25, 16.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use indexmap::IndexMap;
    use ksearch_task::Figure;

    fn profile(terms: &[(&str, f64)]) -> Profile {
        Profile {
            time: Figure::simulated_us(1.0, "test"),
            bottleneck: Bottleneck::Latency,
            terms: terms.iter().map(|(n, t)| ((*n).to_owned(), *t)).collect(),
            instructions: IndexMap::new(),
            bytes: IndexMap::new(),
            occupancy: 1.0,
            occupancy_limit: "threads".into(),
            registers: None,
            threadgroup_memory: 0,
            conflict_share: 0.0,
            barriers: 0.0,
            divergence: 0.0,
            floor_fraction: None,
            resources: IndexMap::new(),
            advice: vec![],
        }
    }

    #[test]
    fn only_what_bounds_the_kernel_is_worth_attacking() {
        let p = profile(&[("l2", 100.0), ("issue", 20.0), ("latency", 10.0)]);
        let halve_bytes = Effect { bandwidth: 0.5, ..Effect::NONE };
        let halve_work = Effect { compute: 0.5, ..Effect::NONE };
        assert!((gain(Some(&p), &halve_bytes) - 2.0).abs() < 0.1);
        assert!(gain(Some(&p), &halve_work) < 1.01);
        assert_eq!(gain(Some(&p), &Effect::NONE), 1.0);
        // What becomes the next limit is respected: bytes to a tenth, but issue stays.
        let tenth = Effect { bandwidth: 0.1, ..Effect::NONE };
        assert!(gain(Some(&p), &tenth) < 5.0);
        assert!(gain(None, &halve_bytes) > 1.0, "without a profile every class counts alike");
    }

    #[test]
    fn terms_that_are_not_known_count_towards_the_bottleneck() {
        assert_eq!(shares(Some(&profile(&[("novel", 5.0)]))), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(shares(Some(&profile(&[]))), [0.0, 1.0, 0.0, 0.0]);
    }
}
