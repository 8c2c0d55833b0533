//! Loads and stores that nothing watches lane by lane: whole simdgroups at a time where addresses are near each other, else
//! lane by lane. Every address is checked.

use super::cross::SCALAR;
use super::group::Env;
use super::lanes::{Longs, Simd, Words, get, put, read_row, write_row};
use super::mem::{
    ELEMS, addresses, bits, count_of, done, elem_of, index_of, lane_value, scalar_address, space_of, words,
};
use super::place::{Place, get_at, place, put_at};
use super::span::{Span, interleave, resolve, span, words_aligned};
use super::{Inst, LANES, Warp, next};
use crate::lower::sir::{Elem, Space};
use crate::lower::{TAG_PRIVATE, TAG_THREADGROUP};
use crate::observe::{AccessKind, MemEvent, Observer};

/// `a`, `b`: base, index; `c`: packed operand; `x`: offset; `lists[d..]`: results.
#[inline(always)]
pub(super) unsafe fn load<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
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
        if space_of(i.c) == Space::Private {
            return load_private::<O, I, E>(w, i, &s);
        }
        let Some((p, _)) = resolve::<O>(w, i.c, &s, size, false) else { return load_slow::<O, E>(w, i) };
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Load, &s);
        }
        fetch::<I, E>(w, i, &s, p);
        next(i)
    }
}

/// Reads what a span of device or threadgroup memory at `p` holds.
///
/// # Safety
/// As `load`, and each lane's bytes lie in memory that may be read.
#[inline(always)]
pub(super) unsafe fn fetch<I: Simd, const E: usize>(w: *mut Warp, i: &Inst, s: &Span, p: *const u8) {
    // SAFETY: the caller's.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let mask = (*w).mask;
        let list = (*w).lists.add(i.d as usize);
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
            return;
        }
        if same {
            for k in 0..n {
                let v = get(e, p.add(k * step)) as u32;
                *(*w).at::<Words>(*list.add(k)) = [v; LANES];
            }
            return;
        }
        if n == 1 && mask == u32::MAX && s.hi - s.lo == 31 * step as u64 && I::is_ramp(&s.rel, 0, step as u32, mask) {
            read_row(e, p, (*w).at(*list));
            return;
        }
        if e == Elem::B32 {
            for k in 0..n {
                I::gather(p.add(k * 4), &s.rel, mask, (*w).at(*list.add(k)));
            }
            return;
        }
        if step == 2 && n.is_multiple_of(2) {
            // Pairs of 16-bit elements come as words.
            for k in (0..n).step_by(2) {
                let mut both = [0u32; LANES];
                I::gather(p.add(k * 2), &s.rel, mask, &raw mut both);
                *(*w).at::<Words>(*list.add(k)) = both.map(|x| widen(e, x & 0xffff));
                *(*w).at::<Words>(*list.add(k + 1)) = both.map(|x| widen(e, x >> 16));
            }
            return;
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
    }
}

/// One address for all lanes, one result.
pub(super) unsafe fn load_scalar<O: Observer, const E: usize>(w: *mut Warp, i: &Inst) -> *const Inst {
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

/// Private memory whose elements lie in words of their own.
#[inline(always)]
pub(super) unsafe fn load_private<O: Observer, I: Simd, const E: usize>(
    w: *mut Warp,
    i: &Inst,
    s: &Span,
) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let size = (e.bytes() as usize * n) as u64;
        let mask = (*w).mask;
        if e != Elem::B32 || s.hi + size > u64::from((*w).private_bytes) || !words_aligned(s, mask) {
            return load_slow::<O, E>(w, i);
        }
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Load, s);
        }
        fetch_private::<I>(w, i, s);
        next(i)
    }
}

/// Reads words of private memory.
///
/// # Safety
/// As `fetch`: bounds are checked, and lanes start at whole words.
#[inline(always)]
pub(super) unsafe fn fetch_private<I: Simd>(w: *mut Warp, i: &Inst, s: &Span) {
    // SAFETY: the caller's.
    unsafe {
        let n = count_of(i.c);
        let list = (*w).lists.add(i.d as usize);
        let mask = (*w).mask;
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
    }
}

/// Lane by lane, with a fault for each lane that misses.
#[cold]
pub(super) unsafe fn load_slow<O: Observer, const E: usize>(w: *mut Warp, i: &Inst) -> *const Inst {
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
pub(super) unsafe fn store<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: *const Inst) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let i = &*i;
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let mask = (*w).mask;
        let Some(s) = span::<I>(w, i, mask) else { return store_slow::<O, E>(w, i) };
        let size = (step * n) as u64;
        if space_of(i.c) == Space::Private {
            return store_private::<O, I, E>(w, i, &s);
        }
        if e.bytes() == 8 {
            return store_slow::<O, E>(w, i);
        }
        let Some((p, flags)) = resolve::<O>(w, i.c, &s, size, true) else { return store_slow::<O, E>(w, i) };
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Store, &s);
        }
        deposit::<I, E>(w, i, &s, p, flags);
        next(i)
    }
}

/// Writes to a span of device or threadgroup memory at `p`, and marks it as written where there are flags.
///
/// # Safety
/// As `fetch`, for memory that may be written; elements of 64 bits are not for this function.
#[inline(always)]
pub(super) unsafe fn deposit<I: Simd, const E: usize>(w: *mut Warp, i: &Inst, s: &Span, p: *mut u8, flags: *mut bool) {
    // SAFETY: the caller's.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let size = step * n;
        let mask = (*w).mask;
        let list = (*w).lists.add(i.d as usize);
        let full = mask == u32::MAX;
        if n == 1 && full && s.hi - s.lo == 31 * step as u64 && I::is_ramp(&s.rel, 0, step as u32, mask) {
            write_row(e, p, &words(w, *list));
            if !flags.is_null() {
                flags.write_bytes(1, step * LANES);
            }
            return;
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
    }
}

/// As `load_private`.
#[inline(always)]
pub(super) unsafe fn store_private<O: Observer, I: Simd, const E: usize>(
    w: *mut Warp,
    i: &Inst,
    s: &Span,
) -> *const Inst {
    // SAFETY: as `load`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let size = (e.bytes() as usize * n) as u64;
        let mask = (*w).mask;
        if e != Elem::B32 || s.hi + size > u64::from((*w).private_bytes) || !words_aligned(s, mask) {
            return store_slow::<O, E>(w, i);
        }
        if O::EVENTS {
            tell::<O>(w, i, AccessKind::Store, s);
        }
        deposit_private::<I>(w, i, s);
        next(i)
    }
}

/// As `fetch_private`.
///
/// # Safety
/// As `fetch_private`.
#[inline(always)]
pub(super) unsafe fn deposit_private<I: Simd>(w: *mut Warp, i: &Inst, s: &Span) {
    // SAFETY: the caller's.
    unsafe {
        let n = count_of(i.c);
        let list = (*w).lists.add(i.d as usize);
        let mask = (*w).mask;
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
    }
}

/// As `load_slow`.
#[cold]
pub(super) unsafe fn store_slow<O: Observer, const E: usize>(w: *mut Warp, i: &Inst) -> *const Inst {
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

/// 16 bits of memory to register form.
#[inline(always)]
pub(super) fn widen(e: Elem, x: u32) -> u32 {
    match e {
        Elem::F16 => crate::semantics::f16_to_f32(x as u16),
        Elem::Bf16 => x << 16,
        _ => x,
    }
}

/// Register form to 16 bits of memory.
#[inline(always)]
pub(super) fn narrow(e: Elem, x: u32) -> u32 {
    match e {
        Elem::F16 => u32::from(crate::semantics::f32_to_f16(x)),
        Elem::Bf16 => u32::from(crate::semantics::f32_to_bf16(x)),
        _ => x & 0xffff,
    }
}

/// Tells the observer of an access whose addresses are a span.
#[inline(always)]
pub(super) unsafe fn tell<O: Observer>(w: *mut Warp, i: &Inst, kind: AccessKind, s: &Span) {
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
pub(super) unsafe fn tell_lanes<O: Observer>(w: *mut Warp, i: &Inst, kind: AccessKind, addrs: &Longs) {
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
