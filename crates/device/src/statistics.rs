//! Statistics of repeated timings: median, its bootstrap interval, drift, which difference two series could show at all,
//! and the draws behind them. Pure functions of the samples; must not know what was timed.

use serde::Serialize;

/// Resamples of a bootstrap.
const RESAMPLES: usize = 1000;
/// Fewest samples that an interval can be given for.
const FEWEST: usize = 3;

/// What a series of samples says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Number of samples.
    pub samples: usize,
    /// Median.
    pub median: f64,
    /// 95% bootstrap interval of the median.
    pub interval: [f64; 2],
    /// Fastest and slowest sample.
    pub range: [f64; 2],
    /// Median of the last third over the median of the first third; 1 without drift.
    pub drift: f64,
}

/// Two series taken in turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Median of the first over the median of the second: above 1, the second is faster.
    pub ratio: f64,
    /// 95% bootstrap interval of the ratio.
    pub interval: [f64; 2],
    /// Smallest relative difference that samples like these would show (half the interval's width over the ratio).
    pub detectable: f64,
    /// Does the interval leave out 1?
    pub different: bool,
}

/// The middle value; NaN of nothing.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    middle(&sorted)
}

fn middle(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    match (sorted.get(n / 2), n % 2) {
        (Some(&high), 0) => sorted.get(n / 2 - 1).map_or(high, |low| f64::midpoint(*low, high)),
        (Some(&mid), _) => mid,
        (None, _) => f64::NAN,
    }
}

/// Summary of `samples`; `None` without any.
pub fn summary(samples: &[f64]) -> Option<Summary> {
    if samples.is_empty() {
        return None;
    }
    let third = (samples.len() / 3).max(1);
    let (first, last) = (samples.get(..third)?, samples.get(samples.len() - third..)?);
    let range = samples.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], &s| [lo.min(s), hi.max(s)]);
    let interval = if samples.len() < FEWEST { range } else { bootstrap(samples, median) };
    Some(Summary {
        samples: samples.len(),
        median: median(samples),
        interval,
        range,
        drift: median(last) / median(first),
    })
}

/// Compares two series of which the n-th samples were taken one after the other; pairs are kept together, so that what
/// slows both at a moment does not widen the interval. `None` where either is empty.
pub fn compare(first: &[f64], second: &[f64]) -> Option<Comparison> {
    let pairs: Vec<(f64, f64)> = first.iter().copied().zip(second.iter().copied()).collect();
    if pairs.is_empty() {
        return None;
    }
    let of = |pairs: &[(f64, f64)]| {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        median(&a) / median(&b)
    };
    let ratio = of(&pairs);
    let [low, high] = bootstrap(&pairs, of);
    Some(Comparison {
        ratio,
        interval: [low, high],
        detectable: (high - low) / 2.0 / ratio,
        different: low > 1.0 || high < 1.0,
    })
}

/// A 95% interval of `statistic` over `values`, by the percentile bootstrap; NaN of none. The same values give the same
/// interval.
pub fn bootstrap<T: Copy>(values: &[T], statistic: impl Fn(&[T]) -> f64) -> [f64; 2] {
    if values.is_empty() {
        return [f64::NAN, f64::NAN];
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut resample = values.to_vec();
    let mut results: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            for slot in &mut resample {
                let index = (u128::from(splitmix(&mut state)) * values.len() as u128) >> 64;
                *slot = values[index as usize];
            }
            statistic(&resample)
        })
        .collect();
    results.sort_by(f64::total_cmp);
    let at = |q: f64| results[((RESAMPLES as f64 - 1.0) * q).round() as usize];
    [at(0.025), at(0.975)]
}

/// The next number of a splitmix64 sequence.
pub const fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noisy(center: f64, count: usize, salt: u64) -> Vec<f64> {
        let mut state = salt;
        let mut uniform = || (splitmix(&mut state) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        (0..count).map(|_| center * (1.0 + 0.02 * uniform())).collect()
    }

    #[test]
    fn medians_and_intervals() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan() && summary(&[]).is_none());
        let s = summary(&noisy(100.0, 60, 1)).unwrap();
        assert!(s.interval[0] <= s.median && s.median <= s.interval[1], "{s:?}");
        assert!(s.interval[1] - s.interval[0] < 1.0 && (s.drift - 1.0).abs() < 0.01, "{s:?}");
        let drifting: Vec<f64> = (0..60).map(|i| 100.0 + f64::from(i)).collect();
        assert!(summary(&drifting).unwrap().drift > 1.3);
    }

    #[test]
    fn an_interval_holds_the_middle() {
        let values: Vec<f64> = (0..21).map(f64::from).collect();
        let [lo, hi] = bootstrap(&values, median);
        assert!(lo < 10.0 && hi > 10.0 && lo >= 3.0 && hi <= 17.0, "{lo} {hi}");
        assert_eq!(bootstrap(&[5.0; 4], median), [5.0, 5.0]);
        assert!(bootstrap(&[], median)[0].is_nan());
    }

    #[test]
    fn no_difference_is_an_answer() {
        let same = compare(&noisy(100.0, 80, 1), &noisy(100.0, 80, 2)).unwrap();
        assert!(!same.different && same.detectable < 0.01, "{same:?}");
        let faster = compare(&noisy(100.0, 80, 1), &noisy(97.0, 80, 2)).unwrap();
        assert!(faster.different && (faster.ratio - 1.031).abs() < 0.005, "{faster:?}");
    }

    #[test]
    fn noise_common_to_both_is_taken_out() {
        // Every pair is slow or fast together; the second takes 1% less.
        let wave: Vec<f64> = (0..60).map(|i| if i % 2 == 0 { 100.0 } else { 150.0 }).collect();
        let less: Vec<f64> = wave.iter().map(|w| w * 0.99).collect();
        let c = compare(&wave, &less).unwrap();
        assert!((c.ratio - 1.0 / 0.99).abs() < 0.02, "{c:?}");
    }
}
