//! Published measurements as ground truth: loads them, simulates what was measured, scores and fits the timing model.
//!
//! Knows formats of published results and launches. Must not know the search, nor what a kernel means.

pub mod fit;
pub mod geometry;
pub mod load;
pub mod plot;
pub mod score;
pub mod simulate;

pub use fit::{Effort, Sample};
pub use geometry::Geometry;
pub use load::{LoadError, Row, TruthSet};
pub use score::{Clocks, Point, Report, Score, score};
pub use simulate::{Simulated, Simulator, samples};
