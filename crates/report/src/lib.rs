//! What people look at: the report, its plots, the dashboard and the terminal view. Everything is derived from a run's
//! journal. Must not decide anything.

pub mod build;
pub mod compare;
pub mod formats;
pub mod model;
pub mod page;
pub mod plots;
pub mod terminal;
pub mod text;
pub mod ui;
pub mod words;

/// File beside a run's journal that holds the ablation it belongs to.
pub const ABLATION: &str = "ablation.json";

pub use build::Loaded;
pub use model::Report;
pub use plots::Plot;
