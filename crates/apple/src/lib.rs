//! Apple GPU chips and the timing model over simulated counters.
//!
//! Knows chips (data files), occupancy and time. Must not know what a kernel means or who wrote it.

pub mod chip;
pub mod estimate;
pub mod instr;
pub mod model;
pub mod occupancy;
pub mod record;

pub use chip::{Chip, ChipError, Chips};
pub use estimate::{Estimate, Model, Term};
pub use model::Features;
pub use occupancy::{Occupancy, OccupancyLimit};
pub use record::Dispatched;
