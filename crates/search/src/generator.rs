//! Generators: the built-in way to write a candidate. A generator owns the catalogue of one task and renders any plan
//! over it. Must not know the world model, the judge or the journal.

use ksearch_task::{Candidate, Language};

use crate::facts::Facts;
use crate::strategy::{Catalogue, Plan, PlanError};

/// A family of kernels for one task, parameterised by a [`Plan`].
///
/// `render` is a pure function: the same plan and facts give the same candidate, byte for byte. The empty plan is the
/// naive kernel. Every tunable that the plan's strategies bring is declared in the candidate with its allowed values
/// (only those that fit the chip); `plan.values` chooses among them, and a value that is no longer allowed falls back to
/// the default. A candidate must be right for every shape of the task, not only for the search workloads; where it
/// cannot be, its recipe says so in `requires`.
pub trait Generator: Send + Sync {
    /// Name of the task it writes kernels for.
    fn task(&self) -> &'static str;

    /// Language of its kernels.
    fn language(&self) -> Language {
        Language::Msl
    }

    /// The strategies it knows.
    fn catalogue(&self) -> &Catalogue;

    /// The kernel that `plan` describes.
    fn render(&self, plan: &Plan, facts: &Facts) -> Result<Candidate, PlanError>;
}
