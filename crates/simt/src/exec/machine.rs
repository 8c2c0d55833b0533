//! The public face of the machine: load a program, run a kernel over memory, get counters and faults.

use std::sync::OnceLock;

use ksearch_msl::SourcePos;

use super::Isa;
use super::job::{Job, Ran};
use crate::launch::{ArgValue, BlockRuns, Detail, GroupWork, Launch, Limits, Memory, Mode, Outcome, WORK_BINS};
use crate::lower::linear::{LInst, LOp};
use crate::lower::sir::{Class, Op};
use crate::lower::{self, Loads, LowerError, Lowered};
use crate::observe::footprint::footprint;
use crate::observe::values::{Values, Watch};
use crate::observe::{Nothing, Profile, Sanitize};
use crate::reader::{self, ReadError};

/// A program cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The IR cannot be read: a version of clang that prints what we do not know, or our own mistake.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A dispatch that the chip's limits or the kernel's signature forbid: the fault of the candidate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum LaunchError {
    #[error("a threadgroup of {threads} threads, where at most {limit} are allowed")]
    TooManyThreads { threads: u64, limit: u32 },
    #[error("{bytes} bytes of threadgroup memory, where at most {limit} are allowed")]
    TooMuchThreadgroupMemory { bytes: u64, limit: u32 },
    #[error("the dispatch has no threads: {groups:?} threadgroups of {threads:?}")]
    Empty { groups: [u32; 3], threads: [u32; 3] },
    #[error("the kernel takes {expected} arguments and was given {given}")]
    ArgumentCount { expected: usize, given: usize },
    #[error("argument {index} of the kernel is {expected}")]
    ArgumentKind { index: usize, expected: &'static str },
    #[error("argument {index} names buffer {buffer}, which does not exist")]
    NoBuffer { index: usize, buffer: u32 },
}

/// A run that did not take place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The launch is not allowed: the candidate's fault.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The kernel uses what the machine does not have.
    #[error("the simulator cannot run {what}")]
    Unsupported {
        /// The construct.
        what: String,
        /// Where.
        pos: Option<SourcePos>,
    },
    /// No kernel has this name.
    #[error("no kernel is called `{0}`")]
    NoEntry(String),
    /// The host has too little memory.
    #[error("the host has no memory for this launch")]
    Memory,
    /// A mistake of ours.
    #[error("internal error of the simulator: {0}")]
    Internal(String),
}

impl From<LowerError> for RunError {
    fn from(e: LowerError) -> Self {
        match e {
            LowerError::Unsupported { what, pos } => Self::Unsupported { what, pos },
            LowerError::NoFunction(n) => Self::NoEntry(n),
            e @ LowerError::Malformed(_) => Self::Internal(e.to_string()),
        }
    }
}

struct Entry {
    name: String,
    symbol: String,
    max_threads: Option<u32>,
    lowered: OnceLock<Result<Lowered, LowerError>>,
    counted: OnceLock<Result<Lowered, LowerError>>,
}

/// A loaded module: kernels are lowered when they are first used.
pub struct Program {
    ir: reader::ir::Module,
    entries: Vec<Entry>,
    isa: Isa,
}

impl Program {
    /// Loads the front end's product.
    pub fn load(module: &ksearch_msl::Module) -> Result<Self, LoadError> {
        let mut p = Self::from_ir(&module.ir, [])?;
        p.entries = module
            .entries
            .iter()
            .map(|e| Entry {
                name: e.name.clone(),
                symbol: e.symbol.clone(),
                max_threads: e.max_threads,
                lowered: OnceLock::new(),
                counted: OnceLock::new(),
            })
            .collect();
        Ok(p)
    }

    /// Loads IR text; `entries` are names with the symbols of their functions.
    pub fn from_ir<'a>(ir: &str, entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, LoadError> {
        let entries = entries
            .into_iter()
            .map(|(n, s)| Entry {
                name: n.to_owned(),
                symbol: s.to_owned(),
                max_threads: None,
                lowered: OnceLock::new(),
                counted: OnceLock::new(),
            })
            .collect();
        Ok(Self { ir: reader::read(ir)?, entries, isa: Isa::detect() })
    }

    /// Uses another instruction set of the host than the best one. Asking for one that the host lacks is ignored.
    #[must_use]
    pub fn with_isa(mut self, isa: Isa) -> Self {
        let best = Isa::detect();
        let rank = |i: Isa| match i {
            Isa::Generic => 0,
            Isa::Avx2 => 1,
            Isa::Avx512 => 2,
        };
        if rank(isa) <= rank(best) {
            self.isa = isa;
        }
        self
    }

    fn entry(&self, name: &str) -> Result<&Entry, RunError> {
        self.entries.iter().find(|e| e.name == name).ok_or_else(|| RunError::NoEntry(name.to_owned()))
    }

    /// The lowered kernel, its loads as they are written.
    pub fn lowered(&self, name: &str) -> Result<&Lowered, RunError> {
        let e = self.entry(name)?;
        match e.lowered.get_or_init(|| lower::lower(&self.ir, &e.symbol, Loads::AsWritten)) {
            Ok(l) => Ok(l),
            Err(e) => Err(e.clone().into()),
        }
    }

    /// The kernel as [`Mode::Profile`] runs it, with loads of neighbouring elements joined: what its counts refer to.
    pub fn counted(&self, name: &str) -> Result<&Lowered, RunError> {
        let e = self.entry(name)?;
        match e.counted.get_or_init(|| lower::lower(&self.ir, &e.symbol, Loads::Joined)) {
            Ok(l) => Ok(l),
            Err(e) => Err(e.clone().into()),
        }
    }

    /// Runs one dispatch. Faults of the kernel are in the outcome; memory holds what the kernel wrote.
    pub fn run(
        &self,
        name: &str,
        launch: &Launch,
        memory: &mut Memory,
        limits: &Limits,
        mode: Mode,
    ) -> Result<Outcome, RunError> {
        let entry = self.entry(name)?;
        let lowered = if mode == Mode::Profile { self.counted(name)? } else { self.lowered(name)? };
        let function = self.ir.function(&entry.symbol).ok_or_else(|| RunError::NoEntry(entry.symbol.clone()))?;
        let dynamic = check(entry, function, lowered, launch, memory, limits)?;
        let mut job = Job::new(lowered, function, launch, memory, dynamic)?;
        let out = match mode {
            Mode::Fast => job.run::<Nothing>(self.isa, limits).map(|r| r.outcome),
            Mode::Profile => job.run::<Profile>(self.isa, limits).map(|r| with_profile(r, lowered)),
            Mode::Sanitize => job.run::<Sanitize>(self.isa, limits).map(|r| r.outcome),
        };
        job.finish(memory);
        out
    }
}

/// One execution of an instruction, with what its lanes held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedStep {
    /// Where the instruction stems from.
    pub pos: SourcePos,
    /// What it does, e.g. `load device`, `fma`.
    pub what: String,
    /// Lanes that took part.
    pub mask: u32,
    /// Values lane by lane, as bits: results, or what a store writes. One for each element of a vector.
    pub values: Vec<[u64; 32]>,
    /// The variable whose value each of `values` is, where the compiler says so.
    pub variables: Vec<Option<String>>,
    /// Are `values` what a store writes?
    pub stored: bool,
    /// Bits of a value: 1, 32 or 64.
    pub bits: u32,
}

/// Values of one source line in one simdgroup.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The run.
    pub outcome: Outcome,
    /// Executions in order.
    pub steps: Vec<TracedStep>,
    /// Executions beyond those that were kept.
    pub left_out: u64,
    /// Lines that have instructions, ascending.
    pub lines: Vec<u32>,
}

impl Program {
    /// Runs one dispatch and records what the instructions of `line` compute in one simdgroup of one threadgroup
    /// (linear), at most `most` executions.
    pub fn trace(
        &self,
        name: &str,
        launch: &Launch,
        memory: &mut Memory,
        limits: &Limits,
        line: u32,
        (group, simdgroup, most): (u64, u32, usize),
    ) -> Result<Traced, RunError> {
        let entry = self.entry(name)?;
        let lowered = self.lowered(name)?;
        let function = self.ir.function(&entry.symbol).ok_or_else(|| RunError::NoEntry(entry.symbol.clone()))?;
        let dynamic = check(entry, function, lowered, launch, memory, limits)?;
        let mut job = Job::new(lowered, function, launch, memory, dynamic)?;
        let shown = |i: &LInst| matches!(i.op, LOp::Op(_)) && !(i.dst.is_empty() && i.args.is_empty());
        let on_line = |i: &LInst| lowered.position(i.pos).is_some_and(|p| p.line == line);
        let points = lowered.insts.iter().map(|i| shown(i) && on_line(i)).collect();
        job.watch = Watch { points, group, simdgroup, most };
        let ran = job.run::<Values>(self.isa, limits);
        job.finish(memory);
        let ran = ran?;
        let mut lines: Vec<u32> = lowered.insts.iter().filter_map(|i| Some(lowered.position(i.pos)?.line)).collect();
        lines.sort_unstable();
        lines.dedup();
        let steps = ran.observer.seen.into_iter().filter_map(|o| step(lowered, o)).collect();
        Ok(Traced { outcome: ran.outcome, steps, left_out: ran.observer.left_out, lines })
    }
}

fn step(lowered: &Lowered, o: crate::observe::values::Observed) -> Option<TracedStep> {
    let inst = lowered.insts.get(o.point as usize)?;
    let LOp::Op(op) = inst.op else { return None };
    let stored = if let Op::Store(m) = op { usize::from(m.count) } else { 0 };
    let (regs, values): (_, Vec<_>) = if stored > 0 {
        (inst.args.as_slice(), o.args.into_iter().take(stored).collect())
    } else {
        (inst.dst.as_slice(), o.results)
    };
    let bits = match regs.first()?.class {
        Class::Pred => 1,
        Class::B64 => 64,
        Class::B32 | Class::None => 32,
    };
    let name = |k: u32| lowered.variables.get(&(o.point, k)).map(|n| (**n).to_owned());
    let variables = (0..values.len() as u32).map(name).collect();
    let pos = lowered.position(inst.pos)?.clone();
    Some(TracedStep { pos, what: op.title(), mask: o.mask, values, variables, stored: stored > 0, bits })
}

/// Checks a launch against the limits and the signature; gives the bytes of threadgroup memory.
fn check(
    entry: &Entry,
    function: &reader::ir::Function,
    lowered: &Lowered,
    launch: &Launch,
    memory: &Memory,
    limits: &Limits,
) -> Result<u32, LaunchError> {
    let threads: u64 = launch.threads.iter().map(|&t| u64::from(t)).product();
    let groups: u64 = launch.groups.iter().map(|&t| u64::from(t)).fold(1, u64::saturating_mul);
    if threads == 0 || groups == 0 {
        return Err(LaunchError::Empty { groups: launch.groups, threads: launch.threads });
    }
    let limit = limits.max_threads.min(entry.max_threads.unwrap_or(u32::MAX)).min(1024);
    if threads > u64::from(limit) {
        return Err(LaunchError::TooManyThreads { threads, limit });
    }
    if function.params.len() != launch.args.len() {
        return Err(LaunchError::ArgumentCount { expected: function.params.len(), given: launch.args.len() });
    }
    let mut bytes = u64::from(lowered.static_threadgroup);
    for (index, (p, a)) in function.params.iter().zip(&launch.args).enumerate() {
        let threadgroup = p.ty == reader::ir::Type::Ptr(3);
        match a {
            ArgValue::Threadgroup(n) if threadgroup => {
                bytes = bytes.next_multiple_of(16) + u64::from(*n);
            }
            ArgValue::Threadgroup(_) => {
                return Err(LaunchError::ArgumentKind { index, expected: "a buffer or bytes" });
            }
            _ if threadgroup => return Err(LaunchError::ArgumentKind { index, expected: "threadgroup memory" }),
            ArgValue::Buffer(b, _) if b.0 as usize >= memory.buffers.len() => {
                return Err(LaunchError::NoBuffer { index, buffer: b.0 });
            }
            ArgValue::Buffer(..) | ArgValue::Bytes(_) => {}
        }
    }
    if bytes > u64::from(limits.max_threadgroup_bytes) {
        return Err(LaunchError::TooMuchThreadgroupMemory { bytes, limit: limits.max_threadgroup_bytes });
    }
    Ok(bytes as u32)
}

/// Adds what the profile's observer has seen.
fn with_profile(ran: Ran<Profile>, lowered: &Lowered) -> Outcome {
    let Ran { mut outcome, observer: mut p, blocks, work } = ran;
    let c = &mut outcome.counters;
    c.device_bytes = p.device_bytes;
    c.device_lines = p.device_lines;
    c.group_lines = p.group_lines;
    c.launch_lines = p.lines.total();
    c.threadgroup_bytes = p.threadgroup_bytes;
    c.threadgroup_passes = p.threadgroup_passes;
    c.bank_conflicts = p.bank_conflicts;
    c.atomic_conflicts = p.atomic_conflicts;
    for (k, point) in p.points.iter_mut().enumerate() {
        point.point = k as u32;
    }
    p.points.retain(|point| point.runs > 0);
    let mut traces = std::mem::take(&mut p.traces.done);
    traces.sort_unstable_by_key(|t| (t.group, t.simdgroup));
    outcome.detail = Some(Detail {
        shape: (*lowered.shape).clone(),
        blocks: blocks.iter().map(|b| BlockRuns { runs: b.runs, lanes: b.lanes, splits: b.splits }).collect(),
        points: p.points,
        traces,
        footprint: footprint(p.groups),
        work: bins(work),
    });
    outcome
}

/// Joins neighbours until few enough are left.
fn bins(mut work: Vec<(u64, u64)>) -> Vec<GroupWork> {
    work.sort_unstable();
    work.chunks(work.len().div_ceil(WORK_BINS).max(1))
        .map(|c| GroupWork {
            first: c.first().map_or(0, |w| w.0),
            groups: c.len() as u64,
            instructions: c.iter().map(|w| w.1).sum(),
            most: c.iter().map(|w| w.1).max().unwrap_or(0),
        })
        .collect()
}
