//! `cpu`: C++ kernels on this machine's processor, compiled to a shared object and called in a worker process. Must not
//! know tasks or what is right.

mod bind;
pub mod compiler;
mod layout;
mod memory;
mod process;
mod protocol;
mod run;
mod signature;
pub mod worker;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ksearch_task::Candidate;
use ksearch_task::candidate::Resolved;

pub use compiler::CxxCompiler;
pub use worker::WorkerProgram;

use crate::id::TargetId;
use crate::target::{BuildInfo, Failure, Runnable, Target, TargetFacts};
use compiler::Library;

/// Compiled candidates that are kept: a judgement compiles one for several workloads, and stages compile it again.
const KEPT: usize = 96;
/// Time for one call of all dispatches.
const CALL_LIMIT: Duration = Duration::from_secs(20);

/// This machine's processor.
pub struct CpuTarget {
    id: TargetId,
    facts: TargetFacts,
    compiler: CxxCompiler,
    worker: WorkerProgram,
    threads: u32,
    call_limit: Duration,
    kept: Mutex<Vec<(String, Arc<Library>)>>,
}

impl CpuTarget {
    /// The processor with all cores this process may use. `Err` says what is missing.
    pub fn new(worker: WorkerProgram) -> Result<Self, String> {
        let compiler = CxxCompiler::find().map_err(|e| format!("{e}; {}", CxxCompiler::HELP))?;
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let facts = facts(threads);
        let kept = Mutex::default();
        Ok(Self { id: TargetId::Cpu, facts, compiler, worker, threads, call_limit: CALL_LIMIT, kept })
    }

    /// The same with another deadline for one call.
    #[must_use]
    pub fn with_call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// The compiler it uses.
    pub fn compiler(&self) -> &CxxCompiler {
        &self.compiler
    }

    fn library(&self, candidate: &Candidate, resolved: &Resolved, adapter: &str) -> Result<Arc<Library>, Failure> {
        let key = format!("{:?}\u{0}{:?}\u{0}{adapter}", candidate.files, resolved.defines);
        {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = kept.iter().position(|(k, _)| *k == key) {
                // The most recently used is last.
                let found = kept.remove(at);
                kept.push(found.clone());
                return Ok(found.1);
            }
        }
        let library = self.compiler.compile(&self.worker, &candidate.files, &resolved.defines, adapter)?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((key, Arc::clone(&library)));
        Ok(library)
    }
}

impl Target for CpuTarget {
    fn id(&self) -> &TargetId {
        &self.id
    }

    fn facts(&self) -> &TargetFacts {
        &self.facts
    }

    fn build(&self, candidate: &Candidate, resolved: &Resolved) -> Result<Box<dyn Runnable>, Failure> {
        let dispatches = bind::bind(candidate, resolved)?;
        let main = candidate.files.first().map(|f| f.path.clone()).unwrap_or_default();
        let adapter = bind::adapter(&main, &dispatches);
        let library = self.library(candidate, resolved, &adapter)?;
        let info =
            BuildInfo { unread: bind::unread(&dispatches, &library.warnings), warnings: library.warnings.clone() };
        Ok(Box::new(run::CpuRunnable::new(run::Plan {
            worker: self.worker.clone(),
            library,
            dispatches,
            resolved: resolved.clone(),
            threads: self.threads,
            call_limit: self.call_limit,
            on: self.facts.name.clone(),
            info,
        })))
    }
}

/// The processor's name, from the system.
pub fn model_name() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| text.lines().find(|l| l.starts_with(name)).and_then(|l| l.split_once(": ")).map(|p| p.1);
    field("model name").map_or_else(|| std::env::consts::ARCH.to_owned(), |n| n.trim().to_owned())
}

/// Lanes of f32 that one multiply-add instruction has here.
fn lanes() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return 16;
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return 8;
        }
    }
    4
}

fn facts(threads: u32) -> TargetFacts {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let nominal = text
        .lines()
        .filter(|l| l.starts_with("cpu MHz"))
        .filter_map(|l| l.split_once(": ")?.1.trim().parse::<f64>().ok())
        .fold(0.0, f64::max);
    // Boost clocks are not told to guests; a peak that is too high only makes the floor too low.
    let ghz = (nominal / 1000.0 * 1.4).max(4.0);
    let peak = f64::from(threads) * ghz * f64::from(lanes()) * 2.0 * 2.0;
    TargetFacts {
        name: model_name(),
        peak_gflops: Some(peak),
        peak_f16_gflops: None,
        exp_giga_per_s: None,
        memory_gbs: None,
        cores: threads,
        max_threads: 1,
        threadgroup_memory: 0,
        estimated: vec![format!(
            "peak rate: {threads} cores of {} lanes, two multiply-adds a cycle, at {ghz:.1} GHz",
            lanes()
        )],
    }
}
