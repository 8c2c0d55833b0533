//! Counts memory traffic: bytes, lines, sectors, bank conflicts, conflicts of atomics, reuse distances; records traces.
//! Knows addresses alone.

use serde::{Deserialize, Serialize};

use super::footprint::GroupLines;
use super::lines::{LINE, Lines};
use super::reuse::{CLASSES, Reuse};
use super::trace::Recorder;
use super::{AccessKind, MemEvent, Observer, Plan};
use crate::lower::sir::Space;

/// Banks of threadgroup memory, four bytes wide each.
const BANKS: usize = 32;
/// Log2 of the bytes of a sector: what the load port of a core moves at once.
const SECTOR: u32 = 6;
/// Words of lines that are kept by threadgroup; beyond, only what all touch together is known.
const MAX_WORDS: usize = 4 << 20;
/// Line numbers of private memory: above all of device memory.
const PRIVATE: u64 = 1 << 60;

/// Traffic of one program point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointTraffic {
    /// Program point.
    pub point: u32,
    /// Times a simdgroup executed it.
    pub runs: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// Lines (device and private memory) or passes (threadgroup memory).
    pub units: u64,
    /// 64-byte sectors of device and private memory.
    pub sectors: u64,
    /// Passes beyond the least possible.
    pub conflicts: u64,
    /// Lines by their reuse distance within the threadgroup: see [`super::reuse::DISTANCES`].
    pub reuse: [u64; CLASSES],
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
    /// By program point; those that never ran are empty.
    pub points: Vec<PointTraffic>,
    /// Lines of device memory.
    pub lines: Lines,
    /// Lines of device memory by threadgroup.
    pub groups: Vec<GroupLines>,
    /// Traces.
    pub traces: Recorder,
    in_advance: Vec<u32>,
    reuse: Reuse,
    group: u64,
    words: usize,
}

/// Distinct values of a small list, which is sorted on the way.
fn distinct(list: &mut [u64]) -> usize {
    if !list.is_sorted() {
        list.sort_unstable();
    }
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

    /// The lines that an access touches, ascending.
    #[inline]
    fn touch(&mut self, e: &MemEvent<'_>, lines: impl Iterator<Item = u64>) -> u64 {
        let mut reuse = [0u32; CLASSES];
        let (mut word, mut bits) = (0, 0u64);
        let mut count = 0;
        for line in lines {
            if line >> 6 != word {
                self.add(e, word, bits);
                (word, bits) = (line >> 6, 0);
            }
            bits |= 1 << (line & 63);
            reuse[self.reuse.touch(line)] += 1;
            count += 1;
        }
        self.add(e, word, bits);
        for (sum, n) in self.point(e.point).reuse.iter_mut().zip(reuse) {
            *sum += u64::from(n);
        }
        count
    }

    #[inline]
    fn add(&mut self, e: &MemEvent<'_>, word: u64, bits: u64) {
        if bits != 0 {
            for &k in directions(e) {
                self.lines.add(k, word, bits);
            }
        }
    }

    fn device(&mut self, e: &MemEvent<'_>) {
        let lanes = u64::from(e.mask.count_ones());
        let bytes = lanes * u64::from(e.bytes);
        let tail = u64::from(e.bytes.max(1)) - 1;
        let (first, last) = (e.base >> SECTOR, (e.last + tail) >> SECTOR);
        let (lines, sectors);
        if last - first < 63 {
            // Few sectors apart: a bit for each, from the start of the first line.
            let origin = first & !1;
            let mut bits = 0u64;
            if last == first {
                bits = 1 << (first - origin);
            } else {
                let from = e.base - (origin << SECTOR);
                for (l, &o) in e.offsets.iter().enumerate() {
                    let at = from + u64::from(o);
                    let both = 1u64 << (at >> SECTOR & 63) | 1u64 << ((at + tail) >> SECTOR & 63);
                    bits |= both & 0u64.wrapping_sub(u64::from(e.mask >> l & 1));
                }
            }
            sectors = u64::from(bits.count_ones());
            // Both sectors of a line count as its first.
            let mut pairs = (bits | bits >> 1) & 0x5555_5555_5555_5555;
            let base = origin >> 1;
            lines = self.touch(
                e,
                std::iter::from_fn(|| {
                    let lo = (pairs != 0).then(|| pairs.trailing_zeros())?;
                    pairs &= pairs - 1;
                    Some(base + u64::from(lo / 2))
                }),
            );
        } else {
            let mut list = [0u64; 64];
            let mut n = 0;
            for l in e.lanes() {
                let a = e.address(l);
                list[n] = a >> SECTOR;
                list[n + 1] = (a + tail) >> SECTOR;
                n += 2;
            }
            let list = &mut list[..n];
            sectors = distinct(list) as u64;
            let mut before = None;
            lines = self.touch(
                e,
                list.iter().filter_map(|x| {
                    let line = Some(x >> (LINE - SECTOR));
                    (before != line).then(|| before = line).and(line)
                }),
            );
        }
        for &k in directions(e) {
            self.device_bytes[k] += bytes;
            self.device_lines[k] += lines;
        }
        let p = self.point(e.point);
        p.runs += 1;
        p.bytes += bytes;
        p.units += lines;
        p.sectors += sectors;
        if e.kind == AccessKind::Atomic {
            self.same_address(e);
        }
    }

    /// Private memory is interleaved by lane, so that the same word of all lanes is one line.
    fn private(&mut self, e: &MemEvent<'_>) {
        let words = u64::from(e.bytes.div_ceil(4).max(1));
        let (first, last) = (e.base >> 2, e.last >> 2);
        let row = |w: u64| PRIVATE | u64::from(e.simdgroup) << 32 | w;
        let mut lines = 0;
        let mut reuse = [0u32; CLASSES];
        let mut touch = |from: u64| {
            for w in from..from + words {
                reuse[self.reuse.touch(row(w))] += 1;
                lines += 1;
            }
        };
        if first == last {
            touch(first);
        } else {
            let mut list = [0u64; 32];
            let mut n = 0;
            for l in e.lanes() {
                list[n] = e.address(l) >> 2;
                n += 1;
            }
            let list = &mut list[..n];
            distinct(list);
            let mut before = None;
            for &w in list.iter() {
                if before != Some(w) {
                    before = Some(w);
                    touch(w);
                }
            }
        }
        let p = self.point(e.point);
        p.runs += 1;
        p.bytes += u64::from(e.mask.count_ones()) * u64::from(e.bytes);
        p.units += lines;
        p.sectors += lines * 2;
        for (sum, n) in p.reuse.iter_mut().zip(reuse) {
            *sum += u64::from(n);
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
        p.runs += 1;
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
    // Simdgroups take turns often, as they do on a GPU: reuse distances depend on it.
    const SLICE: i64 = 192;

    fn plan(&mut self, plan: &Plan) {
        self.traces.plan(&plan.traced, plan.simdgroups.saturating_sub(1));
        self.in_advance.clone_from(&plan.in_advance);
    }

    fn access(&mut self, e: &MemEvent<'_>) {
        if self.in_advance.contains(&e.point) {
            return;
        }
        match e.space {
            Space::Device | Space::Generic => self.device(e),
            Space::Threadgroup => self.threadgroup(e),
            Space::Private => self.private(e),
        }
    }

    fn enter(&mut self, simdgroup: u32, block: u32) {
        self.traces.enter(simdgroup, block);
    }

    fn group_start(&mut self, group: u64) {
        self.group = group;
        self.traces.start(group);
        self.reuse.clear();
    }

    fn group_end(&mut self) {
        self.traces.end();
        let words = self.lines.end_group();
        for &(_, loads, stores) in &words {
            self.group_lines[0] += u64::from(loads.count_ones());
            self.group_lines[1] += u64::from(stores.count_ones());
        }
        self.words += words.len();
        if self.words <= MAX_WORDS {
            self.groups.push(GroupLines { group: self.group, words });
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
            p.runs += v.runs;
            p.bytes += v.bytes;
            p.units += v.units;
            p.sectors += v.sectors;
            p.conflicts += v.conflicts;
            for (a, b) in p.reuse.iter_mut().zip(v.reuse) {
                *a += b;
            }
        }
        self.lines.merge(o.lines);
        self.groups.extend(o.groups);
        self.traces.done.extend(o.traces.done);
    }
}
