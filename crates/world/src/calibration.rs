//! Calibration: predicted gain against observed gain, per strategy and per role, and what to believe of the next
//! prediction. Must not know the tree.
//!
//! All gains are natural logarithms, in which gains along a path add up. Two corrections are learnt. A role that
//! promises too much has its predictions scaled by the slope of observed on predicted (regression through the origin,
//! drawn towards 1). A strategy that does better or worse than predicted has its mean residual added (drawn towards 0
//! the more the planner was confident).

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
        let residual = strategy.map_or(0.0, |s| s.residual) / (known + trust);
        let log_gain = self.corrected(node) + residual;
        let pooled = role.map_or(0.0, |r| r.residual_square);
        let count = role.map_or(0.0, |r| f64::from(r.compared));
        let variance =
            (SPREAD_PRIOR * SPREAD_PRIOR * SPREAD_WEIGHT + pooled) / (SPREAD_WEIGHT + count) * (1.5 - node.confidence);
        let spread = (variance / (1.0 + known + f64::from(pending))).sqrt();
        Belief { log_gain, spread, success: self.success(node) }
    }

    /// The prediction as a log gain, scaled by the role's record.
    fn corrected(&self, node: &Node) -> f64 {
        let slope = self.roles.get(&node.by).map_or(1.0, |r| (r.cross + SLOPE_PRIOR) / (r.square + SLOPE_PRIOR));
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
