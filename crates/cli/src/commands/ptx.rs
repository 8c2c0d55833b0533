//! `ksearch ptx`: a Metal kernel compiled for NVIDIA GPUs, kept for a machine that has the GPU and no clang.

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use ksearch_msl::Compiler;
use ksearch_task::Candidate;
use serde_json::json;

use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch ptx`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "On the other machine, KSEARCH_PTX=FOLDER makes `--target cuda-msl` take what is there.\n\nExample:\n  ksearch ptx softmax kernels/softmax/naive.metal --out ptx"
)]
pub struct PtxArgs {
    /// A task that ships, or a path to a task file.
    pub task: String,
    /// The kernel.
    pub file: PathBuf,
    /// Folder to keep the code in.
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
}

/// Compiles the kernel for every workload of the task.
pub fn run(args: &PtxArgs, printer: Printer) -> Result<Outcome> {
    let task = context::task(&args.task)?;
    let candidate = Candidate::load(&args.file)?;
    let compiler = Compiler::shared().map_err(|e| anyhow!("{e}; {}", ksearch_msl::NoToolchain::HELP))?;
    let mut files = Vec::new();
    for workload in &task.workloads {
        let resolved = candidate.resolve(&task, &workload.env).with_context(|| workload.label.clone())?;
        let file = ksearch_device::cuda::prebuild(&compiler, &candidate, &resolved, &args.out)
            .with_context(|| format!("workload {}", workload.label))?;
        files.push(file);
    }
    printer.line(format!("{} of {} workloads are in {}", files.len(), task.workloads.len(), args.out.display()))?;
    printer.object(&json!({ "task": task.name, "files": files }))?;
    Ok(Outcome::Success)
}
