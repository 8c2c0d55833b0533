//! How well simulated times agree with measured ones: rank agreement, regret, error. Knows numbers alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Ratio of the clocks between which short work finds the GPU (M1 Pro: identical programs, 2.0 to 2.1).
pub const CLOCK_RATIO: f64 = 2.08;
/// Seconds at top clock below which a measurement may have been made at the low clock.
pub const SHORT: f64 = 2e-3;
/// Measured times closer than this are not told apart.
pub const APART: f64 = 1.1;
/// Pairs of like programs from which the noise of a size is estimated.
const ENOUGH: usize = 20;

/// Pairs of programs that were measured more than once from which a size's ceiling is estimated.
const REPEATED: usize = 200;

/// One measured and simulated time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Task.
    pub task: String,
    /// Size.
    pub size: String,
    /// Program.
    pub name: String,
    /// Measured seconds.
    pub measured: f64,
    /// Simulated seconds at top clock.
    pub simulated: f64,
    /// Simulated seconds at the low clock.
    pub low_clock: f64,
    /// What the program did, so that programs that do the same can be known; equal for such.
    pub work: u64,
}

impl Point {
    /// Factor by which the clock slowed the measurement down, as far as can be told: 1, or that of the low clock where
    /// the measurement is short and lies nearer to the simulation at that clock.
    pub fn slowdown(&self) -> f64 {
        let factor = self.low_clock / self.simulated;
        let short = self.measured / factor < SHORT;
        let at_low = (self.low_clock / self.measured).ln().abs();
        if short && at_low < (self.simulated / self.measured).ln().abs() { factor } else { 1.0 }
    }

    /// Measured seconds as they would have been at top clock.
    pub fn top(&self, clocks: Clocks) -> f64 {
        match clocks {
            Clocks::One => self.measured,
            Clocks::Two => self.measured / self.slowdown(),
        }
    }
}

/// How many clock states a short measurement may have been made at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// All at top clock.
    One,
    /// Short ones at either.
    Two,
}

/// Agreement over some points.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// Points.
    pub points: usize,
    /// Pairs of the same task and size whose measured times differ by more than 10%.
    pub pairs: usize,
    /// Share of them that the simulation orders as measured.
    pub pairwise: f64,
    /// Kendall's tau over them.
    pub tau: f64,
    /// Pairs that differ by more than what like programs differ by.
    pub resolved_pairs: usize,
    /// Share of those ordered as measured.
    pub resolved: f64,
    /// The same as `pairwise` if all measurements are taken to be at top clock.
    pub one_clock: f64,
    /// Share of `pairs` that other measurements of the same programs order as measured: what noise leaves to any model.
    /// Sizes with too few programs that were measured more than once count as free of noise.
    pub ceiling: f64,
    /// Measured time of the program that the simulation would pick over the best measured, less one; the worst size.
    pub regret: f64,
    /// Median of |ln(simulated / measured)|.
    pub median: f64,
    /// Its 90th percentile.
    pub p90: f64,
    /// Median of ln(simulated / measured): above zero, the simulation is slow.
    pub bias: f64,
}

/// A score over all, by task, and by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Over everything.
    pub overall: Score,
    /// By task.
    pub tasks: BTreeMap<String, Score>,
    /// By task and size.
    pub sizes: BTreeMap<String, Score>,
    /// By task and size: factor that one in twenty pairs of programs with equal counters differ by (1.1 where there are
    /// too few of them).
    pub noise: BTreeMap<String, f64>,
}

/// A quantile of values; 0 of none.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    let Some(last) = v.len().checked_sub(1) else { return 0.0 };
    let at = q.clamp(0.0, 1.0) * last as f64;
    let (low, high) = (at.floor() as usize, at.ceil() as usize);
    v[low] + (v[high] - v[low]) * (at - low as f64)
}

/// Logarithm of the factor that equal programs of this size differ by in one of twenty pairs.
fn noise(points: &[&Point]) -> f64 {
    let mut apart = Vec::new();
    for (i, a) in points.iter().enumerate() {
        for b in points.iter().take(i).filter(|b| b.work == a.work) {
            let d = (a.measured / b.measured).ln().abs();
            let short = a.measured.max(b.measured) < SHORT * CLOCK_RATIO;
            apart.push(if short { d.min((d - CLOCK_RATIO.ln()).abs()) } else { d });
        }
    }
    if apart.len() < ENOUGH { APART.ln() } else { quantile(&apart, 0.95).max(APART.ln()) }
}

/// Counts of pairs that are ordered as measured.
#[derive(Clone, Copy, Default)]
struct Pairs {
    right: f64,
    all: usize,
}

impl Pairs {
    fn count(points: &[&Point], clocks: Clocks, apart: f64) -> Self {
        let mut out = Self::default();
        for (i, a) in points.iter().enumerate() {
            for b in points.iter().take(i) {
                let measured = (a.top(clocks) / b.top(clocks)).ln();
                if measured.abs() <= apart {
                    continue;
                }
                out.all += 1;
                let simulated = (a.simulated / b.simulated).ln();
                // A tie is half right: the simulation would toss a coin.
                out.right += if simulated.abs() < 1e-9 { 0.5 } else { f64::from(u8::from(simulated * measured > 0.0)) };
            }
        }
        out
    }

    /// As [`Self::count`], but each program that was measured more than once is foretold by the median of its other
    /// measurements. Pairs of such programs stand for all `pairs` of the size.
    fn repeated(points: &[&Point], pairs: usize) -> Self {
        let foretold: Vec<(f64, f64, u64)> = points
            .iter()
            .filter_map(|p| {
                let same = |q: &&&Point| q.work == p.work && !std::ptr::eq(**q, *p);
                let others: Vec<f64> = points.iter().filter(same).map(|q| q.top(Clocks::Two)).collect();
                (!others.is_empty()).then(|| (p.top(Clocks::Two), quantile(&others, 0.5), p.work))
            })
            .collect();
        let mut out = Self::default();
        for (i, a) in foretold.iter().enumerate() {
            for b in foretold.iter().take(i) {
                let measured = (a.0 / b.0).ln();
                if a.2 != b.2 && measured.abs() > APART.ln() {
                    out.all += 1;
                    out.right += f64::from(u8::from((a.1 / b.1).ln() * measured > 0.0));
                }
            }
        }
        let share = if out.all < REPEATED { 1.0 } else { out.share() };
        Self { right: pairs as f64 * share, all: pairs }
    }

    fn add(&mut self, o: Self) {
        self.right += o.right;
        self.all += o.all;
    }

    fn share(self) -> f64 {
        if self.all == 0 { 1.0 } else { self.right / self.all as f64 }
    }
}

/// Scores points.
pub fn score(points: &[Point]) -> Report {
    let mut groups: BTreeMap<(&str, &str), Vec<&Point>> = BTreeMap::new();
    for p in points {
        groups.entry((p.task.as_str(), p.size.as_str())).or_default().push(p);
    }
    let mut report = Report::default();
    let mut sums: BTreeMap<Option<&str>, ([Pairs; 4], f64)> = BTreeMap::new();
    for ((task, size), list) in &groups {
        let apart = noise(list);
        let two = Pairs::count(list, Clocks::Two, APART.ln());
        let counts = [
            two,
            Pairs::count(list, Clocks::Two, apart),
            Pairs::count(list, Clocks::One, APART.ln()),
            Pairs::repeated(list, two.all),
        ];
        let best = list.iter().map(|p| p.top(Clocks::Two)).fold(f64::INFINITY, f64::min);
        let pick = list.iter().min_by(|a, b| a.simulated.total_cmp(&b.simulated));
        let regret = pick.map_or(0.0, |p| p.top(Clocks::Two) / best - 1.0);
        for key in [None, Some(*task)] {
            let (pairs, worst) = sums.entry(key).or_default();
            for (p, c) in pairs.iter_mut().zip(counts) {
                p.add(c);
            }
            *worst = worst.max(regret);
        }
        let key = format!("{task} {size}");
        report.noise.insert(key.clone(), apart.exp());
        report.sizes.insert(key, summary(list, counts, regret));
    }
    for (key, (pairs, regret)) in sums {
        let list: Vec<&Point> = points.iter().filter(|p| key.is_none_or(|k| k == p.task)).collect();
        let s = summary(&list, pairs, regret);
        match key {
            None => report.overall = s,
            Some(task) => {
                report.tasks.insert(task.to_owned(), s);
            }
        }
    }
    report
}

fn summary(points: &[&Point], [two, resolved, one, ceiling]: [Pairs; 4], regret: f64) -> Score {
    let logs: Vec<f64> = points.iter().map(|p| (p.simulated / p.top(Clocks::Two)).ln()).collect();
    let sizes: Vec<f64> = logs.iter().map(|l| l.abs()).collect();
    Score {
        points: points.len(),
        pairs: two.all,
        pairwise: two.share(),
        tau: 2.0 * two.share() - 1.0,
        resolved_pairs: resolved.all,
        resolved: resolved.share(),
        one_clock: one.share(),
        ceiling: ceiling.share(),
        regret,
        median: quantile(&sizes, 0.5),
        p90: quantile(&sizes, 0.9),
        bias: quantile(&logs, 0.5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(name: &str, measured: f64, simulated: f64) -> Point {
        Point {
            task: "t".into(),
            size: "s".into(),
            name: name.into(),
            measured,
            simulated,
            low_clock: simulated * CLOCK_RATIO,
            work: name.len() as u64 * 1000 + u64::from(name.as_bytes()[0]),
        }
    }

    #[test]
    fn a_perfect_and_a_reversed_order() {
        let good: Vec<_> = (1..6).map(|i| point(&format!("{i}"), f64::from(i), f64::from(i) * 1.5)).collect();
        let r = score(&good).overall;
        assert_eq!((r.pairs, r.pairwise, r.tau, r.regret), (10, 1.0, 1.0, 0.0));
        assert!((r.median - 1.5f64.ln()).abs() < 1e-12 && (r.bias - r.median).abs() < 1e-12);
        let bad: Vec<_> = (1..6).map(|i| point(&format!("{i}"), f64::from(i), 10.0 - f64::from(i))).collect();
        let r = score(&bad).overall;
        assert_eq!((r.pairwise, r.tau, r.regret), (0.0, -1.0, 4.0));
    }

    #[test]
    fn near_pairs_do_not_count_and_ties_are_half_right() {
        let near = [point("a", 1.0, 2.0), point("b", 1.05, 1.0)];
        assert_eq!(score(&near).overall.pairs, 0);
        let tie = [point("a", 1.0, 2.0), point("b", 2.0, 2.0)];
        assert_eq!(score(&tie).overall.pairwise, 0.5);
    }

    #[test]
    fn a_short_time_may_be_of_the_low_clock_and_a_long_one_may_not() {
        assert_eq!(point("a", 2e-3, 1e-3).slowdown(), CLOCK_RATIO);
        assert_eq!(point("a", 1e-3, 1e-3).slowdown(), 1.0);
        assert_eq!(point("a", 2e-1, 1e-1).slowdown(), 1.0);
    }

    #[test]
    fn equal_programs_show_the_noise() {
        let mut points: Vec<_> = (0..8).map(|i| point("same", 1.0 + 0.1 * f64::from(i), 1.0)).collect();
        points.push(point("x", 1.5, 3.0));
        points.push(point("y", 9.0, 4.0));
        let r = score(&points);
        assert!(r.noise["t s"] > 1.4, "{:?}", r.noise);
        assert!(r.overall.resolved_pairs < r.overall.pairs);
        assert!(r.overall.resolved > r.overall.pairwise);
        assert_eq!(r.overall.ceiling, 1.0, "one program alone was measured more than once");
    }

    #[test]
    fn measurements_that_do_not_repeat_bound_what_a_model_can_reach() {
        // Two programs whose measurements have the same spread, and two that stay apart.
        let draws = |name: &str, times: &[f64]| times.iter().map(|t| point(name, *t, 1.0)).collect::<Vec<_>>();
        let spread: Vec<f64> = (0..20).map(|i| 3.0 + 0.3 * f64::from(i)).collect();
        let noisy = [draws("a", &spread), draws("b", &spread)].concat();
        let steady = [draws("a", &[3.0; 20]), draws("b", &[9.0; 20])].concat();
        let (noisy, steady) = (score(&noisy).overall.ceiling, score(&steady).overall.ceiling);
        assert!(noisy < 0.6, "{noisy}");
        assert_eq!(steady, 1.0);
    }
}
