//! The judge: verdicts on candidates, with evidence.
//!
//! Knows tasks and targets. Must not know the search or the world model: it never sees who proposed a candidate.

pub mod verdict;

pub use verdict::{Evidence, Status, Verdict, WorkloadResult};
