//! Runs linear programs. Knows registers, masks and memory; must not know LLVM IR or how programs are made.
//!
//! A simdgroup ("warp" in names, which is shorter) is 32 lanes in lock step. Its registers are a flat frame of bytes; an
//! instruction is a function pointer with frame offsets. The functions trust the offsets, which the assembler computes
//! and nothing can change; everything that depends on data of the kernel is checked.
#![allow(unsafe_code)]
// The bodies of instructions must be inlined into the copies made for each host instruction set; `precedence` objects to
// the field's own way of writing bit fields.
// Frames are 64-byte aligned and their slots are aligned to their size; unaligned host accesses are marked as such.
#![allow(clippy::inline_always, clippy::precedence, clippy::cast_ptr_alignment)]

mod alu;
mod assemble;
mod atomic;
mod buffer;
mod control;
mod cross;
mod group;
mod job;
mod lanes;
mod machine;
mod mem;
mod mem_checked;
mod place;
mod plain;
mod problem;
mod row_checked;
mod span;
mod taint;

pub use machine::{LaunchError, LoadError, Program, RunError, Traced, TracedStep};

use crate::lower::Lowered;

/// Lanes of a simdgroup.
pub const LANES: usize = 32;

/// What carries out an instruction: returns the next one, or null when the simdgroup stops.
pub type OpFn = unsafe fn(*mut Warp, *const Inst) -> *const Inst;

/// An instruction ready to run.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Inst {
    /// What carries it out.
    pub run: OpFn,
    /// Offset of the result, or of a list of results in the code's operand table.
    pub d: u32,
    /// Offsets of operands.
    pub a: u32,
    /// See `a`.
    pub b: u32,
    /// See `a`.
    pub c: u32,
    /// Immediate.
    pub x: u64,
    /// Second immediate or list of operands.
    pub y: u32,
    /// Index of the linear instruction.
    pub id: u32,
}

/// Instruction sets of the host that the arithmetic is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// Whatever the compiler targets.
    Generic,
    /// AVX2, FMA, F16C.
    Avx2,
    /// AVX-512 F, BW, DQ, VL.
    Avx512,
}

impl Isa {
    /// The best one that this host has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = std::is_x86_feature_detected!("avx2")
                && std::is_x86_feature_detected!("fma")
                && std::is_x86_feature_detected!("f16c");
            let avx512 = std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512bw")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx512vl");
            if avx2 && avx512 {
                return Self::Avx512;
            }
            if avx2 {
                return Self::Avx2;
            }
        }
        Self::Generic
    }
}

/// Why a simdgroup stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has not.
    Running,
    /// All lanes are done.
    Done,
    /// It waits at a barrier.
    Barrier,
    /// Its slice of the instruction budget is used up.
    Slice,
    /// A fault ends the launch.
    Fault,
}

/// How often a block ran.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockCount {
    /// Times.
    pub runs: u64,
    /// Active lanes, summed.
    pub lanes: u64,
    /// Times its branch split the lanes.
    pub splits: u64,
}

/// Code of a kernel for one mode and host.
pub struct Code {
    /// Instructions.
    pub insts: Vec<Inst>,
    /// First instruction of each block.
    pub block_first: Vec<u32>,
    /// Lists of operands.
    pub lists: Vec<u32>,
    /// Static cost of each block, at least 1.
    pub block_cost: Vec<u32>,
    /// How undefined values move; empty where nothing tracks them.
    pub rules: Vec<taint::Rule>,
}

/// State of one simdgroup.
pub struct Warp {
    /// Frame, 64-byte aligned.
    pub regs: *mut u8,
    /// Lanes that run now.
    pub mask: u32,
    /// Lanes that have not ended.
    pub alive: u32,
    /// Lanes that were launched.
    pub launched: u32,
    /// Earliest waiting block, `u32::MAX` when none waits.
    pub next_park: u32,
    /// Waiting lanes by block, latest block first.
    pub parked: Vec<(u32, u32)>,
    /// Block that runs.
    pub block: u32,
    /// Instructions left in this slice.
    pub fuel: i64,
    /// Why it stopped.
    pub stop: Stop,
    /// Where it goes on.
    pub resume: *const Inst,
    /// First instruction of the code.
    pub code: *const Inst,
    /// First instruction by block.
    pub block_first: *const u32,
    /// Cost by block.
    pub block_cost: *const u32,
    /// Operand lists.
    pub lists: *const u32,
    /// Counts by block.
    pub counts: *mut BlockCount,
    /// Special registers that are the same in all lanes.
    pub sr: [u32; 22],
    /// Special registers that differ by lane: thread in group x, y, z, thread in grid x, y, z, lane, linear index.
    pub lane_sr: [[u32; LANES]; 8],
    /// Simdgroup in the group.
    pub index: u32,
    /// Private memory: words interleaved by lane.
    pub private: *mut u8,
    /// Private bytes per lane, a multiple of 4.
    pub private_bytes: u32,
    /// Undefined lanes by frame word; null where nothing tracks them.
    pub taint: *mut u32,
    /// Words of `taint`.
    pub taint_words: usize,
    /// May any of `taint` be set?
    pub tainted: bool,
    /// Instruction that an undefined value comes from, by frame word.
    pub origin: *mut u32,
    /// How undefined values move, by instruction.
    pub rules: *const taint::Rule,
    /// Written bytes of private memory.
    pub private_init: *mut bool,
    /// The group it belongs to: a `group::Env<O>` of the observer the code was assembled for.
    pub env: *mut (),
}

impl Warp {
    /// Address of a frame offset.
    ///
    /// # Safety
    /// `off` must come from the assembled program this simdgroup runs.
    #[inline(always)]
    pub unsafe fn at<T>(&self, off: u32) -> *mut T {
        // SAFETY: the frame has `frame_bytes` bytes and the assembler hands out offsets below that.
        unsafe { self.regs.add(off as usize).cast() }
    }
}

/// The instruction after `i`.
///
/// # Safety
/// `i` must not be the last instruction of its code; every block ends in a terminator, so none that falls through is.
#[inline(always)]
pub unsafe fn next(i: *const Inst) -> *const Inst {
    // SAFETY: see above.
    unsafe { i.add(1) }
}

/// Runs a simdgroup until it stops.
///
/// # Safety
/// `w` must be set up for the code that `w.resume` points into.
pub unsafe fn run(w: *mut Warp) {
    // SAFETY: instructions return pointers into the same code, or null.
    unsafe {
        let mut pc = (*w).resume;
        (*w).stop = Stop::Running;
        while !pc.is_null() {
            pc = ((*pc).run)(w, pc);
        }
    }
}

/// Instructions between two looks at whether any register is still undefined.
const LOOK_AGAIN: u32 = 1 << 14;

/// Runs a simdgroup until it stops, tracking undefined values.
///
/// # Safety
/// As [`run`]; `rules` must be those of the code, and `O` its observer type.
pub unsafe fn run_tracked<O: crate::observe::Observer>(w: *mut Warp, rules: &[taint::Rule]) {
    // SAFETY: as `run`; instructions carry their index.
    unsafe {
        let mut pc = (*w).resume;
        (*w).stop = Stop::Running;
        let mut left = LOOK_AGAIN;
        while !pc.is_null() {
            if !(*w).tainted {
                // Instructions that can make an undefined value say so themselves.
                pc = ((*pc).run)(w, pc);
                continue;
            }
            if let Some(r) = rules.get((*pc).id as usize) {
                taint::step::<O>(w, r, pc);
            }
            pc = ((*pc).run)(w, pc);
            left -= 1;
            if left == 0 {
                left = LOOK_AGAIN;
                taint::look_again(w, (*w).taint_words);
            }
        }
    }
}

/// Runs a simdgroup until it stops, showing the values of instructions to the observer.
///
/// # Safety
/// As [`run`]; `O` must be the observer type of the code.
pub unsafe fn run_observed<O: crate::observe::Observer>(w: *mut Warp) {
    use crate::observe::values::Observed;
    // SAFETY: as `run`; registers of an instruction lie in the frame of the simdgroup that runs it.
    unsafe {
        let mut pc = (*w).resume;
        (*w).stop = Stop::Running;
        while !pc.is_null() {
            let env = &mut *(*w).env.cast::<group::Env<'_, O>>();
            let (id, mask) = ((*pc).id, (*w).mask);
            let inst = env.shared.lowered.insts.get(id as usize).filter(|_| env.observer.wants((*w).index, id));
            let Some(inst) = inst else {
                pc = ((*pc).run)(w, pc);
                continue;
            };
            let args = inst.args.iter().map(|&r| lanes_of(w, r)).collect();
            pc = ((*pc).run)(w, pc);
            let results = inst.dst.iter().map(|&r| lanes_of(w, r)).collect();
            env.observer.observed(Observed { point: id, mask, args, results });
        }
    }
}

/// A register's contents, lane by lane.
unsafe fn lanes_of(w: *mut Warp, r: crate::lower::linear::Reg) -> crate::observe::values::Lanes {
    use crate::lower::sir::Class;
    // SAFETY: the register is one of the program that `w` runs.
    unsafe {
        match (r.class, r.uniform) {
            (Class::None, _) => [0; LANES],
            (Class::Pred, _) => {
                let bits = *(*w).at::<u32>(r.off);
                std::array::from_fn(|l| u64::from(bits >> l & 1))
            }
            (_, true) => [*(*w).at::<u64>(r.off); LANES],
            (Class::B32, false) => (*(*w).at::<[u32; LANES]>(r.off)).map(u64::from),
            (Class::B64, false) => *(*w).at::<[u64; LANES]>(r.off),
        }
    }
}

/// Static facts that machines and observers share.
pub fn order_sensitive(l: &Lowered) -> bool {
    use crate::lower::linear::LOp;
    use crate::lower::sir::{Op, RmwOp, Space};
    l.insts.iter().any(|i| match i.op {
        LOp::Op(Op::Rmw(op, m)) if m.space != Space::Threadgroup => {
            let commutes = matches!(
                op,
                RmwOp::Add
                    | RmwOp::Sub
                    | RmwOp::And
                    | RmwOp::Or
                    | RmwOp::Xor
                    | RmwOp::Max
                    | RmwOp::Min
                    | RmwOp::UMax
                    | RmwOp::UMin
            );
            !commutes || i.dst.first().is_some_and(|d| l.is_read(d.off))
        }
        LOp::Op(Op::CmpXchg(m)) => m.space != Space::Threadgroup,
        LOp::Op(Op::Load(m) | Op::Store(m)) => m.atomic && m.space != Space::Threadgroup,
        _ => false,
    })
}
