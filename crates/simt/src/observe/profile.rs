//! Counts memory traffic: bytes, 128-byte lines, bank conflicts, conflicts of atomics. Knows addresses alone.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{AccessKind, MemEvent, Observer};
use crate::lower::sir::Space;

/// Bytes of a line of device memory.
const LINE: u32 = 7;
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
    pub points: FxHashMap<u32, PointTraffic>,
    /// Lines of the group that runs.
    group: [FxHashSet<u64>; 2],
    /// Lines of all groups.
    pub launch: [FxHashSet<u64>; 2],
}

/// Distinct values of a small list.
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

impl Profile {
    fn device(&mut self, e: &MemEvent<'_>) {
        let rw = usize::from(e.kind == AccessKind::Store);
        let mut lines = [0u64; 64];
        let mut n = 0;
        for l in 0..32 {
            if e.mask >> l & 1 == 0 {
                continue;
            }
            let a = e.addresses[l];
            for line in [a >> LINE, (a + u64::from(e.bytes) - 1) >> LINE] {
                if n == 0 || lines[n - 1] != line {
                    if let Some(x) = lines.get_mut(n) {
                        *x = line;
                    }
                    n += 1;
                }
            }
        }
        let lines = &mut lines[..n.min(64)];
        let d = distinct(lines) as u64;
        let bytes = u64::from(e.mask.count_ones()) * u64::from(e.bytes);
        let both: &[usize] = if e.kind == AccessKind::Atomic { &[0, 1] } else { &[rw] };
        for &k in both {
            self.device_bytes[k] += bytes;
            self.device_lines[k] += d;
            let mut last = None;
            for &x in lines.iter() {
                if last != Some(x) {
                    self.group[k].insert(x);
                    last = Some(x);
                }
            }
        }
        let p = self.points.entry(e.point).or_default();
        p.bytes += bytes;
        p.units += d;
        if e.kind == AccessKind::Atomic {
            self.same_address(e);
        }
    }

    fn same_address(&mut self, e: &MemEvent<'_>) {
        let mut list = [0u64; 32];
        let mut n = 0;
        for l in 0..32 {
            if e.mask >> l & 1 == 1 {
                list[n] = e.addresses[l];
                n += 1;
            }
        }
        let d = distinct(&mut list[..n]);
        self.atomic_conflicts += (n - d) as u64;
    }

    /// Passes of a threadgroup access: each pass serves one word per bank; lanes that want the same word share it. A
    /// lane's access of several words is served word by word.
    fn threadgroup(&mut self, e: &MemEvent<'_>) {
        let rw = usize::from(e.kind == AccessKind::Store);
        let bytes = u64::from(e.mask.count_ones()) * u64::from(e.bytes);
        let words = e.bytes.div_ceil(4).max(1) as usize;
        let mut list = [0u64; 32 * 4];
        let mut n = 0;
        for l in 0..32 {
            if e.mask >> l & 1 == 1 {
                for k in 0..words.min(4) {
                    list[n] = (e.addresses[l] >> 2) + k as u64;
                    n += 1;
                }
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
        let passes = u64::from(load.iter().copied().max().unwrap_or(0));
        let least = total.div_ceil(BANKS as u64);
        let both: &[usize] = if e.kind == AccessKind::Atomic { &[0, 1] } else { &[rw] };
        for &k in both {
            self.threadgroup_bytes[k] += bytes;
            self.threadgroup_passes[k] += passes;
        }
        self.bank_conflicts += passes - least;
        let p = self.points.entry(e.point).or_default();
        p.bytes += bytes;
        p.units += passes;
        p.conflicts += passes - least;
        if e.kind == AccessKind::Atomic {
            self.same_address(e);
        }
    }
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
            self.group_lines[k] += self.group[k].len() as u64;
            let lines = std::mem::take(&mut self.group[k]);
            self.launch[k].extend(lines.iter());
            self.group[k] = lines;
            self.group[k].clear();
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
        for (k, v) in o.points {
            let p = self.points.entry(k).or_default();
            p.bytes += v.bytes;
            p.units += v.units;
            p.conflicts += v.conflicts;
        }
        for (mine, theirs) in self.launch.iter_mut().zip(o.launch) {
            if mine.len() < theirs.len() {
                let small = std::mem::replace(mine, theirs);
                mine.extend(small);
            } else {
                mine.extend(theirs);
            }
        }
    }
}
