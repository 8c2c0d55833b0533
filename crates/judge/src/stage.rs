//! Stages: how thoroughly a candidate is judged. Knows no candidate.

use serde::{Deserialize, Serialize};

/// How thoroughly a candidate is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Static checks and compilation only; nothing runs.
    Check,
    /// The cheapest timed workload only: enough to order settings of tunables.
    Screen,
    /// All search workloads. This is what the evaluation budget counts.
    Full,
    /// All search workloads again, with fresh inputs, fresh timing and the metamorphic relations.
    Confirm,
    /// The held-out workloads. Once per candidate, and never shown to a role.
    HeldOut,
}

impl Stage {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Screen => "screen",
            Self::Full => "full",
            Self::Confirm => "confirm",
            Self::HeldOut => "held_out",
        }
    }
}
