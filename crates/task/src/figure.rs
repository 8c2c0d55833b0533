//! Figures: numbers that say what they are, on what, and how sure. Knows nothing about where they come from.

use serde::{Deserialize, Serialize};

/// How a figure came to be. Simulated and measured figures never share a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// Predicted by the timing model over simulated counters.
    Simulated,
    /// Timed on real hardware.
    Measured,
    /// Computed from other figures.
    Derived,
}

impl std::fmt::Display for FigureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Simulated => "simulated",
            Self::Measured => "measured",
            Self::Derived => "derived",
        })
    }
}

/// A number with its unit, origin, place and interval: the only form in which figures leave the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The value, in `unit`.
    pub value: f64,
    /// Unit, e.g. `us`, `x`, `GB/s`.
    pub unit: String,
    /// How it came to be.
    pub kind: FigureKind,
    /// The chip, card or processor it holds for.
    pub on: String,
    /// Interval around the value (95% unless the source says otherwise), in `unit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci: Option<[f64; 2]>,
}

impl Figure {
    /// A simulated time in microseconds.
    pub fn simulated_us(value: f64, on: impl Into<String>) -> Self {
        Self { value, unit: "us".into(), kind: FigureKind::Simulated, on: on.into(), ci: None }
    }

    /// A measured time in microseconds with its interval.
    pub fn measured_us(value: f64, on: impl Into<String>, ci: [f64; 2]) -> Self {
        Self { value, unit: "us".into(), kind: FigureKind::Measured, on: on.into(), ci: Some(ci) }
    }

    /// A dimensionless ratio derived from two figures.
    pub fn ratio(value: f64, on: impl Into<String>) -> Self {
        Self { value, unit: "x".into(), kind: FigureKind::Derived, on: on.into(), ci: None }
    }
}

/// What bounds a kernel. The same four classes everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bottleneck {
    /// Bytes moved through some memory level.
    Bandwidth,
    /// Dependent chains and too little parallelism to hide them.
    Latency,
    /// Instruction issue or arithmetic pipes.
    Compute,
    /// Barriers, atomics, launches and the skew they expose.
    Synchronization,
}

impl Bottleneck {
    /// All classes, in a fixed order.
    pub const ALL: [Self; 4] = [Self::Bandwidth, Self::Latency, Self::Compute, Self::Synchronization];

    /// Name as written in JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::Latency => "latency",
            Self::Compute => "compute",
            Self::Synchronization => "synchronization",
        }
    }
}

impl std::fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
