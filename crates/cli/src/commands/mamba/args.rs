//! The grammar of `ksearch mamba`. Knows no command's work.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ksearch_mamba::weights::WeightType;

use crate::args::TargetArgs;

/// `ksearch mamba …`.
#[derive(Clone, Debug, Subcommand)]
pub enum MambaCommand {
    /// Continue a text, token by token.
    #[command(
        after_help = "Examples:\n  ksearch mamba generate ./mamba-130m-hf \"The Mamba is\"\n  ksearch mamba generate ./mamba-370m-hf \"Once\" --tokens 200 --temperature 0.8 --top-p 0.95 --stop \"\\n\\n\"\n  ksearch mamba generate mamba-130m --ids 5,17,42 --tokens 8"
    )]
    Generate(GenerateArgs),
    /// Measure prompt and decode speed, beside other implementations.
    #[command(
        after_help = "Examples:\n  ksearch mamba bench mamba-370m --layers 12 --lengths 128,512\n  ksearch mamba bench ./mamba-370m-hf --peers --python ./venv/bin/python\n  ksearch mamba bench mamba-370m --backend cuda --weights f16 --lengths 512,2048,4096\n\nPeers run the same weights and prompts, each in a process of its own, asked in turn. One that is not\ninstalled is named, not left out."
    )]
    Bench(BenchArgs),
    /// Compare logits and greedy tokens with transformers, and the model with itself in parts and batches.
    #[command(
        after_help = "Examples:\n  ksearch mamba verify mamba-130m --layers 2 --python ./venv/bin/python\n  ksearch mamba verify ./mamba2-130m-hf --lengths 1,7,64\n\nWithout --python only the comparisons that need no peer are made, and the answer says so."
    )]
    Verify(VerifyArgs),
    /// Estimate the Metal backend's speed on an Apple GPU, kernel by kernel (simulated).
    #[command(
        after_help = "Launches are counted on a sample of their threadgroups and timed by the model of docs/timing-model.md.\n\nExample:\n  ksearch mamba simulate mamba-370m --target sim:m1-max --lengths 512,1024"
    )]
    Simulate(SimulateArgs),
    /// Write a checkpoint with random weights.
    #[command(after_help = "Example:\n  ksearch mamba init mamba2-130m ./random --layers 4")]
    Init(InitArgs),
}

/// Which model, and where it runs.
#[derive(Clone, Debug, Args)]
pub struct ModelArgs {
    /// A checkpoint's folder, or a published size (mamba-130m … mamba2-2.7b) with random weights.
    pub model: String,
    /// Keep only so many layers (random weights only).
    #[arg(long, value_name = "N")]
    pub layers: Option<usize>,
    /// Seed of random weights.
    #[arg(long, default_value_t = 1)]
    pub weight_seed: u64,
    /// What computes.
    #[arg(long, value_enum, default_value_t = Backend::Cpu)]
    pub backend: Backend,
    /// Threads of the CPU backend; 0 for one per core.
    #[arg(long, default_value_t = 0)]
    pub threads: usize,
    /// Tokens that go through the layers at once on the CPU.
    #[arg(long, default_value_t = 768)]
    pub chunk: usize,
}

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// This machine's processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
    /// A Mac's GPU.
    Metal,
    /// The Metal kernels in the simulator: to check them, on small models.
    Sim,
}

/// `ksearch mamba generate`.
#[derive(Clone, Debug, Args)]
pub struct GenerateArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// The text to continue; needs the checkpoint's `tokenizer.json`.
    #[arg(required_unless_present = "ids")]
    pub prompt: Option<String>,
    /// Token ids in place of a text; ids come back.
    #[arg(long, value_delimiter = ',', conflicts_with = "prompt")]
    pub ids: Option<Vec<u32>>,
    /// How weights are kept: f32, f16 or bf16.
    #[arg(long, default_value = "f32")]
    pub weights: WeightType,
    /// At most so many new tokens.
    #[arg(long, short = 'n', default_value_t = 100)]
    pub tokens: usize,
    /// 0 takes the likeliest token, 1 the model's own distribution.
    #[arg(long, default_value_t = 0.0)]
    pub temperature: f32,
    /// Only the K likeliest tokens; 0 for all.
    #[arg(long, default_value_t = 0)]
    pub top_k: usize,
    /// Only the likeliest tokens that together reach this probability.
    #[arg(long, default_value_t = 1.0)]
    pub top_p: f32,
    /// Above 1, tokens already seen become less likely.
    #[arg(long, default_value_t = 1.0)]
    pub repetition_penalty: f32,
    /// Seed of the sampling.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// End before this text (may be given several times).
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,
    /// Go on past tokens that end a text.
    #[arg(long)]
    pub ignore_end: bool,
}

/// `ksearch mamba bench`.
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// How weights are kept, one contestant each: f32, f16, bf16.
    #[arg(long, value_delimiter = ',', default_value = "f32")]
    pub weights: Vec<WeightType>,
    /// Prompt lengths.
    #[arg(long, value_delimiter = ',', default_value = "512")]
    pub lengths: Vec<usize>,
    /// Tokens of the decode measurement.
    #[arg(long, default_value_t = 32)]
    pub decode: usize,
    /// Rounds in which each contestant runs once.
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,
    /// Other implementations: transformers, mamba.py, mlx-lm; all of them where no name is given.
    #[arg(long, value_delimiter = ',', num_args = 0.., default_missing_value = "transformers,mamba.py,mlx-lm", require_equals = true, value_name = "NAMES")]
    pub peers: Vec<String>,
    /// A BLAS library (`libopenblas.so.0`, say) to preload into a second mlx-lm, whose wheel for Linux brings a slow one.
    #[arg(long, value_name = "FILE")]
    pub blas: Option<PathBuf>,
    /// The Python that has the peers' packages.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    pub python: PathBuf,
}

/// `ksearch mamba verify`.
#[derive(Clone, Debug, Args)]
pub struct VerifyArgs {
    /// The model.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Lengths of the texts compared.
    #[arg(long, value_delimiter = ',', default_value = "1,7,64,513")]
    pub lengths: Vec<usize>,
    /// Greedy tokens compared.
    #[arg(long, default_value_t = 64)]
    pub tokens: usize,
    /// The Python that has transformers and torch.
    #[arg(long, value_name = "FILE")]
    pub python: Option<PathBuf>,
}

/// `ksearch mamba simulate`.
#[derive(Clone, Debug, Args)]
pub struct SimulateArgs {
    /// A published size: mamba-130m … mamba2-2.7b.
    pub model: String,
    /// Which chip.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How weights and activations are kept: f32, f16 or bf16.
    #[arg(long, default_value = "f16")]
    pub weights: WeightType,
    /// Prompt lengths.
    #[arg(long, value_delimiter = ',', default_value = "512")]
    pub lengths: Vec<usize>,
}

/// `ksearch mamba init`.
#[derive(Clone, Debug, Args)]
pub struct InitArgs {
    /// A published size: mamba-130m … mamba2-2.7b.
    pub preset: String,
    /// The folder to write.
    pub dir: PathBuf,
    /// Keep only so many layers.
    #[arg(long, value_name = "N")]
    pub layers: Option<usize>,
    /// Seed of the weights.
    #[arg(long, default_value_t = 1)]
    pub weight_seed: u64,
}
