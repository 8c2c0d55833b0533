//! Comparing ways to search: the same task under several settings and seeds, and what each reaches after so many
//! evaluations. Must not know how a table is drawn.

use serde::Serialize;

use crate::state::RunState;

/// Speedup over the naive kernel that a run had reached after so many evaluations: that of the last improvement within
/// them. None before the naive kernel was judged.
pub fn speedup_after(state: &RunState, evaluations: u32) -> Option<f64> {
    state.improvements.iter().rfind(|i| i.evaluations <= evaluations.max(1)).and_then(|i| i.speedup)
}

/// Evaluations after which a run had reached `speedup`, if it did.
pub fn evaluations_to(state: &RunState, speedup: f64) -> Option<u32> {
    state.improvements.iter().find(|i| i.speedup.is_some_and(|s| s >= speedup)).map(|i| i.evaluations)
}

/// How soon one run reached what another one came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Race {
    /// The other's best speedup.
    pub goal: f64,
    /// Evaluations after which the other had it.
    pub theirs: u32,
    /// Evaluations after which this one had it; none if it never did.
    pub ours: Option<u32>,
}

/// `ours` against the best of `theirs`. Speedups that are apart by no more than what counts as progress are the same.
/// None where `theirs` has nothing to reach.
pub fn race(ours: &RunState, theirs: &RunState) -> Option<Race> {
    let goal = theirs.best()?.speedup?;
    let near = goal * (1.0 - theirs.config.min_gain);
    Some(Race { goal, theirs: evaluations_to(theirs, near)?, ours: evaluations_to(ours, near) })
}

/// A geometric mean with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Geometric mean.
    pub mean: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Values it is made of.
    pub count: usize,
}

/// 97.5% quantiles of Student's t distribution for 1, 2, … degrees of freedom; the last one for more.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Geometric mean of positive values with a t interval on their logarithms; none without values.
pub fn mean(values: &[f64]) -> Option<Mean> {
    let logs: Vec<f64> = values.iter().filter(|v| **v > 0.0).map(|v| v.ln()).collect();
    let count = logs.len();
    if count == 0 {
        return None;
    }
    let average = logs.iter().sum::<f64>() / count as f64;
    let half = if count < 2 {
        f64::INFINITY
    } else {
        let variance = logs.iter().map(|l| (l - average).powi(2)).sum::<f64>() / (count - 1) as f64;
        T[(count - 2).min(T.len() - 1)] * (variance / count as f64).sqrt()
    };
    Some(Mean { mean: average.exp(), low: (average - half).exp(), high: (average + half).exp(), count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::{BuiltinCoder, BuiltinPlanner, Refinement};
    use crate::engine::{Players, start};
    use crate::journal::Journal;
    use crate::recorder::Silent;
    use crate::roles::{Cancel, Planner};
    use crate::shared::Shared;
    use crate::strategy::Plan;
    use crate::tests::toy::{self, Landscape, Toy};
    use crate::{Generator, SearchConfig};
    use ksearch_world::{PolicyConfig, PolicyKind};

    #[test]
    fn means_have_their_interval() {
        assert_eq!(mean(&[]), None);
        let one = mean(&[4.0]).unwrap();
        assert!(one.mean == 4.0 && one.low == 0.0 && one.high.is_infinite(), "one value says nothing of the spread");
        let two = mean(&[2.0, 8.0]).unwrap();
        assert!((two.mean - 4.0).abs() < 1e-12 && two.low < 2.0 && two.high > 8.0);
        let same = mean(&[3.0; 5]).unwrap();
        assert!((same.low - 3.0).abs() < 1e-9 && (same.high - 3.0).abs() < 1e-9);
    }

    fn runs(toy: &Toy, planner: &dyn Planner, kind: PolicyKind, judge: &Shared<Landscape>) -> Vec<RunState> {
        (0..8)
            .map(|seed| {
                let naive = toy.render(&Plan::default(), &toy::premises().facts).unwrap();
                let players = Players {
                    planner,
                    coder: &BuiltinCoder::new(toy),
                    evaluator: judge,
                    observer: &Silent,
                    cancel: &Cancel::default(),
                };
                let policy = PolicyConfig { kind, ..PolicyConfig::default() };
                let mut config = SearchConfig { policy, ..toy::config(seed) };
                config.sweep.screens = 0;
                config.budget.evaluations = 40;
                let journal = Journal::in_memory().unwrap();
                start(&players, config, toy::premises(), Some((naive, Some(Plan::default()))), journal).unwrap()
            })
            .collect()
    }

    /// On the made-up landscape, whose catalogue lies about two strategies, the default policy is no worse than the
    /// original's order at any budget, and than chance and plain refinement once the lies are found out.
    #[test]
    fn the_default_policy_is_not_worse_than_the_controls() {
        let judge = Shared::new(Landscape::default(), 1);
        let at = |states: &[RunState], n: u32| {
            mean(&states.iter().filter_map(|s| speedup_after(s, n)).collect::<Vec<_>>()).unwrap().mean
        };
        let toy = Toy::new();
        let builtin = BuiltinPlanner::new(&toy);
        let default = runs(&toy, &builtin, PolicyKind::Default, &judge);
        let paper = runs(&toy, &builtin, PolicyKind::Paper, &judge);
        let random = runs(&toy, &builtin, PolicyKind::Random, &judge);
        let refinement = runs(&toy, &Refinement::new(Some(toy.catalogue())), PolicyKind::Default, &judge);
        // The two strategies that promise most are lies here, which the first picks have to find out.
        for n in [5, 10, 15, 20, 40] {
            let all = [&default, &paper, &random, &refinement].map(|s| at(s, n));
            let rivals = if n < 15 { &all[1..2] } else { &all[1..] };
            assert!(rivals.iter().all(|rival| all[0] >= rival * 0.999), "after {n}: {all:?}");
        }
        assert!(judge.judged() < 8 * 4 * 40, "runs share what was judged");
        for run in &paper {
            let own = race(run, run).unwrap();
            assert!(own.ours == Some(own.theirs) && own.goal > 1.0 && own.theirs <= 40, "{own:?}");
        }
        let mut never = paper[0].clone();
        never.improvements.clear();
        assert_eq!(race(&never, &paper[0]).unwrap().ours, None);
        assert_eq!(race(&paper[0], &never), None);
    }
}
