//! Statistics of repeated timings: median, its bootstrap interval, which samples count. Knows numbers only.

/// Resamples of a bootstrap.
const RESAMPLES: usize = 600;

/// Median of `values`; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match (sorted.get(n.wrapping_sub(1) / 2), sorted.get(n / 2)) {
        (Some(a), Some(b)) => 0.5 * (a + b),
        _ => f64::NAN,
    }
}

/// A 95% interval of `statistic` over `values`, by the percentile bootstrap. The same values give the same interval.
pub fn bootstrap(values: &[f64], statistic: impl Fn(&[f64]) -> f64) -> [f64; 2] {
    if values.is_empty() {
        return [f64::NAN, f64::NAN];
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut resample = vec![0.0; values.len()];
    let mut results: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for slot in &mut resample {
                *slot = values[(splitmix(&mut state) % values.len() as u64) as usize];
            }
            statistic(&resample)
        })
        .collect();
    results.sort_by(f64::total_cmp);
    let at = |q: f64| results[((q * RESAMPLES as f64) as usize).min(RESAMPLES - 1)];
    [at(0.025), at(0.975)]
}

/// The next number of a splitmix64 sequence.
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_its_interval_hold_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
        let values: Vec<f64> = (0..21).map(f64::from).collect();
        let [lo, hi] = bootstrap(&values, median);
        assert!(lo < 10.0 && hi > 10.0 && lo >= 3.0 && hi <= 17.0, "{lo} {hi}");
        assert_eq!(bootstrap(&[5.0; 4], median), [5.0, 5.0]);
    }
}
