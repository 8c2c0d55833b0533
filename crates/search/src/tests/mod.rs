//! Whole runs on the made-up task.

mod faults;
mod runs;
mod toy;
