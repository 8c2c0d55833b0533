//! The evaluator: the judge as the search sees it. Must not know the world model.

use ksearch_judge::{Judge, Status, Verdict};
use ksearch_task::Candidate;

pub use ksearch_judge::Stage;

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

impl Evaluator for Judge {
    fn check(&self, candidate: &Candidate) -> Option<Verdict> {
        let verdict = Self::judge(self, candidate, Stage::Check, 0);
        (verdict.status != Status::Passed).then_some(verdict)
    }

    fn judge(&self, candidate: &Candidate, stage: Stage, seed: u64) -> Verdict {
        Self::judge(self, candidate, stage, seed)
    }
}

impl<E: Evaluator + ?Sized> Evaluator for &E {
    fn check(&self, candidate: &Candidate) -> Option<Verdict> {
        (**self).check(candidate)
    }

    fn judge(&self, candidate: &Candidate, stage: Stage, seed: u64) -> Verdict {
        (**self).judge(candidate, stage, seed)
    }

    fn lanes(&self) -> usize {
        (**self).lanes()
    }
}
