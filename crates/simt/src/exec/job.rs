//! A launch at work: its memory laid out, its groups shared over host threads, what they bring back put together.
//! Must not know programs or profiles.

use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashSet;

use super::assemble::assemble;
use super::buffer::Aligned;
use super::group::{Env, Shared, Worker};
use super::machine::RunError;
use super::mem::View;
use super::{BlockCount, Isa, order_sensitive};
use crate::counters::{Counters, InstrClass};
use crate::fault::{Access, Fault, FaultKind};
use crate::launch::{ArgValue, Launch, Limits, Memory, Outcome};
use crate::lower::Lowered;
use crate::observe::values::Watch;
use crate::observe::{Observer, Plan};
use crate::reader;

/// Threadgroups whose way through the kernel a profile keeps: spread over those that run.
fn traced(only: Option<&[u64]>, total: u64) -> Vec<u64> {
    let n = only.map_or(total, |o| o.len() as u64);
    let mut at: Vec<u64> = [1, 3, 5].iter().map(|k| n.saturating_mul(*k) / 6).collect();
    at.dedup();
    at.iter().filter_map(|&i| only.map_or(Some(i), |o| o.get(usize::try_from(i).ok()?).copied())).collect()
}

/// A launch with its memory laid out.
pub(super) struct Job<'a> {
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
    pub(super) watch: Watch,
    _bytes: Vec<Aligned>,
}

/// What a run of all groups gives.
pub(super) struct Ran<O> {
    pub(super) outcome: Outcome,
    pub(super) observer: O,
    pub(super) blocks: Vec<BlockCount>,
    /// Instructions by linear threadgroup; empty where the observer has no use for them.
    pub(super) work: Vec<(u64, u64)>,
}

/// Base address of buffer number `id`.
fn base(id: usize) -> u64 {
    ((id as u64) << 40) + (1 << 39)
}

impl<'a> Job<'a> {
    /// Lays out the memory of a launch.
    pub(super) fn new(
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
    pub(super) fn finish(self, memory: &mut Memory) {
        for (k, mut a) in self.moved {
            if let Some(b) = memory.buffers.get_mut(k)
                && let Some(src) = a.bytes_mut().get(..b.bytes.len())
            {
                b.bytes.copy_from_slice(src);
            }
        }
    }

    /// Runs all groups, on as many host threads as the kernel allows.
    pub(super) fn run<O: Observer>(&mut self, isa: Isa, limits: &Limits) -> Result<Ran<O>, RunError> {
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
