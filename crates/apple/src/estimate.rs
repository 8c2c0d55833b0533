//! A first, unfitted estimate of a dispatch's time: issue, memory, latency and synchronisation terms, each a resource
//! bound, joined by a p-norm. Formulas: apple-gpu notes, section 7. Knows counters and chips, not kernels.

use ksearch_simt::Counters;
use ksearch_task::Bottleneck;

use crate::chip::Chip;
use crate::instr::{classes, cost};
use crate::occupancy::{Occupancy, occupancy};

/// What one dispatch did, as counted by the simulator.
#[derive(Clone, Copy, Debug)]
pub struct DispatchCounts<'a> {
    /// Counters of the threadgroups that ran.
    pub counters: &'a Counters,
    /// Threadgroups launched (at least those that ran).
    pub groups: u64,
    /// Threads per threadgroup.
    pub threads: u32,
}

/// A term of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// Instruction issue and arithmetic pipes.
    Issue,
    /// L1 port of the core.
    L1,
    /// Threadgroup memory with bank conflicts.
    Threadgroup,
    /// L2 bandwidth.
    L2,
    /// System-level-cache bandwidth.
    Slc,
    /// DRAM bandwidth.
    Dram,
    /// Dependent chains that residency does not hide.
    Latency,
    /// Barriers and their skew, atomics.
    Sync,
    /// Launching.
    Dispatch,
}

impl Term {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::L1 => "l1",
            Self::Threadgroup => "threadgroup",
            Self::L2 => "l2",
            Self::Slc => "slc",
            Self::Dram => "dram",
            Self::Latency => "latency",
            Self::Sync => "sync",
            Self::Dispatch => "dispatch",
        }
    }

    /// The bottleneck class the term belongs to.
    pub const fn class(self) -> Bottleneck {
        match self {
            Self::Issue => Bottleneck::Compute,
            Self::L1 | Self::Threadgroup | Self::L2 | Self::Slc | Self::Dram => Bottleneck::Bandwidth,
            Self::Latency => Bottleneck::Latency,
            Self::Sync | Self::Dispatch => Bottleneck::Synchronization,
        }
    }

    /// One line of advice when this term bounds the kernel.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Issue => {
                "Bound by instruction issue: do fewer instructions per result (matrix instructions, wider tiles that reuse operands, cheaper address arithmetic, exp2 with the scale folded in)."
            }
            Self::L1 => {
                "Bound by the core's load port: reuse values in registers, load vectors along the contiguous axis, or stage tiles in threadgroup memory."
            }
            Self::Threadgroup => {
                "Bound by threadgroup memory: keep operands in registers longer, exchange by simd_shuffle, pad rows to avoid bank conflicts."
            }
            Self::L2 => {
                "Bound by L2 traffic: larger tiles per threadgroup, so that each byte fetched is used more often."
            }
            Self::Slc => "Bound by the system-level cache: fewer passes over the data, smaller dtypes, larger tiles.",
            Self::Dram => "Bound by DRAM: fuse passes, store halves, read each byte once.",
            Self::Latency => {
                "Bound by latency: more independent work per thread, more resident simdgroups (fewer registers or less threadgroup memory), more threadgroups, loads issued early."
            }
            Self::Sync => {
                "Bound by synchronisation: fewer barriers per unit of work, more threadgroups per core to overlap them, less contended atomics."
            }
            Self::Dispatch => "Bound by launch overhead: fuse dispatches or give each more work.",
        }
    }
}

/// Estimated time of one or several dispatches.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds in all.
    pub seconds: f64,
    /// Seconds each resource alone would take, largest first.
    pub terms: Vec<(Term, f64)>,
    /// The class of the largest term.
    pub bottleneck: Bottleneck,
    /// Residency of the longest dispatch.
    pub occupancy: Occupancy,
    /// Bytes per level: L1 port, L2, SLC, DRAM, threadgroup memory.
    pub bytes: [f64; 5],
}

/// Exponent of the norm that joins the overlapping terms; infinity would be a roofline. Unfitted.
const NORM: f64 = 4.0;
/// Resident threadgroups that hide a barrier's skew. Unfitted.
const SKEW_HIDDEN_BY: f64 = 2.0;
/// Serialised atomics on one address, seconds each (M2 Pro latency test; an upper bound).
const ATOMIC_SECONDS: f64 = 58.57e-9;
/// Penalty of a dependent f32 chain for operand bandwidth, at instruction-level parallelism 1, 2, 3, 4 (metal-benchmarks).
const OPERAND_PENALTY: [f64; 4] = [1.94, 1.83, 1.41, 1.02];

/// Estimates one dispatch.
pub fn estimate(chip: &Chip, dispatch: &DispatchCounts<'_>) -> Estimate {
    let c = dispatch.counters;
    let cores = f64::from(chip.cores);
    let clock = chip.clock_ghz * 1e9;
    let groups = dispatch.groups.max(1) as f64;
    let scale = groups / (c.groups.max(1) as f64);
    let simds_per_group = f64::from(dispatch.threads.div_ceil(32).max(1));
    let simds = (c.simdgroups.max(1)) as f64;
    let occ = occupancy(chip, dispatch.threads, c.register_halves, c.threadgroup_memory, dispatch.groups);

    // The busiest core gets ceil(groups / cores) of them.
    let groups_per_core = (groups / cores).ceil();
    let simds_per_core = groups_per_core * simds_per_group;

    let count = |class: usize| c.instructions.get(class).copied().unwrap_or(0) as f64;
    let chain = |class: usize| c.chain.get(class).copied().unwrap_or(0.0);

    // Issue: cycles per simdgroup on one of the four schedulers.
    let (mut fp, mut ic, mut arithmetic, mut latency) = (0.0, 0.0, 0.0, 0.0);
    let mut chain_length = 0.0;
    for (index, class) in classes() {
        let price = cost(chip, class);
        let n = count(index) / simds;
        fp += n * price.fp;
        ic += n * price.ic;
        latency += chain(index) * price.latency;
        if matches!(class, ksearch_simt::InstrClass::Fp32) {
            arithmetic = n;
            chain_length = chain(index);
        }
    }
    let parallelism = if chain_length > 0.0 { arithmetic / chain_length } else { 4.0 };
    fp += arithmetic * (operand_penalty(parallelism) - 1.0);
    let issue = fp.max(ic) * simds_per_core / 4.0 / clock;

    // On-core memory.
    let per_core = |total: f64| total / simds * simds_per_core;
    let lines: f64 = c.device_lines.iter().map(|&n| n as f64).sum();
    let asked: f64 = c.device_bytes.iter().map(|&n| n as f64).sum();
    let port_bytes = (lines * 64.0).max(asked.min(lines * 128.0));
    let l1 = per_core(port_bytes) / chip.l1_bytes_per_cycle / clock;
    let passes: f64 = c.threadgroup_passes.iter().map(|&n| n as f64).sum();
    let threadgroup = per_core(passes) * 128.0 / chip.threadgroup_bytes_per_cycle / clock;

    // Off-core traffic. L1 keeps what a threadgroup re-reads as far as its share of the cache holds it.
    let group_bytes: f64 = c.group_lines.iter().map(|&n| n as f64 * 128.0).sum::<f64>() / (c.groups.max(1) as f64);
    let kept = (chip.l1_bytes as f64 / f64::from(occ.groups) / group_bytes.max(1.0)).min(1.0);
    let group_total: f64 = c.group_lines.iter().map(|&n| n as f64 * 128.0).sum::<f64>() * scale;
    let line_total = lines * 128.0 * scale;
    let l2_bytes = group_total + (line_total.min(port_bytes * scale) - group_total).max(0.0) * (1.0 - kept);
    let launch_bytes: f64 = c.launch_lines.iter().map(|&n| n as f64 * 128.0).sum::<f64>() * scale.sqrt().max(1.0);
    let footprint = launch_bytes.min(group_total);
    let l2_share = (chip.l2_bytes as f64 / footprint.max(1.0)).min(1.0);
    let slc_bytes = footprint + (group_total - footprint).max(0.0) * (1.0 - l2_share);
    let dram_bytes = footprint * (1.0 - (chip.slc_bytes as f64 / footprint.max(1.0)).min(1.0));
    let active_cores = groups.min(cores);
    let l2 = l2_bytes / (chip.l2_bytes_per_cycle * active_cores) / clock;
    let slc = slc_bytes / (chip.slc_gbs * 1e9);
    let dram = dram_bytes / (chip.dram_gbs * 1e9);

    // Latency: one simdgroup's dependent path, once per wave of residents.
    let level = if dram_bytes > 0.0 {
        3
    } else if footprint > chip.l2_bytes as f64 {
        2
    } else {
        1
    };
    let path = latency + c.chain_loads * chip.latency[level];
    let waves = (simds_per_core / f64::from(occ.simdgroups)).ceil().max(1.0);
    let latency_s = path * waves / clock;

    // Synchronisation: barriers and the skew they expose, contended atomics.
    let barriers = c.barriers as f64 / (c.groups.max(1) as f64);
    let between = fp.max(ic) / (barriers + 1.0);
    let hidden = (1.0 - (f64::from(occ.groups) - 1.0) / SKEW_HIDDEN_BY).max(0.0);
    let skew = (simds_per_group / 4.0 - 1.0).max(0.0) * between * hidden;
    let sync = barriers * (2.0 + skew) * groups_per_core / f64::from(occ.groups) / clock
        + c.atomic_conflicts as f64 * scale * ATOMIC_SECONDS / active_cores;

    let memory = [l1, threadgroup, l2, slc, dram].into_iter().fold(0.0, f64::max);
    let body = (issue.powf(NORM) + memory.powf(NORM) + latency_s.powf(NORM)).powf(1.0 / NORM) + sync;
    let dispatch_s = chip.dispatch_us * 1e-6;
    let terms = vec![
        (Term::Issue, issue),
        (Term::L1, l1),
        (Term::Threadgroup, threadgroup),
        (Term::L2, l2),
        (Term::Slc, slc),
        (Term::Dram, dram),
        (Term::Latency, latency_s),
        (Term::Sync, sync),
        (Term::Dispatch, dispatch_s),
    ];
    finish(body + dispatch_s, terms, occ, [port_bytes * scale, l2_bytes, slc_bytes, dram_bytes, passes * 128.0 * scale])
}

/// Joins the estimates of dependent dispatches: times and terms add up.
pub fn combine(parts: &[Estimate]) -> Option<Estimate> {
    let longest = parts.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let mut terms: Vec<(Term, f64)> = longest.terms.iter().map(|(t, _)| (*t, 0.0)).collect();
    let mut bytes = [0.0; 5];
    for part in parts {
        for (term, seconds) in &mut terms {
            *seconds += part.terms.iter().filter(|(t, _)| t == term).map(|(_, s)| s).sum::<f64>();
        }
        for (sum, b) in bytes.iter_mut().zip(part.bytes) {
            *sum += b;
        }
    }
    Some(finish(parts.iter().map(|p| p.seconds).sum(), terms, longest.occupancy, bytes))
}

fn finish(seconds: f64, mut terms: Vec<(Term, f64)>, occupancy: Occupancy, bytes: [f64; 5]) -> Estimate {
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    let bottleneck = terms.first().map_or(Bottleneck::Latency, |(t, _)| t.class());
    Estimate { seconds, terms, bottleneck, occupancy, bytes }
}

fn operand_penalty(parallelism: f64) -> f64 {
    let x = parallelism.clamp(1.0, 4.0) - 1.0;
    let i = (x as usize).min(2);
    let t = x - i as f64;
    OPERAND_PENALTY[i] * (1.0 - t) + OPERAND_PENALTY[i + 1] * t
}

#[cfg(test)]
mod tests {
    use super::*;
    use ksearch_simt::InstrClass;

    fn chip(name: &str) -> Chip {
        crate::Chips::embedded().and_then(|c| c.get(name)).unwrap()
    }

    fn counters() -> Counters {
        Counters {
            instructions: vec![0; InstrClass::COUNT],
            lanes: vec![0; InstrClass::COUNT],
            chain: vec![0.0; InstrClass::COUNT],
            simdgroups: 4096,
            groups: 1024,
            register_halves: 32,
            ..Counters::default()
        }
    }

    fn run(c: &Counters, chip: &Chip) -> Estimate {
        estimate(chip, &DispatchCounts { counters: c, groups: 1024, threads: 128 })
    }

    #[test]
    fn a_saturated_fma_stream_reaches_the_peak() {
        let mut c = counters();
        c.instructions[InstrClass::Fp32 as usize] = 4096 * 10_000;
        c.chain[InstrClass::Fp32 as usize] = 2_500.0;
        let chip = chip("m1-max");
        let e = run(&c, &chip);
        let gflops = 4096.0 * 10_000.0 * 64.0 / e.seconds / 1e9;
        assert_eq!(e.bottleneck, Bottleneck::Compute);
        assert!(gflops > 0.9 * chip.peak_gflops() && gflops < chip.peak_gflops(), "{gflops}");
    }

    #[test]
    fn a_large_copy_runs_at_dram_speed() {
        let mut c = counters();
        let lines = 1u64 << 22; // 512 MiB each way
        c.device_lines = [lines, lines];
        c.device_bytes = [lines * 128, lines * 128];
        c.group_lines = [lines, lines];
        c.launch_lines = [lines, lines];
        let chip = chip("m1-pro");
        let e = run(&c, &chip);
        let gbs = 2.0 * lines as f64 * 128.0 / e.seconds / 1e9;
        assert_eq!(e.bottleneck, Bottleneck::Bandwidth);
        assert!((gbs / chip.dram_gbs - 1.0).abs() < 0.1, "{gbs}");
    }

    #[test]
    fn a_dependent_chain_in_one_group_is_latency() {
        let mut c = counters();
        (c.simdgroups, c.groups) = (1, 1);
        c.instructions[InstrClass::Fp32 as usize] = 1000;
        c.chain[InstrClass::Fp32 as usize] = 1000.0;
        c.chain_loads = 1000.0;
        let e = estimate(&chip("m1-max"), &DispatchCounts { counters: &c, groups: 1, threads: 32 });
        assert_eq!(e.bottleneck, Bottleneck::Latency);
    }

    #[test]
    fn more_of_anything_never_takes_less_time() {
        let chip = chip("m1-max");
        let base = run(&counters(), &chip).seconds;
        for i in 0..InstrClass::COUNT {
            let mut c = counters();
            c.instructions[i] += 1_000_000_000;
            assert!(run(&c, &chip).seconds > base, "class {i}");
        }
    }

    #[test]
    fn empty_counters_do_not_divide_by_zero() {
        let e = estimate(&chip("m1"), &DispatchCounts { counters: &Counters::default(), groups: 0, threads: 0 });
        assert!(e.seconds.is_finite() && e.seconds > 0.0);
    }
}
