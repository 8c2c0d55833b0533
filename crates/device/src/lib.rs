//! Targets: where a candidate is built, launched and timed, behind one trait.
//!
//! Knows how to run. Must not know right from wrong, nor what a search is.

#[cfg(target_os = "linux")]
pub mod cpu;
pub mod cuda;
mod fresh;
pub mod id;
pub mod isolation;
pub mod metal;
pub mod original;
pub mod profile;
pub mod reference;
pub mod sim;
pub mod statistics;
pub mod target;

pub use cuda::CudaTarget;
pub use id::{TargetId, UnknownTarget};
pub use profile::Profile;
pub use sim::SimTarget;
pub use sim::inspect::{Inspect, Inspected, Inspection};
pub use target::{BuildInfo, Failure, Finding, Purpose, RunReport, Runnable, Slot, Slots, Target, TargetFacts, slots};
