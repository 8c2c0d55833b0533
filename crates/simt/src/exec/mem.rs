//! Memory: loads, stores, atomics. Every address is checked before it is touched, whatever the mode.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::cross::SCALAR;
use super::group::{Env, Problem};
use super::lanes::{Avx2, Avx512, Longs, Portable, Simd, Words, get, put, read_row, write_row};
use super::{Inst, Isa, LANES, OpFn, Warp, mem_checked, next};
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

fn index_of(c: u32) -> u32 {
    (c >> bits::INDEX) & 3
}
pub(super) fn elem_of(c: u32) -> Elem {
    ELEMS[(c >> bits::ELEM & 7) as usize % ELEMS.len()]
}
pub(super) fn space_of(c: u32) -> Space {
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
    /// May this launch write it? Otherwise nothing can race on it.
    pub contended: bool,
}

// SAFETY: kernels run on several host threads share device memory as GPUs do. All accesses go through raw pointers,
// are bounds-checked, and are single machine loads and stores; a kernel that races gets some value, never a broken host.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

/// Longs of all lanes; those of lanes that do not run are meaningless.
#[inline(always)]
pub(super) unsafe fn addresses(w: *mut Warp, i: &Inst) -> Longs {
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
            let b = &*(*w).at::<Longs>(i.a);
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
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Host address, flags of written bytes (or null), space.
    Host(*mut u8, *mut bool, Space),
    /// Offset in the lane's private memory; flags of its first byte (or null), the others are laid out as memory is.
    Private(u32, *mut bool),
    /// A fault has been reported.
    Refused,
}

impl Place {
    /// Are the `n` bytes from `at` written, as far as that is known?
    #[inline(always)]
    pub(super) unsafe fn is_written(self, at: usize, n: usize) -> bool {
        // SAFETY: flags cover the access.
        unsafe {
            match self {
                Self::Host(_, f, _) => f.is_null() || all_set(f.add(at), n),
                Self::Private(_, f) if f.is_null() => true,
                Self::Private(from, f) => {
                    if (from as usize + at).is_multiple_of(4) && n == 4 {
                        return all_set(f.add(private_step(from, at)), 4);
                    }
                    (0..n).all(|k| *f.add(private_step(from, at + k)))
                }
                Self::Refused => true,
            }
        }
    }

    /// Marks the `n` bytes from `at`.
    #[inline(always)]
    pub(super) unsafe fn mark(self, at: usize, n: usize, written: bool) {
        // SAFETY: flags cover the access.
        unsafe {
            match self {
                Self::Host(_, f, _) if !f.is_null() => f.add(at).write_bytes(u8::from(written), n),
                Self::Private(from, f) if !f.is_null() => {
                    for k in 0..n {
                        *f.add(private_step(from, at + k)) = written;
                    }
                }
                _ => {}
            }
        }
    }
}

/// Distance in interleaved private memory from byte `from` to the byte `at` bytes on.
#[inline(always)]
fn private_step(from: u32, at: usize) -> usize {
    private_byte(from + at as u32, 0) - private_byte(from, 0)
}

/// Are all of `n` flags set?
#[inline(always)]
unsafe fn all_set(f: *const bool, n: usize) -> bool {
    // SAFETY: the caller's.
    unsafe {
        match n {
            1 => *f,
            2 => f.cast::<u16>().read_unaligned() == 0x0101,
            4 => f.cast::<u32>().read_unaligned() == 0x0101_0101,
            8 => f.cast::<u64>().read_unaligned() == 0x0101_0101_0101_0101,
            _ => (0..n).all(|k| *f.add(k)),
        }
    }
}

/// Host address of a byte of a lane's private memory: words are interleaved by lane, so that lanes that use the same
/// variable touch one row.
#[inline(always)]
fn private_byte(at: u32, lane: usize) -> usize {
    (at as usize >> 2) * 4 * LANES + lane * 4 + (at as usize & 3)
}

/// Flags of a private byte, laid out as private memory is.
#[inline(always)]
unsafe fn private_flags<O: Observer>(w: *mut Warp, at: u32, lane: usize) -> *mut bool {
    // SAFETY: the shadow is as large as private memory.
    unsafe { if O::SANITIZE { (*w).private_init.add(private_byte(at, lane)) } else { std::ptr::null_mut() } }
}

/// Checks one lane's access and finds where it lands.
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
                    return Place::Private(at as u32, private_flags::<O>(w, at as u32, lane));
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

/// Reads the element `at` bytes into a place.
#[inline(always)]
pub(super) unsafe fn get_at(w: *mut Warp, e: Elem, p: Place, lane: usize, at: usize) -> u64 {
    // SAFETY: `place` has checked the whole access.
    unsafe {
        match p {
            Place::Host(p, ..) => get(e, p.add(at)),
            Place::Private(from, _) => {
                let mut raw = [0u8; 8];
                for (k, b) in raw.iter_mut().enumerate().take(e.bytes() as usize) {
                    *b = *(*w).private.add(private_byte(from + (at + k) as u32, lane));
                }
                get(e, raw.as_ptr())
            }
            Place::Refused => 0,
        }
    }
}

/// Writes the element `at` bytes into a place.
#[inline(always)]
pub(super) unsafe fn put_at(w: *mut Warp, e: Elem, p: Place, lane: usize, at: usize, v: u64) {
    // SAFETY: as `get_at`.
    unsafe {
        match p {
            Place::Host(p, ..) => put(e, p.add(at), v),
            Place::Private(from, _) => {
                let mut raw = [0u8; 8];
                put(e, raw.as_mut_ptr(), v);
                for (k, b) in raw.iter().enumerate().take(e.bytes() as usize) {
                    *(*w).private.add(private_byte(from + (at + k) as u32, lane)) = *b;
                }
            }
            Place::Refused => {}
        }
    }
}

/// Addresses of the active lanes as a lowest one and distances from it, all below 2^31.
pub(super) struct Span {
    pub lo: u64,
    pub hi: u64,
    pub rel: Words,
}

/// The addresses of an access in compact form; `None` when they are too far apart, or in a space decided lane by lane.
#[inline(always)]
pub(super) unsafe fn span<I: Simd>(w: *mut Warp, i: &Inst, mask: u32) -> Option<Span> {
    // SAFETY: operands come from the assembler.
    unsafe {
        let c = i.c;
        let shift = c >> bits::SHIFT & 7;
        let kind = c >> bits::INDEX & 3;
        let base_scalar = c & bits::BASE_SCALAR != 0;
        let index_scalar = c & bits::INDEX_SCALAR != 0;
        match space_of(c) {
            Space::Generic => None,
            Space::Device => {
                if !base_scalar || kind == 3 {
                    return far_span(w, i, mask);
                }
                let base = (*(*w).at::<u64>(i.a)).wrapping_add(i.x);
                if kind == 0 {
                    return Some(Span { lo: base, hi: base, rel: [0; LANES] });
                }
                let bias = if kind == 1 { 0x8000_0000u32 } else { 0 };
                let back = (i64::from(bias) << shift) as u64;
                if index_scalar {
                    let u = u64::from(*(*w).at::<u32>(i.b) ^ bias);
                    let at = base.wrapping_add(u << shift).wrapping_sub(back);
                    return Some(Span { lo: at, hi: at, rel: [0; LANES] });
                }
                let mut rel = *(*w).at::<Words>(i.b);
                for r in &mut rel {
                    *r ^= bias;
                }
                let (min, max) = I::bounds(&rel, mask);
                if u64::from(max - min) << shift >= 1 << 31 {
                    return None;
                }
                for r in &mut rel {
                    *r = r.wrapping_sub(min) << shift;
                }
                let lo = base.wrapping_add(u64::from(min) << shift).wrapping_sub(back);
                Some(Span { lo, hi: lo.wrapping_add(u64::from(max - min) << shift), rel })
            }
            Space::Threadgroup | Space::Private => {
                // Offsets wrap in 32 bits, as the hardware's do.
                let mut rel = if base_scalar {
                    [(*(*w).at::<u32>(i.a)).wrapping_add(i.x as u32); LANES]
                } else {
                    (*(*w).at::<Words>(i.a)).map(|b| b.wrapping_add(i.x as u32))
                };
                if kind != 0 {
                    if index_scalar {
                        let k = *(*w).at::<u32>(i.b) << shift;
                        for r in &mut rel {
                            *r = r.wrapping_add(k);
                        }
                    } else {
                        let k = &*(*w).at::<Words>(i.b);
                        for (r, k) in rel.iter_mut().zip(k) {
                            *r = r.wrapping_add(k << shift);
                        }
                    }
                }
                let (min, max) = I::bounds(&rel, mask);
                if max - min >= 1 << 31 {
                    return None;
                }
                for r in &mut rel {
                    *r = r.wrapping_sub(min);
                }
                Some(Span { lo: u64::from(min), hi: u64::from(max), rel })
            }
        }
    }
}

/// As `span`, for 64-bit bases or indices that differ by lane.
#[inline(always)]
unsafe fn far_span(w: *mut Warp, i: &Inst, mask: u32) -> Option<Span> {
    // SAFETY: operands come from the assembler.
    unsafe {
        let a = addresses(w, i);
        let (mut lo, mut hi) = (u64::MAX, 0u64);
        for (l, &x) in a.iter().enumerate() {
            let on = 0u64.wrapping_sub(u64::from(mask >> l & 1));
            lo = lo.min(x | !on);
            hi = hi.max(x & on);
        }
        if hi.wrapping_sub(lo) >= 1 << 31 {
            return None;
        }
        let mut rel = [0u32; LANES];
        for (r, x) in rel.iter_mut().zip(a) {
            *r = x.wrapping_sub(lo) as u32;
        }
        Some(Span { lo, hi, rel })
    }
}

/// Host address of the lowest byte of a span of device or threadgroup memory, and its flags; `None` when not all of it
/// lies in one place that may be used so.
#[inline(always)]
unsafe fn resolve<O: Observer>(w: *mut Warp, c: u32, s: &Span, size: u64, write: bool) -> Option<(*mut u8, *mut bool)> {
    // SAFETY: as `place`.
    unsafe {
        let env = &*(*w).env.cast::<Env<'_, O>>();
        if space_of(c) == Space::Threadgroup {
            return (s.hi + size <= u64::from(env.threadgroup_len))
                .then(|| (env.threadgroup.add(s.lo as usize), std::ptr::null_mut()));
        }
        let v = env.view(s.lo);
        let off = (s.lo & ((1 << 40) - 1)).wrapping_sub(1 << 39);
        let end = off.checked_add(s.hi.wrapping_sub(s.lo))?.checked_add(size)?;
        if end > v.len || (write && v.read_only) {
            return None;
        }
        let flags = if v.written.is_null() { v.written } else { v.written.add(off as usize) };
        Some((v.ptr.add(off as usize), flags))
    }
}

/// Tells the observer of an access whose addresses are a span.
#[inline(always)]
unsafe fn tell<O: Observer>(w: *mut Warp, i: &Inst, kind: AccessKind, s: &Span) {
    // SAFETY: as `place`.
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        let event = MemEvent {
            kind,
            space: space_of(i.c),
            point: i.id,
            group: env.group_index,
            simdgroup: (*w).index,
            bytes: elem_of(i.c).bytes() * count_of(i.c) as u32,
            mask: (*w).mask,
            base: s.lo,
            last: s.hi,
            offsets: &s.rel,
        };
        env.observer.access(&event);
    }
}

/// Tells the observer of an access whose lanes may be anywhere: as one event for each stretch of 2 GiB and space.
#[cold]
unsafe fn tell_lanes<O: Observer>(w: *mut Warp, i: &Inst, kind: AccessKind, addrs: &Longs) {
    // SAFETY: as `place`.
    unsafe {
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        let generic = space_of(i.c) == Space::Generic;
        let home = |a: u64| match (generic, a & (3 << 60)) {
            (true, TAG_THREADGROUP) => (Space::Threadgroup, a & 0xffff_ffff),
            (true, TAG_PRIVATE) => (Space::Private, a & 0xffff_ffff),
            (true, _) => (Space::Device, a),
            (false, _) => (space_of(i.c), a),
        };
        let mut left = (*w).mask;
        while left != 0 {
            let (space, first) = home(addrs[left.trailing_zeros() as usize]);
            let near = |a: u64| {
                let (s, a) = home(a);
                (s == space && a >> 31 == first >> 31).then_some(a)
            };
            let (mut mask, mut lo, mut hi) = (0u32, u64::MAX, 0);
            for (l, &a) in addrs.iter().enumerate().filter(|(l, _)| left >> l & 1 == 1) {
                if let Some(a) = near(a) {
                    (mask, lo, hi) = (mask | 1 << l, lo.min(a), hi.max(a));
                }
            }
            let offsets = std::array::from_fn(|l| near(addrs[l]).map_or(0, |a| a.wrapping_sub(lo) as u32));
            env.observer.access(&MemEvent {
                kind,
                space,
                point: i.id,
                group: env.group_index,
                simdgroup: (*w).index,
                bytes: elem_of(i.c).bytes() * count_of(i.c).max(1) as u32,
                mask,
                base: lo,
                last: hi,
                offsets: &offsets,
            });
            left &= !mask;
        }
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

pub(super) unsafe fn aligned<O: Observer>(w: *mut Warp, i: &Inst, addrs: &Longs) {
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

/// Pointer to the value of a store's operand, splatted into `tmp` when it is a scalar.
#[inline(always)]
unsafe fn words(w: *mut Warp, s: u32) -> Words {
    // SAFETY: operands come from the assembler.
    unsafe { if s & SCALAR != 0 { [*(*w).at::<u32>(s & !SCALAR); LANES] } else { *(*w).at::<Words>(s) } }
}

/// `a`, `b`: base, index; `c`: packed operand; `x`: offset; `lists[d..]`: results.
#[inline(always)]
unsafe fn load<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: operands come from the assembler; whatever is not checked here is checked by `load_slow`.
    unsafe {
        let i = &*i;
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let mask = (*w).mask;
        if i.c & bits::RESULT_SCALAR != 0 {
            return load_scalar::<O, E>(w, i);
        }
        let Some(s) = span::<I>(w, i, mask) else { return load_slow::<O, E>(w, i) };
        let size = (step * n) as u64;
        let list = (*w).lists.add(i.d as usize);
        if space_of(i.c) == Space::Private {
            return load_private::<O, I, E>(w, i, &s);
        }
        let Some((p, _)) = resolve::<O>(w, i.c, &s, size, false) else { return load_slow::<O, E>(w, i) };
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Load, &s);
        }
        let same = s.lo == s.hi;
        if e.bytes() == 8 {
            for k in 0..n {
                let d = (*w).at::<u64>(*list.add(k));
                let mut m = mask;
                while m != 0 {
                    let l = m.trailing_zeros() as usize;
                    m &= m - 1;
                    *d.add(l) = get(e, p.add(s.rel[l] as usize + k * 8));
                }
            }
            return next(i);
        }
        if same {
            for k in 0..n {
                let v = get(e, p.add(k * step)) as u32;
                *(*w).at::<Words>(*list.add(k)) = [v; LANES];
            }
            return next(i);
        }
        if n == 1 && mask == u32::MAX && s.hi - s.lo == 31 * step as u64 && I::is_ramp(&s.rel, 0, step as u32, mask) {
            read_row(e, p, (*w).at(*list));
            return next(i);
        }
        if e == Elem::B32 {
            for k in 0..n {
                I::gather(p.add(k * 4), &s.rel, mask, (*w).at(*list.add(k)));
            }
            return next(i);
        }
        if step == 2 && n.is_multiple_of(2) {
            // Pairs of 16-bit elements come as words.
            for k in (0..n).step_by(2) {
                let mut both = [0u32; LANES];
                I::gather(p.add(k * 2), &s.rel, mask, &raw mut both);
                *(*w).at::<Words>(*list.add(k)) = both.map(|x| widen(e, x & 0xffff));
                *(*w).at::<Words>(*list.add(k + 1)) = both.map(|x| widen(e, x >> 16));
            }
            return next(i);
        }
        for k in 0..n {
            let d = (*w).at::<u32>(*list.add(k));
            let mut m = mask;
            while m != 0 {
                let l = m.trailing_zeros() as usize;
                m &= m - 1;
                *d.add(l) = get(e, p.add(s.rel[l] as usize + k * step)) as u32;
            }
        }
        next(i)
    }
}

/// 16 bits of memory to register form.
#[inline(always)]
fn widen(e: Elem, x: u32) -> u32 {
    match e {
        Elem::F16 => crate::semantics::f16_to_f32(x as u16),
        Elem::Bf16 => x << 16,
        _ => x,
    }
}

/// Register form to 16 bits of memory.
#[inline(always)]
fn narrow(e: Elem, x: u32) -> u32 {
    match e {
        Elem::F16 => u32::from(crate::semantics::f32_to_f16(x)),
        Elem::Bf16 => u32::from(crate::semantics::f32_to_bf16(x)),
        _ => x & 0xffff,
    }
}

/// One address for all lanes, one result.
unsafe fn load_scalar<O: Observer, const E: usize>(w: *mut Warp, i: &Inst) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let mask = (*w).mask;
        let lane = mask.trailing_zeros() as usize & 31;
        let at = if i.c & bits::BASE_SCALAR != 0 && (index_of(i.c) == 0 || i.c & bits::INDEX_SCALAR != 0) {
            scalar_address(w, i)
        } else {
            addresses(w, i)[lane]
        };
        let p = place::<O>(w, i, lane, at, (step * n) as u64, false);
        if O::EVENTS && !matches!(p, Place::Refused) {
            tell::<O>(w, i, AccessKind::Load, &Span { lo: at, hi: at, rel: [0; LANES] });
        }
        let list = (*w).lists.add(i.d as usize);
        for k in 0..n {
            *(*w).at::<u64>(*list.add(k) & !SCALAR) = get_at(w, e, p, lane, k * step);
        }
        done::<O>(w, i)
    }
}

/// The address when base and index are scalars.
#[inline(always)]
unsafe fn scalar_address(w: *mut Warp, i: &Inst) -> u64 {
    // SAFETY: operands come from the assembler.
    unsafe {
        let wide = matches!(space_of(i.c), Space::Device | Space::Generic);
        let shift = i.c >> bits::SHIFT & 7;
        let base = if wide { *(*w).at::<u64>(i.a) } else { u64::from(*(*w).at::<u32>(i.a)) };
        let index = match i.c >> bits::INDEX & 3 {
            0 => 0,
            1 => *(*w).at::<u32>(i.b) as i32 as i64 as u64,
            2 => u64::from(*(*w).at::<u32>(i.b)),
            _ => *(*w).at::<u64>(i.b),
        };
        let a = base.wrapping_add(index << shift).wrapping_add(i.x);
        if wide { a } else { a & 0xffff_ffff }
    }
}

/// Private memory whose elements lie in words of their own.
#[inline(always)]
unsafe fn load_private<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: &Inst, s: &Span) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let size = (e.bytes() as usize * n) as u64;
        let list = (*w).lists.add(i.d as usize);
        let mask = (*w).mask;
        if e != Elem::B32 || s.hi + size > u64::from((*w).private_bytes) || !words_aligned(s, mask) {
            return load_slow::<O, E>(w, i);
        }
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Load, s);
        }
        let row = (*w).private.add(s.lo as usize * LANES);
        if s.lo == s.hi {
            for k in 0..n {
                *(*w).at::<Words>(*list.add(k)) = row.add(k * 4 * LANES).cast::<Words>().read();
            }
        } else {
            let rel = interleave(&s.rel);
            for k in 0..n {
                I::gather(row.add(k * 4 * LANES), &rel, mask, (*w).at(*list.add(k)));
            }
        }
        next(i)
    }
}

/// Do all active lanes of a span start at whole words?
#[inline(always)]
fn words_aligned(s: &Span, mask: u32) -> bool {
    let mut low = s.lo as u32;
    for (l, r) in s.rel.iter().enumerate() {
        low |= r & 0u32.wrapping_sub(mask >> l & 1);
    }
    low.is_multiple_of(4)
}

/// Distances in interleaved private memory from the row of the lowest word.
#[inline(always)]
fn interleave(rel: &Words) -> Words {
    std::array::from_fn(|l| rel[l].wrapping_mul(LANES as u32).wrapping_add(4 * l as u32))
}

/// Lane by lane, with a fault for each lane that misses.
#[cold]
unsafe fn load_slow<O: Observer, const E: usize>(w: *mut Warp, i: &Inst) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let addrs = addresses(w, i);
        if O::EVENTS {
            tell_lanes::<O>(w, i, AccessKind::Load, &addrs);
        }
        let list = (*w).lists.add(i.d as usize);
        let mut m = (*w).mask;
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            m &= m - 1;
            let p = place::<O>(w, i, lane, addrs[lane], (step * n) as u64, false);
            for k in 0..n {
                let v = get_at(w, e, p, lane, k * step);
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
#[inline(always)]
unsafe fn store<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let i = &*i;
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let mask = (*w).mask;
        let Some(s) = span::<I>(w, i, mask) else { return store_slow::<O, E>(w, i) };
        let size = step * n;
        let list = (*w).lists.add(i.d as usize);
        if space_of(i.c) == Space::Private {
            return store_private::<O, I, E>(w, i, &s);
        }
        if e.bytes() == 8 {
            return store_slow::<O, E>(w, i);
        }
        let Some((p, flags)) = resolve::<O>(w, i.c, &s, size as u64, true) else { return store_slow::<O, E>(w, i) };
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Store, &s);
        }
        let full = mask == u32::MAX;
        if n == 1 && full && s.hi - s.lo == 31 * step as u64 && I::is_ramp(&s.rel, 0, step as u32, mask) {
            write_row(e, p, &words(w, *list));
            if !flags.is_null() {
                flags.write_bytes(1, step * LANES);
            }
            return next(i);
        }
        if e == Elem::B32 {
            for k in 0..n {
                I::scatter(p.add(k * 4), &s.rel, mask, &words(w, *list.add(k)));
            }
        } else if step == 2 && n.is_multiple_of(2) {
            for k in (0..n).step_by(2) {
                let (lo, hi) = (words(w, *list.add(k)), words(w, *list.add(k + 1)));
                let both: Words = std::array::from_fn(|l| narrow(e, lo[l]) | narrow(e, hi[l]) << 16);
                I::scatter(p.add(k * 2), &s.rel, mask, &both);
            }
        } else {
            for k in 0..n {
                let v = words(w, *list.add(k));
                let mut m = mask;
                while m != 0 {
                    let l = m.trailing_zeros() as usize;
                    m &= m - 1;
                    put(e, p.add(s.rel[l] as usize + k * step), u64::from(v[l]));
                }
            }
        }
        if !flags.is_null() {
            let mut m = mask;
            while m != 0 {
                let l = m.trailing_zeros() as usize;
                m &= m - 1;
                flags.add(s.rel[l] as usize).write_bytes(1, size);
            }
        }
        next(i)
    }
}

/// As `load_private`.
#[inline(always)]
unsafe fn store_private<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: &Inst, s: &Span) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let size = (e.bytes() as usize * n) as u64;
        let list = (*w).lists.add(i.d as usize);
        let mask = (*w).mask;
        if e != Elem::B32 || s.hi + size > u64::from((*w).private_bytes) || !words_aligned(s, mask) {
            return store_slow::<O, E>(w, i);
        }
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Store, s);
        }
        let row = (*w).private.add(s.lo as usize * LANES);
        if s.lo == s.hi && mask == u32::MAX {
            for k in 0..n {
                row.add(k * 4 * LANES).cast::<Words>().write(words(w, *list.add(k)));
            }
        } else {
            let rel = interleave(&s.rel);
            for k in 0..n {
                I::scatter(row.add(k * 4 * LANES), &rel, mask, &words(w, *list.add(k)));
            }
        }
        next(i)
    }
}

/// As `load_slow`.
#[cold]
unsafe fn store_slow<O: Observer, const E: usize>(w: *mut Warp, i: &Inst) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let size = step * n;
        let addrs = addresses(w, i);
        if O::EVENTS {
            tell_lanes::<O>(w, i, AccessKind::Store, &addrs);
        }
        let list = (*w).lists.add(i.d as usize);
        let mut m = (*w).mask;
        while m != 0 {
            let lane = m.trailing_zeros() as usize;
            m &= m - 1;
            let p = place::<O>(w, i, lane, addrs[lane], size as u64, true);
            if matches!(p, Place::Refused) {
                continue;
            }
            for k in 0..n {
                let v = lane_value(w, *list.add(k), lane, e.bytes() == 8);
                put_at(w, e, p, lane, k * step, v);
            }
            p.mark(0, size, true);
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
            tell_lanes::<O>(w, i, AccessKind::Atomic, &addrs);
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
            let placed = place::<O>(w, i, lane, addrs[lane], size, true);
            let (p, space) = match placed {
                Place::Host(p, _, space) => (p, space),
                // A word of private memory is one word on the host; wider atomics on it are refused by the lowering.
                Place::Private(at, _) if !wide => ((*w).private.add(private_byte(at, lane)), Space::Private),
                _ => continue,
            };
            let values = list.add(if CAS { 2 } else { 1 });
            if O::SANITIZE {
                mem_checked::before_atomic::<O>(w, i, lane, addrs[lane], size as u32, space);
                mem_checked::atomic_taint::<O>(w, i, lane, placed, size as usize, *list, *values);
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
            placed.mark(0, size as usize, true);
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

/// Copies of `load` and `store` for each host instruction set.
macro_rules! copies {
    ($($body:ident: $portable:ident $avx2:ident $avx512:ident;)*) => {$(
        unsafe fn $portable<O: Observer, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
            // SAFETY: as the body.
            unsafe { $body::<O, Portable, E>(w, i) }
        }
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
        unsafe fn $avx2<O: Observer, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
            // SAFETY: as the body; picked only where the features are present.
            unsafe { $body::<O, Avx2, E>(w, i) }
        }
        #[cfg_attr(
            target_arch = "x86_64",
            target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")
        )]
        unsafe fn $avx512<O: Observer, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
            // SAFETY: as the body; picked only where the features are present.
            unsafe { $body::<O, Avx512, E>(w, i) }
        }
    )*};
}

copies! {
    load: load_portable load_avx2 load_avx512;
    store: store_portable store_avx2 store_avx512;
}

macro_rules! by_elem {
    ($e:expr, $f:ident, $o:ident) => {
        match $e {
            Elem::U8 => $f::<$o, 0>,
            Elem::U16 => $f::<$o, 1>,
            Elem::F16 => $f::<$o, 2>,
            Elem::Bf16 => $f::<$o, 3>,
            Elem::B32 => $f::<$o, 4>,
            Elem::B64 => $f::<$o, 5>,
        }
    };
}

/// The function of a load.
pub fn select_load<O: Observer>(e: Elem, isa: Isa) -> OpFn {
    if O::SANITIZE { mem_checked::select_load::<O>(e) } else { select_plain_load::<O>(e, isa) }
}

/// The function of a load that nothing watches lane by lane.
pub fn select_plain_load<O: Observer>(e: Elem, isa: Isa) -> OpFn {
    match isa {
        Isa::Generic => by_elem!(e, load_portable, O),
        Isa::Avx2 => by_elem!(e, load_avx2, O),
        Isa::Avx512 => by_elem!(e, load_avx512, O),
    }
}

/// The function of a store.
pub fn select_store<O: Observer>(e: Elem, isa: Isa) -> OpFn {
    if O::SANITIZE {
        return mem_checked::select_store::<O>(e);
    }
    match isa {
        Isa::Generic => by_elem!(e, store_portable, O),
        Isa::Avx2 => by_elem!(e, store_avx2, O),
        Isa::Avx512 => by_elem!(e, store_avx512, O),
    }
}

/// The function of an atomic.
pub fn select_atomic<O: Observer>(cas: bool) -> OpFn {
    if cas { atomic::<O, true> } else { atomic::<O, false> }
}
