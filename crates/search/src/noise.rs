//! When is a time better than another? Must not know what was timed.

use ksearch_task::{Figure, FigureKind};

/// Is `new` faster than `old` by more than noise? The gain must exceed `min_gain` (relative) and, where the figures
/// carry intervals, the intervals must not overlap. Simulated times of one target err together: their intervals say how
/// far both may be off, not how far they may be apart, so they steer by their values alone.
pub fn is_faster(new: &Figure, old: &Figure, min_gain: f64) -> bool {
    let together = new.kind == FigureKind::Simulated && old.kind == FigureKind::Simulated && new.on == old.on;
    let apart = match (new.ci, old.ci) {
        _ if together => true,
        (Some([_, high]), Some([low, _])) => high < low,
        (Some([_, high]), None) => high < old.value,
        (None, Some([low, _])) => new.value < low,
        (None, None) => true,
    };
    apart && new.value < old.value * (1.0 - min_gain)
}

/// Are two times the same within noise?
pub fn is_same(a: &Figure, b: &Figure, min_gain: f64) -> bool {
    !is_faster(a, b, min_gain) && !is_faster(b, a, min_gain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_within_noise_is_not_progress() {
        let simulated = |v| Figure::simulated_us(v, "test");
        assert!(is_faster(&simulated(98.0), &simulated(100.0), 0.01));
        assert!(!is_faster(&simulated(99.5), &simulated(100.0), 0.01), "the original took 0.1% steps for ever");
        let unsure = |v: f64| Figure { ci: Some([v / 2.0, v * 2.0]), ..simulated(v) };
        assert!(is_faster(&unsure(90.0), &unsure(100.0), 0.01), "one model's errors are common to both");
        let measured = |v: f64, w: f64| Figure::measured_us(v, "test", [v - w, v + w]);
        assert!(!is_faster(&measured(95.0, 4.0), &measured(100.0, 4.0), 0.01), "intervals overlap");
        assert!(is_faster(&measured(95.0, 1.0), &measured(100.0, 1.0), 0.01));
        assert!(is_same(&measured(95.0, 4.0), &measured(100.0, 4.0), 0.01));
        assert!(!is_same(&simulated(90.0), &simulated(100.0), 0.01));
    }
}
