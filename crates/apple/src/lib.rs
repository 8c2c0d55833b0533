//! Apple GPU chips and the timing model over simulated counters.
//!
//! Knows chips (data files), occupancy and time. Must not know what a kernel means or who wrote it.

pub mod chip;
pub mod estimate;
pub mod instr;
pub mod occupancy;

pub use chip::{Chip, ChipError, Chips};
pub use estimate::{DispatchCounts, Estimate, Term, combine, estimate};
pub use occupancy::{Occupancy, OccupancyLimit};
