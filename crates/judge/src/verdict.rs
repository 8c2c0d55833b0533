//! Verdicts: plain, serialisable answers on one candidate. Knows nothing about how they were reached.

use ksearch_device::Profile;
use ksearch_msl::{Diagnostic, SourcePos};
use ksearch_task::{CandidateId, Figure};
use serde::{Deserialize, Serialize};

/// Outcome of judging, worst first where several hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Right on every workload tried.
    Passed,
    /// The front end refused the source.
    CompileError,
    /// A limit of the chip was exceeded, or the recipe does not fit the signature.
    LaunchError,
    /// A sanitizer fired; see [`Verdict::fault`].
    Fault,
    /// The error exceeds the tolerance.
    WrongAnswer,
    /// NaN or infinity where the reference is finite.
    Nonfinite,
    /// The time or instruction budget ran out.
    Timeout,
    /// The kernel never ran, or did not write all outputs.
    NotObserved,
    /// A cheat probe fired.
    Suspect,
    /// Our own or the machine's failure; says nothing about the candidate.
    InfrastructureError,
}

impl Status {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::CompileError => "compile_error",
            Self::LaunchError => "launch_error",
            Self::Fault => "fault",
            Self::WrongAnswer => "wrong_answer",
            Self::Nonfinite => "nonfinite",
            Self::Timeout => "timeout",
            Self::NotObserved => "not_observed",
            Self::Suspect => "suspect",
            Self::InfrastructureError => "infrastructure_error",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Something that was tried and what came of it; a reader can repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Stable identifier: `sanitizer`, `coverage`, `error`, `probe_zero`, `unread_argument`, `floor`, …
    pub check: String,
    /// Did it hold?
    pub ok: bool,
    /// One sentence with the figures and seeds.
    pub detail: String,
}

/// A fault as shown to users.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultReport {
    /// `out_of_bounds`, `data_race`, …
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// Where.
    pub pos: Option<SourcePos>,
    /// The other side of a race.
    pub other: Option<SourcePos>,
}

/// Outcome on one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadResult {
    /// Label of the workload.
    pub label: String,
    /// Outcome.
    pub status: Status,
    /// Time, only if it passed and was timed.
    pub time: Option<Figure>,
    /// Largest error over the allowed one; at most 1 when it passed.
    pub error: Option<f64>,
    /// Where the time went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

/// The judge's answer on one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Which candidate.
    pub candidate: CandidateId,
    /// Task name.
    pub task: String,
    /// Target string, e.g. `sim:m1-max`.
    pub target: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// Overall outcome: the first that is not `passed`, else `passed`.
    pub status: Status,
    /// One sentence: what happened.
    pub summary: String,
    /// One sentence: what to do. Empty when it passed.
    pub advice: String,
    /// Fault, when `status` is `fault` or `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultReport>,
    /// Per workload, in task order.
    pub workloads: Vec<WorkloadResult>,
    /// Geometric mean time over the workloads, only if it passed and was timed.
    pub time: Option<Figure>,
    /// Profile of the workload that weighs most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// What was checked.
    pub evidence: Vec<Evidence>,
    /// Compiler and front-end findings.
    pub diagnostics: Vec<Diagnostic>,
    /// Wall-clock seconds spent judging.
    pub wall_s: f64,
}
