//! Accesses of a whole simdgroup at once. What they leave behind and find is what their lanes would one after another;
//! that is tested against the lanes. Knows marks and lanes alone.
#![allow(unsafe_code)] // Copies for each host instruction set may be called only where the host has it.

use super::cells::{self, PAGE, Page, READS, WRITE};
use super::order::{Limits, Mark, Order, id};

/// Lanes of a simdgroup.
pub const LANES: usize = 32;

/// A load or store of one simdgroup that is no atomic.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Does it write?
    pub writes: bool,
    /// Simdgroup in the group.
    pub simd: u32,
    /// Lanes that take part, at least one.
    pub mask: u32,
    /// Lowest address; the buffer's number in bits 40 and up.
    pub base: u64,
    /// Highest address that a lane starts at.
    pub last: u64,
    /// Distance of each lane from `base`; meaningless outside the mask.
    pub rel: &'a [u32; LANES],
    /// Do the lanes that take part follow each other without gaps, as far as their numbers do?
    pub ramp: bool,
    /// All lanes' addresses, combined by "or": at least their low eight bits.
    pub low: u32,
    /// Bytes of a lane, at most 16.
    pub bytes: u32,
    /// Program point.
    pub point: u32,
    /// For a store: bits that change, by word and lane.
    pub change: &'a [[u32; LANES]; 4],
}

/// Nothing changes: for loads.
pub const NO_CHANGE: &[[u32; LANES]; 4] = &[[0; LANES]; 4];

impl Row<'_> {
    /// Does a lane's store leave the `part`th granule of `1 << log` bytes as it is?
    #[inline(always)]
    pub fn same(&self, lane: usize, part: usize, log: u32) -> bool {
        let at = part << log;
        let bits = u32::MAX >> (32 - (8 << log.min(2)));
        self.change[at / 4 % 4][lane % LANES] >> (8 * (at % 4)) & bits == 0
    }
}

/// What a simdgroup does to up to 32 granules that follow each other, each of them touched by one lane.
pub struct Chunk<'a> {
    /// Limits of its simdgroup.
    pub limits: Limits,
    /// Thread of each granule.
    pub who: &'a [u32; LANES],
    /// All bits for a granule that is touched, 0 for one that is not.
    pub on: &'a [u32; LANES],
    /// Stamp of its marks.
    pub stamp: u32,
    /// Program point.
    pub point: u32,
    /// For a write: 0 where the granule keeps its value.
    pub change: &'a [u32; LANES],
}

/// The 32 entries from `k`; `None` at the end of the page.
#[inline(always)]
fn part(of: &mut [u32; PAGE], k: usize) -> Option<&mut [u32; LANES]> {
    of.get_mut(k..k + LANES)?.try_into().ok()
}

#[inline(always)]
fn pick(on: u32, new: u32, old: u32) -> u32 {
    (on & new) | (!on & old)
}

/// Marks reads; `false`, and nothing done, where one needs a closer look.
#[inline(always)]
fn read(page: &mut Page, k: usize, c: &Chunk<'_>) -> bool {
    let [ws, wi, rs, ri, ss, si] = page;
    let all = (part(ws, k), part(wi, k), part(rs, k), part(ri, k), part(ss, k), part(si, k));
    let (Some(ws), Some(wi), Some(rs), Some(ri), Some(ss), Some(si)) = all else { return false };
    let mut bad = 0;
    for l in 0..LANES {
        let first = c.limits.fine(rs[l], ri[l], c.who[l]);
        let second = c.limits.fine(ss[l], si[l], c.who[l]) | c.limits.loose(ss[l], si[l], c.who[l]);
        let reads = (first & second) | c.limits.loose(rs[l], ri[l], c.who[l]);
        bad |= !(c.limits.fine(ws[l], wi[l], c.who[l]) & reads) & c.on[l];
    }
    if bad != 0 {
        return false;
    }
    for l in 0..LANES {
        let (on, me) = (c.on[l], id(c.who[l], c.point));
        // A read that is ordered before this one gives its place to it; otherwise this one is the second.
        let first = c.limits.fine(rs[l], ri[l], c.who[l]);
        let second = c.limits.fine(ss[l], si[l], c.who[l]);
        ss[l] = pick(on, pick(first, ss[l] & !second, c.stamp), ss[l]);
        si[l] = pick(on & !first, me, si[l]);
        rs[l] = pick(on & first, c.stamp, rs[l]);
        ri[l] = pick(on & first, me, ri[l]);
    }
    true
}

/// Marks writes; `false`, and nothing done, where one needs a closer look.
#[inline(always)]
fn write(page: &mut Page, k: usize, c: &Chunk<'_>) -> bool {
    let [ws, wi, rs, ri, ss, si] = page;
    let all = (part(ws, k), part(wi, k), part(rs, k), part(ri, k), part(ss, k), part(si, k));
    let (Some(ws), Some(wi), Some(rs), Some(ri), Some(ss), Some(si)) = all else { return false };
    let mut bad = 0;
    for l in 0..LANES {
        let changes = 0u32.wrapping_sub(u32::from(c.change[l] != 0));
        let fine = c.limits.fine(ws[l], wi[l], c.who[l])
            & (!changes | c.limits.fine(rs[l], ri[l], c.who[l]) & c.limits.fine(ss[l], si[l], c.who[l]));
        bad |= !fine & c.on[l];
    }
    if bad != 0 {
        return false;
    }
    for l in 0..LANES {
        let on = c.on[l];
        let changed = on & 0u32.wrapping_sub(u32::from(c.change[l] != 0));
        ws[l] = pick(on, c.stamp, ws[l]);
        wi[l] = pick(on, id(c.who[l], c.point), wi[l]);
        rs[l] &= !changed;
        ss[l] &= !changed;
    }
    true
}

/// Copies of a function for each host instruction set.
macro_rules! copies {
    ($($(#[$doc:meta])* $name:ident = $body:ident: $avx2:ident $avx512:ident;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        fn $avx2(page: &mut Page, k: usize, c: &Chunk<'_>) -> bool {
            $body(page, k, c)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
        fn $avx512(page: &mut Page, k: usize, c: &Chunk<'_>) -> bool {
            $body(page, k, c)
        }
        $(#[$doc])*
        #[inline]
        pub fn $name(host: Host, page: &mut Page, k: usize, c: &Chunk<'_>) -> bool {
            match host.0 {
                // SAFETY: `Host::new` has looked whether the features are present.
                #[cfg(target_arch = "x86_64")]
                2 => unsafe { $avx512(page, k, c) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                1 => unsafe { $avx2(page, k, c) },
                _ => $body(page, k, c),
            }
        }
    )*};
}

copies! {
    /// Reads of a chunk from granule `k` of a page; `false`, and nothing done, where one needs a closer look.
    read_chunk = read: read_avx2 read_avx512;
    /// Writes of a chunk from granule `k` of a page; `false`, and nothing done, where one needs a closer look.
    write_chunk = write: write_avx2 write_avx512;
}

/// What the host's vector unit can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host(u8);

impl Host {
    /// The best that this host has.
    pub fn new() -> Self {
        match crate::exec::Isa::detect() {
            crate::exec::Isa::Avx512 => Self(2),
            crate::exec::Isa::Avx2 => Self(1),
            crate::exec::Isa::Generic => Self(0),
        }
    }

    /// Plain code, and what else this host has.
    #[cfg(test)]
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=Self::new().0).map(Self)
    }
}

/// May all lanes of a simdgroup read a granule?
#[inline]
pub fn readable(order: &Order, page: &Page, k: usize, simd: u32) -> bool {
    order.before(cells::get(page, WRITE, k), simd as usize)
}

/// Lanes of `mask`, which are several, all read one granule that is [`readable`].
#[inline]
pub fn read_by_all(order: &Order, page: &mut Page, k: usize, simd: u32, mask: u32, point: u32) {
    let s = simd as usize;
    let me = |lane: u32| order.mark(simd * 32 + lane, point, false);
    let (first, last) = (mask.trailing_zeros() & 31, 31 - (mask.leading_zeros() & 31));
    let old = cells::get(page, READS[0], k);
    let (a, b) = if order.before(old, s) {
        (me(first), me(last))
    } else if order.own(old) && old.simd() == s && mask >> (old.thread() % 32) & 1 == 1 {
        // The lane that read it before reads it again.
        let again = old.thread() % 32;
        let before = mask & ((1 << again) - 1);
        (me(again), if again == last { me(31 - (before.leading_zeros() & 31)) } else { me(last) })
    } else {
        (old, me(last))
    };
    cells::set(page, READS[0], k, a);
    cells::set(page, READS[1], k, b);
}

/// What an access clashes with: marks and whether they are writes.
pub type Clashes = [Option<(Mark, bool)>; 3];

/// One thread reads one granule.
#[inline]
pub fn read_one(order: &Order, page: &mut Page, k: usize, me: Mark) -> Clashes {
    let thread = me.thread();
    let w = cells::get(page, WRITE, k);
    let clash = (!(order.ordered(w, thread) || (w.atomic() && me.atomic()))).then_some((w, true));
    let [r, s] = READS.map(|n| cells::get(page, n, k));
    if order.ordered(r, thread) {
        cells::set(page, READS[0], k, me);
        if order.ordered(s, thread) {
            cells::set(page, READS[1], k, Mark::default());
        }
    } else {
        cells::set(page, READS[1], k, me);
    }
    [clash, None, None]
}

/// One thread writes one granule; `same` when its bytes stay as they are.
#[inline]
pub fn write_one(order: &Order, page: &mut Page, k: usize, me: Mark, same: bool) -> Clashes {
    let thread = me.thread();
    let w = cells::get(page, WRITE, k);
    if same {
        // A harmless write does not hide the reads and writes before it.
        if order.ordered(w, thread) {
            cells::set(page, WRITE, k, me);
        }
        return [None; 3];
    }
    let clash = |m: Mark, write| (!(order.ordered(m, thread) || (m.atomic() && me.atomic()))).then_some((m, write));
    let found =
        [clash(w, true), clash(cells::get(page, READS[0], k), false), clash(cells::get(page, READS[1], k), false)];
    cells::set(page, WRITE, k, me);
    cells::set(page, READS[0], k, Mark::default());
    cells::set(page, READS[1], k, Mark::default());
    found
}
