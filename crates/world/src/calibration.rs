//! Calibration: predicted gain against observed gain, per strategy and per role, and what to believe of the next
//! prediction. Must not know the tree.
//!
//! All gains are natural logarithms, in which gains along a path add up. Two corrections are learnt. A role that
//! promises too much has its predictions scaled by the slope of observed on predicted (regression through the origin,
//! drawn towards 1). A strategy that does better or worse than predicted has its mean residual added (drawn towards 0
//! the more the planner was confident).
//!
//! How far a prediction is off grows with what it promises: one of 9x is not wrong by the same tenths as one of 1.05x.
//! So errors are counted in units of what is usual for the prediction, and no single one for more than two of them, see
//! [`Errors`]; otherwise one promise that was not kept silences a role, and one collapse makes every step look worth
//! exploring. Exploration asks how much better than predicted things may turn out, so only such errors widen it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::node::Node;

/// Weight, in squared log units, of the assumption that a role's predictions are right: about four predictions of 1.3x.
const SLOPE_PRIOR: f64 = 0.25;
/// Standard deviation of a prediction's error before anything is known: a factor of about 1.35 either way.
const SPREAD_PRIOR: f64 = 0.3;
/// Weight of that assumption, in observations.
const SPREAD_WEIGHT: f64 = 4.0;

/// Weight of the assumption that difficulty tells how likely a role succeeds, in attempts.
const SUCCESS_WEIGHT: f64 = 6.0;

/// Part of the usual error that is there whatever was promised, as a log gain; it grows with the promise.
const FLOOR: f64 = 0.3;
/// Most that one error counts for, in usual ones.
const OUTLIER: f64 = 2.0;
/// Square of an error in usual ones, before anything is known.
const VARIANCE_PRIOR: f64 = 0.5;
/// Weight of the assumption that a role's predictions are right, in large predictions.
const SLOPE_WEIGHT: f64 = 4.0;

/// How large errors of predictions are taken to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Errors {
    /// The same for all. Runs under the first two versions of the rules.
    Absolute,
    /// In proportion to what was predicted.
    #[default]
    Relative,
}

/// The usual error of a prediction, as a log gain, up to a factor that is learnt. An expected loss promises nothing.
fn usual(predicted: f64) -> f64 {
    predicted.max(0.0).hypot(FLOOR)
}

/// Predictions against results for one key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Attempt series that ended with a passing candidate.
    pub passes: u32,
    /// Attempt series that ended without.
    pub failures: u32,
    /// Predictions that could be compared.
    pub compared: u32,
    /// Sum of observed.
    pub observed: f64,
    /// Sum of predicted, as it was made.
    pub predicted: f64,
    /// Sum of predicted x observed.
    pub cross: f64,
    /// Sum of predicted squared.
    pub square: f64,
    /// Sum of observed minus corrected prediction, as corrected at the time.
    pub residual: f64,
    /// Sum of squares of the same.
    pub residual_square: f64,
    /// The same in usual errors.
    #[serde(default)]
    pub relative: Relative,
}

/// Sums in units of the usual error of each prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// Sum of predicted x observed.
    pub cross: f64,
    /// Sum of predicted squared.
    pub square: f64,
    /// Sum of errors.
    pub residual: f64,
    /// Sum of squares of the errors for the better; of symmetric errors they are half.
    pub upside_square: f64,
}

/// What to believe of an action.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Belief {
    /// Expected log gain over the parent, if it passes.
    pub log_gain: f64,
    /// Standard deviation of that.
    pub spread: f64,
    /// Probability that a passing candidate comes of it.
    pub success: f64,
}

/// All that was learnt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// How large errors are taken to be.
    #[serde(default)]
    pub errors: Errors,
    /// By strategy id; free-form actions are kept together under the empty id.
    pub strategies: BTreeMap<String, Record>,
    /// By the role that predicted.
    pub roles: BTreeMap<String, Record>,
}

impl Calibration {
    /// What to believe of `node` now. `pending` is the number of attempts on the same strategy that are in work.
    pub fn belief(&self, node: &Node, pending: u32) -> Belief {
        let strategy = self.strategies.get(node.strategy().unwrap_or_default());
        let role = self.roles.get(&node.by);
        let known = strategy.map_or(0.0, |s| f64::from(s.compared));
        let trust = 1.0 + 3.0 * node.confidence;
        let usual = usual(predicted(node));
        let count = role.map_or(0.0, |r| f64::from(r.compared));
        let (residual, variance) = match self.errors {
            Errors::Absolute => {
                let pooled = role.map_or(0.0, |r| r.residual_square);
                let variance = (SPREAD_PRIOR * SPREAD_PRIOR * SPREAD_WEIGHT + pooled) / (SPREAD_WEIGHT + count);
                (strategy.map_or(0.0, |s| s.residual), variance)
            }
            Errors::Relative => {
                let pooled = role.map_or(0.0, |r| 2.0 * r.relative.upside_square);
                let variance = (VARIANCE_PRIOR * SPREAD_WEIGHT + pooled) / (SPREAD_WEIGHT + count) * usual * usual;
                (strategy.map_or(0.0, |s| s.relative.residual) * usual, variance)
            }
        };
        let log_gain = self.corrected(node) + residual / (known + trust);
        let variance = variance * (1.5 - node.confidence);
        let spread = (variance / (1.0 + known + f64::from(pending))).sqrt();
        Belief { log_gain, spread, success: self.success(node) }
    }

    /// The prediction as a log gain, scaled by the role's record.
    fn corrected(&self, node: &Node) -> f64 {
        let slope = self.roles.get(&node.by).map_or(1.0, |r| match self.errors {
            Errors::Absolute => (r.cross + SLOPE_PRIOR) / (r.square + SLOPE_PRIOR),
            Errors::Relative => (r.relative.cross + SLOPE_WEIGHT) / (r.relative.square + SLOPE_WEIGHT),
        });
        slope.clamp(0.0, 2.0) * predicted(node)
    }

    /// Mean of a beta distribution. The difficulty and the role's record give the prior, which weighs as much as one
    /// attempt; the strategy's record and what failed on this very node are the evidence.
    fn success(&self, node: &Node) -> f64 {
        let difficulty = node.action.as_ref().map_or(3.0, |a| f64::from(a.difficulty));
        let (mut prior, mut weight) = (SUCCESS_WEIGHT * (0.98 - 0.07 * (difficulty - 1.0)), SUCCESS_WEIGHT);
        if let Some(role) = self.roles.get(&node.by) {
            prior += f64::from(role.passes);
            weight += f64::from(role.passes + role.failures);
        }
        let (mut passes, mut all) = (prior / weight, 1.0 + node.failures.len() as f64);
        if let Some(strategy) = self.strategies.get(node.strategy().unwrap_or_default()) {
            passes += f64::from(strategy.passes);
            all += f64::from(strategy.passes + strategy.failures);
        }
        passes / all
    }

    pub(crate) fn observe_success(&mut self, node: &Node, gain: Option<f64>) {
        let expected = predicted(node);
        let corrected = self.corrected(node);
        for record in self.records(node) {
            record.passes += 1;
            if let Some(gain) = gain.filter(|g| *g > 0.0)
                && node.predicted_gain.is_some()
            {
                let observed = gain.ln();
                record.compared += 1;
                record.observed += observed;
                record.predicted += expected;
                record.cross += expected * observed;
                record.square += expected * expected;
                record.residual += observed - corrected;
                record.residual_square += (observed - corrected).powi(2);
                let usual = usual(expected);
                let limit = OUTLIER * usual;
                let kept = observed.clamp(expected - limit, expected + limit);
                let error = ((observed - corrected) / usual).clamp(-OUTLIER, OUTLIER);
                record.relative.cross += expected * kept / (usual * usual);
                record.relative.square += expected * expected / (usual * usual);
                record.relative.residual += error;
                record.relative.upside_square += error.max(0.0).powi(2);
            }
        }
    }

    pub(crate) fn observe_failure(&mut self, node: &Node) {
        for record in self.records(node) {
            record.failures += 1;
        }
    }

    fn records(&mut self, node: &Node) -> [&mut Record; 2] {
        let strategy = node.strategy().unwrap_or_default().to_owned();
        [self.strategies.entry(strategy).or_default(), self.roles.entry(node.by.clone()).or_default()]
    }
}

/// The planner's prediction as a log gain; from the rating where it made none (10 stands for 1.5x).
fn predicted(node: &Node) -> f64 {
    match node.predicted_gain {
        Some(gain) if gain > 0.0 => gain.ln(),
        _ => (1.0 + 0.05 * node.rating).ln(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeId;

    fn node(strategy: &str, gain: f64) -> Node {
        let mut node = Node::new(NodeId(1), Some(NodeId::ROOT), "p");
        node.predicted_gain = Some(gain);
        node.confidence = 0.5;
        node.action = Some(crate::node::Action { strategy: Some(strategy.into()), ..crate::node::Action::default() });
        node
    }

    fn learnt(errors: Errors, seen: &[(&str, f64, f64)]) -> Calibration {
        let mut calibration = Calibration { errors, ..Calibration::default() };
        for (strategy, predicted, observed) in seen {
            calibration.observe_success(&node(strategy, *predicted), Some(*observed));
        }
        calibration
    }

    #[test]
    fn one_broken_promise_does_not_silence_a_role() {
        let seen = [("a", 2.0, 0.7)];
        let believed = learnt(Errors::Relative, &seen).belief(&node("b", 9.0), 0).log_gain;
        assert!(believed > 0.6 * 9.0_f64.ln() && believed < 9.0_f64.ln(), "{believed}");
        assert!(learnt(Errors::Absolute, &seen).belief(&node("b", 9.0), 0).log_gain < 0.1, "as it used to be");
        // One that never keeps its word is not believed for long.
        let liar = learnt(Errors::Relative, &[("a", 2.0, 1.0); 20]).belief(&node("b", 9.0), 0).log_gain;
        assert!(liar < 0.25 * 9.0_f64.ln(), "{liar}");
    }

    #[test]
    fn a_collapse_does_not_make_every_step_worth_exploring() {
        let spread = |seen: &[(&str, f64, f64)]| learnt(Errors::Relative, seen).belief(&node("b", 1.1), 0).spread;
        assert!(spread(&[("a", 1.2, 0.06)]) <= spread(&[]));
        // Things that turned out far better than predicted do, within bounds.
        let wide = spread(&[("a", 1.2, 100.0)]);
        assert!(wide > spread(&[]) && wide < 3.0 * spread(&[]), "{wide}");
    }

    #[test]
    fn exploration_is_worth_most_where_much_is_promised_and_little_known() {
        let known = learnt(Errors::Relative, &[("a", 2.0, 2.0); 3]);
        let spread = |strategy, gain| known.belief(&node(strategy, gain), 0).spread;
        assert!(spread("b", 4.0) > spread("b", 1.2) && spread("b", 4.0) > spread("a", 4.0));
        assert_eq!(spread("b", 0.25), spread("b", 0.9), "an expected loss promises nothing");
    }

    #[test]
    fn a_strategy_that_disappoints_is_marked_down_in_proportion() {
        let seen = learnt(Errors::Relative, &[("a", 2.0, 1.0)]);
        let loss = |gain| seen.belief(&node("b", gain), 0).log_gain - seen.belief(&node("a", gain), 0).log_gain;
        assert!(loss(4.0) > loss(1.1) && loss(1.1) > 0.0);
    }
}
