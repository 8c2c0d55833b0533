//! `metal`: Metal kernels on this machine's Apple GPU, compiled at run time and timed by the GPU's own stamps. Signatures,
//! binding and limits are the simulator's; only what [`gpu::Gpu`] names differs. Must not know tasks or what is right.

pub mod gpu;
#[cfg(target_os = "macos")]
pub mod objc;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ksearch_apple::Chip;
use ksearch_msl::{CompileOptions, Compiler, Module, NoToolchain, SourceFile};
use ksearch_simt::ArgValue;
use ksearch_task::candidate::Resolved;
use ksearch_task::{Bottleneck, Candidate, Figure};

use crate::fresh;
use crate::id::TargetId;
use crate::profile::Profile;
use crate::sim::bind;
use crate::statistics::{bootstrap, median};
use crate::target::{BuildInfo, Failure, Finding, Purpose, RunReport, Runnable, Slots, Target, TargetFacts};
use gpu::{Argument, Device, Encoded, Gpu};

/// Command buffers that only warm up.
const WARM_UP: usize = 3;
/// Command buffers that are timed, one sample each.
const SAMPLES: usize = 15;

/// An Apple GPU.
pub struct MetalTarget<G: Gpu> {
    id: TargetId,
    facts: TargetFacts,
    chip: Chip,
    gpu: Arc<Mutex<G>>,
    compiler: Arc<Compiler>,
}

/// The name under which a chip's data is filed: `Apple M1 Max` is `m1-max`.
pub fn chip_name(device: &str) -> String {
    device.trim().trim_start_matches("Apple ").to_lowercase().replace(' ', "-")
}

/// The chip's record with what the device itself says in place of what tables say.
pub fn fill(mut chip: Chip, device: &Device) -> Chip {
    chip.name = chip_name(&device.name);
    chip.family.clone_from(&device.family);
    chip.max_threads = device.max_threads;
    chip.max_threadgroup_bytes = device.threadgroup_memory;
    chip
}

impl<G: Gpu> MetalTarget<G> {
    /// The GPU, with the record of its chip (or of one like it). Fails where there is no clang to read signatures with.
    pub fn new(gpu: G, chip: Chip) -> Result<Self, NoToolchain> {
        let compiler = Compiler::shared()?;
        let chip = fill(chip, &gpu.device());
        let facts = TargetFacts {
            name: chip.name.clone(),
            peak_gflops: Some(chip.peak_gflops()),
            peak_f16_gflops: Some(chip.peak_gflops() * chip.fp16_ratio),
            exp_giga_per_s: None,
            memory_gbs: Some(chip.dram_gbs),
            cores: chip.cores,
            max_threads: chip.max_threads,
            threadgroup_memory: chip.max_threadgroup_bytes,
            estimated: chip.estimated.clone(),
        };
        Ok(Self { id: TargetId::Metal, facts, chip, gpu: Arc::new(Mutex::new(gpu)), compiler })
    }
}

impl<G: Gpu + 'static> Target for MetalTarget<G> {
    fn id(&self) -> &TargetId {
        &self.id
    }

    fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    fn build(&self, candidate: &Candidate, resolved: &Resolved) -> Result<Box<dyn Runnable>, Failure> {
        let files: Vec<_> = candidate.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
        let options =
            CompileOptions { defines: resolved.defines.clone(), fast_math: true, ..CompileOptions::default() };
        let module = self.compiler.compile(&files, &options).map_err(Failure::Compile)?;
        let source = source(candidate, resolved);
        let gpu = lock(&self.gpu);
        let mut pipelines = Vec::new();
        for dispatch in &resolved.dispatches {
            if !dispatch.constants.is_empty() {
                return Err(Failure::Launch {
                    message: format!("kernel `{}` is given function constants", dispatch.kernel),
                    help: "Target metal compiles at run time: give the value as a define of the recipe.".into(),
                    pos: None,
                });
            }
            bind::check(&module, dispatch, resolved, &self.chip)?;
            let pipeline = gpu.pipeline(&source, &dispatch.kernel).map_err(|message| {
                let severity = ksearch_msl::Severity::Error;
                let (code, pos, help) = ("metal".to_owned(), None, None);
                Failure::Compile(vec![ksearch_msl::Diagnostic { severity, code, message, pos, help }])
            })?;
            let (limits, threads) = (gpu.limits(&pipeline), dispatch.threadgroup.iter().product::<u32>());
            if threads > limits.max_threads {
                return Err(Failure::Launch {
                    message: format!(
                        "kernel `{}` is launched with {threads} threads per threadgroup, but its registers leave room for {}",
                        dispatch.kernel, limits.max_threads
                    ),
                    help: "Launch smaller threadgroups, or hold less per thread.".into(),
                    pos: None,
                });
            }
            pipelines.push(pipeline);
        }
        drop(gpu);
        let info = BuildInfo { warnings: module.warnings.clone(), unread: Vec::new() };
        Ok(Box::new(MetalRunnable {
            gpu: Arc::clone(&self.gpu),
            module,
            resolved: resolved.clone(),
            pipelines,
            info,
            on: self.facts.name.clone(),
        }))
    }
}

fn lock<G>(gpu: &Mutex<G>) -> MutexGuard<'_, G> {
    gpu.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One text with the macros at its head and every file of the candidate in place of its `#include`: the run-time compiler
/// sees no folder.
fn source(candidate: &Candidate, resolved: &Resolved) -> String {
    let defines = resolved.defines.iter().map(|(name, value)| format!("#define {name} {value}\n"));
    let mut out: String = defines.collect();
    let mut seen = Vec::new();
    if let Some(main) = candidate.files.first() {
        inline(candidate, &main.path, &mut seen, &mut out);
    }
    out
}

fn inline(candidate: &Candidate, path: &str, seen: &mut Vec<String>, out: &mut String) {
    let Some(file) = candidate.files.iter().find(|f| f.path == path) else { return };
    if seen.contains(&file.path) {
        return;
    }
    seen.push(file.path.clone());
    for (number, line) in file.text.lines().enumerate() {
        let quoted =
            line.trim_start().strip_prefix("#include").and_then(|r| r.trim().strip_prefix('"')?.split('"').next());
        let own =
            quoted.and_then(|q| candidate.files.iter().find(|f| f.path == q || f.path.ends_with(&format!("/{q}"))));
        if let Some(own) = own {
            inline(candidate, &own.path, seen, out);
            out.extend(["#line ", &(number + 2).to_string(), " \"", &file.path, "\"\n"]);
        } else {
            if number == 0 {
                out.extend(["#line 1 \"", &file.path, "\"\n"]);
            }
            out.push_str(line);
            out.push('\n');
        }
    }
}

struct MetalRunnable<G: Gpu> {
    gpu: Arc<Mutex<G>>,
    module: Arc<Module>,
    resolved: Resolved,
    pipelines: Vec<G::Pipeline>,
    info: BuildInfo,
    on: String,
}

impl<G: Gpu> MetalRunnable<G> {
    /// All dispatches in one command buffer, for each of `slots` in turn; outputs of the last are fetched. Seconds each.
    fn submit(
        &self,
        slots: &mut Slots,
        mut change: impl FnMut(usize, &mut Slots),
        times: usize,
    ) -> Result<Vec<f64>, Failure> {
        let gpu = lock(&self.gpu);
        let broken = |why: String| Failure::Infrastructure(format!("Metal: {why}"));
        let mut seconds = Vec::new();
        for turn in 0..times {
            change(turn, slots);
            let mut memory = bind::DeviceMemory::new(slots, &self.resolved);
            let mut arguments = Vec::new();
            for dispatch in &self.resolved.dispatches {
                arguments.push(bind::arguments(&self.module, dispatch, &self.resolved, &mut memory));
            }
            let buffers: Result<Vec<G::Buffer>, String> =
                memory.memory.buffers.iter().map(|b| gpu.buffer(&b.bytes)).collect();
            let result = buffers.map_err(broken).and_then(|buffers| {
                let mut encoded = Vec::new();
                let all = self.resolved.dispatches.iter().zip(&self.pipelines).zip(&arguments);
                for ((dispatch, pipeline), values) in all {
                    let values = values.as_ref().map_err(Clone::clone)?;
                    let arguments = self.places(&dispatch.kernel).into_iter().zip(values);
                    for _ in 0..dispatch.repeat {
                        let arguments = arguments.clone().filter_map(|(index, value)| match value {
                            ArgValue::Buffer(id, _) => buffers.get(id.0 as usize).map(|b| Argument::Buffer(index, b)),
                            ArgValue::Bytes(bytes) => Some(Argument::Bytes(index, bytes.as_slice())),
                            ArgValue::Threadgroup(bytes) => Some(Argument::Threadgroup(index, *bytes)),
                        });
                        let (groups, threads) = (dispatch.grid, dispatch.threadgroup);
                        encoded.push(Encoded { pipeline, arguments: arguments.collect(), groups, threads });
                    }
                }
                let time = gpu.submit(&encoded).map_err(|why| Failure::Fault {
                    kind: "gpu_error".into(),
                    message: format!("the GPU reports: {why}"),
                    help: "Run the kernel on sim:<chip>, which names the line.".into(),
                    pos: None,
                    other: None,
                })?;
                drop(encoded);
                Ok((time, buffers))
            });
            match result {
                Ok((time, buffers)) => {
                    for (buffer, shared) in memory.memory.buffers.iter_mut().zip(&buffers) {
                        gpu.read(shared, &mut buffer.bytes);
                    }
                    memory.give_back(slots);
                    seconds.push(time);
                }
                Err(failure) => {
                    memory.give_back(slots);
                    return Err(failure);
                }
            }
        }
        Ok(seconds)
    }

    /// Indices of the arguments of a kernel, in the order in which they are bound.
    fn places(&self, kernel: &str) -> Vec<u32> {
        let entry = self.module.entries.iter().find(|e| e.name == kernel);
        entry.map(|e| bind::bindable(e).filter_map(bind::index).collect()).unwrap_or_default()
    }

    fn launched(&self) -> Vec<String> {
        let each =
            |d: &ksearch_task::candidate::ResolvedDispatch| std::iter::repeat_n(d.kernel.clone(), d.repeat as usize);
        self.resolved.dispatches.iter().flat_map(each).collect()
    }

    /// Two runs; in the second every bit of the first answer is turned over beforehand, so that what no run writes shows.
    fn check(&self, slots: &mut Slots) -> Result<(), Failure> {
        let mut turned = slots.clone();
        self.submit(slots, |_, _| {}, 1)?;
        for (name, slot) in turned.iter_mut().filter(|(_, s)| s.written.is_some()) {
            if let Some(answer) = slots.get(name) {
                slot.tensor.bytes = answer.tensor.bytes.iter().map(|b| !b).collect();
            }
        }
        let before = turned.clone();
        self.submit(&mut turned, |_, _| {}, 1)?;
        for (name, slot) in slots.iter_mut() {
            let (Some(after), Some(before), Some(written)) = (turned.get(name), before.get(name), &mut slot.written)
            else {
                continue;
            };
            let width = slot.tensor.dtype.bytes().max(1);
            let pairs = after.tensor.bytes.chunks(width).zip(before.tensor.bytes.chunks(width));
            for (element, (a, b)) in written.chunks_mut(width).zip(pairs) {
                element.fill(a != b);
            }
        }
        Ok(())
    }

    fn measure(&self, slots: &mut Slots) -> Result<Profile, Failure> {
        let first = slots.clone();
        let mut state = u64::from(std::process::id());
        let total = WARM_UP + SAMPLES;
        let turn = |turn: usize, now: &mut Slots| {
            if turn + 1 == total {
                // The last call answers the inputs that are judged.
                now.clone_from(&first);
            } else {
                let swaps = fresh::draw(now, &mut state);
                fresh::apply(now, &swaps, false);
            }
        };
        let seconds = self.submit(slots, turn, total)?;
        slots.values_mut().for_each(|s| s.written = None);
        let us: Vec<f64> = seconds.iter().skip(WARM_UP).map(|s| s * 1e6).collect();
        let time = Figure::measured_us(median(&us), self.on.clone(), bootstrap(&us, median));
        Ok(Profile {
            time,
            resources: indexmap::IndexMap::new(),
            bottleneck: Bottleneck::Compute,
            terms: indexmap::IndexMap::new(),
            instructions: indexmap::IndexMap::new(),
            bytes: indexmap::IndexMap::new(),
            occupancy: 0.0,
            occupancy_limit: "threads".into(),
            registers: None,
            threadgroup_memory: 0,
            conflict_share: 0.0,
            barriers: 0.0,
            divergence: 0.0,
            floor_fraction: None,
            advice: Vec::new(),
        })
    }
}

impl<G: Gpu> Runnable for MetalRunnable<G> {
    fn info(&self) -> &BuildInfo {
        &self.info
    }

    fn run(&mut self, slots: &mut Slots, purpose: Purpose) -> Result<RunReport, Failure> {
        let profile = match purpose {
            Purpose::Check => self.check(slots).map(|()| None)?,
            Purpose::Measure => Some(self.measure(slots)?),
        };
        let detail = "enforced: nothing beyond what Metal does; kernels run in this process".to_owned();
        let findings = vec![Finding { check: "isolation".into(), ok: true, detail }];
        Ok(RunReport { profile, launched: self.launched(), findings })
    }
}

#[cfg(test)]
mod tests;
