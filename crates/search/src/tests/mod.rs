//! Whole runs on the made-up task.

mod disk;
mod faults;
mod runs;
pub mod toy;
