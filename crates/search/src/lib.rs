//! The search: the loop, the roles, the strategies and the journal.
//!
//! Knows the judge, the world model and who proposes. Must not know how anything is shown.

pub mod ablation;
pub mod builtin;
pub mod coder;
pub mod config;
pub mod cycle;
pub mod engine;
pub mod evaluate;
pub mod facts;
pub mod generator;
pub mod journal;
pub mod llm;
pub mod matrix;
pub mod noise;
pub mod record;
pub mod recorder;
pub mod replay;
pub mod roles;
pub mod shared;
pub mod solution;
pub mod state;
pub mod store;
pub mod strategy;
pub mod sweep;
pub mod view;

#[cfg(test)]
extern crate self as ksearch_search;
#[cfg(test)]
mod tests;

pub use builtin::{BuiltinCoder, BuiltinPlanner};
pub use config::{Budget, SearchConfig, SweepConfig};
pub use engine::{Kernels, Players, SearchError, resume, start};
pub use evaluate::{Evaluator, Stage};
pub use facts::{ChipFacts, Facts};
pub use generator::Generator;
pub use journal::{Journal, JournalError};
pub use record::{Baseline, Event, Premises, Recorded, Stop};
pub use recorder::{Activity, Observer, Silent};
pub use roles::{Cancel, CodeAnswer, CodeRequest, CodeStep, Coder, PlanAnswer, PlanPurpose, PlanRequest, Planner};
pub use state::RunState;
pub use store::{RunLock, RunStore, StoreError};
pub use strategy::{Catalogue, Effect, Plan, PlanError, Strategy};
pub use view::{RunSummary, RunView};
