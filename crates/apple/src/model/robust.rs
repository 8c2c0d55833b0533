//! Is one launch faster than another beyond the model's doubt? Times both with many sets of parameters, each drawn within
//! its bounds. Knows the model; must not know kernels.

use super::params::{ModelFile, Param, Params};
use super::{Features, time, total};
use crate::chip::Chip;

/// Sets of parameters that are tried.
const DRAWS: u64 = 96;

/// How sure it is that one launch is faster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robustness {
    /// Time of the other over the time of this one, with the fitted parameters: above 1, this one is faster.
    pub ratio: f64,
    /// Nine in ten draws of parameters gave a ratio inside.
    pub interval: (f64, f64),
    /// Share of the draws in which this one is faster.
    pub share: f64,
    /// The ratio by resource bounds alone.
    pub simple: f64,
}

impl Robustness {
    /// Does the win count? The interval excludes 1, and the simpler estimate does not contradict.
    pub fn wins(&self) -> bool {
        self.interval.0 > 1.0 && self.simple > 0.97
    }
}

/// Compares `this` with `other`.
pub fn compare(chip: &Chip, file: &ModelFile, this: &[Features], other: &[Features]) -> Robustness {
    let fitted = file.params();
    let ratio = |p: &Params| total(chip, p, other, 1.0) / total(chip, p, this, 1.0);
    let simple = |list: &[Features]| list.iter().map(|f| time(chip, &fitted, f, 1.0).simple * f.repeat).sum::<f64>();
    let mut ratios: Vec<f64> = (0..DRAWS).map(|i| ratio(&drawn(file, &fitted, i))).filter(|r| r.is_finite()).collect();
    ratios.sort_by(f64::total_cmp);
    let at =
        |q: f64| ratios.get((q * (ratios.len().saturating_sub(1)) as f64).round() as usize).copied().unwrap_or(1.0);
    let faster = ratios.iter().filter(|r| **r > 1.0).count();
    Robustness {
        ratio: ratio(&fitted),
        interval: (at(0.05), at(0.95)),
        share: faster as f64 / ratios.len().max(1) as f64,
        simple: simple(other) / simple(this),
    }
}

/// Draw number `i`: each parameter moves, in its logarithm, half way towards one of its bounds at most. The draws fill
/// the space evenly: a sequence of golden-ratio steps for each parameter.
fn drawn(file: &ModelFile, fitted: &Params, i: u64) -> Params {
    let mut out = fitted.clone();
    for (k, &q) in Param::ALL.iter().enumerate() {
        let step = (0.618_033_988_75 + 0.414_213_562_37 * k as f64).fract();
        let u = 2.0 * ((i as f64 + 0.5) * step + 0.754_877_666 * k as f64).fract() - 1.0;
        let (lo, hi) = file.bounds(q);
        let v = fitted.get(q);
        let end = if u < 0.0 { lo } else { hi };
        out = out.with(q, v * (end / v).powf(u.abs() * 0.5));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ksearch_simt::InstrClass;

    fn features(fp32: f64) -> Features {
        let mut instructions = vec![0.0; InstrClass::COUNT];
        instructions[InstrClass::Fp32 as usize] = fp32;
        Features {
            groups: 4096.0,
            simdgroups: 8.0,
            threads: 256,
            repeat: 1.0,
            instructions,
            live: 30.0,
            sampled: 1.0,
            imbalance: 1.0,
            ..Features::default()
        }
    }

    #[test]
    fn half_the_work_wins_whatever_the_parameters_and_the_same_work_never_does() {
        let chip = crate::Chips::embedded().and_then(|c| c.get("m1-max")).unwrap();
        let file = ModelFile::embedded().unwrap();
        let r = compare(&chip, &file, &[features(5000.0)], &[features(10_000.0)]);
        assert!(r.wins() && r.share == 1.0 && r.ratio > 1.5, "{r:?}");
        assert!(r.interval.0 <= r.ratio && r.ratio <= r.interval.1 + 0.05, "{r:?}");
        let same = compare(&chip, &file, &[features(5000.0)], &[features(5000.0)]);
        assert!(!same.wins() && same.share == 0.0, "{same:?}");
    }

    #[test]
    fn draws_stay_within_bounds_and_differ() {
        let file = ModelFile::embedded().unwrap();
        let fitted = file.params();
        let (a, b) = (drawn(&file, &fitted, 0), drawn(&file, &fitted, 1));
        assert_ne!(a, b);
        for &q in Param::ALL {
            let (lo, hi) = file.bounds(q);
            assert!((lo * 0.999..=hi * 1.001).contains(&a.get(q)), "{q:?}");
        }
    }
}
