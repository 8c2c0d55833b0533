//! Profile: what one run cost and what bounded it, in the form that planners, models and people read.
//! Knows nothing about how the numbers were obtained beyond their label.

use indexmap::IndexMap;
use ksearch_task::{Bottleneck, Figure};
use serde::{Deserialize, Serialize};

/// Counters and time split of one workload on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Time of all dispatches together.
    pub time: Figure,
    /// The class of the resource that bounds the kernel.
    pub bottleneck: Bottleneck,
    /// Microseconds attributed to each term of the model (or each hardware counter group), largest first.
    pub terms: IndexMap<String, f64>,
    /// Simdgroup instructions by class; empty where the target has no counters.
    pub instructions: IndexMap<String, f64>,
    /// Bytes moved per memory level: `device`, `l2`, `slc`, `dram`, `threadgroup`, where known.
    pub bytes: IndexMap<String, f64>,
    /// Resident simdgroups (or warps) per core over the most there can be.
    pub occupancy: f64,
    /// What limits occupancy: `registers`, `threadgroup_memory`, `threads`, `grid`.
    pub occupancy_limit: String,
    /// Registers per thread (32-bit equivalents), where known.
    pub registers: Option<f64>,
    /// Threadgroup memory per threadgroup, bytes.
    pub threadgroup_memory: u32,
    /// Threadgroup-memory passes lost to bank conflicts, as a share of all passes.
    pub conflict_share: f64,
    /// Barriers per threadgroup.
    pub barriers: f64,
    /// Share of branches that diverged.
    pub divergence: f64,
    /// Physical floor of the task on this target over the time: 1 is perfect.
    pub floor_fraction: Option<f64>,
    /// Further facts of a measured run by name, e.g. `sm_clock_mhz`, `local_bytes_per_thread`, `timed_calls`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub resources: IndexMap<String, f64>,
    /// One line of advice per limiter, most important first.
    pub advice: Vec<String>,
}
