//! Tracks which register lanes hold values that nothing has written, in the manner of a memory sanitizer: such a value may
//! be moved, computed with and dropped; it is a fault when it decides a branch, forms an address or reaches device
//! memory. One bit per lane and register, and the instruction that read the value first.

use super::cross::{self, fragment};
use super::group::Env;
use super::problem::{Problem, Use};
use super::{Inst, LANES, OpFn, Warp, control};
use crate::lower::linear::{LInst, LOp};
use crate::lower::sir::{Class, Op, ReduceOp};
use crate::observe::Observer;

/// How an instruction moves the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Not at all, or the instruction sees to it itself.
    None,
    /// The result is undefined where any operand is.
    Merge,
    /// The result is defined.
    Clear,
    /// Predicate, then, else.
    Select,
    /// A defined false decides a conjunction, a defined true a disjunction.
    And,
    Or,
    Copy,
    Shuffle,
    Reduce(u8),
    Scan(u8),
    Ballot,
    Mma,
    /// A branch condition.
    Check,
}

/// Rule of one instruction.
#[derive(Clone, Debug)]
pub struct Rule {
    kind: Kind,
    /// Slots of results: frame offset over four.
    dst: [u32; 2],
    args: [u32; 6],
    n_args: u8,
    /// The result is one scalar.
    uniform: bool,
    /// For a shuffle: the function that does it.
    pub plain: OpFn,
}

/// The rule of a linear instruction.
pub fn rule(i: &LInst) -> Rule {
    let mut args = [0u32; 6];
    for (a, r) in args.iter_mut().zip(&i.args) {
        *a = r.off / 4;
    }
    let mut dst = [0u32; 2];
    for (d, r) in dst.iter_mut().zip(&i.dst) {
        *d = r.off / 4;
    }
    let kind = match i.op {
        LOp::Copy => Kind::Copy,
        LOp::Branch(..) | LOp::Split(..) => Kind::Check,
        LOp::Op(op) => match op {
            Op::Sel => Kind::Select,
            Op::PAnd => Kind::And,
            Op::POr => Kind::Or,
            Op::Shuffle(_) => Kind::Shuffle,
            Op::Reduce(r, _) => reduce(r, 32),
            Op::QuadReduce(r, _) => reduce(r, 4),
            Op::Ballot => Kind::Ballot,
            Op::Mma(_) => Kind::Mma,
            Op::Load(_) | Op::Store(_) | Op::Rmw(..) | Op::CmpXchg(_) => Kind::None,
            _ if i.dst.is_empty() => Kind::None,
            _ if i.args.is_empty() => Kind::Clear,
            _ => Kind::Merge,
        },
        _ => Kind::None,
    };
    let uniform = i.dst.first().is_some_and(|d| d.uniform && d.class != Class::None);
    Rule { kind, dst, args, n_args: i.args.len().min(6) as u8, uniform, plain: control::nothing }
}

fn reduce(op: ReduceOp, width: u8) -> Kind {
    match op {
        ReduceOp::InclusiveSum | ReduceOp::ExclusiveSum | ReduceOp::InclusiveProduct | ReduceOp::ExclusiveProduct => {
            Kind::Scan(width)
        }
        _ => Kind::Reduce(width),
    }
}

/// Undefined lanes of a register.
///
/// # Safety
/// `slot` must come from the program that `w` runs.
#[inline(always)]
pub unsafe fn get(w: *mut Warp, slot: u32) -> u32 {
    // SAFETY: the shadow has one entry for each four bytes of the frame.
    unsafe { *(*w).taint.add(slot as usize) }
}

#[inline(always)]
unsafe fn origin(w: *mut Warp, slot: u32) -> u32 {
    // SAFETY: as `get`.
    unsafe { *(*w).origin.add(slot as usize) }
}

/// Sets the undefined lanes of a register, and the instruction they come from.
///
/// # Safety
/// As [`get`].
#[inline(always)]
pub unsafe fn set(w: *mut Warp, slot: u32, lanes: u32, from: u32) {
    // SAFETY: as `get`.
    unsafe {
        *(*w).taint.add(slot as usize) = lanes;
        if lanes != 0 {
            (*w).tainted = true;
            *(*w).origin.add(slot as usize) = from;
        }
    }
}

/// Reports a use of an undefined register in an active lane.
///
/// # Safety
/// As [`get`]; `env` of `w` must be of observer type `O`.
#[cold]
pub unsafe fn used<O: Observer>(w: *mut Warp, slot: u32, lanes: u32, id: u32, how: Use) {
    // SAFETY: the caller's.
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        let lane = lanes.trailing_zeros() & 31;
        let from = origin(w, slot);
        let simd = (*w).index;
        env.report(simd, from, lane, Problem::Uninitialised { used_at: id, how });
        // Once is enough: what follows from it is defined.
        set(w, slot, 0, 0);
    }
}

/// Applies the rule of an instruction that is about to run.
///
/// # Safety
/// `rule` must be that of `i`, in the program that `w` runs under observer `O`.
#[inline(always)]
pub unsafe fn step<O: Observer>(w: *mut Warp, r: &Rule, i: *const Inst) {
    // SAFETY: slots come from the program.
    unsafe {
        match r.kind {
            Kind::None | Kind::Shuffle => {}
            Kind::Clear => set(w, r.dst[0], 0, 0),
            Kind::Merge => {
                let mut t = 0;
                for &a in &r.args[..usize::from(r.n_args)] {
                    t |= get(w, a);
                }
                if t == 0 {
                    *(*w).taint.add(r.dst[0] as usize) = 0;
                } else {
                    merge(w, r, t);
                }
            }
            _ => special::<O>(w, r, i),
        }
    }
}

#[cold]
unsafe fn merge(w: *mut Warp, r: &Rule, t: u32) {
    // SAFETY: as `step`.
    unsafe {
        let from = first_origin(w, r);
        set(w, r.dst[0], t, from);
    }
}

unsafe fn first_origin(w: *mut Warp, r: &Rule) -> u32 {
    // SAFETY: as `step`.
    unsafe {
        for &a in &r.args[..usize::from(r.n_args)] {
            if get(w, a) != 0 {
                return origin(w, a);
            }
        }
        0
    }
}

unsafe fn special<O: Observer>(w: *mut Warp, r: &Rule, i: *const Inst) {
    // SAFETY: as `step`.
    unsafe {
        let mask = (*w).mask;
        let value = |slot: u32| *(*w).at::<u32>(slot * 4);
        let [a, b, c, ..] = r.args;
        let all = |t: u32| if t & mask != 0 { u32::MAX } else { 0 };
        let t = match r.kind {
            Kind::Select => {
                let p = value(a);
                get(w, a) | (p & get(w, b)) | (!p & get(w, c))
            }
            Kind::And => {
                let (x, y, s, t) = (value(a), value(b), get(w, a), get(w, b));
                (s | t) & !((!x & !s) | (!y & !t))
            }
            Kind::Or => {
                let (x, y, s, t) = (value(a), value(b), get(w, a), get(w, b));
                (s | t) & !((x & !s) | (y & !t))
            }
            Kind::Copy => {
                if r.uniform {
                    get(w, a)
                } else {
                    let old = get(w, r.dst[0]);
                    let t = (get(w, a) & mask) | (old & !mask);
                    if get(w, a) & mask == 0 {
                        // Keep the origin of the lanes that stay.
                        *(*w).taint.add(r.dst[0] as usize) = t;
                        return;
                    }
                    t
                }
            }
            Kind::Shuffle => {
                let (t, idle) = cross::shuffle_taint(w, &*i, get(w, a), get(w, b), get(w, c));
                let t = if r.uniform { all(t) } else { t };
                if idle & mask != 0 && first_origin(w, r) == 0 {
                    set(w, r.dst[0], t, (*i).id);
                    return;
                }
                t
            }
            Kind::Reduce(width) => {
                let t = get(w, a) & mask;
                if width >= 32 {
                    all(t)
                } else {
                    // Groups of four.
                    let any = t | t >> 1 | t >> 2 | t >> 3;
                    (any & 0x1111_1111) * 0xf
                }
            }
            Kind::Scan(width) => {
                let t = get(w, a) & mask;
                let mut out = 0u32;
                let mut run = false;
                for l in 0..LANES as u32 {
                    if l % u32::from(width) == 0 {
                        run = false;
                    }
                    run |= t >> l & 1 == 1;
                    out |= u32::from(run) << l;
                }
                out
            }
            Kind::Ballot => all(get(w, a)),
            Kind::Mma => {
                mma(w, r);
                return;
            }
            Kind::Check => {
                let t = get(w, a) & mask;
                if t != 0 {
                    used::<O>(w, a, t, (*i).id, Use::Branch);
                }
                return;
            }
            Kind::None | Kind::Merge | Kind::Clear => return,
        };
        let from = if t == 0 { 0 } else { first_origin(w, r) };
        set(w, r.dst[0], t, from);
    }
}

/// A shuffle: it reads lanes that may be asleep, so it has to be looked at even where all registers are defined.
///
/// # Safety
/// As [`step`]; `plain` of its rule must be what carries it out.
pub unsafe fn shuffle<O: Observer>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: there is a rule for each instruction of the code that `w` runs.
    unsafe {
        let r = &*(*w).rules.add((*i).id as usize);
        if (*w).tainted || (*w).mask != u32::MAX {
            special::<O>(w, r, i);
        }
        (r.plain)(w, i)
    }
}

/// Are all registers defined after all?
///
/// # Safety
/// As [`get`]; `words` is the length of the shadow.
pub unsafe fn look_again(w: *mut Warp, words: usize) {
    // SAFETY: the caller's.
    unsafe {
        let all = std::slice::from_raw_parts((*w).taint, words);
        (*w).tainted = all.iter().any(|&t| t != 0);
    }
}

/// Rows of A and columns of B carry their undefined elements into the product.
unsafe fn mma(w: *mut Warp, r: &Rule) {
    // SAFETY: as `step`.
    unsafe {
        let t: [u32; 6] = std::array::from_fn(|k| get(w, r.args[k]));
        if t.iter().all(|&x| x == 0) {
            set(w, r.dst[0], 0, 0);
            set(w, r.dst[1], 0, 0);
            return;
        }
        let (mut rows, mut cols) = (0u8, 0u8);
        for l in 0..LANES {
            let (row, col) = fragment(l);
            for e in 0..2 {
                if t[e] >> l & 1 == 1 {
                    rows |= 1 << row;
                }
                if t[2 + e] >> l & 1 == 1 {
                    cols |= 1 << (col + e);
                }
            }
        }
        let from = first_origin(w, r);
        for e in 0..2 {
            let mut out = t[4 + e];
            for l in 0..LANES {
                let (row, col) = fragment(l);
                if rows >> row & 1 == 1 || cols >> (col + e) & 1 == 1 {
                    out |= 1 << l;
                }
            }
            set(w, r.dst[e], out, from);
        }
    }
}
