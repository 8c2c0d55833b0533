//! The profile of a timed run: resources the driver tells, and a coarse split of the time by what is known without
//! counters. Must not know right from wrong.

use indexmap::IndexMap;
use ksearch_task::{Bottleneck, Figure};

use super::bind::Plan;
use super::wire::{Facts, KernelReport, Use};
use crate::profile::Profile;
use crate::statistics::Summary;
use crate::target::TargetFacts;

/// Share of the device's warps in flight under which a kernel counts as bound by latency.
const FEW_WARPS: f64 = 0.2;
/// Share of the time that compulsory bytes must take for a kernel to count as bound by bandwidth.
const BOUND: f64 = 0.6;

/// Profile of a run with these samples.
pub fn profile(
    plan: &Plan,
    kernels: &[KernelReport],
    facts: &TargetFacts,
    gpu: &Facts,
    samples: &Summary,
    clock_mhz: f64,
) -> Profile {
    // The kernel whose launches have the most threads stands for all.
    let heaviest = plan.steps.iter().max_by_key(|s| {
        let blocks: u64 = s.grid.iter().map(|&g| u64::from(g)).product();
        blocks * s.block.iter().map(|&t| u64::from(t)).product::<u64>() * u64::from(s.repeat)
    });
    let report = heaviest.and_then(|s| kernels.iter().find(|k| k.kernel == s.kernel)).cloned().unwrap_or_default();
    let blocks = heaviest.map_or(0.0, |s| s.grid.iter().map(|&g| f64::from(g)).product());
    let resident = f64::from(report.blocks.max(1)) * f64::from(gpu.multiprocessors.max(1));
    let filled = (blocks / resident).min(1.0);
    let in_flight = report.occupancy * filled;
    let tensors = plan.buffers.iter().filter(|b| b.usage != Use::Scratch);
    let compulsory: f64 = tensors.map(|b| b.bytes as f64 * if b.usage == Use::InOut { 2.0 } else { 1.0 }).sum();
    let time = samples.median;
    let dram = facts.memory_gbs.map_or(0.0, |g| compulsory / (g * 1e3));
    let few = in_flight < FEW_WARPS;
    let bottleneck = if dram > BOUND * time {
        Bottleneck::Bandwidth
    } else if few {
        Bottleneck::Latency
    } else {
        Bottleneck::Compute
    };
    let (latency, compute) = if few { (time, 0.5 * time) } else { (0.5 * time, time) };
    let mut terms: Vec<(&str, f64)> = vec![("dram", dram), ("latency", latency), ("compute", compute)];
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shared = report.shared + heaviest.map_or(0, |s| s.shared);
    let limit = if filled < 1.0 {
        "grid"
    } else if report.occupancy >= 1.0 {
        "threads"
    } else if f64::from(report.registers) * 2048.0 > 65536.0 {
        "registers"
    } else {
        "threadgroup_memory"
    };
    let resources = IndexMap::from_iter([
        ("local_bytes_per_thread".to_owned(), f64::from(report.local)),
        ("blocks_per_multiprocessor".to_owned(), f64::from(report.blocks)),
        ("device_filled".to_owned(), filled),
        ("sm_clock_mhz".to_owned(), clock_mhz),
        ("timed_calls".to_owned(), samples.samples as f64),
        ("fastest_us".to_owned(), samples.range[0]),
        ("slowest_us".to_owned(), samples.range[1]),
        ("drift".to_owned(), samples.drift),
    ]);
    let mut advice = Vec::new();
    if report.local > 0 {
        advice.push(format!(
            "{} bytes of local memory per thread: values spill, or an array has run-time indices.",
            report.local
        ));
    }
    if filled < 1.0 {
        advice.push(format!("The grid fills {:.0}% of what the GPU holds at once: make more blocks.", 100.0 * filled));
    }
    advice.push("No hardware counters were read: the split of the time comes from bytes, occupancy and grid.".into());
    Profile {
        time: Figure::measured_us(time, facts.name.clone(), samples.interval),
        bottleneck,
        terms: terms.into_iter().map(|(n, t)| (n.to_owned(), t)).collect(),
        instructions: IndexMap::new(),
        bytes: IndexMap::from_iter([("compulsory".to_owned(), compulsory)]),
        occupancy: report.occupancy,
        occupancy_limit: limit.to_owned(),
        registers: Some(f64::from(report.registers)),
        threadgroup_memory: shared,
        conflict_share: 0.0,
        barriers: 0.0,
        divergence: 0.0,
        floor_fraction: None,
        resources,
        advice,
    }
}
