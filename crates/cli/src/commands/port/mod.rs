//! `ksearch port`: CUDA kernels analysed, drafted in Metal, and proven equal. Knows the arguments; each step has its own
//! file.

mod analyze;
pub mod context;
mod draft;
mod open;
mod proof;
mod prove;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use ksearch_port::{ChipSide, Ends, Knowledge};

use crate::args::{BudgetArgs, Global, ModelArgs, TargetArgs};
use crate::context as chips;
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch port`.
#[derive(Clone, Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "FILE.toml beside FILE.cu declares the kernel's arguments, its launch and the shapes to try; docs/port.md explains\nit. The proof is written beside the kernel. Exit code 1 means: not proven, and the report says why.\n\nExamples:\n  ksearch port softmax.cu\n  ksearch port layer_norm.cu --kernel 'layer_norm<float, 256>' --target sim:m3-max\n  ksearch port softmax.cu --search llm --model gemini-3.5-pro-preview --evaluations 40\n  ksearch port analyze softmax.cu\n  ksearch port draft softmax.cu"
)]
pub struct PortArgs {
    /// One step alone.
    #[command(subcommand)]
    pub step: Option<Step>,
    /// The CUDA file.
    #[arg(required = true)]
    pub file: Option<PathBuf>,
    /// Which kernel, with template arguments where it has any; by default the one that the declaration or the file has.
    #[arg(long)]
    pub kernel: Option<String>,
    /// The declaration; by default FILE.toml beside FILE.cu.
    #[arg(long, value_name = "FILE")]
    pub declaration: Option<PathBuf>,
    /// Where to run.
    #[command(flatten)]
    pub target: TargetArgs,
    /// CUDA chip that it was written for.
    #[arg(long, default_value = "h100", value_name = "CHIP")]
    pub from: String,
    /// Folder to write to; by default `KERNEL-port`.
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of the first inputs; by default a fresh one.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Settings of the tunables that are timed at most.
    #[arg(long, default_value_t = 24, value_name = "N")]
    pub settings: u32,
    /// Who goes on from the proven draft with new ideas: llm, manual:FOLDER or replay:RUN in both roles.
    #[arg(long, value_name = "WHO")]
    pub search: Option<String>,
    /// Which models.
    #[command(flatten)]
    pub models: ModelArgs,
    /// What the search may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// What models are shown of the hardware and of this kind of kernel: `full` (what `ksearch port context` prints),
    /// `none`, or a Markdown file.
    #[arg(long, default_value = "full", value_name = "none|full|FILE")]
    pub context: PathBuf,
}

/// A step of a port.
#[derive(Clone, Debug, Subcommand)]
pub enum Step {
    /// Say what a CUDA file uses, what stands for it in Metal, and what stands in the way.
    #[command(after_help = "Example:\n  ksearch port analyze kernels.cu --target sim:m3-max --json")]
    Analyze {
        /// The CUDA file.
        file: PathBuf,
        /// Chip that it goes to.
        #[command(flatten)]
        target: TargetArgs,
        /// CUDA chip that it was written for.
        #[arg(long, default_value = "h100", value_name = "CHIP")]
        from: String,
    },
    /// Show what both roles are told about a task on a chip: limits, patterns, what stands for CUDA's constructs.
    #[command(after_help = "Example:\n  ksearch port context attention --target sim:m3-max > context.md")]
    Context {
        /// A task that ships, or a path to a task file.
        task: String,
        /// The chip.
        #[command(flatten)]
        target: TargetArgs,
        /// Folder with knowledge files that replace or extend the built-in ones.
        #[arg(long, value_name = "DIR")]
        knowledge: Option<PathBuf>,
        /// Tokens at most, counted as four characters each.
        #[arg(long, default_value_t = ksearch_port::context::BUDGET, value_name = "N")]
        budget: usize,
    },
    /// Write a kernel in Metal by rule; refuse what no rule covers.
    #[command(after_help = "Example:\n  ksearch port draft softmax.cu > softmax.metal")]
    Draft {
        /// The CUDA file.
        file: PathBuf,
        /// Which kernel, with template arguments where it has any.
        #[arg(long)]
        kernel: Option<String>,
        /// The declaration, for the launch recipe; by default FILE.toml beside FILE.cu, if it is there.
        #[arg(long, value_name = "FILE")]
        declaration: Option<PathBuf>,
        /// Chip that it goes to.
        #[command(flatten)]
        target: TargetArgs,
        /// CUDA chip that it was written for.
        #[arg(long, default_value = "h100", value_name = "CHIP")]
        from: String,
    },
}

/// Runs a step, or all of them.
pub fn run(args: &PortArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    match &args.step {
        Some(Step::Analyze { file, target, from }) => analyze::run(file, target, from, global, printer),
        Some(Step::Context { task, target, knowledge, budget }) => {
            context::run(task, &target.target, knowledge.as_deref(), *budget, global, printer)
        }
        Some(Step::Draft { file, kernel, declaration, target, from }) => {
            let ends = ends(global, &target.target, from)?;
            draft::run(file, kernel.as_deref(), declaration.as_deref(), &ends, printer)
        }
        None => match &args.file {
            Some(file) => prove::run(file, args, global, printer),
            None => bail!("a CUDA file is needed: ksearch port FILE.cu"),
        },
    }
}

/// The chips at both ends.
fn ends(global: &Global, target: &str, from: &str) -> Result<(Knowledge, Ends)> {
    let knowledge = Knowledge::embedded()?;
    let Some(source) = knowledge.source_chips().get(from).cloned() else {
        let known: Vec<&str> = knowledge.source_chips().keys().map(String::as_str).collect();
        bail!("--from {from}: no such chip (known: {})", known.join(", "));
    };
    let (_, chip) = chips::sim(global, target)?;
    Ok((knowledge, Ends { source, target: ChipSide::of_apple(&chip) }))
}

/// A text and the name it is shown under.
fn read(path: &Path) -> Result<(String, String)> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let line = e.as_bytes().iter().take(e.utf8_error().valid_up_to()).filter(|b| **b == b'\n').count() + 1;
        anyhow::anyhow!(
            "{} is not UTF-8 (line {line}); convert it first, e.g. with iconv -f latin1 -t utf-8",
            path.display()
        )
    })?;
    Ok((path.display().to_string(), text))
}

/// The declaration of a CUDA file.
fn declaration(file: &Path, given: Option<&Path>) -> PathBuf {
    given.map_or_else(|| file.with_extension("toml"), Path::to_path_buf)
}
