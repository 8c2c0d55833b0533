//! `ksearch export`: what was found, for other programs. Knows the formats there are, not how they are written.

mod mlx;
mod original;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::args::Global;
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch export`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  ksearch export attention-1 --format mlx\n  ksearch export latest --format mlx --out fast_attention.py\n  ksearch export my_kernel.metal --task softmax --format mlx\n  ksearch export selective_scan-1 --format mlx-lm\n  ksearch export latest --format original --out attention-export\n\nThe module has one function with the task's name. Where the kernel does not serve the arguments (a size it was\nnot proven for, no Metal device) plain MLX computes, and a warning says why."
)]
pub struct ExportArgs {
    /// A run (its name, its folder, or `latest`), or a kernel with --task.
    pub what: String,
    /// The kernel's task, when WHAT is a kernel.
    #[arg(long)]
    pub task: Option<String>,
    /// Which candidate of the run: a unique beginning of its id.
    #[arg(long, value_name = "ID", default_value = "best")]
    pub candidate: String,
    /// What to write.
    #[arg(long, value_enum)]
    pub format: Format,
    /// The file or folder to write; by default `TASK_mlx.py`, `ksearch_mamba` or `RUN-export`.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A Python module with `mx.fast.metal_kernel`.
    Mlx,
    /// A package that gives mlx-lm's Mamba a parallel prefill, with a selective-scan kernel.
    MlxLm,
    /// The original K-Search's files: `world_model.json`, `solution_db.jsonl` (every candidate that was judged) and
    /// `solutions/ID.json` (those attached to the tree).
    Original,
}

/// Writes in the format asked for.
pub fn run(args: &ExportArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    match args.format {
        Format::Mlx | Format::MlxLm => mlx::run(args, global, printer),
        Format::Original => original::run(args, global, printer),
    }
}
