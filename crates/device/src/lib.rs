//! Targets: where a candidate is built, launched and timed, behind one trait.
//!
//! Knows how to run. Must not know right from wrong, nor what a search is.

pub mod cuda;
pub mod id;
pub mod profile;
pub mod reference;
pub mod sim;
pub mod stats;
pub mod target;

pub use cuda::CudaTarget;
pub use id::{TargetId, UnknownTarget};
pub use profile::Profile;
pub use sim::SimTarget;
pub use sim::inspect::{Inspect, Inspected, Inspection};
pub use target::{BuildInfo, Failure, Purpose, RunReport, Runnable, Slot, Slots, Target, TargetFacts};
