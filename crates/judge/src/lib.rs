//! The judge: verdicts on candidates, with evidence.
//!
//! Knows tasks and targets. Must not know the search or the world model: it never sees who proposed a candidate.

pub mod diagnose;
pub mod floor;
pub mod judge;
pub mod prepare;
mod relations;
pub mod stage;
mod trial;
pub mod verdict;

pub use judge::Judge;
pub use stage::Stage;
pub use verdict::{Evidence, FaultReport, Status, Verdict, WorkloadResult};
