//! Memory: loads, stores, atomics. Every address is checked before it is touched, whatever the mode.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use half::{bf16, f16};

use super::cross::SCALAR;
use super::group::{Env, Problem};
use super::{Inst, LANES, OpFn, Warp, mem_checked, next};
use crate::lower::sir::{Elem, Index, Mem, RmwOp, Space};
use crate::lower::{TAG_PRIVATE, TAG_THREADGROUP};
use crate::observe::{AccessKind, MemEvent, Observer};

/// Fields of `Inst::c` of a memory instruction.
pub(super) mod bits {
    pub const BASE_SCALAR: u32 = 1;
    pub const INDEX_SCALAR: u32 = 2;
    pub const INDEX: u32 = 2; // 2 bits at 2
    pub const SHIFT: u32 = 4; // 3 bits
    pub const COUNT: u32 = 7; // 3 bits
    pub const ALIGN: u32 = 10; // 5 bits, log2
    pub const ATOMIC: u32 = 1 << 15;
    pub const RESULT_SCALAR: u32 = 1 << 16;
    pub const ELEM: u32 = 17; // 3 bits
    pub const SPACE: u32 = 20; // 2 bits
    pub const RMW: u32 = 22; // 4 bits
}

pub(super) const ELEMS: [Elem; 6] = [Elem::U8, Elem::U16, Elem::F16, Elem::Bf16, Elem::B32, Elem::B64];
const SPACES: [Space; 4] = [Space::Device, Space::Threadgroup, Space::Private, Space::Generic];
pub(super) const RMWS: [RmwOp; 15] = [
    RmwOp::Xchg,
    RmwOp::Add,
    RmwOp::Sub,
    RmwOp::And,
    RmwOp::Nand,
    RmwOp::Or,
    RmwOp::Xor,
    RmwOp::Max,
    RmwOp::Min,
    RmwOp::UMax,
    RmwOp::UMin,
    RmwOp::FAdd,
    RmwOp::FSub,
    RmwOp::FMax,
    RmwOp::FMin,
];

/// Packs a memory operand.
pub fn pack(m: Mem, base_scalar: bool, index_scalar: bool, result_scalar: bool, rmw: Option<RmwOp>) -> u32 {
    let index = match m.index {
        Index::None => 0,
        Index::Sext => 1,
        Index::Zext => 2,
        Index::Wide => 3,
    };
    u32::from(base_scalar) * bits::BASE_SCALAR
        | u32::from(index_scalar) * bits::INDEX_SCALAR
        | index << bits::INDEX
        | u32::from(m.shift) << bits::SHIFT
        | u32::from(m.count) << bits::COUNT
        | (m.align.max(1).ilog2() & 31) << bits::ALIGN
        | u32::from(m.atomic) * bits::ATOMIC
        | u32::from(result_scalar) * bits::RESULT_SCALAR
        | (m.elem as u32) << bits::ELEM
        | (m.space as u32) << bits::SPACE
        | rmw.map_or(0, |r| r as u32) << bits::RMW
}

pub(super) fn elem_of(c: u32) -> Elem {
    ELEMS[(c >> bits::ELEM & 7) as usize % ELEMS.len()]
}
fn space_of(c: u32) -> Space {
    SPACES[(c >> bits::SPACE & 3) as usize]
}
pub(super) fn count_of(c: u32) -> usize {
    (c >> bits::COUNT & 7) as usize
}

/// A buffer as the machine sees it.
#[derive(Clone, Copy)]
pub struct View {
    /// First byte on the host.
    pub ptr: *mut u8,
    /// Bytes.
    pub len: u64,
    /// One flag per byte: has it been written? Null when all bytes count as written.
    pub written: *mut bool,
    /// May the kernel write it?
    pub read_only: bool,
    /// Is there such a buffer at all?
    pub present: bool,
}

// SAFETY: kernels run on several host threads share device memory as GPUs do. All accesses go through raw pointers,
// are bounds-checked, and are single machine loads and stores; a kernel that races gets some value, never a broken host.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

/// Lane addresses.
pub(super) type Addresses = [u64; LANES];

/// Addresses of all lanes; those of lanes that do not run are meaningless.
#[inline(always)]
pub(super) unsafe fn addresses(w: *mut Warp, i: &Inst) -> Addresses {
    // SAFETY: operands come from the assembler.
    unsafe {
        let c = i.c;
        let wide = space_of(c) == Space::Device || space_of(c) == Space::Generic;
        let shift = c >> bits::SHIFT & 7;
        let mut out = [i.x; LANES];
        if c & bits::BASE_SCALAR != 0 {
            let b = if wide { *(*w).at::<u64>(i.a) } else { u64::from(*(*w).at::<u32>(i.a)) };
            for o in &mut out {
                *o = o.wrapping_add(b);
            }
        } else if wide {
            let b = &*(*w).at::<Addresses>(i.a);
            for (o, b) in out.iter_mut().zip(b) {
                *o = o.wrapping_add(*b);
            }
        } else {
            let b = &*(*w).at::<[u32; LANES]>(i.a);
            for (o, b) in out.iter_mut().zip(b) {
                *o = o.wrapping_add(u64::from(*b));
            }
        }
        match c >> bits::INDEX & 3 {
            0 => {}
            3 => {
                let scalar = c & bits::INDEX_SCALAR != 0;
                for (l, o) in out.iter_mut().enumerate() {
                    let v = *(*w).at::<u64>(i.b).add(if scalar { 0 } else { l });
                    *o = o.wrapping_add(v << shift);
                }
            }
            kind => {
                let scalar = c & bits::INDEX_SCALAR != 0;
                for (l, o) in out.iter_mut().enumerate() {
                    let v = *(*w).at::<u32>(i.b).add(if scalar { 0 } else { l });
                    let v = if kind == 1 { v as i32 as i64 as u64 } else { u64::from(v) };
                    *o = o.wrapping_add(v << shift);
                }
            }
        }
        if !wide {
            // Offsets wrap in 32 bits, as the hardware's do.
            for o in &mut out {
                *o &= 0xffff_ffff;
            }
        }
        out
    }
}

/// Where one lane's access lands.
pub(super) enum Place {
    /// Host address, flags of written bytes (or null), space.
    Host(*mut u8, *mut bool, Space),
    Refused,
}

/// Checks one lane's access and finds its host address.
#[inline(always)]
pub(super) unsafe fn place<O: Observer>(
    w: *mut Warp,
    i: &Inst,
    lane: usize,
    addr: u64,
    size: u64,
    write: bool,
) -> Place {
    // SAFETY: `env` belongs to this simdgroup and its observer type (see `Warp::env`).
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        let mut space = space_of(i.c);
        let mut at = addr;
        if space == Space::Generic {
            (space, at) = match addr & (3 << 60) {
                TAG_THREADGROUP => (Space::Threadgroup, addr & 0xffff_ffff),
                TAG_PRIVATE => (Space::Private, addr & 0xffff_ffff),
                _ => (Space::Device, addr),
            };
        }
        match space {
            Space::Threadgroup => {
                if at + size <= u64::from(env.threadgroup_len) {
                    let flags = if O::SANITIZE { env.threadgroup_init.add(at as usize) } else { std::ptr::null_mut() };
                    return Place::Host(env.threadgroup.add(at as usize), flags, space);
                }
            }
            Space::Private => {
                if at + size <= u64::from((*w).private_bytes) {
                    let from = lane * (*w).private_bytes as usize + at as usize;
                    let flags = if O::SANITIZE { (*w).private_init.add(from) } else { std::ptr::null_mut() };
                    return Place::Host((*w).private.add(from), flags, space);
                }
            }
            _ => {
                let off = (at & ((1 << 40) - 1)).wrapping_sub(1 << 39);
                let v = env.view(at);
                if off <= v.len && size <= v.len - off {
                    if write && v.read_only {
                        env.problem(w, i.id, lane, Problem::ReadOnly { address: at, size });
                        return Place::Refused;
                    }
                    let flags = if v.written.is_null() { v.written } else { v.written.add(off as usize) };
                    return Place::Host(v.ptr.add(off as usize), flags, Space::Device);
                }
            }
        }
        env.problem(w, i.id, lane, Problem::Bounds { space, address: at, size, write });
        Place::Refused
    }
}

/// Reads one element into register bits.
#[inline(always)]
pub(super) unsafe fn get(e: Elem, p: *const u8) -> u64 {
    // SAFETY: the caller has checked `e.bytes()` bytes at `p`.
    unsafe {
        match e {
            Elem::U8 => u64::from(*p),
            Elem::U16 => u64::from(p.cast::<u16>().read_unaligned()),
            Elem::F16 => u64::from(f16::from_bits(p.cast::<u16>().read_unaligned()).to_f32().to_bits()),
            Elem::Bf16 => u64::from(p.cast::<u16>().read_unaligned()) << 16,
            Elem::B32 => u64::from(p.cast::<u32>().read_unaligned()),
            Elem::B64 => p.cast::<u64>().read_unaligned(),
        }
    }
}

/// Writes one element from register bits.
#[inline(always)]
pub(super) unsafe fn put(e: Elem, p: *mut u8, v: u64) {
    // SAFETY: as `get`.
    unsafe {
        match e {
            Elem::U8 => *p = v as u8,
            Elem::U16 => p.cast::<u16>().write_unaligned(v as u16),
            Elem::F16 => p.cast::<u16>().write_unaligned(f16::from_f32(f32::from_bits(v as u32)).to_bits()),
            Elem::Bf16 => p.cast::<u16>().write_unaligned(bf16::from_f32(f32::from_bits(v as u32)).to_bits()),
            Elem::B32 => p.cast::<u32>().write_unaligned(v as u32),
            Elem::B64 => p.cast::<u64>().write_unaligned(v),
        }
    }
}

unsafe fn tell<O: Observer>(w: *mut Warp, i: &Inst, kind: AccessKind, addrs: &Addresses) {
    // SAFETY: as `place`.
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        let bytes = elem_of(i.c).bytes() * count_of(i.c) as u32;
        let space = match space_of(i.c) {
            Space::Generic => {
                let first = addrs[(*w).mask.trailing_zeros() as usize & 31];
                match first & (3 << 60) {
                    TAG_THREADGROUP => Space::Threadgroup,
                    TAG_PRIVATE => Space::Private,
                    _ => Space::Device,
                }
            }
            s => s,
        };
        let event = MemEvent {
            kind,
            space,
            point: i.id,
            group: env.group_index,
            simdgroup: (*w).index,
            bytes,
            mask: (*w).mask,
            addresses: addrs,
        };
        env.observer.access(&event);
    }
}

/// After a memory instruction: stop if a fault ends the launch.
#[inline(always)]
pub(super) unsafe fn done<O: Observer>(w: *mut Warp, i: &Inst) -> *const Inst {
    // SAFETY: as `place`.
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        if env.stopped {
            (*w).stop = super::Stop::Fault;
            (*w).resume = i;
            return std::ptr::null();
        }
        next(i)
    }
}

pub(super) unsafe fn aligned<O: Observer>(w: *mut Warp, i: &Inst, addrs: &Addresses) {
    // SAFETY: as `place`.
    unsafe {
        let log = i.c >> bits::ALIGN & 31;
        let low = (1u64 << log) - 1;
        if low == 0 {
            return;
        }
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        for (lane, &a) in addrs.iter().enumerate() {
            if (*w).mask >> lane & 1 == 1 && a & low != 0 {
                let size = u64::from(elem_of(i.c).bytes()) * count_of(i.c) as u64;
                env.problem(w, i.id, lane, Problem::Misaligned { address: a, align: 1 << log, size });
                break;
            }
        }
    }
}

/// `a`, `b`: base, index; `c`: packed operand; `x`: offset; `lists[d..]`: results.
unsafe fn load<O: Observer, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: operands come from the assembler, addresses are checked by `place`.
    unsafe {
        let i = &*i;
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let size = (step * n) as u64;
        let addrs = addresses(w, i);
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Load, &addrs);
        }
        let list = (*w).lists.add(i.d as usize);
        let mask = (*w).mask;
        if i.c & bits::RESULT_SCALAR != 0 {
            let lane = mask.trailing_zeros() as usize & 31;
            let p = place::<O>(w, i, lane, addrs[lane], size, false);
            for k in 0..n {
                let v = match p {
                    Place::Host(p, ..) => get(e, p.add(k * step)),
                    Place::Refused => 0,
                };
                *(*w).at::<u64>(*list.add(k) & !SCALAR) = v;
            }
            return done::<O>(w, i);
        }
        let mut m = mask;
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            m &= m - 1;
            let p = place::<O>(w, i, lane, addrs[lane], size, false);
            for k in 0..n {
                let v = match p {
                    Place::Host(p, ..) => get(e, p.add(k * step)),
                    Place::Refused => 0,
                };
                let d = *list.add(k);
                if e.bytes() == 8 {
                    *(*w).at::<u64>(d).add(lane) = v;
                } else {
                    *(*w).at::<u32>(d).add(lane) = v as u32;
                }
            }
        }
        done::<O>(w, i)
    }
}

/// As `load`; `lists[d..]`: values, scalars marked.
unsafe fn store<O: Observer, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let i = &*i;
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let size = (step * n) as u64;
        let addrs = addresses(w, i);
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Store, &addrs);
        }
        let list = (*w).lists.add(i.d as usize);
        let mut m = (*w).mask;
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            m &= m - 1;
            let Place::Host(p, flags, _) = place::<O>(w, i, lane, addrs[lane], size, true) else { continue };
            for k in 0..n {
                let s = *list.add(k);
                let at = if s & SCALAR != 0 { 0 } else { lane };
                let v = if e.bytes() == 8 {
                    *(*w).at::<u64>(s & !SCALAR).add(at)
                } else {
                    u64::from(*(*w).at::<u32>(s & !SCALAR).add(at))
                };
                put(e, p.add(k * step), v);
            }
            if !flags.is_null() {
                for k in 0..size as usize {
                    *flags.add(k) = true;
                }
            }
        }
        done::<O>(w, i)
    }
}

fn apply32(op: RmwOp, old: u32, v: u32) -> u32 {
    let (x, y) = (f32::from_bits(old), f32::from_bits(v));
    match op {
        RmwOp::Xchg => v,
        RmwOp::Add => old.wrapping_add(v),
        RmwOp::Sub => old.wrapping_sub(v),
        RmwOp::And => old & v,
        RmwOp::Nand => !(old & v),
        RmwOp::Or => old | v,
        RmwOp::Xor => old ^ v,
        RmwOp::Max => (old as i32).max(v as i32) as u32,
        RmwOp::Min => (old as i32).min(v as i32) as u32,
        RmwOp::UMax => old.max(v),
        RmwOp::UMin => old.min(v),
        RmwOp::FAdd => (x + y).to_bits(),
        RmwOp::FSub => (x - y).to_bits(),
        RmwOp::FMax => x.max(y).to_bits(),
        RmwOp::FMin => x.min(y).to_bits(),
    }
}

fn apply64(op: RmwOp, old: u64, v: u64) -> u64 {
    match op {
        RmwOp::Xchg => v,
        RmwOp::Add => old.wrapping_add(v),
        RmwOp::Sub => old.wrapping_sub(v),
        RmwOp::And => old & v,
        RmwOp::Nand => !(old & v),
        RmwOp::Or => old | v,
        RmwOp::Xor => old ^ v,
        RmwOp::Max => (old as i64).max(v as i64) as u64,
        RmwOp::Min => (old as i64).min(v as i64) as u64,
        RmwOp::UMax => old.max(v),
        RmwOp::UMin => old.min(v),
        // Floating atomics have 32 bits.
        RmwOp::FAdd | RmwOp::FSub | RmwOp::FMax | RmwOp::FMin => old,
    }
}

/// A value operand of one lane.
pub(super) unsafe fn lane_value(w: *mut Warp, s: u32, lane: usize, wide: bool) -> u64 {
    // SAFETY: operands come from the assembler.
    unsafe {
        let at = if s & SCALAR != 0 { 0 } else { lane };
        if wide { *(*w).at::<u64>(s & !SCALAR).add(at) } else { u64::from(*(*w).at::<u32>(s & !SCALAR).add(at)) }
    }
}

/// Read-modify-write and compare-exchange. `lists[d..]`: result (and success), then value (or expected and new).
unsafe fn atomic<O: Observer, const CAS: bool>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `load`; host atomics are used on addresses that are checked to be aligned.
    unsafe {
        let i = &*i;
        let op = RMWS[(i.c >> bits::RMW & 15) as usize % RMWS.len()];
        let wide = elem_of(i.c) == Elem::B64;
        let size = if wide { 8u64 } else { 4 };
        let addrs = addresses(w, i);
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Atomic, &addrs);
        }
        let list = (*w).lists.add(i.d as usize);
        let mut success = 0u32;
        let mut m = (*w).mask;
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            m &= m - 1;
            if addrs[lane] & (size - 1) != 0 {
                let env = &mut *(*w).env.cast::<Env<'_, O>>();
                env.problem(w, i.id, lane, Problem::Misaligned { address: addrs[lane], align: size, size });
                continue;
            }
            let Place::Host(p, flags, space) = place::<O>(w, i, lane, addrs[lane], size, true) else { continue };
            if p as u64 & (size - 1) != 0 {
                // Buffers start aligned, so this is a private or threadgroup base; both are aligned too.
                continue;
            }
            let values = list.add(if CAS { 2 } else { 1 });
            if O::SANITIZE {
                mem_checked::before_atomic::<O>(w, i, lane, addrs[lane], size as u32, space);
                mem_checked::atomic_taint::<O>(w, i, lane, flags, size as usize, *list, *values);
            }
            let v = lane_value(w, *values, lane, wide);
            let old = if CAS {
                let new = lane_value(w, *values.add(1), lane, wide);
                let (old, ok) = if wide {
                    let r = AtomicU64::from_ptr(p.cast()).compare_exchange(v, new, Ordering::SeqCst, Ordering::SeqCst);
                    (r.unwrap_or_else(|x| x), r.is_ok())
                } else {
                    let r = AtomicU32::from_ptr(p.cast()).compare_exchange(
                        v as u32,
                        new as u32,
                        Ordering::SeqCst,
                        Ordering::SeqCst,
                    );
                    (u64::from(r.unwrap_or_else(|x| x)), r.is_ok())
                };
                success |= u32::from(ok) << lane;
                old
            } else if wide {
                let a = AtomicU64::from_ptr(p.cast());
                let f = |x| Some(apply64(op, x, v));
                a.fetch_update(Ordering::SeqCst, Ordering::SeqCst, f).unwrap_or_else(|x| x)
            } else {
                let a = AtomicU32::from_ptr(p.cast());
                let f = |x| Some(apply32(op, x, v as u32));
                u64::from(a.fetch_update(Ordering::SeqCst, Ordering::SeqCst, f).unwrap_or_else(|x| x))
            };
            let d = *list;
            if wide {
                *(*w).at::<u64>(d).add(lane) = old;
            } else {
                *(*w).at::<u32>(d).add(lane) = old as u32;
            }
            if !flags.is_null() {
                for k in 0..size as usize {
                    *flags.add(k) = true;
                }
            }
        }
        if CAS {
            *(*w).at::<u32>(*list.add(1)) = success;
        }
        if O::SANITIZE {
            mem_checked::address_taint::<O>(w, i);
            mem_checked::drain::<O>(w);
        }
        done::<O>(w, i)
    }
}

/// The function of a load.
pub fn select_load<O: Observer>(e: Elem) -> OpFn {
    if O::SANITIZE {
        return mem_checked::select_load::<O>(e);
    }
    match e {
        Elem::U8 => load::<O, 0>,
        Elem::U16 => load::<O, 1>,
        Elem::F16 => load::<O, 2>,
        Elem::Bf16 => load::<O, 3>,
        Elem::B32 => load::<O, 4>,
        Elem::B64 => load::<O, 5>,
    }
}

/// The function of a store.
pub fn select_store<O: Observer>(e: Elem) -> OpFn {
    if O::SANITIZE {
        return mem_checked::select_store::<O>(e);
    }
    match e {
        Elem::U8 => store::<O, 0>,
        Elem::U16 => store::<O, 1>,
        Elem::F16 => store::<O, 2>,
        Elem::Bf16 => store::<O, 3>,
        Elem::B32 => store::<O, 4>,
        Elem::B64 => store::<O, 5>,
    }
}

/// The function of an atomic.
pub fn select_atomic<O: Observer>(cas: bool) -> OpFn {
    if cas { atomic::<O, true> } else { atomic::<O, false> }
}
