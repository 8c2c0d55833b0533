//! Operations across lanes: shuffles, reductions, votes, matrix multiply. A lane that does not run gives zero.

use half::{bf16, f16};

use super::{Inst, LANES, OpFn, Warp, next};
use crate::lower::linear::Reg;
use crate::lower::sir::{Num, Op, ReduceOp, ShuffleKind};

/// Bit of an operand offset that marks a scalar.
pub const SCALAR: u32 = 1 << 31;

type Lanes = [u32; LANES];

#[inline(always)]
unsafe fn read(w: *mut Warp, r: u32) -> Lanes {
    // SAFETY: offsets come from the assembler.
    unsafe { if r & SCALAR != 0 { [*(*w).at::<u32>(r & !SCALAR); LANES] } else { *(*w).at::<Lanes>(r) } }
}

#[inline(always)]
unsafe fn write(w: *mut Warp, r: u32, v: Lanes) {
    // SAFETY: as `read`.
    unsafe {
        if r & SCALAR != 0 {
            // A result that is the same in all active lanes: that of the first.
            let l = (*w).mask.trailing_zeros() as usize & (LANES - 1);
            *(*w).at::<u64>(r & !SCALAR) = u64::from(v[l]);
        } else {
            *(*w).at::<Lanes>(r) = v;
        }
    }
}

/// Operand with its kind.
pub fn operand(r: Reg) -> u32 {
    if r.uniform { r.off | SCALAR } else { r.off }
}

const KINDS: [ShuffleKind; 15] = [
    ShuffleKind::Index,
    ShuffleKind::Xor,
    ShuffleKind::Up,
    ShuffleKind::Down,
    ShuffleKind::RotateUp,
    ShuffleKind::RotateDown,
    ShuffleKind::FillUp,
    ShuffleKind::FillDown,
    ShuffleKind::Broadcast,
    ShuffleKind::BroadcastFirst,
    ShuffleKind::QuadIndex,
    ShuffleKind::QuadXor,
    ShuffleKind::QuadUp,
    ShuffleKind::QuadDown,
    ShuffleKind::QuadBroadcast,
];

/// `a`: value, `b`: lane or delta, `c`: fill, `y`: modulo, `x`: kind.
unsafe fn shuffle(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: operands come from the assembler.
    unsafe {
        let i = &*i;
        let kind = KINDS[i.x as usize % KINDS.len()];
        let mask = (*w).mask;
        let v = read(w, i.a);
        let n = if kind == ShuffleKind::BroadcastFirst { [0; LANES] } else { read(w, i.b) };
        let (fill, modulo) = match kind {
            ShuffleKind::FillUp | ShuffleKind::FillDown => (read(w, i.c), read(w, i.y)),
            _ => ([0; LANES], [0; LANES]),
        };
        let mut r = [0u32; LANES];
        for l in 0..LANES as u32 {
            let (from, filled) = source(kind, l, n[l as usize], modulo[l as usize], mask);
            let src = if filled { &fill } else { &v };
            r[l as usize] = if mask >> from & 1 == 1 { src[from as usize] } else { 0 };
        }
        write(w, i.d, r);
        next(i)
    }
}

/// Lane that lane `l` takes its value from, and whether that is a fill value. A source past the end is the lane itself.
#[inline(always)]
fn source(kind: ShuffleKind, l: u32, k: u32, modulo: u32, mask: u32) -> (u32, bool) {
    let quad = l & !3;
    match kind {
        ShuffleKind::Index | ShuffleKind::Broadcast => (k & 31, false),
        ShuffleKind::Xor => (l ^ (k & 31), false),
        ShuffleKind::Up => (if k <= l { l - k } else { l }, false),
        ShuffleKind::Down => (if k < 32 - l { l + k } else { l }, false),
        ShuffleKind::RotateUp => (l.wrapping_sub(k) & 31, false),
        ShuffleKind::RotateDown => (l.wrapping_add(k) & 31, false),
        ShuffleKind::FillUp => {
            let m = modulo.clamp(1, 32).next_power_of_two();
            let (base, at) = (l & !(m - 1), l & (m - 1));
            if k <= at { (l - k, false) } else { (base | (at.wrapping_sub(k) & (m - 1)), true) }
        }
        ShuffleKind::FillDown => {
            let m = modulo.clamp(1, 32).next_power_of_two();
            let (base, at) = (l & !(m - 1), l & (m - 1));
            if k < m - at { (l + k, false) } else { (base | (at.wrapping_add(k) & (m - 1)), true) }
        }
        ShuffleKind::BroadcastFirst => (mask.trailing_zeros() & 31, false),
        ShuffleKind::QuadIndex | ShuffleKind::QuadBroadcast => (quad | (k & 3), false),
        ShuffleKind::QuadXor => (quad | ((l ^ k) & 3), false),
        ShuffleKind::QuadUp => (if k <= (l & 3) { l - k } else { l }, false),
        ShuffleKind::QuadDown => (if k < 4 - (l & 3) { l + k } else { l }, false),
    }
}

/// Undefined lanes of a shuffle's result, given those of its value, lane and fill operands; and the lanes that read a lane
/// which does not run.
pub unsafe fn shuffle_taint(w: *mut Warp, i: &Inst, v: u32, b: u32, c: u32) -> (u32, u32) {
    // SAFETY: operands come from the assembler.
    unsafe {
        let kind = KINDS[i.x as usize % KINDS.len()];
        let mask = (*w).mask;
        let fills = matches!(kind, ShuffleKind::FillUp | ShuffleKind::FillDown);
        let n = if kind == ShuffleKind::BroadcastFirst { [0; LANES] } else { read(w, i.b) };
        let modulo = if fills { read(w, i.y) } else { [0; LANES] };
        // Operands of a fill: value, fill, delta.
        let (by, fill) = if fills { (c, b) } else { (b, 0) };
        let by = if kind == ShuffleKind::BroadcastFirst { 0 } else { by };
        let (mut out, mut idle) = (0u32, 0u32);
        for l in 0..LANES as u32 {
            let (from, filled) = source(kind, l, n[l as usize], modulo[l as usize], mask);
            let asleep = mask >> from & 1 == 0;
            let t = if filled { fill } else { v } >> from & 1 == 1;
            out |= u32::from(t || asleep || by >> l & 1 == 1) << l;
            idle |= u32::from(asleep) << l;
        }
        (out, idle)
    }
}

fn identity(op: ReduceOp, t: Num) -> u32 {
    match (op, t) {
        (ReduceOp::Sum | ReduceOp::InclusiveSum | ReduceOp::ExclusiveSum, _) => 0,
        (ReduceOp::Product | ReduceOp::InclusiveProduct | ReduceOp::ExclusiveProduct, Num::F32) => 1f32.to_bits(),
        (ReduceOp::Product | ReduceOp::InclusiveProduct | ReduceOp::ExclusiveProduct, _) => 1,
        (ReduceOp::Min, Num::F32) => f32::INFINITY.to_bits(),
        (ReduceOp::Min, Num::I32) => i32::MAX as u32,
        (ReduceOp::Min, Num::U32) | (ReduceOp::And, _) => u32::MAX,
        (ReduceOp::Max, Num::F32) => f32::NEG_INFINITY.to_bits(),
        (ReduceOp::Max, Num::I32) => i32::MIN as u32,
        (ReduceOp::Max, Num::U32) | (ReduceOp::Or | ReduceOp::Xor, _) => 0,
    }
}

#[inline(always)]
fn combine(op: ReduceOp, t: Num, a: u32, b: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match (op, t) {
        (ReduceOp::Sum | ReduceOp::InclusiveSum | ReduceOp::ExclusiveSum, Num::F32) => (x + y).to_bits(),
        (ReduceOp::Sum | ReduceOp::InclusiveSum | ReduceOp::ExclusiveSum, _) => a.wrapping_add(b),
        (ReduceOp::Product | ReduceOp::InclusiveProduct | ReduceOp::ExclusiveProduct, Num::F32) => (x * y).to_bits(),
        (ReduceOp::Product | ReduceOp::InclusiveProduct | ReduceOp::ExclusiveProduct, _) => a.wrapping_mul(b),
        (ReduceOp::Min, Num::F32) => x.min(y).to_bits(),
        (ReduceOp::Min, Num::I32) => (a as i32).min(b as i32) as u32,
        (ReduceOp::Min, Num::U32) => a.min(b),
        (ReduceOp::Max, Num::F32) => x.max(y).to_bits(),
        (ReduceOp::Max, Num::I32) => (a as i32).max(b as i32) as u32,
        (ReduceOp::Max, Num::U32) => a.max(b),
        (ReduceOp::And, _) => a & b,
        (ReduceOp::Or, _) => a | b,
        (ReduceOp::Xor, _) => a ^ b,
    }
}

const OPS: [ReduceOp; 11] = [
    ReduceOp::Sum,
    ReduceOp::Product,
    ReduceOp::Min,
    ReduceOp::Max,
    ReduceOp::And,
    ReduceOp::Or,
    ReduceOp::Xor,
    ReduceOp::InclusiveSum,
    ReduceOp::ExclusiveSum,
    ReduceOp::InclusiveProduct,
    ReduceOp::ExclusiveProduct,
];

fn num(x: u64) -> Num {
    match x {
        0 => Num::F32,
        1 => Num::I32,
        _ => Num::U32,
    }
}

/// `a`: value, `x`: operation, `y`: number type; `WIDTH` lanes share a result.
unsafe fn reduce<const WIDTH: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: operands come from the assembler.
    unsafe {
        let i = &*i;
        let op = OPS[i.x as usize % OPS.len()];
        let t = num(u64::from(i.y));
        let mask = (*w).mask;
        let mut v = read(w, i.a);
        let id = identity(op, t);
        for (l, x) in v.iter_mut().enumerate() {
            if mask >> l & 1 == 0 {
                *x = id;
            }
        }
        match op {
            ReduceOp::InclusiveSum
            | ReduceOp::ExclusiveSum
            | ReduceOp::InclusiveProduct
            | ReduceOp::ExclusiveProduct => {
                let exclusive = matches!(op, ReduceOp::ExclusiveSum | ReduceOp::ExclusiveProduct);
                let mut acc = id;
                for (l, x) in v.iter_mut().enumerate() {
                    if l % WIDTH == 0 {
                        acc = id;
                    }
                    let sum = combine(op, t, acc, *x);
                    *x = if exclusive { acc } else { sum };
                    acc = sum;
                }
            }
            _ => {
                // A butterfly, as hardware does it: all lanes end with the same bits.
                let mut s = 1;
                while s < WIDTH {
                    let old = v;
                    for l in 0..LANES {
                        v[l] = combine(op, t, old[l & !s], old[l | s]);
                    }
                    s *= 2;
                }
            }
        }
        write(w, i.d, v);
        next(i)
    }
}

unsafe fn ballot(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: operands come from the assembler.
    unsafe {
        let v = u64::from(*(*w).at::<u32>((*i).a) & (*w).mask);
        *(*w).at::<u64>((*i).d) = v;
        next(i)
    }
}

unsafe fn active(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `ballot`.
    unsafe {
        *(*w).at::<u64>((*i).d) = u64::from((*w).mask);
        next(i)
    }
}

unsafe fn is_first(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `ballot`.
    unsafe {
        let m = (*w).mask;
        *(*w).at::<u32>((*i).d) = m & m.wrapping_neg();
        next(i)
    }
}

/// Row and first column that a lane holds (see `simdgroup_matrix` in the notes on Apple GPUs).
pub const fn fragment(lane: usize) -> (usize, usize) {
    let q = lane / 4;
    ((q & 4) + (lane / 2) % 4, (q & 2) * 2 + (lane % 2) * 2)
}

/// `lists[y..]`: a0 a1 b0 b1 c0 c1 d0 d1; `x`: kind.
unsafe fn mma(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: operands come from the assembler.
    unsafe {
        let i = &*i;
        let list = (*w).lists.add(i.y as usize);
        let mut m = [[[0f32; 8]; 8]; 3];
        for (k, mat) in m.iter_mut().enumerate() {
            for e in 0..2 {
                let v = read(w, *list.add(k * 2 + e));
                for (l, &x) in v.iter().enumerate() {
                    let (r, c) = fragment(l);
                    let x = if (*w).mask >> l & 1 == 1 { x } else { 0 };
                    mat[r][c + e] = f32::from_bits(x);
                }
            }
        }
        let [a, b, mut d] = m;
        for r in 0..8 {
            for k in 0..8 {
                for c in 0..8 {
                    d[r][c] = a[r][k].mul_add(b[k][c], d[r][c]);
                }
            }
        }
        for e in 0..2 {
            let mut v = [0u32; LANES];
            for (l, x) in v.iter_mut().enumerate() {
                let (r, c) = fragment(l);
                let y = d[r][c + e];
                let y = match i.x {
                    1 => f16::from_f32(y).to_f32(),
                    2 => bf16::from_f32(y).to_f32(),
                    _ => y,
                };
                *x = y.to_bits();
            }
            write(w, *list.add(6 + e), v);
        }
        next(i)
    }
}

/// An operation across lanes, ready to assemble.
pub struct Cross {
    pub run: OpFn,
    pub x: u64,
    pub y: u32,
    /// Operands and results go into a list rather than the instruction.
    pub listed: bool,
}

/// The function for an operation across lanes.
pub fn select(op: Op) -> Option<Cross> {
    let c = |run: OpFn, x: u64, y: u32| Some(Cross { run, x, y, listed: false });
    match op {
        Op::Shuffle(k) => c(shuffle, k as u64, 0),
        Op::Reduce(o, n) => c(reduce::<32>, o as u64, n as u32),
        Op::QuadReduce(o, n) => c(reduce::<4>, o as u64, n as u32),
        Op::Ballot => c(ballot, 0, 0),
        Op::ActiveMask => c(active, 0, 0),
        Op::IsFirst => c(is_first, 0, 0),
        Op::Mma(k) => Some(Cross { run: mma, x: u64::from(k), y: 0, listed: true }),
        _ => None,
    }
}
