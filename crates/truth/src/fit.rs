//! Fits the model's parameters to measured times, within their bounds: random steps in random subspaces, kept when they
//! help. Whole tasks can be left out. Knows the model and scores; must not know where measurements come from.

use std::collections::BTreeMap;

use ksearch_apple::Chip;
use ksearch_apple::model::{Features, ModelFile, Param, Params, total};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution as _, StandardNormal};

use crate::score::{APART, CLOCK_RATIO, Clocks, Point};

/// A measured program with what it did.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Task, size, program, measured seconds; simulated ones are filled in by [`simulate`].
    pub point: Point,
    /// Its dispatches.
    pub features: Vec<Features>,
}

/// Points of samples, timed with parameters.
pub fn simulate<'a>(chip: &Chip, p: &Params, samples: impl IntoIterator<Item = &'a Sample>) -> Vec<Point> {
    let timed = |s: &Sample| Point {
        simulated: total(chip, p, &s.features, 1.0),
        low_clock: total(chip, p, &s.features, 1.0 / CLOCK_RATIO),
        ..s.point.clone()
    };
    samples.into_iter().map(timed).collect()
}

/// What a fit is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Steps.
    pub steps: u32,
    /// Seed of the steps.
    pub seed: u64,
}

/// Samples by task and size, with pairs to order and a noise threshold; made once a fit.
struct Group {
    members: Vec<usize>,
    weight: f64,
    apart: f64,
}

/// Width, in ln of the ratio, within which a wrong order costs only part.
const SOFT: f64 = 0.04;

/// Loss of a parameter that lies half its bounds' width, in ln, from the start.
const PULL: f64 = 0.015;
/// Half width of bounds, in ln, below which they count as so wide.
const NARROW: f64 = 0.05;

fn groups(samples: &[&Sample]) -> Vec<Group> {
    let mut by: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (i, s) in samples.iter().enumerate() {
        by.entry((&s.point.task, &s.point.size)).or_default().push(i);
    }
    let points: Vec<Point> = samples.iter().map(|s| s.point.clone()).collect();
    let noise = crate::score::score(&points).noise;
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    for (task, _) in by.keys() {
        *sizes.entry(task).or_default() += 1.0;
    }
    let tasks = sizes.len() as f64;
    by.iter()
        .map(|((task, size), members)| Group {
            members: members.clone(),
            weight: 1.0 / (tasks * sizes.get(task).copied().unwrap_or(1.0)),
            apart: noise.get(&format!("{task} {size}")).copied().unwrap_or(APART).ln(),
        })
        .collect()
}

/// What a fit makes small: for each size, half the mean squared error (linear far out) and the share of pairs in wrong
/// order.
fn loss(chip: &Chip, p: &Params, samples: &[&Sample], groups: &[Group]) -> f64 {
    let points = simulate(chip, p, samples.iter().copied());
    let measured: Vec<f64> = points.iter().map(|p| p.top(Clocks::Two).ln()).collect();
    let simulated: Vec<f64> = points.iter().map(|p| p.simulated.ln()).collect();
    let mut out = 0.0;
    for g in groups {
        let error: f64 = g
            .members
            .iter()
            .map(|&i| {
                let d = (simulated[i] - measured[i]).abs();
                (d * d).min(d)
            })
            .sum::<f64>()
            / g.members.len().max(1) as f64;
        let (mut wrong, mut pairs) = (0.0, 0u32);
        for (k, &i) in g.members.iter().enumerate() {
            for &j in g.members.iter().take(k) {
                let d = measured[i] - measured[j];
                if d.abs() > g.apart {
                    pairs += 1;
                    let z = (simulated[i] - simulated[j]) * d.signum();
                    wrong += 1.0 / (1.0 + (z / SOFT).exp());
                }
            }
        }
        out += g.weight * (0.5 * error + wrong / f64::from(pairs.max(1)));
    }
    out
}

/// Fits, from `start`. Gives the parameters and their loss.
pub fn fit(chip: &Chip, file: &ModelFile, start: &Params, samples: &[&Sample], effort: Effort) -> (Params, f64) {
    let groups = groups(samples);
    let mut rng = ChaCha8Rng::seed_from_u64(effort.seed);
    // Far from the start costs a little, measured by how wide the bounds are, so that what the data do not tell stays put.
    let anchor = start.clone();
    let pull = |p: &Params| -> f64 {
        let far = |&q: &Param| {
            let (lo, hi) = file.bounds(q);
            ((p.get(q) / anchor.get(q)).ln() / ((hi / lo).ln() / 2.0).max(NARROW)).powi(2)
        };
        PULL * Param::ALL.iter().map(far).sum::<f64>()
    };
    let mut best = start.clone();
    let mut least = loss(chip, &best, samples, &groups);
    let mut widths = vec![0.15f64; Param::ALL.len()];
    for _ in 0..effort.steps {
        let how_many = match rng.next_u32() % 5 {
            0 | 1 => 1,
            2 => 2,
            3 => 3,
            _ => Param::ALL.len(),
        };
        let all = how_many == Param::ALL.len();
        let chosen: Vec<Param> = if all {
            Param::ALL.to_vec()
        } else {
            (0..how_many).filter_map(|_| Param::ALL.get(rng.next_u32() as usize % Param::ALL.len()).copied()).collect()
        };
        let mut next = best.clone();
        for &q in &chosen {
            let normal: f64 = StandardNormal.sample(&mut rng);
            let (lo, hi) = file.bounds(q);
            let step = widths.get(q as usize).copied().unwrap_or(0.1) * if all { 0.3 } else { 1.0 };
            next = next.with(q, (next.get(q) * (normal * step).exp()).clamp(lo, hi));
        }
        let l = loss(chip, &next, samples, &groups) + pull(&next);
        let better = l < least;
        if better {
            (best, least) = (next, l);
        }
        for &q in &chosen {
            if let Some(w) = widths.get_mut(q as usize) {
                *w = if better { (*w * 1.3).min(0.6) } else { (*w * 0.98).max(0.03) };
            }
        }
    }
    (best, least)
}

/// Leave-one-task-out: each task timed with parameters fitted on the others, from the middle of the bounds, so that
/// nothing of the task itself gets in.
pub fn leave_one_out(chip: &Chip, file: &ModelFile, samples: &[Sample], effort: Effort) -> Vec<Point> {
    let mut tasks: Vec<&str> = samples.iter().map(|s| s.point.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let mut out = Vec::new();
    for task in tasks {
        let (held, seen): (Vec<&Sample>, Vec<&Sample>) = samples.iter().partition(|s| s.point.task == task);
        let (p, _) = fit(chip, file, &file.centre(), &seen, effort);
        out.extend(simulate(chip, &p, held));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(task: &str, name: usize, dispatches: f64) -> Sample {
        let features = Features {
            groups: 64.0,
            simdgroups: 4.0,
            threads: 128,
            repeat: dispatches,
            // Little enough that launching is most of the time.
            instructions: vec![1.0 + name as f64; ksearch_simt::InstrClass::COUNT],
            sampled: 1.0,
            ..Features::default()
        };
        let point = Point {
            task: task.into(),
            size: "s".into(),
            name: name.to_string(),
            measured: 1.0,
            simulated: 1.0,
            low_clock: 1.0,
            work: name as u64,
        };
        Sample { point, features: vec![features] }
    }

    #[test]
    fn a_fit_finds_the_parameter_that_made_the_times() {
        let chip = ksearch_apple::Chips::embedded().and_then(|c| c.get("m1-pro")).expect("a chip");
        let file = ModelFile::embedded().expect("parameters");
        let truth = file.params().with(Param::Dispatch, 0.6);
        let mut samples: Vec<Sample> = (0..6).map(|i| sample("a", i, 1000.0)).collect();
        for s in &mut samples {
            s.point.measured = total(&chip, &truth, &s.features, 1.0);
        }
        let start = file.params().with(Param::Dispatch, 1.3);
        let all: Vec<&Sample> = samples.iter().collect();
        let error = |p: &Params| {
            simulate(&chip, p, all.iter().copied()).iter().map(|p| (p.simulated / p.measured).ln().abs()).sum::<f64>()
        };
        let (found, _) = fit(&chip, &file, &start, &all, Effort { steps: 300, seed: 1 });
        assert!(error(&found) < error(&start) * 0.5, "{} of {}", error(&found), error(&start));
        for &p in Param::ALL {
            let (lo, hi) = file.bounds(p);
            assert!(found.get(p) >= lo && found.get(p) <= hi);
        }
    }
}
