//! Analysis of CUDA kernels: what each uses, what stands for it on the target, what stands in the way, which family it
//! belongs to and what probably bounds it. Every statement is about the text; where the text does not settle a
//! question the analysis says so.

mod bottleneck;
mod chips;
mod classify;
mod cost;
mod findings;
mod hazards;
mod instance;
mod render;
mod signals;
pub mod trace;
mod uses;

use ksearch_msl::SourcePos;
use ksearch_task::Bottleneck;
use serde::{Deserialize, Serialize};

pub use chips::ChipSide;
pub use render::render;

use crate::cuda::host::Host;
use crate::cuda::syntax::{ReadError, Source};
use crate::cuda::unit::Unit;
use crate::knowledge::{Knowledge, Support};

/// Version of the JSON form.
pub const SCHEMA: u32 = 1;

/// Family of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelClass {
    /// Attention, or softmax alone.
    AttentionSoftmax,
    /// Prefix operations and recurrences.
    Scan,
    /// Sums, maxima, norms, selections.
    Reduction,
    /// Products of matrices.
    #[serde(rename = "matmul")]
    MatMul,
    /// Each element on its own.
    Elementwise,
    /// Each element from its neighbours.
    Stencil,
    /// Data-dependent places, histograms, transposes.
    GatherScatter,
}

impl KernelClass {
    /// Name as written in JSON and knowledge files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AttentionSoftmax => "attention_softmax",
            Self::Scan => "scan",
            Self::Reduction => "reduction",
            Self::MatMul => "matmul",
            Self::Elementwise => "elementwise",
            Self::Stencil => "stencil",
            Self::GatherScatter => "gather_scatter",
        }
    }

    /// Name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::AttentionSoftmax => "attention/softmax",
            Self::Scan => "scan",
            Self::Reduction => "reduction",
            Self::MatMul => "matrix multiply",
            Self::Elementwise => "elementwise",
            Self::Stencil => "stencil",
            Self::GatherScatter => "gather/scatter",
        }
    }
}

/// How sure a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A hint.
    Low,
    /// Likely.
    Medium,
    /// The text leaves little room.
    High,
}

impl Confidence {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A reason with the line that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// 1-based line.
    pub line: u32,
    /// What is there.
    pub text: String,
}

/// Which family a kernel belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classification {
    /// The family; `None` where the signs do not settle it.
    pub class: Option<KernelClass>,
    /// How sure.
    pub confidence: Confidence,
    /// More about it; may be empty.
    pub note: String,
    /// Why.
    pub because: Vec<Reason>,
}

/// What probably bounds a kernel on a chip: a static estimate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guess {
    /// The chip.
    pub chip: String,
    /// The class; `None` where counting cannot tell.
    pub class: Option<Bottleneck>,
    /// How sure.
    pub confidence: Confidence,
    /// Why.
    pub why: String,
}

/// How much a finding stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Cannot be carried over as it is.
    Blocks,
    /// Has to be written in another way.
    Restructure,
    /// Carries over, but has to be checked.
    Check,
    /// Good to know.
    Note,
}

impl Severity {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blocks",
            Self::Restructure => "restructure",
            Self::Check => "check",
            Self::Note => "note",
        }
    }
}

/// Something that stands in the way, or has to be kept in mind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it stands in the way.
    pub severity: Severity,
    /// Stable identifier, e.g. `warp-synchronous`.
    pub code: String,
    /// What is there, one sentence.
    pub message: String,
    /// Where.
    pub pos: Option<SourcePos>,
    /// What to do, one sentence.
    pub help: String,
}

/// A construct that a kernel uses, and what stands for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// Entry of the knowledge base.
    pub concept: String,
    /// Its title.
    pub title: String,
    /// Words that were found, each once.
    pub words: Vec<String>,
    /// Places.
    pub count: usize,
    /// The first of them.
    pub pos: SourcePos,
    /// How well it carries over.
    pub support: Support,
    /// What to write in Metal; empty where there is nothing.
    pub metal: String,
    /// The usual way round, where there is no direct one.
    pub how: String,
    /// Limits.
    pub limits: Vec<String>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParamFact {
    /// Name.
    pub name: String,
    /// Type as written, without qualifiers.
    pub ty: String,
    /// A pointer.
    pub pointer: bool,
    /// What the kernel does with it: `read`, `write`, `read-write`, `atomic`, or empty where that is not known.
    pub access: String,
    /// `__restrict__`
    pub restrict: bool,
}

/// A shared array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedFact {
    /// Name.
    pub name: String,
    /// Element type as written.
    pub ty: String,
    /// Extents as written.
    pub extents: Vec<String>,
    /// Bytes, if they are known.
    pub bytes: Option<u64>,
    /// Sized by the launch.
    pub dynamic: bool,
    /// Where.
    pub pos: SourcePos,
}

/// A launch in host code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFact {
    /// Template arguments.
    pub template_args: Vec<String>,
    /// Blocks per axis as written; `None` where they cannot be followed.
    pub grid: Option<[String; 3]>,
    /// Threads per block and axis as written.
    pub block: Option<[String; 3]>,
    /// Threads per block, if known.
    pub threads: Option<u64>,
    /// Bytes of dynamic shared memory as written.
    pub shared: Option<String>,
    /// The same, if known.
    pub shared_bytes: Option<u64>,
    /// On a stream of its own.
    pub stream: Option<String>,
    /// Where.
    pub pos: SourcePos,
}

/// What is known of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelAnalysis {
    /// Name.
    pub name: String,
    /// Where it is defined.
    pub pos: SourcePos,
    /// Template parameters, as `name = assumed value`; the value is empty where none is known.
    pub template: Vec<(String, String)>,
    /// Parameters.
    pub params: Vec<ParamFact>,
    /// Launch bounds as written.
    pub launch_bounds: Vec<String>,
    /// Threads per block that the launch bounds allow, if known.
    pub bound_threads: Option<u64>,
    /// Shared arrays.
    pub shared: Vec<SharedFact>,
    /// Static shared memory in bytes, if all of it is known.
    pub shared_static_bytes: Option<u64>,
    /// Launches in the same file.
    pub launches: Vec<LaunchFact>,
    /// Device functions it reaches.
    pub calls: Vec<String>,
    /// What it uses.
    pub uses: Vec<Use>,
    /// Family.
    pub classification: Classification,
    /// On the chip it was written for.
    pub on_source: Guess,
    /// On the chip it goes to.
    pub on_target: Guess,
    /// What stands in the way, worst first.
    pub findings: Vec<Finding>,
}

impl KernelAnalysis {
    /// Can rules alone not carry it over?
    pub fn is_blocked(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Blocks)
    }

    /// The finding with this code, if there is one.
    pub fn finding(&self, code: &str) -> Option<&Finding> {
        self.findings.iter().find(|f| f.code == code)
    }
}

/// Analysis of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// Version of this form.
    pub schema: u32,
    /// File as named.
    pub file: String,
    /// CUDA chip assumed as the source.
    pub source: String,
    /// Apple chip that is the target.
    pub target: String,
    /// Kernels, in file order.
    pub kernels: Vec<KernelAnalysis>,
    /// Constructs of the host code.
    pub host: Vec<Use>,
    /// Line ranges that could not be read: nothing is said about them.
    pub unread: Vec<(u32, u32)>,
}

/// The two ends of a port.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// Chip the kernel was written for.
    pub source: ChipSide,
    /// Chip it goes to.
    pub target: ChipSide,
}

/// Analyses the kernels of a file.
pub fn analyze(file: &str, text: &str, knowledge: &Knowledge, ends: &Ends) -> Result<Analysis, ReadError> {
    let source = Source::parse(file, text)?;
    let unit = Unit::read(&source);
    let host = Host::read(&unit);
    let unread = source.unread();
    let kernels = unit.kernels().map(|k| kernel(&unit, &host, k, knowledge, ends, &unread)).collect();
    Ok(Analysis {
        schema: SCHEMA,
        file: file.to_owned(),
        source: ends.source.name.clone(),
        target: ends.target.name.clone(),
        kernels,
        host: uses::of_host(&unit, knowledge),
        unread,
    })
}

fn kernel<'t>(
    unit: &Unit<'t>,
    host: &Host,
    k: &crate::cuda::unit::Function<'t>,
    knowledge: &Knowledge,
    ends: &Ends,
    unread: &[(u32, u32)],
) -> KernelAnalysis {
    let source = unit.source;
    let line = |at: usize| source.line(at);
    let reachable = unit.reachable(k);
    let instances = instance::of(unit, host, k);
    let first = instances.first().cloned().unwrap_or_default();
    let launches = instance::launches(unit, host, k);
    let bound_threads = instance::bound_threads(unit, k, &first);
    let mut known = first.clone();
    known.extend(instance::block(unit, host, k));
    let items = trace::trace(unit, k, &known);
    let shared = instance::shared(unit, &reachable, k, &instances);
    let profile = cost::Profile::of(&items);
    let mut signs = signals::gather(&items);
    if signs.prefix.is_none() {
        signs.prefix = signals::shuffle_prefix(&items);
    }
    let uses = uses::of_kernel(unit, &reachable, knowledge);
    let context = findings::Context {
        unit,
        host,
        kernel: k,
        reachable: &reachable,
        items: &items,
        instances: &instances,
        uses: &uses,
        signs: &signs,
        ends,
    };
    let mut findings = findings::find(&context, &shared, &launches, bound_threads, &profile);
    let range = (line(k.node.start_byte()), line(k.node.end_byte()));
    if let Some((from, to)) = unread.iter().find(|(from, to)| *from <= range.1 && *to >= range.0) {
        findings.push(Finding {
            severity: Severity::Check,
            code: "unread".into(),
            message: format!("lines {from} to {to} could not be read; nothing is said about them"),
            pos: Some(SourcePos { file: source.file.clone(), line: *from, column: 0 }),
            help: "Expand macros or drop what is not CUDA C++ there, and analyse again.".into(),
        });
    }
    findings.sort_by_key(|f| (f.severity, f.pos.as_ref().map_or(0, |p| p.line)));
    let waits = bottleneck::Waits { on_blocks: findings.iter().any(|f| findings::is_block_wait(&f.code)) };
    let statics: Vec<_> = shared.iter().filter(|s| !s.dynamic).collect();
    let shared_static_bytes = statics.iter().map(|s| s.bytes).sum::<Option<u64>>();
    KernelAnalysis {
        name: k.name.clone(),
        pos: source.pos(k.node.start_byte()),
        template: k
            .template
            .iter()
            .map(|p| {
                let value = first.iter().find(|(n, _)| *n == p.name).map(|(_, v)| v.clone());
                (p.name.clone(), value.unwrap_or_default())
            })
            .collect(),
        params: findings::params(k, &items),
        launch_bounds: k.launch_bounds.clone(),
        bound_threads,
        shared,
        shared_static_bytes,
        launches,
        calls: reachable.iter().skip(1).map(|f| f.name.clone()).collect(),
        uses,
        classification: classify::classify(&signs, &line),
        on_source: bottleneck::guess(&profile, waits, &ends.source),
        on_target: bottleneck::guess(&profile, waits, &ends.target),
        findings,
    }
}
