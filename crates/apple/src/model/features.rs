//! What the model needs of one simulated dispatch: counts per simdgroup, the path, pressure, traffic. Independent of chips
//! and parameters, so that a fit computes it once. Knows counters.

use ksearch_simt::observe::reuse::CLASSES;
use ksearch_simt::{Detail, InstrClass as C};
use serde::{Deserialize, Serialize};

use super::path::{Path, path};
use super::pressure::{BlockPressure, pressure};
use crate::record::Dispatched;

/// Bytes of a line.
pub const LINE: f64 = 128.0;
/// Bytes of a sector.
const SECTOR: f64 = 64.0;
/// Blocks whose spills are priced; those that spill most.
const SPILLING: usize = 12;

/// One dispatch. Numbers per simdgroup are means over those that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// Threadgroups.
    pub groups: f64,
    /// Simdgroups per threadgroup.
    pub simdgroups: f64,
    /// Threads per threadgroup.
    pub threads: u32,
    /// Times in a row.
    pub repeat: f64,
    /// Instructions per simdgroup by class.
    pub instructions: Vec<f64>,
    /// 32-bit registers moved per simdgroup: device loads, device stores, threadgroup memory, private memory.
    pub words: [f64; 4],
    /// The dependent path of one simdgroup.
    pub path: Path,
    /// Blocks that may spill.
    pub pressure: Vec<BlockPressure>,
    /// 32-bit registers live at most in what ran.
    pub live: f64,
    /// 16-bit register halves live at most in the whole kernel.
    pub register_halves: u32,
    /// Threadgroup memory, bytes.
    pub threadgroup_memory: u32,
    /// `[[max_total_threads_per_threadgroup]]`, where the kernel declares it: the compiler keeps to the registers that so
    /// many threads may have.
    pub max_threads: Option<u32>,
    /// Lines per simdgroup by reuse distance, all kinds.
    pub reuse: [f64; CLASSES],
    /// 64-byte sectors, lines, lines of private memory, passes of threadgroup memory, all per simdgroup.
    pub sectors: f64,
    /// See `sectors`.
    pub lines: f64,
    /// See `sectors`.
    pub private_lines: f64,
    /// See `sectors`.
    pub passes: f64,
    /// Of the passes, those of stores.
    pub store_passes: f64,
    /// 64-byte sectors that stores touch, per simdgroup, beyond those that their bytes would fill.
    pub partial_stores: f64,
    /// Lines of private memory per simdgroup by reuse distance; they are in `reuse` too.
    pub private_reuse: [f64; CLASSES],
    /// Distinct bytes that the launch stores.
    pub stored: f64,
    /// Divergent branches per simdgroup.
    pub divergent: f64,
    /// Conflicts of atomics on one address per simdgroup.
    pub atomic_conflicts: f64,
    /// Distinct bytes of the launch: loads and stores.
    pub footprint: f64,
    /// Distinct bytes per threadgroup: loads and stores.
    pub group_bytes: f64,
    /// Bytes of all buffers that are touched.
    pub buffers: f64,
    /// Work of the threadgroup with most over the mean.
    pub imbalance: f64,
    /// Share of the threadgroups that ran, and the relative standard error of the mean that follows from the sample.
    pub sampled: f64,
    /// See `sampled`.
    pub sampling_error: f64,
}

impl Features {
    /// Of a dispatch.
    pub fn new(d: &Dispatched) -> Self {
        let c = &d.counters;
        let simds = c.simdgroups.max(1) as f64;
        let groups = c.groups.max(1) as f64;
        let per = |n: u64| n as f64 / simds;
        let mut words = [0.0; 4];
        let mut class_of = std::collections::HashMap::new();
        let mut group_stores = std::collections::HashSet::new();
        for (b, runs) in d.detail.shape.blocks.iter().zip(&d.detail.blocks) {
            for n in &b.nodes {
                let k = match n.class {
                    C::LoadDevice | C::AtomicDevice => 0,
                    C::StoreDevice => 1,
                    C::LoadThreadgroup | C::StoreThreadgroup | C::AtomicThreadgroup => 2,
                    C::Private => 3,
                    _ => continue,
                };
                class_of.insert(n.point, k);
                if n.class == C::StoreThreadgroup {
                    group_stores.insert(n.point);
                }
                words[k] += f64::from(n.words.max(1)) * per(runs.runs);
            }
        }
        let mut f = Self {
            groups: d.groups.max(1) as f64,
            simdgroups: f64::from(d.simdgroups()),
            threads: d.threads,
            repeat: f64::from(d.repeat),
            instructions: c.instructions.iter().map(|n| per(*n)).collect(),
            words,
            path: path(&d.detail, c.simdgroups),
            register_halves: c.register_halves,
            threadgroup_memory: c.threadgroup_memory,
            max_threads: d.max_threads,
            divergent: per(c.divergent_branches),
            atomic_conflicts: per(c.atomic_conflicts),
            group_bytes: c.group_lines.iter().sum::<u64>() as f64 * LINE / groups,
            ..Self::default()
        };
        let mut stored_sectors = 0.0;
        for p in &d.detail.points {
            match class_of.get(&p.point).copied().unwrap_or(0) {
                2 => {
                    f.passes += per(p.units);
                    if group_stores.contains(&p.point) {
                        f.store_passes += per(p.units);
                    }
                }
                k => {
                    for (a, n) in f.reuse.iter_mut().zip(p.reuse) {
                        *a += per(n);
                    }
                    if k == 3 {
                        f.private_lines += per(p.units);
                        for (a, n) in f.private_reuse.iter_mut().zip(p.reuse) {
                            *a += per(n);
                        }
                    } else {
                        if k == 1 {
                            stored_sectors += per(p.sectors);
                        }
                        f.sectors += per(p.sectors);
                        f.lines += per(p.units);
                    }
                }
            }
        }
        f.partial_stores = (stored_sectors - per(c.device_bytes[1]) / SECTOR).max(0.0);
        let mut blocks = pressure(&d.detail, c.simdgroups);
        f.live = blocks.iter().map(|b| b.live).fold(0.0, f64::max);
        let worth = |b: &BlockPressure| b.runs * (b.early - 60.0).max(0.0);
        blocks.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
        blocks.retain(|b| worth(b) > 0.0);
        blocks.truncate(SPILLING);
        f.pressure = blocks;
        traffic(&mut f, d);
        work(&mut f, &d.detail, groups);
        f
    }

    /// Instructions of a class per simdgroup.
    pub fn count(&self, class: C) -> f64 {
        self.instructions.get(class as usize).copied().unwrap_or(0.0)
    }
}

/// Footprint of the launch: what the sample touched, grown with the number of threadgroups up to the buffers' sizes.
fn traffic(f: &mut Features, d: &Dispatched) {
    let scale = d.scale();
    for b in &d.detail.footprint.buffers {
        let length = (b.buffer as usize).checked_sub(1).and_then(|i| d.buffers.get(i)).copied();
        f.buffers += length.unwrap_or(0) as f64;
        let lines = length.unwrap_or(10_000) as f64 / LINE + 1.0;
        for k in 0..2 {
            let (distinct, all) = (b.distinct[k] as f64, b.by_group[k] as f64 * scale);
            let bytes = lines.min(distinct.max(all.min(distinct * scale))) * LINE;
            f.footprint += bytes;
            if k == 1 {
                f.stored += bytes;
            }
        }
    }
}

fn work(f: &mut Features, detail: &Detail, groups: f64) {
    let each: Vec<(f64, f64)> =
        detail.work.iter().map(|w| (w.groups as f64, w.instructions as f64 / w.groups.max(1) as f64)).collect();
    let n: f64 = each.iter().map(|(n, _)| n).sum();
    let mean = each.iter().map(|(n, w)| n * w).sum::<f64>() / n.max(1.0);
    let most = detail.work.iter().map(|w| w.most as f64).fold(0.0, f64::max);
    f.imbalance = if mean > 0.0 { (most / mean).max(1.0) } else { 1.0 };
    f.sampled = (groups / f.groups).min(1.0);
    if f.sampled < 1.0 && each.len() > 1 && mean > 0.0 {
        let variance = each.iter().map(|(_, w)| (w - mean).powi(2)).sum::<f64>() / (each.len() - 1) as f64;
        // Neighbours are alike, so a stretch counts as one draw.
        f.sampling_error = (variance / each.len() as f64 * (1.0 - f.sampled)).sqrt() / mean;
    }
}
