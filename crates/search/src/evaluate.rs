//! The evaluator: the judge as the search sees it. Must not know the world model.

use ksearch_judge::Verdict;
use ksearch_task::Candidate;
use serde::{Deserialize, Serialize};

/// How thoroughly a candidate is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Static checks and compilation only; nothing runs.
    Check,
    /// The cheapest workload only: enough to order settings of tunables.
    Screen,
    /// All search workloads. This is what the evaluation budget counts.
    Full,
    /// All search workloads again, with fresh inputs and, on hardware, fresh timing.
    Confirm,
    /// The held-out workloads. Once per candidate, and never shown to a role.
    HeldOut,
}

impl Stage {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Screen => "screen",
            Self::Full => "full",
            Self::Confirm => "confirm",
            Self::HeldOut => "held_out",
        }
    }
}

/// Judges candidates of one task on one target.
///
/// The same candidate, stage and seed give the same status on every target and the same verdict on `sim:` ones. A call
/// ends within a bound of its own, also when the candidate does not.
pub trait Evaluator: Send + Sync {
    /// Static checks and compilation only. A verdict other than `passed` where something is wrong. Runs beside anything.
    fn check(&self, candidate: &Candidate) -> Option<Verdict>;

    /// A whole judgement.
    fn judge(&self, candidate: &Candidate, stage: Stage, seed: u64) -> Verdict;

    /// How many judgements may run at once: 1 where timing needs the device alone.
    fn lanes(&self) -> usize {
        1
    }
}
