//! Addresses of a simdgroup's access in compact form. Knows operands and buffers, moves nothing.

use super::group::Env;
use super::lanes::{Simd, Words};
use super::mem::{addresses, bits, space_of};
use super::{Inst, LANES, Warp};
use crate::lower::sir::Space;
use crate::observe::Observer;

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
pub(super) unsafe fn far_span(w: *mut Warp, i: &Inst, mask: u32) -> Option<Span> {
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
pub(super) unsafe fn resolve<O: Observer>(
    w: *mut Warp,
    c: u32,
    s: &Span,
    size: u64,
    write: bool,
) -> Option<(*mut u8, *mut bool)> {
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

/// Do all active lanes of a span start at whole words?
#[inline(always)]
pub(super) fn words_aligned(s: &Span, mask: u32) -> bool {
    let mut low = s.lo as u32;
    for (l, r) in s.rel.iter().enumerate() {
        low |= r & 0u32.wrapping_sub(mask >> l & 1);
    }
    low.is_multiple_of(4)
}

/// Distances in interleaved private memory from the row of the lowest word.
#[inline(always)]
pub(super) fn interleave(rel: &Words) -> Words {
    std::array::from_fn(|l| rel[l].wrapping_mul(LANES as u32).wrapping_add(4 * l as u32))
}
