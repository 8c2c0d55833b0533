//! The one trait behind which all targets stand, and what passes through it. Must not know right from wrong.

use indexmap::IndexMap;
use ksearch_msl::{Diagnostic, SourcePos};
use ksearch_task::candidate::Resolved;
use ksearch_task::{Candidate, Tensor, TensorInfo, Tensors};

use crate::id::TargetId;
use crate::profile::Profile;

/// A named tensor that a launch reads or writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Contents.
    pub tensor: Tensor,
    /// May the kernel write it?
    pub writable: bool,
    /// Which bytes hold defined values; `None` when all do. The run marks what the kernel writes where the target can
    /// observe it.
    pub written: Option<Vec<bool>>,
}

/// Tensors of one launch by name, in task order.
pub type Slots = IndexMap<String, Slot>;

/// Slots for one launch: the tensors that are given, and for each of the others what `fill` makes of it, marked
/// unwritten. Absent tensors have no slot.
pub fn slots<'a>(
    infos: impl IntoIterator<Item = &'a TensorInfo>,
    given: &Tensors,
    mut fill: impl FnMut(&TensorInfo) -> Tensor,
) -> Slots {
    let slot = |info: &TensorInfo| {
        let input = given.get(&info.name).cloned();
        let unwritten = input.is_none();
        let tensor = input.unwrap_or_else(|| fill(info));
        let written = unwritten.then(|| vec![false; tensor.bytes.len()]);
        (info.name.clone(), Slot { writable: info.role.is_written(), tensor, written })
    };
    infos.into_iter().filter(|i| i.present).map(slot).collect()
}

/// Why a run is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Find faults: sanitizers where the target has them; no time.
    Check,
    /// Compute outputs and time them, at full optimisation.
    Measure,
}

/// What a build was made for, and what the judge may hold against it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildInfo {
    /// Compiler warnings.
    pub warnings: Vec<Diagnostic>,
    /// Kernel parameters that no instruction reads, `kernel: parameter`.
    pub unread: Vec<String>,
}

/// Something a target noticed in a run, for the judge to weigh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Stable identifier, as of a verdict's evidence.
    pub check: String,
    /// Is it as it should be?
    pub ok: bool,
    /// One sentence with the figures.
    pub detail: String,
}

/// What one run gave.
#[derive(Clone, Debug, Default)]
pub struct RunReport {
    /// Time and counters; only for [`Purpose::Measure`].
    pub profile: Option<Profile>,
    /// Kernels that were really launched, in order.
    pub launched: Vec<String>,
    /// What the target noticed beside.
    pub findings: Vec<Finding>,
}

/// Why a candidate could not be built or run. Each variant says whose fault it is.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The source is refused.
    #[error("{}", first_error(.0))]
    Compile(Vec<Diagnostic>),
    /// The recipe does not fit the kernel or the chip.
    #[error("{message}")]
    Launch {
        /// What does not fit, with the numbers.
        message: String,
        /// What to do.
        help: String,
        /// Where in the source, when there is a place.
        pos: Option<SourcePos>,
    },
    /// The kernel did something no kernel may do.
    #[error("{message}")]
    Fault {
        /// `out_of_bounds`, `data_race`, …
        kind: String,
        /// What happened, with the numbers.
        message: String,
        /// What to do.
        help: String,
        /// Where.
        pos: Option<SourcePos>,
        /// The other access of a race.
        other: Option<SourcePos>,
    },
    /// It did not end in time.
    #[error("{message}")]
    Timeout {
        /// Which budget ran out.
        message: String,
        /// What to do.
        help: String,
        /// Where it was.
        pos: Option<SourcePos>,
    },
    /// The machine or this program failed; says nothing about the candidate.
    #[error("{0}")]
    Infrastructure(String),
}

fn first_error(diagnostics: &[Diagnostic]) -> String {
    diagnostics.first().map_or_else(
        || "the source does not compile".to_owned(),
        |d| match &d.pos {
            Some(pos) => format!("{pos}: {}", d.message),
            None => d.message.clone(),
        },
    )
}

/// Facts of a target that planners and reports show.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetFacts {
    /// Full name, e.g. `m1-max` or the card's name.
    pub name: String,
    /// Peak f32 rate in GFLOP/s, where known.
    pub peak_gflops: Option<f64>,
    /// Peak f16 rate in GFLOP/s, where known.
    pub peak_f16_gflops: Option<f64>,
    /// Base-2 exponentials per second in units of 10^9, where known.
    pub exp_giga_per_s: Option<f64>,
    /// Attainable memory bandwidth in GB/s, where known.
    pub memory_gbs: Option<f64>,
    /// Cores or multiprocessors.
    pub cores: u32,
    /// Threads per threadgroup at most.
    pub max_threads: u32,
    /// Threadgroup memory per threadgroup, bytes.
    pub threadgroup_memory: u32,
    /// Values the timing rests on that are inferred, not published.
    pub estimated: Vec<String>,
}

/// A place where candidates run.
pub trait Target: Send + Sync {
    /// Which one.
    fn id(&self) -> &TargetId;

    /// Its facts.
    fn facts(&self) -> &TargetFacts;

    /// Compiles `candidate` for the workload its recipe was resolved on.
    fn build(&self, candidate: &Candidate, resolved: &Resolved) -> Result<Box<dyn Runnable>, Failure>;
}

/// A candidate built for one workload.
pub trait Runnable: Send {
    /// What the build showed.
    fn info(&self) -> &BuildInfo;

    /// Runs all dispatches once over `slots`. Writable slots are updated in place, also when it fails.
    fn run(&mut self, slots: &mut Slots, purpose: Purpose) -> Result<RunReport, Failure>;

    /// Times of further calls over the inputs of the last [`Purpose::Measure`] run, microseconds, one for each call:
    /// what lets two kernels be timed in turns. Targets that do not measure cannot do it.
    fn again(&mut self, calls: u32) -> Result<Vec<f64>, Failure> {
        let _ = calls;
        Err(Failure::Infrastructure("this target cannot time further calls".into()))
    }
}
