//! Runs one threadgroup: its simdgroups take turns until a barrier, the end, or a fault.

use ksearch_msl::abi::SpecialRegister as Sr;
use rustc_hash::FxHashSet;

use super::buffer::Aligned;
use super::mem::View;
use super::problem::Problem;
use super::{BlockCount, Code, Inst, LANES, Stop, Warp, run, run_observed, run_tracked};
use crate::fault::{Access, Fault, FaultKind};
use crate::launch::{Launch, Limits};
use crate::lower::Lowered;
use crate::lower::linear::LOp;
use crate::lower::sir::{Class, Space};
use crate::observe::race::{Race, Side};
use crate::observe::{Observer, buffer_of};

/// Faults kept per worker.
const MAX_FAULTS: usize = 64;

/// What all groups of a launch share.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// Buffers by number.
    pub views: &'a [View],
    /// The constant globals.
    pub constants: View,
    /// Names of buffers by number.
    pub names: &'a [String],
    /// Values of the kernel's arguments.
    pub args: &'a [u64],
    /// Bytes of threadgroup memory.
    pub threadgroup_len: u32,
    /// The dispatch.
    pub launch: &'a Launch,
    /// Limits of the run.
    pub limits: &'a Limits,
    /// The kernel.
    pub lowered: &'a Lowered,
}

/// What the instructions of a group share.
pub struct Env<'a, O> {
    /// What it shares with other groups.
    pub shared: Shared<'a>,
    /// Threadgroup memory.
    pub threadgroup: *mut u8,
    /// Its bytes.
    pub threadgroup_len: u32,
    /// Written bytes of threadgroup memory; null where nothing tracks them.
    pub threadgroup_init: *mut bool,
    /// The observer.
    pub observer: O,
    /// Faults so far, with the linear group they were found in.
    pub faults: Vec<(u64, Fault)>,
    /// Kinds and places seen.
    seen: FxHashSet<(FaultKind, u32)>,
    /// Group position.
    pub group: [u32; 3],
    /// Linear group index.
    pub group_index: u64,
    /// A fault ends the launch.
    pub stopped: bool,
}

const ABSENT: View = View {
    ptr: std::ptr::null_mut(),
    len: 0,
    written: std::ptr::null_mut(),
    read_only: false,
    present: false,
    contended: false,
};

impl<'a, O: Observer> Env<'a, O> {
    /// For the groups of one worker.
    pub fn new(shared: Shared<'a>, worker: &Worker) -> Self {
        Self {
            shared,
            threadgroup: worker.threadgroup.ptr(),
            threadgroup_len: shared.threadgroup_len,
            threadgroup_init: worker.threadgroup_init.as_ref().map_or(std::ptr::null_mut(), |a| a.ptr().cast()),
            observer: O::default(),
            faults: Vec::new(),
            seen: FxHashSet::default(),
            group: [0; 3],
            group_index: 0,
            stopped: false,
        }
    }

    /// The buffer that an address belongs to.
    #[inline(always)]
    pub fn view(&self, address: u64) -> View {
        let id = (address >> 40) as usize;
        match self.shared.views.get(id) {
            Some(v) => *v,
            None if id == 0xffff => self.shared.constants,
            None => ABSENT,
        }
    }

    /// Records a fault.
    #[cold]
    pub unsafe fn problem(&mut self, w: *mut Warp, id: u32, lane: usize, p: Problem) {
        // SAFETY: `w` is the simdgroup that runs; only its index is read.
        let simdgroup = unsafe { (*w).index };
        self.report(simdgroup, id, lane as u32, p);
        if !O::SANITIZE {
            self.stopped = true;
        }
    }

    /// Records a fault of a simdgroup at an instruction.
    pub fn report(&mut self, simdgroup: u32, id: u32, lane: u32, p: Problem) {
        let inst = self.shared.lowered.insts.get(id as usize);
        let pos = inst.map_or(u32::MAX, |i| i.pos);
        let (kind, message, help, other) = self.describe(id, &p);
        if self.faults.len() >= MAX_FAULTS || !self.seen.insert((kind, pos)) {
            return;
        }
        let at = Access { pos: self.shared.lowered.position(pos).cloned(), group: self.group, simdgroup, lane };
        self.faults.push((self.group_index, Fault { kind, message, at, other, help }));
    }

    /// Position of a linear group.
    fn group_at(&self, g: u32) -> [u32; 3] {
        let [x, y, _] = self.shared.launch.groups.map(|n| n.max(1));
        [g % x, g / x % y, g / x / y]
    }

    /// Records a race.
    pub fn race(&mut self, space: Space, r: Race) {
        let side = |s: Side| {
            let pos = self.shared.lowered.insts.get(s.point as usize).map_or(u32::MAX, |i| i.pos);
            Access {
                pos: self.shared.lowered.position(pos).cloned(),
                group: self.group_at(s.group),
                simdgroup: s.thread / 32,
                lane: s.thread % 32,
            }
        };
        let (first, second) = (side(r.first), side(r.second));
        let pos = self.shared.lowered.insts.get(r.second.point as usize).map_or(u32::MAX, |i| i.pos);
        if self.faults.len() >= MAX_FAULTS || !self.seen.insert((FaultKind::DataRace, pos)) {
            return;
        }
        let verb = |w: bool| if w { "writes" } else { "reads" };
        let place = match space {
            Space::Threadgroup => format!("offset {} of threadgroup memory", r.address),
            _ => {
                let (b, off) = buffer_of(r.address);
                format!("offset {off} of {}", self.buffer_name(b))
            }
        };
        let across = r.first.group != r.second.group;
        let who = |s: Side| {
            if across { format!("a thread of threadgroup {}", s.group) } else { format!("thread {}", s.thread) }
        };
        let message = format!(
            "{} {} {place}, which {} {} with nothing to order the two",
            who(r.second),
            verb(r.second.write),
            who(r.first),
            verb(r.first.write)
        );
        let help = if across {
            "Threadgroups of one dispatch run in any order: split the work into two dispatches, or hand over with atomics."
                .to_owned()
        } else if r.first.thread / 32 == r.second.thread / 32 {
            format!(
                "Put a threadgroup_barrier with mem_flags::{} between the two (a simdgroup_barrier if only threads of one simdgroup share this memory).",
                if space == Space::Threadgroup { "mem_threadgroup" } else { "mem_device" }
            )
        } else {
            format!(
                "Put a threadgroup_barrier with mem_flags::{} between the two.",
                if space == Space::Threadgroup { "mem_threadgroup" } else { "mem_device" }
            )
        };
        self.faults.push((
            self.group_index,
            Fault { kind: FaultKind::DataRace, message, at: second, other: Some(first), help },
        ));
    }
}

/// Memory and simdgroups of one host thread, used for one group after another.
pub struct Worker {
    warps: Vec<Warp>,
    // The blocks that the simdgroups point into.
    _frames: Aligned,
    private: Aligned,
    threadgroup: Aligned,
    threadgroup_init: Option<Aligned>,
    private_init: Option<Aligned>,
    /// Undefined lanes and their origins.
    _shadow: Option<Aligned>,
    private_total: usize,
    pub counts: Vec<BlockCount>,
    /// Instructions of the groups so far.
    pub instructions: u64,
    pub groups: u64,
    pub simdgroups: u64,
    pub barriers: u64,
}

impl Worker {
    /// Sets up for groups of `launch`; `None` when the host has no memory for it.
    pub fn new(shared: &Shared<'_>, code: &Code, tracked: bool) -> Option<Self> {
        let (l, launch, threadgroup_bytes) = (shared.lowered, shared.launch, shared.threadgroup_len);
        let threads = launch.threads.iter().map(|&t| t as usize).product::<usize>();
        let n = threads.div_ceil(LANES);
        let frame = (l.frame_bytes as usize).next_multiple_of(64);
        let private_bytes = (l.private_bytes as usize).next_multiple_of(4);
        let frames = Aligned::new(frame.checked_mul(n)?)?;
        let private_total = private_bytes.checked_mul(LANES)?.checked_mul(n)?;
        let private = Aligned::new(private_total)?;
        let threadgroup = Aligned::new(threadgroup_bytes as usize)?;
        let track = |bytes: usize| if tracked { Aligned::new(bytes).map(Some) } else { Some(None) };
        let threadgroup_init = track(threadgroup_bytes as usize)?;
        let private_init = track(private_total)?;
        let shadow = track(frame.checked_mul(2)?.checked_mul(n)?)?;
        let mut counts = vec![BlockCount::default(); l.blocks.len()];
        let counts_ptr = counts.as_mut_ptr();
        let mut warps = Vec::with_capacity(n);
        for index in 0..n {
            // SAFETY: both blocks hold `n` parts of these sizes.
            let (regs, private) =
                unsafe { (frames.ptr().add(index * frame), private.ptr().add(index * private_bytes * LANES)) };
            for &(off, value, class) in &l.init {
                let value = match class {
                    Class::Pred if value != 0 => u64::from(u32::MAX),
                    _ => value,
                };
                // SAFETY: offsets of constants lie in the frame.
                unsafe { regs.add(off as usize).cast::<u64>().write(value) };
            }
            warps.push(Warp {
                regs,
                mask: 0,
                alive: 0,
                launched: 0,
                next_park: u32::MAX,
                parked: Vec::new(),
                block: 0,
                fuel: 0,
                stop: Stop::Done,
                resume: std::ptr::null(),
                code: code.insts.as_ptr(),
                block_first: code.block_first.as_ptr(),
                block_cost: code.block_cost.as_ptr(),
                lists: code.lists.as_ptr(),
                counts: counts_ptr,
                sr: [0; 22],
                lane_sr: [[0; LANES]; 8],
                index: index as u32,
                private,
                private_bytes: private_bytes as u32,
                taint: part(shadow.as_ref(), index * frame * 2).cast(),
                taint_words: if tracked { frame / 4 } else { 0 },
                tainted: false,
                origin: part(shadow.as_ref(), index * frame * 2 + frame).cast(),
                rules: code.rules.as_ptr(),
                private_init: part(private_init.as_ref(), index * private_bytes * LANES).cast(),
                env: std::ptr::null_mut(),
            });
        }
        Some(Self {
            warps,
            _frames: frames,
            private,
            threadgroup,
            threadgroup_init,
            private_init,
            _shadow: shadow,
            private_total,
            counts,
            instructions: 0,
            groups: 0,
            simdgroups: 0,
            barriers: 0,
        })
    }

    /// Runs the group that `env` names.
    pub fn run_group<O: Observer>(&mut self, env: &mut Env<'_, O>, code: &Code) {
        let (launch, limits) = (env.shared.launch, env.shared.limits);
        let size = launch.group_size(env.group);
        let threads = size.iter().map(|&t| t as usize).product::<usize>();
        let n = threads.div_ceil(LANES);
        self.threadgroup.clear(env.threadgroup_len as usize);
        self.private.clear(self.private_total);
        if let Some(a) = &mut self.threadgroup_init {
            a.clear(env.threadgroup_len as usize);
        }
        if let Some(a) = &mut self.private_init {
            a.clear(self.private_total);
        }
        self.groups += 1;
        self.simdgroups += n as u64;
        env.observer.group_start(env.group_index);
        let env_ptr = std::ptr::from_mut(env).cast::<()>();
        for w in self.warps.iter_mut().take(n) {
            start(w, env.group, launch, size, threads, n);
            w.env = env_ptr;
            if w.tainted {
                w.tainted = false;
                // SAFETY: the shadow has this many words.
                unsafe { w.taint.write_bytes(0, w.taint_words) }
            }
        }
        self.turns(env, code, n, limits);
        env.observer.group_end();
    }

    fn turns<O: Observer>(&mut self, env: &mut Env<'_, O>, code: &Code, n: usize, limits: &Limits) {
        let mut used = 0u64;
        loop {
            let mut waiting = 0;
            let mut done = 0;
            for k in 0..n {
                let Some(w) = self.warps.get_mut(k) else { return };
                match w.stop {
                    Stop::Running | Stop::Slice => {
                        w.fuel = O::SLICE;
                        // SAFETY: `start` set the simdgroup up for this code.
                        unsafe {
                            if O::SANITIZE {
                                run_tracked::<O>(w, &code.rules);
                            } else if O::VALUES {
                                run_observed::<O>(w);
                            } else {
                                run(w);
                            }
                        }
                        let spent = (O::SLICE - w.fuel).max(0) as u64;
                        used += spent;
                        self.instructions += spent;
                    }
                    _ => {}
                }
                let Some(w) = self.warps.get(k) else { return };
                match w.stop {
                    Stop::Done => done += 1,
                    Stop::Barrier => waiting += 1,
                    Stop::Fault => return,
                    Stop::Running | Stop::Slice => {
                        let limit = limits.max_instructions.min(limits.max_group_instructions);
                        if used > limit {
                            let lane = w.mask.trailing_zeros() & 31;
                            let id = point(w) as u32;
                            let index = w.index;
                            env.report(index, id, lane, Problem::Runaway { limit });
                            env.stopped = true;
                            return;
                        }
                    }
                }
            }
            if done == n {
                return;
            }
            if waiting + done == n {
                if O::SANITIZE {
                    self.check_barrier(env, n);
                    // Where simdgroups wait at different barriers, only what all of them fence is fenced.
                    let waiting = self.warps.iter().take(n).filter(|w| w.stop == Stop::Barrier);
                    let flags = waiting.fold(u32::MAX, |f, w| f & barrier_flags(w));
                    env.observer.barrier(flags);
                }
                self.barriers += 1;
                for w in self.warps.iter_mut().take(n) {
                    if w.stop == Stop::Barrier {
                        w.stop = Stop::Running;
                    }
                }
                if env.stopped {
                    return;
                }
            }
        }
    }

    /// Does every thread of the group wait at the same barrier?
    fn check_barrier<O: Observer>(&self, env: &mut Env<'_, O>, n: usize) {
        let mut first: Option<(u32, usize)> = None;
        for w in self.warps.iter().take(n).filter(|w| w.stop == Stop::Barrier) {
            let at = point(w).saturating_sub(1);
            if w.mask != w.launched {
                let lane = w.mask.trailing_zeros() & 31;
                // Lanes that wait at a block which only returns have returned, for the person who wrote the kernel.
                let returned = w.parked.iter().filter(|p| returns(env.shared.lowered, p.0)).fold(0, |m, p| m | p.1);
                let ended = (w.launched & !w.alive) | returned;
                let p = Problem::Barrier { reached: w.mask, launched: w.launched, ended };
                env.report(w.index, at as u32, lane, p);
            }
            match first {
                None => first = Some((w.index, at)),
                Some((other, there)) if there != at => {
                    let p = Problem::GroupBarrier { other, point: Some(there as u32) };
                    env.report(w.index, at as u32, w.mask.trailing_zeros() & 31, p);
                }
                _ => {}
            }
        }
        let ended = self.warps.iter().take(n).find(|w| w.stop == Stop::Done);
        if let (Some((index, at)), Some(e)) = (first, ended) {
            env.report(index, at as u32, 0, Problem::GroupBarrier { other: e.index, point: None });
        }
    }
}

/// `bytes` into a block; null when there is none.
fn part(a: Option<&Aligned>, bytes: usize) -> *mut u8 {
    // SAFETY: callers stay inside the block they sized.
    a.map_or(std::ptr::null_mut(), |a| unsafe { a.ptr().add(bytes) })
}

/// Does a block do nothing but end the kernel?
fn returns(l: &Lowered, block: u32) -> bool {
    let first = l.blocks.get(block as usize).map_or(0, |b| b.first as usize);
    l.insts.get(first + 1).is_some_and(|i| i.op == LOp::Ret)
}

/// Flags of the barrier a simdgroup waits at.
fn barrier_flags(w: &Warp) -> u32 {
    // SAFETY: a waiting simdgroup goes on after its barrier, which is not the first instruction.
    unsafe { (*w.resume.sub(1)).x as u32 }
}

/// Index of the instruction a simdgroup goes on with.
fn point(w: &Warp) -> usize {
    // SAFETY: both point into the same code.
    let d = unsafe { w.resume.offset_from(w.code) };
    usize::try_from(d).unwrap_or(0)
}

fn start(w: &mut Warp, group: [u32; 3], launch: &Launch, size: [u32; 3], threads: usize, simdgroups: usize) {
    let first = w.index as usize * LANES;
    let lanes = (threads - first).min(LANES);
    let mask = if lanes == LANES { u32::MAX } else { (1u32 << lanes) - 1 };
    w.mask = mask;
    w.alive = mask;
    w.launched = mask;
    w.next_park = u32::MAX;
    w.parked.clear();
    w.stop = Stop::Running;
    let code: *const Inst = w.code;
    w.resume = code;
    let grid = launch.grid_size();
    for axis in 0..3 {
        w.sr[Sr::GroupX as usize + axis] = group[axis];
        w.sr[Sr::GroupSizeX as usize + axis] = launch.threads[axis];
        w.sr[Sr::GroupsX as usize + axis] = launch.groups[axis];
        w.sr[Sr::GridSizeX as usize + axis] = grid[axis];
    }
    w.sr[Sr::Simdgroup as usize] = w.index;
    w.sr[Sr::Simdgroups as usize] = simdgroups as u32;
    let (sx, sy) = (size[0].max(1), size[1].max(1));
    let mut x = first as u32 % sx;
    let mut y = first as u32 / sx % sy;
    let mut z = first as u32 / sx / sy;
    for l in 0..LANES {
        let t = [x, y, z];
        for axis in 0..3 {
            w.lane_sr[axis][l] = t[axis];
            w.lane_sr[3 + axis][l] = group[axis].wrapping_mul(launch.threads[axis]).wrapping_add(t[axis]);
        }
        w.lane_sr[6][l] = l as u32;
        w.lane_sr[7][l] = (first + l) as u32;
        x += 1;
        if x == sx {
            x = 0;
            y += 1;
            if y == sy {
                y = 0;
                z += 1;
            }
        }
    }
}
