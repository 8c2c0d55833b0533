//! `cuda` and `cuda-msl`: candidates on this machine's NVIDIA GPU. The GPU belongs to a worker process that is replaced
//! when a kernel hangs or breaks its context. Must not know tasks or what is right.

mod bind;
mod cache;
mod driver;
mod process;
mod profile;
mod ptx;
mod signature;
mod wire;
mod worker;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ksearch_msl::{Compiler, Diagnostic, Severity, SourcePos};
use ksearch_task::candidate::Resolved;
use ksearch_task::{Candidate, Language};

pub use cache::prebuild;
pub use process::Launcher;

use crate::id::TargetId;
use crate::target::{BuildInfo, Failure, Purpose, RunReport, Runnable, Slots, Target, TargetFacts};
use bind::Plan;
use process::{NoAnswer, Process};
use wire::{Answer, Facts, KernelReport, Request, Trouble};

/// Seconds that the worker may take to start and to answer what runs no candidate.
const PATIENCE: u64 = 120;
/// Seconds that a run may take, copies and the timed calls that were asked for apart.
const RUN_PATIENCE: u64 = 20;
/// Bytes a second that copies to and from the worker reach at least.
const COPY_RATE: f64 = 200e6;
/// Microseconds of timed calls for one figure.
const TIMED_US: f64 = 300_000.0;
/// Timed calls for one figure at most.
const MOST_SAMPLES: u32 = 100;

/// Serves as the worker until the input ends: what the program does when it is started by a [`Launcher`].
pub fn serve(input: &mut impl Read, output: &mut impl Write) -> std::io::Result<()> {
    worker::serve(input, output)
}

/// Is there an NVIDIA driver here, and NVRTC? The reason why not. Loads the libraries.
pub fn present() -> Result<(), String> {
    driver::present()
}

/// This machine's first NVIDIA GPU.
pub struct CudaTarget {
    id: TargetId,
    process: Arc<Mutex<Process>>,
    facts: TargetFacts,
    gpu: Arc<Facts>,
    msl: bool,
    compiler: Option<Arc<Compiler>>,
    cache: Option<PathBuf>,
    keys: AtomicU64,
}

impl CudaTarget {
    /// Starts the worker and asks what GPU there is. `msl`: the candidates are Metal kernels, compiled here or found in
    /// `cache`, a folder that [`prebuild`] filled. The error says what is missing on this machine.
    pub fn new(launcher: Launcher, msl: bool, cache: Option<PathBuf>) -> Result<Self, String> {
        let mut process = Process::new(launcher);
        let answer = process.ask(&Request::Hello, &[], Duration::from_secs(PATIENCE));
        let gpu = match answer {
            Ok((Answer::Facts(facts), _)) => facts,
            Ok((Answer::Failed { trouble: Trouble::Machine(why), .. }, _)) => return Err(why),
            Ok(_) => return Err("the GPU's worker gave an answer that is not understood".into()),
            Err(NoAnswer::Late) => return Err("the GPU's worker does not answer".into()),
            Err(NoAnswer::Ended(how)) => return Err(format!("the GPU's worker: {how}")),
        };
        if gpu.capability.0 < 7 {
            return Err(format!("{} is too old: compute capability 7.0 or newer is needed", gpu.name));
        }
        let compiler = match (msl, Compiler::shared()) {
            (false, _) => None,
            (true, Ok(compiler)) => Some(compiler),
            // Without clang, what was compiled elsewhere can still run.
            (true, Err(_)) if cache.is_some() => None,
            (true, Err(e)) => return Err(e.to_string()),
        };
        let facts = facts(&gpu);
        let id = if msl { TargetId::CudaMsl } else { TargetId::Cuda };
        Ok(Self {
            id,
            process: Arc::new(Mutex::new(process)),
            facts,
            gpu: Arc::new(gpu),
            msl,
            compiler,
            cache,
            keys: AtomicU64::new(1),
        })
    }

    /// Versions of what is under the GPU: name and version.
    pub fn versions(&self) -> Vec<(String, String)> {
        let (major, minor) = self.gpu.capability;
        vec![
            ("gpu".into(), format!("{} (compute capability {major}.{minor})", self.gpu.name)),
            ("cuda driver".into(), self.gpu.driver.clone()),
            ("nvrtc".into(), self.gpu.nvrtc.clone()),
        ]
    }
}

/// Rates of a GPU by its multiprocessors and clock.
fn facts(gpu: &Facts) -> TargetFacts {
    let sms = f64::from(gpu.multiprocessors);
    let giga = |per_clock: f64| sms * per_clock * gpu.clock_mhz / 1e3;
    // Dense f16 operations of the tensor cores per multiprocessor and clock (NVIDIA's architecture papers).
    let tensor = match gpu.capability {
        (major, _) if major >= 9 => 4096.0,
        (8, 0) => 2048.0,
        _ => 1024.0,
    };
    TargetFacts {
        name: gpu.name.clone(),
        peak_gflops: Some(giga(256.0)),
        peak_f16_gflops: Some(giga(tensor)),
        // Sixteen a clock on the special-function units.
        exp_giga_per_s: Some(giga(16.0)),
        // Copies reach about nine tenths of what clock and width give.
        memory_gbs: (gpu.memory_gbs > 0.0).then_some(0.9 * gpu.memory_gbs),
        cores: gpu.multiprocessors,
        max_threads: 1024,
        threadgroup_memory: gpu.shared_optin,
        estimated: vec!["memory bandwidth (nine tenths of the clock's)".into()],
    }
}

impl Target for CudaTarget {
    fn id(&self) -> &TargetId {
        &self.id
    }

    fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    fn build(&self, candidate: &Candidate, resolved: &Resolved) -> Result<Box<dyn Runnable>, Failure> {
        let plan = match (self.msl, candidate.language) {
            (true, Language::Msl) => cache::plan(self.cache.as_deref(), self.compiler.as_deref(), candidate, resolved)?,
            (false, Language::Cuda) => Plan::of_cuda(candidate, resolved)?,
            _ => return Err(Failure::Infrastructure(format!("{} does not take this language", self.id))),
        };
        plan.check(&self.gpu)?;
        let mut runnable = CudaRunnable {
            key: self.keys.fetch_add(1, Ordering::Relaxed),
            plan,
            process: Arc::clone(&self.process),
            gpu: Arc::clone(&self.gpu),
            facts: self.facts.clone(),
            kernels: Vec::new(),
            info: BuildInfo::default(),
            loaded_in: None,
        };
        runnable.load()?;
        Ok(Box::new(runnable))
    }
}

struct CudaRunnable {
    key: u64,
    plan: Plan,
    process: Arc<Mutex<Process>>,
    gpu: Arc<Facts>,
    facts: TargetFacts,
    kernels: Vec<KernelReport>,
    info: BuildInfo,
    /// Which start of the worker has the code.
    loaded_in: Option<u32>,
}

impl CudaRunnable {
    fn ask(&self, request: &Request, body: &[&[u8]], patience: f64) -> Result<(Answer, Vec<u8>, u32), Failure> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        match process.ask(request, body, Duration::from_secs_f64(patience)) {
            Ok((Answer::Failed { trouble, .. }, _)) => Err(self.failure(trouble)),
            Ok((answer, body)) => Ok((answer, body, process.starts)),
            Err(NoAnswer::Late) => Err(Failure::Timeout {
                message: format!("it did not end within {patience:.0} s; the process that ran it was killed"),
                help:
                    "Look for a loop that cannot end, a barrier that not all threads reach, a wait for another block."
                        .into(),
                pos: None,
            }),
            Err(NoAnswer::Ended(how)) => Err(Failure::Fault {
                kind: "crash".into(),
                message: format!("the process that ran it did not survive: {how}"),
                help: "The kernel or its compilation brought the driver down; simplify it.".into(),
                pos: None,
                other: None,
            }),
        }
    }

    fn failure(&self, trouble: Trouble) -> Failure {
        match trouble {
            Trouble::Compile(text) => Failure::Compile(diagnostics(&text, Severity::Error)),
            Trouble::Launch(message, help) => Failure::Launch { message, help, pos: self.plan.pos.clone() },
            Trouble::Fault(kind, message) => Failure::Fault {
                help: match kind.as_str() {
                    "out_of_bounds" => "Guard the ragged ends; check index arithmetic, strides and grid.".into(),
                    "misaligned" => "Vector accesses need addresses that are multiples of their size.".into(),
                    "data_race" => "Look for missing barriers and for blocks that write the same place.".into(),
                    _ => "Find what the kernel does on this input that it must not do.".into(),
                },
                kind,
                message,
                pos: self.plan.pos.clone(),
                other: None,
            },
            Trouble::Machine(message) => Failure::Infrastructure(message),
        }
    }

    /// Has the running worker the code?
    fn is_loaded(&self) -> bool {
        let live = |starts| self.process.lock().unwrap_or_else(PoisonError::into_inner).is_live(starts);
        self.loaded_in.is_some_and(live)
    }

    /// Loads the code into the worker, unless it is there.
    fn load(&mut self) -> Result<(), Failure> {
        if self.is_loaded() {
            return Ok(());
        }
        let launches = self.plan.launches();
        let request = Request::Load { key: self.key, code: self.plan.code.clone(), launches };
        let (answer, _, starts) = self.ask(&request, &[], PATIENCE as f64).map_err(|f| match f {
            // A source that the compiler does not survive is a bad source.
            Failure::Timeout { .. } => Failure::Compile(diagnostics("the compiler did not end", Severity::Error)),
            other => other,
        })?;
        let Answer::Loaded { kernels, log } = answer else { return Err(misunderstood()) };
        for report in &kernels {
            let asked = self.plan.steps.iter().filter(|s| s.kernel == report.kernel);
            let threads = asked.map(|s| s.block.iter().product::<u32>()).max().unwrap_or(0);
            if report.max_threads > 0 && threads > report.max_threads {
                return Err(Failure::Launch {
                    message: format!(
                        "kernel `{}` is launched with {threads} threads a block, but its {} registers leave room for {}",
                        report.kernel, report.registers, report.max_threads
                    ),
                    help: "Launch smaller blocks, or state the size with __launch_bounds__.".into(),
                    pos: self.plan.pos.clone(),
                });
            }
        }
        let mut warnings = std::mem::take(&mut self.plan.warnings);
        warnings.extend(diagnostics(&log, Severity::Warning).into_iter().filter(|d| d.severity == Severity::Warning));
        let unread = self.plan.unread(&kernels);
        if self.loaded_in.is_none() {
            self.info = BuildInfo { warnings, unread };
        }
        self.kernels = kernels;
        self.loaded_in = Some(starts);
        Ok(())
    }
}

fn misunderstood() -> Failure {
    Failure::Infrastructure("the GPU's worker gave an answer that is not understood".into())
}

impl Runnable for CudaRunnable {
    fn info(&self) -> &BuildInfo {
        &self.info
    }

    fn run(&mut self, slots: &mut Slots, purpose: Purpose) -> Result<RunReport, Failure> {
        self.load()?;
        let timing = (purpose == Purpose::Measure).then_some((TIMED_US, MOST_SAMPLES));
        let request = Request::Run {
            key: self.key,
            buffers: self.plan.buffers.clone(),
            steps: self.plan.steps.clone(),
            probe: purpose == Purpose::Check,
            timing,
        };
        let body = self.plan.body(slots)?;
        let bytes: usize = self.plan.buffers.iter().map(|b| b.bytes).sum();
        let patience = RUN_PATIENCE as f64 + bytes as f64 / COPY_RATE + timing.map_or(0.0, |t| 3.0 * t.0 * 1e-6);
        let (answer, back, _) = self.ask(&request, &body, patience)?;
        let Answer::Ran { launched, samples, clock_mhz, changed } = answer else { return Err(misunderstood()) };
        self.plan.give_back(slots, &back, changed, purpose == Purpose::Check).ok_or_else(misunderstood)?;
        let profile = match crate::statistics::summary(&samples) {
            Some(summary) => {
                Some(profile::profile(&self.plan, &self.kernels, &self.facts, &self.gpu, &summary, clock_mhz))
            }
            None => None,
        };
        Ok(RunReport { profile, launched, findings: Vec::new() })
    }

    fn again(&mut self, calls: u32) -> Result<Vec<f64>, Failure> {
        if !self.is_loaded() {
            return Err(Failure::Infrastructure("nothing was timed that could be repeated".into()));
        }
        let request = Request::Again { key: self.key, samples: calls };
        match self.ask(&request, &[], PATIENCE as f64)?.0 {
            Answer::Samples(samples) => Ok(samples),
            _ => Err(misunderstood()),
        }
    }
}

impl Drop for CudaRunnable {
    fn drop(&mut self) {
        if self.is_loaded() {
            // Only frees memory; a worker that does not even do that is replaced at the next request.
            let _unloaded = self.ask(&Request::Unload { key: self.key }, &[], PATIENCE as f64);
        }
    }
}

/// The compiler's text as diagnostics: `file(line): error: …` and `file(line): warning …`; text of any other form is
/// one finding without a place.
fn diagnostics(text: &str, otherwise: Severity) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = text.lines().filter_map(diagnostic).collect();
    if found.is_empty() && !text.trim().is_empty() {
        let message = text.trim().lines().take(12).collect::<Vec<_>>().join("\n");
        found.push(Diagnostic { severity: otherwise, code: "nvrtc".into(), message, pos: None, help: None });
    }
    found
}

fn diagnostic(line: &str) -> Option<Diagnostic> {
    let (place, rest) = line.split_once("): ")?;
    let (file, number) = place.rsplit_once('(')?;
    let number = number.parse().ok()?;
    let (severity, message) = if let Some(message) = rest.strip_prefix("error: ") {
        (Severity::Error, message)
    } else if let Some(message) = rest.strip_prefix("error ").or_else(|| rest.strip_prefix("catastrophic error: ")) {
        (Severity::Error, message)
    } else {
        (Severity::Warning, rest.strip_prefix("warning ")?)
    };
    let pos = SourcePos { file: file.trim().to_owned(), line: number, column: 0 };
    Some(Diagnostic { severity, code: "nvrtc".into(), message: message.to_owned(), pos: Some(pos), help: None })
}

#[cfg(test)]
mod tests;
