//! What commands share: chips, targets and tasks resolved from the arguments. Knows no command.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use ksearch_apple::Chips;
use ksearch_baseline::Library;
use ksearch_device::cuda::Launcher;
use ksearch_device::sim::SimTarget;
use ksearch_device::{CudaTarget, Target, TargetId};
use ksearch_task::{Figure, Task, Workload, builtin};

use crate::args::Global;

/// Chips, with the user's folder over the built-in ones.
pub fn chips(global: &Global) -> Result<Chips> {
    match &global.chips {
        Some(dir) if !dir.is_dir() => bail!("--chips {}: no such folder", dir.display()),
        Some(dir) => Ok(Chips::with_overrides(dir)?),
        None => Ok(Chips::embedded()?),
    }
}

/// The target named by a target string.
pub fn target(global: &Global, text: &str) -> Result<Arc<dyn Target>> {
    let id: TargetId = text.parse()?;
    match &id {
        TargetId::Sim(chip) => {
            let chip = chips(global)?.get(chip)?;
            Ok(Arc::new(simulator(chip)?))
        }
        TargetId::Cpu => processor(),
        TargetId::Metal => metal(global),
        TargetId::Cuda | TargetId::CudaMsl => Ok(Arc::new(cuda(id == TargetId::CudaMsl)?)),
    }
}

#[cfg(target_os = "macos")]
fn metal(global: &Global) -> Result<Arc<dyn Target>> {
    use ksearch_device::metal::{MetalTarget, chip_name, gpu::Gpu as _, objc::SystemGpu};
    let gpu = SystemGpu::new().map_err(|e| anyhow::anyhow!("target `metal`: {e}"))?;
    let chips = chips(global)?;
    // A chip that is newer than this program is described by its device and otherwise taken for the oldest one.
    let chip = chips.get(&chip_name(&gpu.device().name)).or_else(|_| chips.get("m1"))?;
    let target = MetalTarget::new(gpu, chip).map_err(|e| anyhow::anyhow!("{e}; {}", ksearch_msl::NoToolchain::HELP))?;
    Ok(Arc::new(target))
}

#[cfg(not(target_os = "macos"))]
fn metal(_: &Global) -> Result<Arc<dyn Target>> {
    bail!("target `metal` needs macOS; use sim:<chip>, which runs the same kernels anywhere")
}

#[cfg(target_os = "linux")]
fn processor() -> Result<Arc<dyn Target>> {
    let worker = ksearch_device::cpu::WorkerProgram::this().context("cannot find this program's own file")?;
    let target = ksearch_device::cpu::CpuTarget::new(worker).map_err(|e| anyhow::anyhow!("target `cpu`: {e}"))?;
    Ok(Arc::new(target))
}

#[cfg(not(target_os = "linux"))]
fn processor() -> Result<Arc<dyn Target>> {
    bail!("target `cpu` confines kernels by means that only Linux has; use sim:<chip>")
}

/// Variable that names the folder of Metal kernels compiled ahead for NVIDIA GPUs.
pub const PTX_CACHE: &str = "KSEARCH_PTX";

/// This machine's NVIDIA GPU.
pub fn cuda(msl: bool) -> Result<CudaTarget> {
    let cache = std::env::var_os(PTX_CACHE).map(std::path::PathBuf::from);
    CudaTarget::new(gpu_worker()?, msl, cache)
        .map_err(|why| anyhow::anyhow!("target `{}`: {why}", if msl { TargetId::CudaMsl } else { TargetId::Cuda }))
}

/// How this program is started as the owner of the GPU. Of the environment it gets what the CUDA libraries are found
/// by, and nothing else.
pub fn gpu_worker() -> Result<Launcher> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let passed = ["PATH", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"];
    let mut environment: Vec<(String, String)> =
        passed.iter().filter_map(|n| Some(((*n).to_owned(), std::env::var(n).ok()?))).collect();
    // A cache of compiled code would be written into a home that the process does not have.
    environment.push(("CUDA_CACHE_DISABLE".into(), "1".into()));
    Ok(Launcher { program, args: vec!["gpu-worker".into()], environment })
}

fn simulator(chip: ksearch_apple::Chip) -> Result<SimTarget> {
    SimTarget::new(chip).map_err(|e| anyhow::anyhow!("{e}; {}", ksearch_msl::NoToolchain::HELP))
}

/// The library kernel `name` on a workload, beside `target`. The inner error is the reason why it cannot run here.
pub fn library(
    name: &str,
    task: &Task,
    workload: &Workload,
    target: &dyn Target,
) -> Result<std::result::Result<Library, String>> {
    if !ksearch_baseline::library::known(&task.family).contains(&name) {
        let known = ksearch_baseline::library::known(&task.family).join(", ");
        return Ok(Err(format!("no library kernel of this name is known for `{}` (known: {known})", task.family)));
    }
    if !matches!(target.id(), TargetId::Cuda | TargetId::CudaMsl) {
        return Ok(Err(format!("it runs on NVIDIA GPUs, not on {}", target.id())));
    }
    let python = std::env::var_os("KSEARCH_PYTHON").unwrap_or_else(|| "python3".into());
    Ok(Library::start(name, &workload.env, python.as_ref())?)
}

/// A simulated chip, for commands that work on nothing else.
pub fn sim(global: &Global, text: &str) -> Result<(SimTarget, ksearch_apple::Chip)> {
    let TargetId::Sim(name) = text.parse()? else {
        bail!("this command works on sim:<chip> only, not on `{text}`");
    };
    let chip = chips(global)?.get(&name)?;
    Ok((simulator(chip.clone())?, chip))
}

/// Splits `NAME=VALUE` arguments of `flag`; without `=` the value is `default`, if there may be none.
pub fn pairs(texts: &[String], flag: &str, default: Option<&str>) -> Result<Vec<(String, String)>> {
    texts
        .iter()
        .map(|text| match (text.split_once('='), default) {
            (Some((name, value)), _) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            (None, Some(value)) if !text.is_empty() => Ok((text.clone(), value.to_owned())),
            _ => bail!("{flag} {text}: expected NAME=VALUE"),
        })
        .collect()
}

/// The task named on the command line.
pub fn task(name: &str) -> Result<Arc<Task>> {
    let task = builtin::task(name).with_context(|| format!("cannot load task `{name}`"))?;
    Ok(Arc::new(task))
}

/// A seed that no candidate can have been written for.
pub fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library's hasher is seeded by the system for every process; that is all the randomness needed here.
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 1
}

/// A figure with its label, for people.
pub fn show_figure(figure: &Figure) -> String {
    let value = figure.value;
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    let unit = if figure.unit == "x" { "x".to_owned() } else { format!(" {}", figure.unit) };
    format!("{value:.digits$}{unit} {} on {}", figure.kind, figure.on)
}

/// The name under which a run keeps its task: a path stays valid when the run is resumed from another folder.
pub fn stable_task_name(name: &str) -> String {
    let is_path = name.contains('/') || name.ends_with(".toml");
    let absolute = is_path.then(|| std::path::absolute(name).ok()).flatten();
    absolute.map_or_else(|| name.to_owned(), |p| p.to_string_lossy().into_owned())
}
