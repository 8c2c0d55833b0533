//! The built-in roles: a planner that rates a catalogue of strategies by the chip's facts and the last profile, and a
//! coder that renders plans. They need no model and no network. Must not know the judge.

pub mod coder;
pub mod planner;
pub mod predict;
pub mod refinement;

pub use coder::BuiltinCoder;
pub use planner::BuiltinPlanner;
pub use refinement::Refinement;
