//! The timing model: from the features of a dispatch to seconds, split by term. Formulas and their sources:
//! docs/timing-model.md. Knows chips and features; must not know kernels.

pub mod features;
pub mod params;
pub mod path;
pub mod pressure;
pub mod robust;

pub use features::Features;
pub use params::{ModelFile, Param, Params, Uncertainty};
pub use path::Path;
pub use pressure::BlockPressure;
pub use robust::{Robustness, compare};

use ksearch_simt::InstrClass as C;
use ksearch_simt::observe::reuse::DISTANCES;

use crate::chip::Chip;
use crate::estimate::Term;
use crate::instr::{classes, cost};
use crate::occupancy::{Occupancy, occupancy, register_halves_by_threads};
use features::LINE;

/// Bytes of the second level that a chip has per core for each KiB of the parameter.
const KIB: f64 = 1024.0;
/// Exponent that joins memory terms among themselves: they are pipelines, the slowest decides.
const MEMORY_NORM: f64 = 4.0;
/// Serialised atomics on one address, seconds each (M2 Pro latency test; an upper bound).
const ATOMIC_SECONDS: f64 = 58.57e-9;
/// Registers of a thread beyond those that hold its values.
const RESERVED_HALVES: f64 = 6.0;

/// Times of one dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Seconds, launching included.
    pub seconds: f64,
    /// Seconds of each resource alone.
    pub terms: Vec<(Term, f64)>,
    /// Residency.
    pub occupancy: Occupancy,
    /// Bytes per level: L1 port, L2, SLC, DRAM, threadgroup memory.
    pub bytes: [f64; 5],
    /// Seconds by resource bounds alone, without latency, spills and overlap: a second, simpler estimate.
    pub simple: f64,
    /// Spilled registers per simdgroup, each time one is spilled.
    pub spills: f64,
}

/// Joins two times that overlap; `p` large means that the smaller one hides wholly.
fn join(a: f64, b: f64, p: f64) -> f64 {
    let most = a.max(b);
    if most <= 0.0 {
        return 0.0;
    }
    most * ((a / most).powf(p) + (b / most).powf(p)).powf(1.0 / p)
}

/// Times one run of a dispatch on `chip` at `clock` times its top clock.
pub fn time(chip: &Chip, p: &Params, f: &Features, clock: f64) -> Timed {
    let g = |q: Param| p.get(q);
    let hz = chip.clock_ghz * 1e9 * clock;
    let cores = f64::from(chip.cores);
    // A launch has one of each at least; counts of nothing stay finite.
    let (simds, groups) = (f.simdgroups.max(1.0), f.groups.max(1.0));

    // Residency: registers of what really ran.
    let halves = (2.0 * f.live * g(Param::Registers) + RESERVED_HALVES).clamp(16.0, 256.0);
    let occ = occupancy(chip, f.threads, halves as u32, f.threadgroup_memory, groups as u64);
    let per_core = (groups / cores).ceil();
    let resident = f64::from(occ.groups).min(per_core).max(1.0);

    // Spills: values beyond the registers that the compiler may use are stored to and loaded from device memory.
    let early = g(Param::EarlyLoads);
    let allowed = f.max_threads.map_or(256, |n| register_halves_by_threads(chip, n));
    let registers = g(Param::RegistersMax).min(f64::from(allowed) / 2.0);
    let over = |b: &BlockPressure| {
        let over = (b.live.max(b.early * early) - registers).max(0.0);
        over / (1.0 + over / g(Param::SpillCap))
    };
    let spills: f64 = f.pressure.iter().map(|b| b.runs * over(b)).sum();
    let spilled_at_once = f.pressure.iter().map(over).fold(0.0, f64::max);
    // Private memory of all that is resident has to fit the second level, or it waits for what lies beyond.
    let l2_core = g(Param::L2Kib) * KIB;
    let far_spills = beyond(l2_core, (spilled_at_once * LINE * resident * simds).max(1.0));
    let far_private: f64 =
        f.private_reuse.iter().enumerate().map(|(i, n)| n * beyond(l2_core / LINE / resident, distance(i))).sum();
    let farther = g(Param::FarWait) - 1.0;

    // Issue: cycles of one simdgroup on its scheduler.
    let (mut scalar, mut complex, mut complex_count, mut matrix) = (0.0, 0.0, 0.0, 0.0);
    for (_, class) in classes() {
        let n = f.count(class);
        let price = cost(chip, class);
        match class {
            C::Mma32 | C::Mma16 => matrix += n * price.fp,
            C::LoadDevice
            | C::StoreDevice
            | C::LoadThreadgroup
            | C::StoreThreadgroup
            | C::Private
            | C::AtomicDevice
            | C::AtomicThreadgroup => {}
            C::Fp32 => scalar += n * price.fp * g(Param::Operands),
            _ => {
                scalar += n * price.plain;
                complex += n * price.ic;
                complex_count += n * price.complex;
            }
        }
    }
    let moved = g(Param::LoadWord) * f.words[0]
        + g(Param::StoreWord) * f.words[1]
        + g(Param::ThreadgroupWord) * f.words[2]
        + g(Param::PrivateWord) * f.words[3];
    let rest = g(Param::DivergeSlots) * f.divergent + g(Param::StartSlots) + g(Param::SpillSlots) * spills;
    let pure = (scalar + moved + g(Param::ComplexSlots) * complex_count).max(complex) + matrix;
    let issue_one =
        g(Param::Issue) * (scalar + moved + rest + g(Param::ComplexSlots) * complex_count).max(complex) + matrix;

    // The dependent path of one simdgroup.
    let weights = Path {
        slots: g(Param::Slot),
        simple: g(Param::WaitSimple),
        complex: g(Param::WaitComplex),
        threadgroup: g(Param::WaitThreadgroup),
        device: g(Param::WaitDevice),
        missed: g(Param::WaitMissed),
        private: g(Param::WaitPrivate) * (1.0 + farther * (far_private / f.private_lines.max(1.0)).min(1.0)),
        barriers: g(Param::WaitBarrier),
        branches: g(Param::WaitBranch),
        matrix: 1.0,
    };
    let path_one = f.path.cycles(&weights)
        + g(Param::WaitDiverge) * f.divergent
        + g(Param::WaitStart)
        + g(Param::SpillWait) * spills * (1.0 + farther * far_spills);

    // Waves of resident threadgroups. A scheduler idles while all its simdgroups stall at once; with r of them that
    // issue for i cycles and stall for s, independently, that is the share (s / (i + s))^r of the time.
    let stall = (path_one - issue_one).max(0.0);
    let wave = |n: f64| {
        if n <= 0.0 {
            return 0.0;
        }
        let sharing = (n * simds / 4.0).max(1.0);
        let independent = 1.0 + (sharing - 1.0) * g(Param::IndependentStalls);
        let idle = (stall / (issue_one + stall).max(1.0)).powf(independent);
        (sharing * issue_one / (1.0 - idle).max(1e-3)).max(path_one)
    };
    let full = (per_core / resident).floor();
    let last = per_core - full * resident;
    let core = full * wave(resident) + wave(last);

    // Memory of a core.
    let on_core = per_core * simds;
    let share = g(Param::Sectors).min(1.5);
    let port_lines = f.sectors * 64.0 * share + f.lines * LINE * (1.0 - share) + f.private_lines * LINE;
    let l1 = on_core * port_lines.max(0.0) / (chip.l1_bytes_per_cycle * g(Param::L1Port));
    let passes = f.passes - f.store_passes * (1.0 - g(Param::GroupStore));
    let threadgroup = on_core * passes * LINE / (chip.threadgroup_bytes_per_cycle * g(Param::ThreadgroupPort));
    let kept = (g(Param::L1Lines) * chip.l1_bytes as f64 / 8192.0 / resident).max(2.0);
    let missed: f64 = f.reuse.iter().enumerate().map(|(i, n)| n * beyond(kept, distance(i))).sum::<f64>()
        + spills * g(Param::SpillLines);
    let merged = g(Param::PartialStore) * f.partial_stores;
    let l2 = on_core * (LINE * missed / (chip.l2_bytes_per_cycle * g(Param::L2Port)) + merged);

    // Off the core.
    let all_groups = f.group_bytes * groups;
    let l2_bytes = l2_core * cores;
    let l2_share = (l2_bytes / f.footprint.max(1.0)).min(1.0);
    let own = groups * simds * LINE * (far_private + far_spills * spills * g(Param::SpillLines));
    let slc_bytes = f.footprint * (1.0 - l2_share) + (all_groups - f.footprint).max(0.0) * (1.0 - l2_share) + own;
    let slc = slc_bytes / (chip.slc_gbs * 1e9 * g(Param::Slc)) * hz;
    let far = 1.0 / (1.0 + (chip.slc_bytes as f64 / f.buffers.max(1.0)).powi(3));
    let dram_bytes = f.footprint * far;
    let dram = dram_bytes / (chip.dram_gbs * 1e9 * g(Param::Dram)) * hz;
    let parts = [l1, threadgroup, l2, slc, dram];
    let most = parts.iter().copied().fold(0.0, f64::max);
    let ports = join(l1, threadgroup, MEMORY_NORM);
    let memory = join(join(l2, slc, MEMORY_NORM), dram, MEMORY_NORM);

    let atomics = f.atomic_conflicts * groups * simds * ATOMIC_SECONDS / groups.min(cores);
    let dispatch = chip.dispatch_us * 1e-6 * g(Param::Dispatch) / clock;
    let drain = f.stored / (chip.slc_gbs * 1e9 * g(Param::Drain)) * hz;
    let body = join(join(core, ports, g(Param::OverlapPorts)), memory, g(Param::OverlapMemory)) + drain;
    let waves = full + f64::from(u8::from(last > 0.0));
    let sync = f.path.barriers * weights.barriers * waves;
    let issue = per_core * simds / 4.0 * issue_one;
    let s = |cycles: f64| cycles / hz;
    let terms = vec![
        (Term::Issue, s(issue)),
        (Term::L1, s(l1)),
        (Term::Threadgroup, s(threadgroup)),
        (Term::L2, s(l2)),
        (Term::Slc, s(slc + drain)),
        (Term::Dram, s(dram)),
        (Term::Latency, s((path_one * waves - sync).max(0.0))),
        (Term::Sync, s(sync) + atomics),
        (Term::Dispatch, dispatch),
    ];
    let simple = s((per_core * simds / 4.0 * pure).max(most)).max(s(f.path.slots)) + atomics + dispatch;
    Timed {
        seconds: s(body) + atomics + dispatch,
        terms,
        occupancy: occ,
        bytes: [
            groups * simds * port_lines.max(0.0),
            groups * simds * LINE * missed,
            slc_bytes,
            dram_bytes,
            groups * simds * f.passes * LINE,
        ],
        simple,
        spills,
    }
}

/// Typical distance, in lines, of a class of reuse.
fn distance(class: usize) -> f64 {
    match DISTANCES.get(class) {
        Some(d) => f64::from(*d) / 1.4,
        None if class == DISTANCES.len() => 7e4,
        None => 7e8,
    }
}

/// Share of touches at this distance that a cache of `kept` lines, shared with others, does not hold.
fn beyond(kept: f64, distance: f64) -> f64 {
    1.0 / (1.0 + (kept / distance).powi(2))
}

/// All dispatches of a launch, each after the one before: seconds at `clock`.
pub fn total(chip: &Chip, p: &Params, dispatches: &[Features], clock: f64) -> f64 {
    dispatches.iter().map(|f| time(chip, p, f, clock).seconds * f.repeat).sum()
}
