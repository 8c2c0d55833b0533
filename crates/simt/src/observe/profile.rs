//! Counts memory traffic: bytes, 128-byte lines, bank conflicts, conflicts of atomics. Knows addresses alone.

use super::lines::{LINE, Lines};
use super::{AccessKind, MemEvent, Observer};
use crate::lower::sir::Space;

/// Banks of threadgroup memory, four bytes wide each.
const BANKS: usize = 32;

/// Traffic of one program point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PointTraffic {
    /// Bytes asked for.
    pub bytes: u64,
    /// Lines (device memory) or passes (threadgroup memory).
    pub units: u64,
    /// Passes beyond the least possible.
    pub conflicts: u64,
}

/// Counters of memory.
#[derive(Debug, Default)]
pub struct Profile {
    /// See [`crate::Counters::device_bytes`].
    pub device_bytes: [u64; 2],
    /// See [`crate::Counters::device_lines`].
    pub device_lines: [u64; 2],
    /// See [`crate::Counters::group_lines`].
    pub group_lines: [u64; 2],
    /// See [`crate::Counters::threadgroup_bytes`].
    pub threadgroup_bytes: [u64; 2],
    /// See [`crate::Counters::threadgroup_passes`].
    pub threadgroup_passes: [u64; 2],
    /// See [`crate::Counters::bank_conflicts`].
    pub bank_conflicts: u64,
    /// See [`crate::Counters::atomic_conflicts`].
    pub atomic_conflicts: u64,
    /// By program point.
    pub points: Vec<PointTraffic>,
    /// Lines of device memory: loads, stores.
    pub lines: [Lines; 2],
}

/// Distinct values of a small list, which is sorted on the way.
fn distinct(list: &mut [u64]) -> usize {
    list.sort_unstable();
    let mut n = 0;
    let mut last = None;
    for &x in list.iter() {
        if last != Some(x) {
            n += 1;
            last = Some(x);
        }
    }
    n
}

/// Directions that an access counts in.
fn directions(e: &MemEvent<'_>) -> &'static [usize] {
    match e.kind {
        AccessKind::Load => &[0],
        AccessKind::Store => &[1],
        AccessKind::Atomic => &[0, 1],
    }
}

impl Profile {
    fn point(&mut self, point: u32) -> &mut PointTraffic {
        let i = point as usize;
        if i >= self.points.len() {
            self.points.resize(i + 1, PointTraffic::default());
        }
        &mut self.points[i]
    }

    fn device(&mut self, e: &MemEvent<'_>) {
        let lanes = u64::from(e.mask.count_ones());
        let bytes = lanes * u64::from(e.bytes);
        let tail = u64::from(e.bytes.max(1)) - 1;
        let (first, last) = (e.base >> LINE, (e.last + tail) >> LINE);
        let d;
        if last - first < 64 {
            // Few lines apart: a bit for each.
            let mut bits = 0u64;
            if last == first {
                bits = 1;
            } else {
                let from = e.base & ((1 << LINE) - 1);
                for (l, &o) in e.offsets.iter().enumerate() {
                    let at = from + u64::from(o);
                    let both = 1u64 << (at >> LINE & 63) | 1u64 << ((at + tail) >> LINE & 63);
                    bits |= both & 0u64.wrapping_sub(u64::from(e.mask >> l & 1));
                }
            }
            d = u64::from(bits.count_ones());
            for &k in directions(e) {
                let mut b = bits;
                while b != 0 {
                    let lo = b.trailing_zeros();
                    let run = (b >> lo).trailing_ones();
                    let from = first + u64::from(lo);
                    self.lines[k].add_many(from, from + u64::from(run) - 1);
                    b &= if lo + run >= 64 { 0 } else { u64::MAX << (lo + run) };
                }
            }
        } else {
            let mut list = [0u64; 64];
            let mut n = 0;
            for l in e.lanes() {
                let a = e.address(l);
                list[n] = a >> LINE;
                list[n + 1] = (a + tail) >> LINE;
                n += 2;
            }
            let list = &mut list[..n];
            d = distinct(list) as u64;
            for &k in directions(e) {
                for &x in list.iter() {
                    self.lines[k].add(x);
                }
            }
        }
        for &k in directions(e) {
            self.device_bytes[k] += bytes;
            self.device_lines[k] += d;
        }
        let p = self.point(e.point);
        p.bytes += bytes;
        p.units += d;
        if e.kind == AccessKind::Atomic {
            self.same_address(e);
        }
    }

    fn same_address(&mut self, e: &MemEvent<'_>) {
        let mut list = [0u64; 32];
        let mut n = 0;
        for l in e.lanes() {
            list[n] = e.address(l);
            n += 1;
        }
        let d = distinct(&mut list[..n]);
        self.atomic_conflicts += (n - d) as u64;
    }

    /// Passes of a threadgroup access: each pass serves one word per bank; lanes that want the same word share it. A
    /// lane's access of several words is served word by word.
    fn threadgroup(&mut self, e: &MemEvent<'_>) {
        let bytes = u64::from(e.mask.count_ones()) * u64::from(e.bytes);
        let words = e.bytes.div_ceil(4).clamp(1, 4);
        let spread = (e.last >> 2) - (e.base >> 2) + u64::from(words);
        let (passes, least) = if e.last == e.base {
            (1, 1)
        } else if spread <= BANKS as u64 {
            // Words closer together than there are banks cannot meet in one.
            (1, 1)
        } else {
            banks(e, words)
        };
        for &k in directions(e) {
            self.threadgroup_bytes[k] += bytes;
            self.threadgroup_passes[k] += passes;
        }
        self.bank_conflicts += passes - least;
        let p = self.point(e.point);
        p.bytes += bytes;
        p.units += passes;
        p.conflicts += passes - least;
        if e.kind == AccessKind::Atomic {
            self.same_address(e);
        }
    }
}

/// Passes that the banks need, and the least that so many distinct words could need.
fn banks(e: &MemEvent<'_>, words: u32) -> (u64, u64) {
    let mut first = [u32::MAX; BANKS];
    let mut load = [0u8; BANKS];
    let mut clash = false;
    let mut total = 0u32;
    for l in e.lanes() {
        let w = ((e.base + u64::from(e.offsets[l])) >> 2) as u32;
        for k in 0..words {
            let w = w + k;
            let b = w as usize % BANKS;
            if first[b] == u32::MAX {
                first[b] = w;
                load[b] = 1;
                total += 1;
            } else if first[b] != w {
                clash = true;
            }
        }
    }
    if !clash {
        return (1, u64::from(total).div_ceil(BANKS as u64).max(1));
    }
    let mut list = [0u64; 32 * 4];
    let mut n = 0;
    for l in e.lanes() {
        for k in 0..words {
            list[n] = (e.address(l) >> 2) + u64::from(k);
            n += 1;
        }
    }
    let list = &mut list[..n];
    list.sort_unstable();
    let mut load = [0u32; BANKS];
    let mut last = None;
    let mut total = 0u64;
    for &x in list.iter() {
        if last != Some(x) {
            load[x as usize % BANKS] += 1;
            total += 1;
            last = Some(x);
        }
    }
    (u64::from(load.iter().copied().max().unwrap_or(1)), total.div_ceil(BANKS as u64))
}

impl Observer for Profile {
    const EVENTS: bool = true;
    const SANITIZE: bool = false;

    fn access(&mut self, e: &MemEvent<'_>) {
        match e.space {
            Space::Device | Space::Generic => self.device(e),
            Space::Threadgroup => self.threadgroup(e),
            Space::Private => {}
        }
    }

    fn group_start(&mut self, _: u64) {}

    fn group_end(&mut self) {
        for k in 0..2 {
            self.group_lines[k] += self.lines[k].end_group();
        }
    }

    fn merge(&mut self, o: Self) {
        for k in 0..2 {
            self.device_bytes[k] += o.device_bytes[k];
            self.device_lines[k] += o.device_lines[k];
            self.group_lines[k] += o.group_lines[k];
            self.threadgroup_bytes[k] += o.threadgroup_bytes[k];
            self.threadgroup_passes[k] += o.threadgroup_passes[k];
        }
        self.bank_conflicts += o.bank_conflicts;
        self.atomic_conflicts += o.atomic_conflicts;
        for (k, v) in o.points.iter().enumerate() {
            let p = self.point(k as u32);
            p.bytes += v.bytes;
            p.units += v.units;
            p.conflicts += v.conflicts;
        }
        for (mine, theirs) in self.lines.iter_mut().zip(o.lines) {
            mine.merge(theirs);
        }
    }
}
