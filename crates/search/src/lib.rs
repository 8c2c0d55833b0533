//! The search: the loop, the roles, the strategies and the journal.
//!
//! Knows the judge, the world model and who proposes. Must not know how anything is shown.

pub mod coder;
pub mod facts;
pub mod generator;
pub mod strategy;

pub use facts::{ChipFacts, Facts};
pub use generator::Generator;
pub use strategy::{Catalogue, Effect, Plan, PlanError, Strategy};
