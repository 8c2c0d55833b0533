//! Whole runs on the made-up task.

mod disk;
mod faults;
pub mod runs;
pub mod toy;
