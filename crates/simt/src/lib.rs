//! A SIMT machine: lowers LLVM IR to a compact program and runs it 32 lanes at a time, with sanitizers and counters.
//!
//! Knows LLVM IR and the external functions of [`ksearch_msl::abi`]. Must not know Apple's chips, tasks or candidates.

pub mod counters;
pub mod fault;
pub mod launch;

pub use counters::{Counters, InstrClass};
pub use fault::{Fault, FaultKind};
pub use launch::{ArgValue, BufferId, Launch, Limits, Memory, Mode, Outcome};
