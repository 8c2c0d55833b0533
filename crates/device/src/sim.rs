//! `sim:<chip>`: Metal kernels on the SIMT machine, timed by the chip's model. Must not know tasks or what is right.

pub(crate) mod bind;
pub mod inspect;
pub mod sample;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use ksearch_apple::{Chip, Dispatched, Estimate, Features, Model};
use ksearch_msl::{CompileOptions, Compiler, Module, NoToolchain, Optimise, Param, SourceFile};
use ksearch_simt::{Counters, Fault, FaultKind, InstrClass, Launch, LaunchError, Limits, Mode, Program, RunError};
use ksearch_task::candidate::{Resolved, ResolvedDispatch};
use ksearch_task::{Candidate, Figure, Language, Value};

use self::sample::Sampling;
use crate::id::TargetId;
use crate::profile::Profile;
use crate::target::{BuildInfo, Failure, Purpose, RunReport, Runnable, Slots, Target, TargetFacts};

/// Simdgroup instructions that one dispatch may execute before it counts as endless.
const INSTRUCTION_BUDGET: u64 = 4_000_000_000;
/// The same for one threadgroup, per simdgroup in it. A serial scan over 4096 steps of 16 states takes about a million.
const SIMDGROUP_BUDGET: u64 = 50_000_000;

/// The simulator as one Apple chip.
pub struct SimTarget {
    id: TargetId,
    chip: Arc<Chip>,
    compiler: Arc<Compiler>,
    facts: TargetFacts,
    budget: u64,
    sampling: Sampling,
}

impl SimTarget {
    /// The simulator as `chip`. Fails where there is no clang.
    pub fn new(chip: Chip) -> Result<Self, NoToolchain> {
        let compiler = Compiler::shared()?;
        let giga = |per_cycle: f64| f64::from(chip.cores) * per_cycle * chip.clock_ghz;
        let exp2 = chip.instruction("exp2_32").map(|(cycles, _, _)| giga(128.0 / cycles));
        let facts = TargetFacts {
            name: chip.name.clone(),
            peak_gflops: Some(chip.peak_gflops()),
            peak_f16_gflops: Some(chip.peak_gflops() * chip.fp16_ratio),
            exp_giga_per_s: exp2,
            memory_gbs: Some(chip.dram_gbs),
            cores: chip.cores,
            max_threads: chip.max_threads,
            threadgroup_memory: chip.max_threadgroup_bytes,
            estimated: chip.estimated.clone(),
        };
        Ok(Self {
            id: TargetId::Sim(chip.name.clone()),
            chip: Arc::new(chip),
            compiler,
            facts,
            budget: INSTRUCTION_BUDGET,
            sampling: Sampling::EXACT,
        })
    }

    /// The same, but measuring runs take a sample of large launches: enough for a time, while outputs stay incomplete.
    #[must_use]
    pub fn sampled(self, sampling: Sampling) -> Self {
        Self { sampling, ..self }
    }

    /// What the timing model needs of each dispatch of a candidate, from one measuring run over `slots`.
    pub fn features(
        &self,
        candidate: &Candidate,
        resolved: &Resolved,
        slots: &mut Slots,
    ) -> Result<Vec<Features>, Failure> {
        Ok(self.runnable(candidate, resolved)?.launch(slots, Purpose::Measure)?.features)
    }

    /// Limits of a launch on this chip.
    fn limits(&self, launch: &Launch) -> Limits {
        let simdgroups = launch.threads.iter().map(|&t| u64::from(t)).product::<u64>().div_ceil(32);
        Limits {
            max_threads: self.chip.max_threads,
            max_threadgroup_bytes: self.chip.max_threadgroup_bytes,
            max_instructions: self.budget,
            max_group_instructions: SIMDGROUP_BUDGET * simdgroups.max(1),
            host_threads: 0,
        }
    }

    /// The chip it stands for.
    pub fn chip(&self) -> &Chip {
        &self.chip
    }
}

impl Target for SimTarget {
    fn id(&self) -> &TargetId {
        &self.id
    }

    fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    fn build(&self, candidate: &Candidate, resolved: &Resolved) -> Result<Box<dyn Runnable>, Failure> {
        Ok(Box::new(self.runnable(candidate, resolved)?))
    }
}

impl SimTarget {
    fn runnable(&self, candidate: &Candidate, resolved: &Resolved) -> Result<SimRunnable, Failure> {
        let sources = Sources::new(candidate, resolved);
        let mut info = BuildInfo::default();
        let mut built = IndexMap::new();
        for dispatch in &resolved.dispatches {
            let constants = constants(&dispatch.constants);
            if !built.contains_key(&constants) {
                let unit = sources.build(&self.compiler, &constants, Optimise::Speed)?;
                info.warnings.extend(unit.module.warnings.iter().cloned());
                built.insert(constants.clone(), unit);
            }
            // A recipe that does not fit the signature is refused before anything runs.
            if let Some(unit) = built.get(&constants) {
                bind::check(&unit.module, dispatch, resolved, &self.chip)?;
                for param in unread_params(unit, dispatch) {
                    let name = format!("{}: {}", dispatch.kernel, param.name);
                    if !info.unread.contains(&name) {
                        info.unread.push(name);
                    }
                }
            }
        }
        Ok(SimRunnable {
            chip: Arc::clone(&self.chip),
            compiler: Arc::clone(&self.compiler),
            sources,
            resolved: resolved.clone(),
            speed: built,
            faithful: IndexMap::new(),
            info,
            limits: Limits {
                max_threads: self.chip.max_threads,
                max_threadgroup_bytes: self.chip.max_threadgroup_bytes,
                max_instructions: self.budget,
                max_group_instructions: SIMDGROUP_BUDGET,
                host_threads: 0,
            },
            sampling: self.sampling,
        })
    }
}

/// Parameters of the kernel that no instruction uses. Those that a function constant can switch off
/// are left out: another specialisation may use them. What cannot be lowered says so when it runs.
fn unread_params<'a>(unit: &'a Unit, dispatch: &ResolvedDispatch) -> Vec<&'a Param> {
    let entry = unit.module.entries.iter().find(|e| e.name == dispatch.kernel);
    let (Some(entry), Ok(lowered)) = (entry, unit.program.lowered(&dispatch.kernel)) else { return Vec::new() };
    bind::bindable(entry)
        .enumerate()
        .filter(|(i, p)| p.condition.is_none() && lowered.unused_params.contains(&(*i as u32)))
        .map(|(_, p)| p)
        .collect()
}

type Constants = BTreeMap<String, String>;

fn constants(values: &BTreeMap<String, Value>) -> Constants {
    values.iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// Kernels that are launched, each once.
fn kernels(resolved: &Resolved) -> Vec<String> {
    let mut names: Vec<String> = resolved.dispatches.iter().map(|d| d.kernel.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Sources of one candidate with the macros of one workload.
struct Sources {
    language: ksearch_msl::Language,
    /// Kernels to compile; empty for all.
    only: Vec<String>,
    files: Vec<SourceFile>,
    defines: Vec<(String, String)>,
}

/// A module ready to run.
struct Unit {
    module: Arc<Module>,
    program: Program,
}

impl Sources {
    fn new(candidate: &Candidate, resolved: &Resolved) -> Self {
        let files = candidate.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
        let language = match candidate.language {
            Language::Cuda => ksearch_msl::Language::Cuda,
            Language::Msl | Language::Cpp => ksearch_msl::Language::Metal,
        };
        // Instances of kernel templates exist only when they are asked for.
        let only = match candidate.language {
            Language::Cuda => kernels(resolved),
            Language::Msl | Language::Cpp => Vec::new(),
        };
        Self { language, only, files, defines: resolved.defines.clone() }
    }

    fn build(&self, compiler: &Compiler, constants: &Constants, optimise: Optimise) -> Result<Unit, Failure> {
        self.build_with(compiler, constants, optimise, false)
    }

    /// As `build`; `variables` keeps the names of the user's variables.
    fn build_with(
        &self,
        compiler: &Compiler,
        constants: &Constants,
        optimise: Optimise,
        variables: bool,
    ) -> Result<Unit, Failure> {
        let options = CompileOptions {
            language: self.language,
            only: self.only.clone(),
            defines: self.defines.clone(),
            constants: constants.clone(),
            optimise,
            fast_math: true,
            variables,
            ..CompileOptions::default()
        };
        let module = compiler.compile(&self.files, &options).map_err(Failure::Compile)?;
        let program = Program::load(&module)
            .map_err(|e| Failure::Infrastructure(format!("the simulator cannot read what clang printed: {e}")))?;
        Ok(Unit { module, program })
    }
}

/// Shown where values do not fit into registers.
const SPILL_ADVICE: &str = "Values spill from registers to device memory: unroll less, use smaller tiles per thread, or hold halves instead of floats.";

struct SimRunnable {
    chip: Arc<Chip>,
    compiler: Arc<Compiler>,
    sources: Sources,
    resolved: Resolved,
    speed: IndexMap<Constants, Unit>,
    faithful: IndexMap<Constants, Unit>,
    info: BuildInfo,
    limits: Limits,
    sampling: Sampling,
}

/// What the machine gave for all dispatches.
#[derive(Default)]
struct Launched {
    kernels: Vec<String>,
    features: Vec<Features>,
    counters: Option<Counters>,
}

impl SimRunnable {
    fn launch(&mut self, slots: &mut Slots, purpose: Purpose) -> Result<Launched, Failure> {
        let mode = match purpose {
            Purpose::Check => Mode::Sanitize,
            Purpose::Measure => Mode::Profile,
        };
        if purpose == Purpose::Check {
            for key in self.speed.keys() {
                if !self.faithful.contains_key(key) {
                    let unit = self.sources.build(&self.compiler, key, Optimise::Faithful)?;
                    self.faithful.insert(key.clone(), unit);
                }
            }
        }
        let mut memory = bind::DeviceMemory::new(slots, &self.resolved);
        let mut out = Launched::default();
        let result = (|| {
            for dispatch in &self.resolved.dispatches {
                let key = constants(&dispatch.constants);
                let units = if purpose == Purpose::Check { &self.faithful } else { &self.speed };
                let Some(unit) = units.get(&key) else {
                    return Err(Failure::Infrastructure(format!("kernel `{}` was not built", dispatch.kernel)));
                };
                let args = bind::arguments(&unit.module, dispatch, &self.resolved, &mut memory)?;
                let launch = Launch::new(dispatch.grid, dispatch.threadgroup, args);
                let simdgroups = launch.threads.iter().map(|&t| u64::from(t)).product::<u64>().div_ceil(32);
                let limits =
                    Limits { max_group_instructions: SIMDGROUP_BUDGET * simdgroups.max(1), ..self.limits.clone() };
                for _ in 0..dispatch.repeat {
                    let (program, kernel, held) = (&unit.program, &dispatch.kernel, &mut memory.memory);
                    let outcome = match mode {
                        Mode::Profile => sample::profile(program, kernel, &launch, held, &limits, self.sampling),
                        _ => program.run(kernel, &launch, held, &limits, mode),
                    };
                    let outcome = outcome.map_err(|e| run_error(e, &unit.module, dispatch))?;
                    if let Some(fault) = outcome.faults.first() {
                        return Err(fault_failure(fault));
                    }
                    out.kernels.push(dispatch.kernel.clone());
                    if purpose == Purpose::Measure {
                        merge(&mut out.counters, &outcome.counters);
                        let sizes = memory.memory.buffers.iter().map(|b| b.bytes.len() as u64).collect();
                        let threads = dispatch.threadgroup.iter().product();
                        let dispatched =
                            Dispatched::new(&dispatch.kernel, outcome, launch.group_count(), threads, sizes);
                        out.features.extend(dispatched.as_ref().map(Features::new));
                    }
                }
            }
            Ok(())
        })();
        memory.give_back(slots);
        result?;
        Ok(out)
    }
}

impl Runnable for SimRunnable {
    fn info(&self) -> &BuildInfo {
        &self.info
    }

    fn run(&mut self, slots: &mut Slots, purpose: Purpose) -> Result<RunReport, Failure> {
        let out = self.launch(slots, purpose)?;
        let model = Model::shipped().map_err(|e| Failure::Infrastructure(e.to_string()))?;
        let profile = match (model.estimate(&self.chip, &out.features), out.counters) {
            (Some(estimate), Some(counters)) => Some(profile(&self.chip, &estimate, &counters)),
            _ => None,
        };
        Ok(RunReport { profile, launched: out.kernels, findings: Vec::new() })
    }
}

/// Adds the counters that a profile shows over all dispatches.
fn merge(total: &mut Option<Counters>, b: &Counters) {
    let Some(a) = total else {
        *total = Some(b.clone());
        return;
    };
    for (x, y) in a.instructions.iter_mut().zip(&b.instructions) {
        *x += y;
    }
    for i in 0..2 {
        a.threadgroup_passes[i] += b.threadgroup_passes[i];
        a.device_bytes[i] += b.device_bytes[i];
    }
    a.groups += b.groups;
    a.bank_conflicts += b.bank_conflicts;
    a.barriers += b.barriers;
    a.divergent_branches += b.divergent_branches;
    a.register_halves = a.register_halves.max(b.register_halves);
    a.threadgroup_memory = a.threadgroup_memory.max(b.threadgroup_memory);
}

fn profile(chip: &Chip, estimate: &Estimate, c: &Counters) -> Profile {
    let us = |seconds: f64| seconds * 1e6;
    let branches = c.instructions.get(InstrClass::Branch as usize).copied().unwrap_or(0);
    let passes: u64 = c.threadgroup_passes.iter().sum();
    let names = ["l1", "l2", "slc", "dram", "threadgroup"];
    // The terms that matter: those within a factor of five of the largest.
    let largest = estimate.terms.first().map_or(0.0, |(_, s)| *s);
    let mut advice: Vec<String> = estimate
        .terms
        .iter()
        .filter(|(_, s)| *s * 5.0 >= largest && *s > 0.0)
        .take(3)
        .map(|(term, _)| term.advice().to_owned())
        .collect();
    if estimate.spills >= 1.0 {
        advice.insert(0, SPILL_ADVICE.into());
    }
    let interval = [us(estimate.interval.0), us(estimate.interval.1)];
    Profile {
        time: Figure { ci: Some(interval), ..Figure::simulated_us(us(estimate.seconds), chip.name.clone()) },
        bottleneck: estimate.bottleneck,
        terms: estimate.terms.iter().map(|(t, s)| (t.name().to_owned(), us(*s))).collect(),
        instructions: ksearch_apple::instr::classes()
            .filter_map(|(i, class)| {
                let n = c.instructions.get(i).copied().filter(|n| *n > 0)?;
                Some((class.name().to_owned(), n as f64))
            })
            .collect(),
        bytes: names.iter().zip(estimate.bytes).map(|(n, b)| ((*n).to_owned(), b)).collect(),
        occupancy: estimate.occupancy.fraction,
        occupancy_limit: estimate.occupancy.limit.name().to_owned(),
        registers: Some(f64::from(c.register_halves) / 2.0),
        threadgroup_memory: c.threadgroup_memory,
        conflict_share: if passes == 0 { 0.0 } else { c.bank_conflicts as f64 / passes as f64 },
        barriers: c.barriers as f64 / c.groups.max(1) as f64,
        divergence: if branches == 0 { 0.0 } else { c.divergent_branches as f64 / branches as f64 },
        floor_fraction: None,
        resources: IndexMap::new(),
        advice,
    }
}

fn fault_failure(fault: &Fault) -> Failure {
    let pos = fault.at.pos.clone();
    let message = fault.message.clone();
    let help = fault.help.clone();
    if fault.kind == FaultKind::Runaway {
        return Failure::Timeout { message, help, pos };
    }
    let other = fault.other.as_ref().and_then(|o| o.pos.clone());
    Failure::Fault { kind: fault.kind.name().to_owned(), message, help, pos, other }
}

fn run_error(error: RunError, module: &Module, dispatch: &ResolvedDispatch) -> Failure {
    let entry = module.entries.iter().find(|e| e.name == dispatch.kernel);
    let message = error.to_string();
    match error {
        RunError::Launch(launch) => {
            let (help, pos) = match launch {
                LaunchError::TooMuchThreadgroupMemory { .. } => (
                    "Use smaller tiles, keep half values, or reuse one array for two purposes; every threadgroup has at \
                     most this much.",
                    module.threadgroup.iter().max_by_key(|v| v.bytes).map(|v| v.pos.clone()),
                ),
                LaunchError::TooManyThreads { .. } => {
                    ("Launch smaller threadgroups and more of them.", entry.map(|e| e.pos.clone()))
                }
                _ => ("Mend the launch recipe so that it fits the kernel's signature.", entry.map(|e| e.pos.clone())),
            };
            Failure::Launch { message, help: help.into(), pos }
        }
        RunError::Unsupported { pos, .. } => Failure::Fault {
            kind: FaultKind::Unsupported.name().to_owned(),
            message,
            help: "Write it another way; docs/msl.md lists what is supported.".into(),
            pos,
            other: None,
        },
        RunError::NoEntry(_) | RunError::Memory | RunError::Internal(_) => Failure::Infrastructure(message),
    }
}
