//! The public face of the machine: load a program, run a kernel over memory, get counters and faults.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ksearch_msl::SourcePos;
use rustc_hash::FxHashSet;

use super::assemble::assemble;
use super::buffer::Aligned;
use super::group::{Env, Shared, Worker};
use super::mem::View;
use super::{BlockCount, Isa, order_sensitive};
use crate::counters::{Counters, InstrClass};
use crate::fault::{Access, Fault, FaultKind};
use crate::launch::{ArgValue, BlockRuns, Detail, GroupWork, Launch, Limits, Memory, Mode, Outcome, WORK_BINS};
use crate::lower::linear::{LInst, LOp};
use crate::lower::sir::{Class, Op};
use crate::lower::{self, LowerError, Lowered};
use crate::observe::footprint::footprint;
use crate::observe::values::{Values, Watch};
use crate::observe::{Nothing, Observer, Plan, Profile, Sanitize};
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

    /// The lowered kernel.
    pub fn lowered(&self, name: &str) -> Result<&Lowered, RunError> {
        let e = self.entry(name)?;
        match e.lowered.get_or_init(|| lower::lower(&self.ir, &e.symbol)) {
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
        let lowered = self.lowered(name)?;
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

/// Threadgroups whose way through the kernel a profile keeps: spread over those that run.
fn traced(only: Option<&[u64]>, total: u64) -> Vec<u64> {
    let n = only.map_or(total, |o| o.len() as u64);
    let mut at: Vec<u64> = [1, 3, 5].iter().map(|k| n.saturating_mul(*k) / 6).collect();
    at.dedup();
    at.iter().filter_map(|&i| only.map_or(Some(i), |o| o.get(usize::try_from(i).ok()?).copied())).collect()
}

/// A launch with its memory laid out.
struct Job<'a> {
    lowered: &'a Lowered,
    launch: &'a Launch,
    views: Vec<View>,
    names: Vec<String>,
    args: Vec<u64>,
    threadgroup_bytes: u32,
    constants: View,
    /// Copies of buffers whose bytes are not aligned as atomics need.
    moved: Vec<(usize, Aligned)>,
    /// Values that are wanted.
    watch: Watch,
    _bytes: Vec<Aligned>,
}

/// What a run of all groups gives.
struct Ran<O> {
    outcome: Outcome,
    observer: O,
    blocks: Vec<BlockCount>,
    /// Instructions by linear threadgroup; empty where the observer has no use for them.
    work: Vec<(u64, u64)>,
}

/// Base address of buffer number `id`.
fn base(id: usize) -> u64 {
    ((id as u64) << 40) + (1 << 39)
}

impl<'a> Job<'a> {
    fn new(
        lowered: &'a Lowered,
        function: &reader::ir::Function,
        launch: &'a Launch,
        memory: &mut Memory,
        threadgroup_bytes: u32,
    ) -> Result<Self, RunError> {
        let none = View {
            ptr: std::ptr::null_mut(),
            len: 0,
            written: std::ptr::null_mut(),
            read_only: false,
            present: false,
            contended: false,
        };
        let mut views = vec![none];
        let mut names = vec![String::new()];
        let mut moved = Vec::new();
        for (k, b) in memory.buffers.iter_mut().enumerate() {
            let mut ptr = b.bytes.as_mut_ptr();
            if ptr as usize & 7 != 0 {
                let mut a = Aligned::new(b.bytes.len()).ok_or(RunError::Memory)?;
                if let Some(dst) = a.bytes_mut().get_mut(..b.bytes.len()) {
                    dst.copy_from_slice(&b.bytes);
                }
                ptr = a.ptr();
                moved.push((k, a));
            }
            let written = match &mut b.written {
                Some(f) => {
                    f.resize(b.bytes.len(), false);
                    f.as_mut_ptr()
                }
                None => std::ptr::null_mut(),
            };
            views.push(View {
                ptr,
                len: b.bytes.len() as u64,
                written,
                read_only: b.read_only,
                present: true,
                contended: false,
            });
            names.push(b.name.clone());
        }
        let mut bytes = Vec::new();
        let mut pin = |data: &[u8]| -> Result<View, RunError> {
            let mut a = Aligned::new(data.len()).ok_or(RunError::Memory)?;
            if let Some(dst) = a.bytes_mut().get_mut(..data.len()) {
                dst.copy_from_slice(data);
            }
            let v = View {
                ptr: a.ptr(),
                len: data.len() as u64,
                written: std::ptr::null_mut(),
                read_only: true,
                present: true,
                contended: false,
            };
            bytes.push(a);
            Ok(v)
        };
        let constants = pin(&lowered.constants)?;
        let mut args = Vec::new();
        let mut dynamic = u64::from(lowered.static_threadgroup);
        for (k, (a, _)) in launch.args.iter().zip(&function.params).enumerate() {
            args.push(match a {
                ArgValue::Buffer(b, off) => base(b.0 as usize + 1).wrapping_add(*off),
                ArgValue::Bytes(data) => {
                    let id = views.len();
                    views.push(pin(data)?);
                    names.push(format!("the bytes of argument {k}"));
                    base(id)
                }
                ArgValue::Threadgroup(n) => {
                    let at = dynamic.next_multiple_of(16);
                    dynamic = at + u64::from(*n);
                    at
                }
            });
        }
        // Buffers that a store may reach: those bound to parameters that are written.
        for (k, a) in launch.args.iter().enumerate() {
            let writes = lowered.written_params.as_ref().is_none_or(|w| w.contains(&(k as u32)));
            if let (true, ArgValue::Buffer(b, _)) = (writes, a)
                && let Some(v) = views.get_mut(b.0 as usize + 1)
            {
                v.contended = true;
            }
        }
        if lowered.written_params.is_none() {
            for v in &mut views {
                v.contended = true;
            }
        }
        let watch = Watch::default();
        Ok(Self { lowered, launch, views, names, args, threadgroup_bytes, constants, moved, watch, _bytes: bytes })
    }

    /// Copies moved buffers back.
    fn finish(self, memory: &mut Memory) {
        for (k, mut a) in self.moved {
            if let Some(b) = memory.buffers.get_mut(k)
                && let Some(src) = a.bytes_mut().get(..b.bytes.len())
            {
                b.bytes.copy_from_slice(src);
            }
        }
    }

    fn run<O: Observer>(&mut self, isa: Isa, limits: &Limits) -> Result<Ran<O>, RunError> {
        let code = assemble::<O>(self.lowered, isa).map_err(|e| RunError::Internal(e.to_string()))?;
        let total = self.launch.only.as_ref().map_or_else(|| self.launch.group_count(), |o| o.len() as u64);
        let mut threads = limits.host_threads;
        if threads == 0 {
            threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        }
        if O::SANITIZE || order_sensitive(self.lowered) {
            // Results would depend on the order in which groups run: one after another, they do not.
            threads = 1;
        }
        let threads = threads.min(usize::try_from(total).unwrap_or(usize::MAX)).max(1);
        let next = AtomicU64::new(0);
        let stop_at = AtomicU64::new(u64::MAX);
        let spent = AtomicU64::new(0);
        let this = &*self;
        let work = || this.worker::<O>(&code, limits, total, &next, &stop_at, &spent);
        let parts: Vec<Result<Part<O>, RunError>> = if threads == 1 {
            vec![work()]
        } else {
            std::thread::scope(|s| {
                let handles: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
                handles
                    .into_iter()
                    .map(|h| h.join().unwrap_or_else(|_| Err(RunError::Internal("a worker panicked".to_owned()))))
                    .collect()
            })
        };
        let mut observer = O::default();
        let mut counts = vec![BlockCount::default(); self.lowered.blocks.len()];
        let mut faults: Vec<(u64, Fault)> = Vec::new();
        let mut work = Vec::new();
        let (mut groups, mut simdgroups, mut barriers) = (0, 0, 0);
        for p in parts {
            let p = p?;
            observer.merge(p.observer);
            for (a, b) in counts.iter_mut().zip(&p.counts) {
                a.runs += b.runs;
                a.lanes += b.lanes;
                a.splits += b.splits;
            }
            faults.extend(p.faults);
            work.extend(p.work);
            groups += p.groups;
            simdgroups += p.simdgroups;
            barriers += p.barriers;
        }
        // The same faults in the same order whatever the host threads did: by group, and each place once.
        faults.sort_by_key(|f| f.0);
        if !O::SANITIZE {
            let first = faults.first().map(|f| f.0);
            faults.retain(|f| Some(f.0) == first);
        }
        // Reading what another thread has yet to write is that race, not a second fault.
        let raced: Vec<_> = faults
            .iter()
            .filter(|f| f.1.kind == FaultKind::DataRace)
            .flat_map(|f| [f.1.at.pos.clone(), f.1.other.as_ref().and_then(|o| o.pos.clone())])
            .collect();
        faults.retain(|f| f.1.kind != FaultKind::UninitializedRead || !raced.contains(&f.1.at.pos));
        let mut seen = FxHashSet::default();
        let mut faults: Vec<Fault> =
            faults.into_iter().map(|f| f.1).filter(|f| seen.insert((f.kind, f.at.pos.clone()))).collect();
        if faults.is_empty() && spent.load(Ordering::Relaxed) > limits.max_instructions {
            faults.push(over_budget(limits));
        }
        let counters = self.counters(&counts, groups, simdgroups, barriers);
        let outcome = Outcome { counters, faults, groups_run: groups, detail: None };
        Ok(Ran { outcome, observer, blocks: counts, work })
    }

    fn worker<O: Observer>(
        &self,
        code: &super::Code,
        limits: &Limits,
        total: u64,
        next: &AtomicU64,
        stop_at: &AtomicU64,
        spent: &AtomicU64,
    ) -> Result<Part<O>, RunError> {
        let shared = Shared {
            views: &self.views,
            constants: self.constants,
            names: &self.names,
            args: &self.args,
            threadgroup_len: self.threadgroup_bytes,
            launch: self.launch,
            limits,
            lowered: self.lowered,
        };
        let mut worker = Worker::new(&shared, code, O::SANITIZE).ok_or(RunError::Memory)?;
        let mut env = Env::<O>::new(shared, &worker);
        let (threadgroup, device) = self.lowered.granules();
        env.observer.granules(threadgroup, device);
        let [gx, gy, _] = self.launch.groups.map(|n| u64::from(n.max(1)));
        let only = self.launch.only.as_deref();
        env.observer.plan(&Plan {
            traced: traced(only, self.launch.group_count()),
            simdgroups: self.launch.threads.iter().product::<u32>().div_ceil(super::LANES as u32),
            in_advance: self.lowered.in_advance(),
            watch: self.watch.clone(),
        });
        let mut work = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            // Beyond the end there is no group; below it the list has one.
            let g = only.map_or(at, |o| usize::try_from(at).ok().and_then(|i| o.get(i).copied()).unwrap_or(u64::MAX));
            if at >= total
                || g >= self.launch.group_count()
                || g > stop_at.load(Ordering::Relaxed)
                || spent.load(Ordering::Relaxed) > limits.max_instructions
            {
                break;
            }
            env.group = [(g % gx) as u32, (g / gx % gy) as u32, (g / gx / gy) as u32];
            env.group_index = g;
            env.stopped = false;
            let before = worker.instructions;
            worker.run_group(&mut env, code);
            let used = worker.instructions - before;
            spent.fetch_add(used, Ordering::Relaxed);
            if O::EVENTS {
                work.push((g, used));
            }
            if env.stopped {
                stop_at.fetch_min(g, Ordering::Relaxed);
            }
        }
        Ok(Part {
            counts: worker.counts,
            faults: env.faults,
            observer: env.observer,
            work,
            groups: worker.groups,
            simdgroups: worker.simdgroups,
            barriers: worker.barriers,
        })
    }

    fn counters(&self, counts: &[BlockCount], groups: u64, simdgroups: u64, barriers: u64) -> Counters {
        let mut c = Counters {
            instructions: vec![0; InstrClass::COUNT],
            lanes: vec![0; InstrClass::COUNT],
            chain: vec![0.0; InstrClass::COUNT],
            simdgroups,
            groups,
            barriers,
            register_halves: self.lowered.register_halves,
            threadgroup_memory: self.threadgroup_bytes,
            ..Counters::default()
        };
        let per = 1.0 / simdgroups.max(1) as f64;
        for (b, n) in self.lowered.blocks.iter().zip(counts) {
            for &(_, class) in &b.issue {
                c.instructions[class as usize] += n.runs;
                c.lanes[class as usize] += n.lanes;
            }
            for &(class, k) in &b.chain {
                c.chain[class as usize] += (n.runs * u64::from(k)) as f64 * per;
            }
            c.chain_loads += (n.runs * u64::from(b.chain_loads)) as f64 * per;
            c.divergent_branches += n.splits;
        }
        c
    }
}

fn over_budget(limits: &Limits) -> Fault {
    Fault {
        kind: FaultKind::Runaway,
        message: format!("the launch ran more than {} simdgroup instructions", limits.max_instructions),
        at: Access { pos: None, group: [0; 3], simdgroup: 0, lane: 0 },
        other: None,
        help: "Launch fewer threadgroups, or raise the instruction budget.".to_owned(),
    }
}

/// What one worker brings back.
struct Part<O> {
    counts: Vec<BlockCount>,
    faults: Vec<(u64, Fault)>,
    observer: O,
    work: Vec<(u64, u64)>,
    groups: u64,
    simdgroups: u64,
    barriers: u64,
}
