//! The world model: a tree of actions with ratings and predictions, and what came of each.
//!
//! Knows nodes, edits, selection, calibration. A pure value: the same events give the same tree. Must not know who
//! proposes, how a candidate is judged, a clock, a file or a source of randomness.

pub mod calibration;
pub mod edit;
pub mod event;
pub mod node;
pub mod paper;
pub mod policy;
pub mod tree;

pub use calibration::{Belief, Calibration, Errors};
pub use edit::{Edit, EditLimits, EditScript, NodeRef, Patch, Refusal};
pub use event::{Applied, WorldError, WorldEvent};
pub use node::{Action, Failure, Impact, Node, NodeId, Outcome, Resource, State};
pub use policy::{PolicyConfig, PolicyKind, Selection};
pub use tree::{Counts, World};
