//! Loads and stores under the sanitizers for a whole simdgroup at once: taken where every lane is in bounds, aligned and
//! reads what was written, so that only races are left to look for. Everything else goes lane by lane ([`super::mem_checked`]),
//! which alone finds faults.

use super::cross::SCALAR;
use super::group::Env;
use super::lanes::{Simd, Words, get};
use super::mem::{ELEMS, bits, count_of, index_of, scalar_address, space_of, words};
use super::plain::{deposit, deposit_private, fetch, fetch_private, narrow};
use super::span::{Span, interleave, resolve, span};
use super::{Inst, LANES, Warp, mem_checked, taint};
use crate::lower::sir::{Elem, Space};
use crate::observe::Observer;
use crate::observe::race::{NO_CHANGE, Row};

/// Four flags that are set.
const WRITTEN: u32 = 0x0101_0101;

/// A load; `false`, and nothing done, when it must go lane by lane.
///
/// # Safety
/// As [`super::mem_checked::load`].
#[inline(always)]
pub(super) unsafe fn load<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: &Inst) -> bool {
    // SAFETY: operands come from the assembler; bounds are checked before memory is touched.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let size = step * n;
        let mask = (*w).mask;
        if i.c & bits::ATOMIC != 0 {
            return false;
        }
        let scalar = i.c & bits::RESULT_SCALAR != 0;
        let Some(s) = (if scalar { one_address::<I>(w, i, mask) } else { span::<I>(w, i, mask) }) else { return false };
        let low = low_bits(&s, mask);
        if low & ((1 << (i.c >> bits::ALIGN & 31)) - 1) != 0 {
            return false;
        }
        let list = (*w).lists.add(i.d as usize);
        if space_of(i.c) == Space::Private {
            if e != Elem::B32 || s.hi + size as u64 > u64::from((*w).private_bytes) || low & 3 != 0 {
                return false;
            }
            if !private_written::<I>(w, &s, n, mask) {
                return false;
            }
            if scalar {
                let lane = mask.trailing_zeros() as usize & 31;
                let row = (*w).private.add(s.lo as usize * LANES).cast::<u32>();
                for k in 0..n {
                    *(*w).at::<u64>(*list.add(k) & !SCALAR) = u64::from(*row.add(k * LANES + lane));
                }
            } else {
                fetch_private::<I>(w, i, &s);
            }
        } else {
            let Some((p, flags)) = resolve::<O>(w, i.c, &s, size as u64, false) else { return false };
            let env = &mut *(*w).env.cast::<Env<'_, O>>();
            let (flags, watched) = shadow(env, i.c, &s, flags);
            let ramp = follows::<I>(&s, size, mask);
            if !flags.is_null() && !written::<I>(flags, &s, size, mask, ramp) {
                return false;
            }
            if watched {
                let row = row(w, i, &s, (size, ramp, low), None);
                if !env.observer.row(space_of(i.c), &row) {
                    return false;
                }
                if env.observer.any() {
                    mem_checked::drain::<O>(w);
                }
            }
            if scalar {
                for k in 0..n {
                    *(*w).at::<u64>(*list.add(k) & !SCALAR) = get(e, p.add(k * step));
                }
            } else {
                fetch::<I, E>(w, i, &s, p);
            }
        }
        if (*w).tainted {
            for k in 0..n {
                let slot = (*list.add(k) & !SCALAR) / 4;
                let left = if scalar { 0 } else { taint::get(w, slot) & !mask };
                *(*w).taint.add(slot as usize) = left;
            }
        }
        true
    }
}

/// A store; `false`, and nothing done, when it must go lane by lane.
///
/// # Safety
/// As [`super::mem_checked::store`].
#[inline(always)]
pub(super) unsafe fn store<O: Observer, I: Simd, const E: usize>(w: *mut Warp, i: &Inst) -> bool {
    // SAFETY: as `load`.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let size = e.bytes() as usize * n;
        let mask = (*w).mask;
        if i.c & bits::ATOMIC != 0 || e == Elem::B64 {
            return false;
        }
        let list = (*w).lists.add(i.d as usize);
        if (*w).tainted && (0..n).any(|k| taint::get(w, (*list.add(k) & !SCALAR) / 4) & mask != 0) {
            return false;
        }
        let Some(s) = span::<I>(w, i, mask) else { return false };
        let low = low_bits(&s, mask);
        if low & ((1 << (i.c >> bits::ALIGN & 31)) - 1) != 0 {
            return false;
        }
        if space_of(i.c) == Space::Private {
            if e != Elem::B32 || s.hi + size as u64 > u64::from((*w).private_bytes) || low & 3 != 0 {
                return false;
            }
            mark_private::<I>(w, &s, n, mask);
            deposit_private::<I>(w, i, &s);
            return true;
        }
        let Some((p, flags)) = resolve::<O>(w, i.c, &s, size as u64, true) else { return false };
        let env = &mut *(*w).env.cast::<Env<'_, O>>();
        let (flags, watched) = shadow(env, i.c, &s, flags);
        if watched {
            let ramp = follows::<I>(&s, size, mask);
            if !ramp && !apart(&s, size as u32, mask) {
                // A lane may find what another has just written.
                return false;
            }
            let change = changes::<I, E>(w, i, &s, p, mask);
            let row = row(w, i, &s, (size, ramp, low), Some(&change));
            if !env.observer.row(space_of(i.c), &row) {
                return false;
            }
            if env.observer.any() {
                mem_checked::drain::<O>(w);
            }
        }
        deposit::<I, E>(w, i, &s, p, flags);
        true
    }
}

/// The address of a load whose lanes all want the same.
#[inline(always)]
unsafe fn one_address<I: Simd>(w: *mut Warp, i: &Inst, mask: u32) -> Option<Span> {
    // SAFETY: operands come from the assembler.
    unsafe {
        let scalars = i.c & bits::BASE_SCALAR != 0 && (index_of(i.c) == 0 || i.c & bits::INDEX_SCALAR != 0);
        if scalars && space_of(i.c) != Space::Generic {
            let at = scalar_address(w, i);
            return Some(Span { lo: at, hi: at, rel: [0; LANES] });
        }
        span::<I>(w, i, mask).filter(|s| s.lo == s.hi)
    }
}

/// Low bits of all lanes' addresses, combined by "or".
#[inline(always)]
fn low_bits(s: &Span, mask: u32) -> u32 {
    let mut low = s.lo as u32;
    if s.lo != s.hi {
        for (l, r) in s.rel.iter().enumerate() {
            low |= r & 0u32.wrapping_sub(mask >> l & 1);
        }
    }
    low
}

/// Do lanes follow each other without gaps, as far as their numbers do?
#[inline(always)]
unsafe fn follows<I: Simd>(s: &Span, size: usize, mask: u32) -> bool {
    let first = mask.trailing_zeros() & 31;
    // SAFETY: `I` is the host's instruction set.
    s.lo != s.hi && unsafe { I::is_ramp(&s.rel, 0u32.wrapping_sub(first * size as u32), size as u32, mask) }
}

/// Do lanes write memory of their own, in their order?
#[inline(always)]
fn apart(s: &Span, size: u32, mask: u32) -> bool {
    let mut m = mask;
    let mut free = 0;
    while m != 0 {
        let at = s.rel[m.trailing_zeros() as usize];
        if at < free {
            return false;
        }
        free = at + size;
        m &= m - 1;
    }
    true
}

/// Flags of written bytes from the lowest address, and whether races are possible there.
#[inline(always)]
unsafe fn shadow<O: Observer>(env: &Env<'_, O>, c: u32, s: &Span, flags: *mut bool) -> (*mut bool, bool) {
    if space_of(c) == Space::Threadgroup {
        // SAFETY: the span lies in threadgroup memory, and its flags are as many.
        (unsafe { env.threadgroup_init.add(s.lo as usize) }, true)
    } else {
        (flags, env.view(s.lo).contended)
    }
}

#[inline(always)]
unsafe fn row<'a>(
    w: *mut Warp,
    i: &Inst,
    s: &'a Span,
    (size, ramp, low): (usize, bool, u32),
    change: Option<&'a [Words; 4]>,
) -> Row<'a> {
    // SAFETY: `w` is the simdgroup that runs.
    let (simd, mask) = unsafe { ((*w).index, (*w).mask) };
    Row {
        writes: change.is_some(),
        simd,
        mask,
        base: s.lo,
        last: s.hi,
        rel: &s.rel,
        ramp,
        low,
        bytes: size as u32,
        point: i.id,
        change: change.unwrap_or(NO_CHANGE),
    }
}

/// Are all bytes of all lanes written?
#[inline(always)]
unsafe fn written<I: Simd>(flags: *const bool, s: &Span, size: usize, mask: u32, ramp: bool) -> bool {
    // SAFETY: flags cover the span.
    unsafe {
        let all = |from: usize, n: usize| (0..n).fold(true, |a, k| a & *flags.add(from + k));
        if s.lo == s.hi {
            return all(0, size);
        }
        if ramp && mask == u32::MAX {
            return all(0, size * LANES);
        }
        if size.is_multiple_of(4) {
            let mut seen = [WRITTEN; LANES];
            let mut bad = 0;
            for k in (0..size).step_by(4) {
                I::gather(flags.cast::<u8>().add(k), &s.rel, mask, &raw mut seen);
                bad |= seen.iter().fold(0, |a, x| a | (x ^ WRITTEN));
            }
            return bad == 0;
        }
        let mut m = mask;
        let mut good = true;
        while m != 0 {
            good &= all(s.rel[m.trailing_zeros() as usize] as usize, size);
            m &= m - 1;
        }
        good
    }
}

/// As `written`, for words of private memory.
#[inline(always)]
unsafe fn private_written<I: Simd>(w: *mut Warp, s: &Span, n: usize, mask: u32) -> bool {
    // SAFETY: the caller has checked bounds; flags are laid out as private memory is.
    unsafe {
        let flags = (*w).private_init.add(s.lo as usize * LANES).cast::<u8>();
        let mut bad = 0;
        if s.lo == s.hi && mask == u32::MAX {
            for k in 0..n {
                let row = flags.add(k * 4 * LANES).cast::<Words>().read_unaligned();
                bad |= row.iter().fold(0, |a, x| a | (x ^ WRITTEN));
            }
        } else {
            let rel = interleave(&s.rel);
            for k in 0..n {
                let mut seen = [WRITTEN; LANES];
                I::gather(flags.add(k * 4 * LANES), &rel, mask, &raw mut seen);
                bad |= seen.iter().fold(0, |a, x| a | (x ^ WRITTEN));
            }
        }
        bad == 0
    }
}

/// Marks words of private memory as written.
#[inline(always)]
unsafe fn mark_private<I: Simd>(w: *mut Warp, s: &Span, n: usize, mask: u32) {
    // SAFETY: as `private_written`.
    unsafe {
        let flags = (*w).private_init.add(s.lo as usize * LANES).cast::<u8>();
        if s.lo == s.hi && mask == u32::MAX {
            for k in 0..n {
                flags.add(k * 4 * LANES).cast::<Words>().write_unaligned([WRITTEN; LANES]);
            }
        } else {
            let rel = interleave(&s.rel);
            for k in 0..n {
                I::scatter(flags.add(k * 4 * LANES), &rel, mask, &[WRITTEN; LANES]);
            }
        }
    }
}

/// Bits that a store changes, by word and lane.
#[inline(always)]
unsafe fn changes<I: Simd, const E: usize>(w: *mut Warp, i: &Inst, s: &Span, p: *mut u8, mask: u32) -> [Words; 4] {
    // SAFETY: the span lies in memory that may be read.
    unsafe {
        let e = ELEMS[E];
        let n = count_of(i.c);
        let step = e.bytes() as usize;
        let list = (*w).lists.add(i.d as usize);
        let mut out = [[0; LANES]; 4];
        for k in 0..n {
            let new = words(w, *list.add(k));
            let mut old = [0; LANES];
            if e == Elem::B32 {
                I::gather(p.add(k * 4), &s.rel, mask, &raw mut old);
            } else {
                let mut m = mask;
                while m != 0 {
                    let l = m.trailing_zeros() as usize;
                    m &= m - 1;
                    let at = p.add(s.rel[l] as usize + k * step);
                    old[l] = if step == 1 { u32::from(*at) } else { u32::from(at.cast::<u16>().read_unaligned()) };
                }
            }
            let (word, shift) = (k * step / 4 % 4, 8 * (k * step % 4));
            for (l, o) in out[word].iter_mut().enumerate() {
                *o |= match step {
                    4 => new[l] ^ old[l],
                    2 => (narrow(e, new[l]) ^ old[l]) << shift,
                    _ => ((new[l] ^ old[l]) & 0xff) << shift,
                };
            }
        }
        out
    }
}
