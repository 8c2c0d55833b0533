//! A SIMT machine: lowers LLVM IR to a compact program and runs it 32 lanes at a time, with sanitizers and counters.
//!
//! Knows LLVM IR and the external functions of [`ksearch_msl::abi`]. Must not know Apple's chips, tasks or candidates.

// Tables of cases read best with one line a case, equal right sides or not; a `match` with one named case says what the
// other cases are.
#![allow(
    clippy::match_same_arms,
    clippy::single_match_else,
    clippy::unnested_or_patterns,
    clippy::struct_excessive_bools
)]

pub mod by_line;
pub mod counters;
pub mod exec;
pub mod fault;
pub mod launch;
pub mod lower;
pub mod observe;
pub mod reader;
pub mod semantics;
mod semantics64;
pub mod shape;

pub use by_line::{LineCounts, by_line};
pub use counters::{Counters, InstrClass};
pub use exec::{Isa, LaunchError, LoadError, Program, RunError, Traced, TracedStep};
pub use fault::{Access, Fault, FaultKind};
pub use launch::{ArgValue, BlockRuns, Buffer, BufferId, Detail, GroupWork, Launch, Limits, Memory, Mode, Outcome};
