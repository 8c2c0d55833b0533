//! Estimates: what the timing model says of a launch, with its interval, its terms and what to do about them. Knows the
//! model; must not know kernels.

use std::sync::OnceLock;

use ksearch_task::Bottleneck;

use crate::chip::{Chip, ChipError};
use crate::model::{Features, ModelFile, Params, Timed, Uncertainty, time};
use crate::occupancy::Occupancy;

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
    /// Interval of `seconds`: nine in ten programs of tasks that the fit had not seen lay inside.
    pub interval: (f64, f64),
    /// Seconds by resource bounds alone: a second, simpler estimate.
    pub simple: f64,
    /// Seconds each resource alone would take, largest first.
    pub terms: Vec<(Term, f64)>,
    /// The class of the largest term.
    pub bottleneck: Bottleneck,
    /// Residency of the longest dispatch.
    pub occupancy: Occupancy,
    /// Bytes per level: L1 port, L2, SLC, DRAM, threadgroup memory.
    pub bytes: [f64; 5],
    /// Registers that spill, per simdgroup, each time that one does.
    pub spills: f64,
    /// Share of the threadgroups that were simulated.
    pub sampled: f64,
}

/// The model with its parameters and what is known of its errors.
#[derive(Clone, Debug)]
pub struct Model {
    params: Params,
    uncertainty: Uncertainty,
}

impl Model {
    /// From a parameter file.
    pub fn new(file: &ModelFile) -> Self {
        Self { params: file.params(), uncertainty: file.uncertainty.clone() }
    }

    /// The fitted model that ships.
    pub fn shipped() -> Result<&'static Self, ChipError> {
        static SHIPPED: OnceLock<Model> = OnceLock::new();
        if let Some(model) = SHIPPED.get() {
            return Ok(model);
        }
        let model = Self::new(&ModelFile::embedded()?);
        Ok(SHIPPED.get_or_init(|| model))
    }

    /// Its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// What is known of its errors.
    pub fn uncertainty(&self) -> &Uncertainty {
        &self.uncertainty
    }

    /// Estimates dispatches that follow one another. `None` when there are none.
    pub fn estimate(&self, chip: &Chip, dispatches: &[Features]) -> Option<Estimate> {
        let timed: Vec<(&Features, Timed)> = dispatches.iter().map(|f| (f, time(chip, &self.params, f, 1.0))).collect();
        let longest = timed.iter().max_by(|a, b| (a.1.seconds * a.0.repeat).total_cmp(&(b.1.seconds * b.0.repeat)))?;
        let mut out = Estimate {
            seconds: 0.0,
            interval: (0.0, 0.0),
            simple: 0.0,
            terms: longest.1.terms.iter().map(|(t, _)| (*t, 0.0)).collect(),
            bottleneck: Bottleneck::Latency,
            occupancy: longest.1.occupancy,
            bytes: [0.0; 5],
            spills: 0.0,
            sampled: 1.0,
        };
        let mut sampling = 0.0;
        for (f, t) in &timed {
            let times = f.repeat;
            out.seconds += t.seconds * times;
            out.simple += t.simple * times;
            out.spills += t.spills * times;
            out.sampled = out.sampled.min(f.sampled);
            sampling += (t.seconds * times * f.sampling_error).powi(2);
            for ((_, sum), (_, s)) in out.terms.iter_mut().zip(&t.terms) {
                *sum += s * times;
            }
            for (sum, b) in out.bytes.iter_mut().zip(t.bytes) {
                *sum += b * times;
            }
        }
        let relative = if out.seconds > 0.0 { sampling.sqrt() / out.seconds } else { 0.0 };
        let width = (self.uncertainty.p90 * doubt(chip)).hypot(1.64 * relative);
        out.interval = (out.seconds * (-width).exp(), out.seconds * width.exp());
        out.terms.sort_by(|a, b| b.1.total_cmp(&a.1));
        out.bottleneck = out.terms.first().map_or(Bottleneck::Latency, |(t, _)| t.class());
        Some(out)
    }
}

/// How much wider the interval is on a chip than on the one the model was fitted on: its own tables are doubtful where
/// they are inherited from another micro-architecture.
fn doubt(chip: &Chip) -> f64 {
    match (chip.name.as_str(), chip.uarch.as_str()) {
        ("m1-pro", _) => 1.0,
        (_, "g13") => 1.15,
        (_, "g14") => 1.3,
        _ => 1.75,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ksearch_simt::InstrClass;

    fn chip(name: &str) -> Chip {
        crate::Chips::embedded().and_then(|c| c.get(name)).unwrap()
    }

    fn features() -> Features {
        Features {
            groups: 1024.0,
            simdgroups: 4.0,
            threads: 128,
            repeat: 1.0,
            instructions: vec![0.0; InstrClass::COUNT],
            register_halves: 32,
            live: 16.0,
            imbalance: 1.0,
            sampled: 1.0,
            ..Features::default()
        }
    }

    fn run(f: &Features, chip: &Chip) -> Estimate {
        Model::shipped().unwrap().estimate(chip, std::slice::from_ref(f)).unwrap()
    }

    #[test]
    fn a_saturated_stream_of_matrix_instructions_nears_the_peak() {
        let mut f = features();
        f.instructions[InstrClass::Mma16 as usize] = 10_000.0;
        f.path.matrix = 170_000.0;
        let chip = chip("m1-max");
        let e = run(&f, &chip);
        let gflops = 4096.0 * 10_000.0 * 1024.0 / e.seconds / 1e9;
        assert_eq!(e.bottleneck, Bottleneck::Compute);
        assert!(gflops > 0.75 * chip.peak_gflops() && gflops < chip.peak_gflops(), "{gflops}");
        assert!(e.interval.0 < e.seconds && e.seconds < e.interval.1);
    }

    #[test]
    fn a_large_copy_runs_at_dram_speed() {
        let mut f = features();
        let lines = f64::from(1u32 << 23); // 1 GiB in all
        let simds = f.groups * f.simdgroups;
        (f.lines, f.sectors) = (lines / simds, lines * 2.0 / simds);
        f.reuse[ksearch_simt::observe::reuse::FIRST] = lines / simds;
        f.footprint = lines * 128.0;
        f.buffers = f.footprint;
        f.group_bytes = f.footprint / f.groups;
        let chip = chip("m1-pro");
        let e = run(&f, &chip);
        let gbs = f.footprint / e.seconds / 1e9;
        assert_eq!(e.bottleneck, Bottleneck::Bandwidth);
        assert!((gbs / chip.dram_gbs - 1.0).abs() < 0.2, "{gbs}");
    }

    #[test]
    fn a_dependent_chain_in_one_group_is_latency() {
        let mut f = features();
        (f.groups, f.simdgroups, f.threads) = (1.0, 1.0, 32);
        f.instructions[InstrClass::Fp32 as usize] = 1000.0;
        f.path.simple = 4500.0;
        f.path.device = 1000.0;
        assert_eq!(run(&f, &chip("m1-max")).bottleneck, Bottleneck::Latency);
    }

    #[test]
    fn more_of_anything_never_takes_less_time() {
        let chip = chip("m1-max");
        let base = run(&features(), &chip).seconds;
        for i in 0..InstrClass::COUNT {
            let class = crate::instr::ALL[i];
            let memory = matches!(
                class,
                InstrClass::LoadDevice
                    | InstrClass::StoreDevice
                    | InstrClass::LoadThreadgroup
                    | InstrClass::StoreThreadgroup
                    | InstrClass::Private
                    | InstrClass::AtomicDevice
                    | InstrClass::AtomicThreadgroup
            );
            if memory {
                continue; // priced by the words that they move
            }
            let mut f = features();
            f.instructions[i] += 1_000_000.0;
            assert!(run(&f, &chip).seconds > base || matches!(class, InstrClass::SimdBarrier), "{class:?}");
        }
        for k in 0..4 {
            let mut f = features();
            f.words[k] += 1_000_000.0;
            assert!(run(&f, &chip).seconds > base, "words {k}");
        }
    }

    #[test]
    fn dispatches_add_up_and_nothing_is_no_estimate() {
        let chip = chip("m1");
        let model = Model::shipped().unwrap();
        let one = model.estimate(&chip, &[features()]).unwrap();
        let mut twice = features();
        twice.repeat = 2.0;
        let two = model.estimate(&chip, &[twice]).unwrap();
        assert!((two.seconds / one.seconds - 2.0).abs() < 1e-9);
        assert_eq!(model.estimate(&chip, &[]), None);
        assert!(one.seconds.is_finite() && one.seconds > 0.0);
        let empty = model.estimate(&chip, &[Features { repeat: 1.0, ..Features::default() }]).unwrap();
        assert!(empty.seconds.is_finite() && empty.seconds > 0.0);
    }
}
