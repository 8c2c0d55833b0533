//! The grammar of the command line. Knows no command's work.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use ksearch_llm::Effort;

/// Finds fast, proven kernels for Apple GPUs, on any machine.
#[derive(Debug, Parser)]
#[command(
    name = "ksearch",
    version,
    propagate_version = true,
    after_help = "Examples:\n  ksearch search attention\n  ksearch eval attention my_kernel.metal\n  ksearch doctor\n\nExit codes: 0 success, 1 the answer is no, 2 wrong usage or environment, 130 interrupted."
)]
pub struct Cli {
    /// Options that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options that every command takes.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Print exactly one JSON object on stdout.
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress and no remarks on stderr.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Never use colour (as does the environment variable `NO_COLOR`).
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Folder with chip files that replace or extend the built-in ones.
    #[arg(long, global = true, value_name = "DIR", env = "KSEARCH_CHIPS")]
    pub chips: Option<PathBuf>,
    /// Price table that replaces or extends the built-in one.
    #[arg(long, global = true, value_name = "FILE", env = "KSEARCH_PRICES")]
    pub prices: Option<PathBuf>,
    /// Folder that holds runs.
    #[arg(long, global = true, value_name = "DIR", env = "KSEARCH_RUNS", default_value = ".ksearch/runs")]
    pub runs: PathBuf,
}

/// All commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Search for a fast kernel for a task.
    Search(Box<SearchArgs>),
    /// Judge one kernel against a task.
    Eval(EvalArgs),
    /// Check that a kernel compiles and fits the chip, without a task.
    Check(CheckArgs),
    /// Run any kernel once, with buffers from and to .npy files.
    Run(RunArgs),
    /// Run a list of dispatches over raw buffers, as a Metal command buffer would.
    Dispatch(DispatchArgs),
    /// Compile whole trees of Metal sources.
    Corpus {
        /// What to do with it.
        #[command(subcommand)]
        command: CorpusCommand,
    },
    /// Run any kernel once with every sanitizer, and report like a compiler.
    Sanitize(SanitizeArgs),
    /// Show what each source line of a kernel costs.
    Profile(ProfileArgs),
    /// List the tasks that ship, or show one.
    Tasks(TasksArgs),
    /// Make a task of your own.
    Task {
        /// What to do with it.
        #[command(subcommand)]
        command: TaskCommand,
    },
    /// List the runs in the runs folder.
    Runs,
    /// Go on with a run that was stopped.
    Resume(ResumeArgs),
    /// Show a run: what was tried, what it gave, where the files are.
    Show(ShowArgs),
    /// Write a found kernel as a module for other programs.
    Export(crate::commands::export::ExportArgs),
    /// Measure what the translation layer is worth: the same search with and without it.
    Ablate(crate::commands::ablate::AblateArgs),
    /// Bring a CUDA kernel to Metal and prove that it computes the same.
    Port(Box<crate::commands::port::PortArgs>),
    /// Write a report of a run: one file with figures, plots, the tree and the proof.
    Report(crate::commands::report::ReportArgs),
    /// Watch, compare, stop and resume runs in a browser, on this machine only.
    Ui(crate::commands::ui::UiArgs),
    /// Run Mamba models: generate, measure beside other implementations, verify.
    Mamba {
        /// What to do.
        #[command(subcommand)]
        command: crate::commands::mamba::args::MambaCommand,
    },
    /// Derive every decision of a run again from its journal, and say where it differs.
    Replay(ReplayArgs),
    /// Run a task under several settings and seeds, and compare what they reach.
    Matrix(MatrixArgs),
    /// Library kernels to compare with, on the simulator.
    Baseline {
        /// What to do.
        #[command(subcommand)]
        command: crate::commands::baseline::BaselineCommand,
    },
    /// The timing model behind `sim:` targets: check it against measurements, fit it, see what matters.
    Model {
        /// What to do.
        #[command(subcommand)]
        command: crate::commands::model::ModelCommand,
    },
    /// Time kernels in turns on one target, and say which is faster and how sure that is.
    Time(crate::commands::time::TimeArgs),
    /// Compile a Metal kernel ahead for NVIDIA GPUs on a machine without clang.
    Ptx(crate::commands::ptx::PtxArgs),
    /// Show what this machine can do, and what is missing.
    Doctor,
    /// Own the GPU for another process of this program: requests on the input, answers on the output.
    #[command(hide = true)]
    GpuWorker,
    /// Print a completion script for a shell.
    #[command(after_help = "Example:\n  ksearch completions zsh > ~/.zfunc/_ksearch")]
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder.
    #[command(after_help = "Example:\n  ksearch man /usr/local/share/man/man1")]
    Man {
        /// Where to.
        dir: PathBuf,
    },
}

/// Where kernels run and how they are drawn inputs.
#[derive(Clone, Debug, Args)]
pub struct TargetArgs {
    /// Where kernels run: sim:<chip>, metal, cuda, cuda-msl, cpu.
    #[arg(long, short, default_value = "sim:m1-max")]
    pub target: String,
}

/// Budget of a search.
#[derive(Clone, Debug, Args)]
pub struct BudgetArgs {
    /// Full judgements of distinct candidates.
    #[arg(long, value_name = "N")]
    pub evaluations: Option<u32>,
    /// Wall-clock seconds.
    #[arg(long, value_name = "S")]
    pub wall: Option<f64>,
    /// Stop after this many evaluations without a better best.
    #[arg(long, value_name = "N")]
    pub plateau: Option<u32>,
    /// Stop once the baseline's time over the best time reaches this.
    #[arg(long, value_name = "RATIO")]
    pub target_ratio: Option<f64>,
    /// Stop once the physical floor over the best time reaches this (0.95 where it is not given).
    #[arg(long, value_name = "SHARE")]
    pub floor_fraction: Option<f64>,
    /// Model tokens, both ways.
    #[arg(long, value_name = "N")]
    pub tokens: Option<u64>,
    /// Model cost in US dollars, by the price table.
    #[arg(long, value_name = "USD")]
    pub usd: Option<f64>,
}

/// Models in the roles. What is given for one role alone wins over what is given for both.
#[derive(Clone, Debug, Default, Args)]
pub struct ModelArgs {
    /// Model in both roles, e.g. gemini-3.5-pro-preview.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Provider: gemini, openai, openai-chat, anthropic; by default the one the model's name suggests.
    #[arg(long, value_name = "NAME")]
    pub provider: Option<String>,
    /// Address of a compatible endpoint, e.g. `http://localhost:11434/v1`.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// How hard models think: low, medium, high.
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<Effort>,
    /// Sampling temperature; the provider's default where none is given.
    #[arg(long, value_name = "T")]
    pub temperature: Option<f64>,
    /// Most tokens of one answer.
    #[arg(long, value_name = "N")]
    pub max_tokens: Option<u32>,
    /// Planner's model.
    #[arg(long, value_name = "MODEL")]
    pub planner_model: Option<String>,
    /// Planner's provider.
    #[arg(long, value_name = "NAME")]
    pub planner_provider: Option<String>,
    /// Planner's effort.
    #[arg(long, value_name = "EFFORT")]
    pub planner_effort: Option<Effort>,
    /// Planner's temperature.
    #[arg(long, value_name = "T")]
    pub planner_temperature: Option<f64>,
    /// Coder's model.
    #[arg(long, value_name = "MODEL")]
    pub coder_model: Option<String>,
    /// Coder's provider.
    #[arg(long, value_name = "NAME")]
    pub coder_provider: Option<String>,
    /// Coder's effort.
    #[arg(long, value_name = "EFFORT")]
    pub coder_effort: Option<Effort>,
    /// Coder's temperature.
    #[arg(long, value_name = "T")]
    pub coder_temperature: Option<f64>,
}

/// `ksearch search`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  ksearch search attention\n  ksearch search selective_scan --target sim:m3-max --evaluations 120\n  ksearch search my_task.toml --seed 7 --json > result.json\n  ksearch search attention --planner llm --coder llm --model gemini-3.5-pro-preview\n  ksearch search attention --planner manual:questions --coder manual:questions\n\nWith manual:FOLDER each question appears in the folder as NNNN-ROLE-STEP-HASH.request.md and .request.json; put the answer beside it as NNNN-ROLE-STEP-HASH.answer.md (or .json, .txt).\n\nKeys come from the environment (GEMINI_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY) and are never stored."
)]
pub struct SearchArgs {
    /// A task that ships, or a path to a task file.
    pub task: String,
    /// Where to run.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Seed of every random choice.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// What it may use up.
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Who chooses actions: builtin, llm, manual:FOLDER, replay:RUN.
    #[arg(long, default_value = "builtin", value_name = "WHO")]
    pub planner: String,
    /// Who writes candidates: builtin, llm, manual:FOLDER, replay:RUN.
    #[arg(long, default_value = "builtin", value_name = "WHO")]
    pub coder: String,
    /// Which models.
    #[command(flatten)]
    pub models: ModelArgs,
    /// What models are shown in every prompt of the hardware and of this kind of kernel: `full` (what `ksearch port
    /// context` prints), `none`, or a Markdown file.
    #[arg(long, value_name = "none|full|FILE")]
    pub context: Option<PathBuf>,
    /// A kernel to go on from: a source file with its launch recipe, or a solution JSON.
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// A tree to start with: a `world_model.json` of this program or of the original K-Search.
    #[arg(long, value_name = "FILE")]
    pub world_model: Option<PathBuf>,
    /// No tree of ideas: plain iterative refinement, as a control.
    #[arg(long)]
    pub no_world_model: bool,
    /// Attempts in a row without progress that end the work on an action (the paper's K).
    #[arg(long, value_name = "K")]
    pub stagnation: Option<u32>,
    /// How the next action is chosen.
    #[arg(long, default_value = "default", value_parser = ["default", "paper", "random"])]
    pub policy: String,
    /// Actions in work at the same time.
    #[arg(long, default_value_t = 1)]
    pub parallel: u32,
}

/// `ksearch eval`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The launch recipe stands in the kernel, in a comment that begins with `/* ksearch`, or beside it in FILE.toml.\n\nExamples:\n  ksearch eval attention my_kernel.metal\n  ksearch eval softmax my_kernel.metal --heldout --json"
)]
pub struct EvalArgs {
    /// A task that ships, or a path to a task file.
    pub task: String,
    /// The kernel.
    pub file: PathBuf,
    /// Where to run.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Seed of the inputs; by default a fresh one.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Judge on the held-out workloads too.
    #[arg(long)]
    pub heldout: bool,
    /// Judge on this workload only (may be given several times).
    #[arg(long, value_name = "LABEL")]
    pub workload: Vec<String>,
    /// Choose a tunable's value: NAME=VALUE (may be given several times).
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// `ksearch check`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  ksearch check kernel.metal\n  ksearch check kernel.metal -D D=64 -D T=half --target sim:m3-max"
)]
pub struct CheckArgs {
    /// The source.
    pub file: PathBuf,
    /// The chip whose limits hold.
    #[command(flatten)]
    pub target: TargetArgs,
    /// A folder whose files may be included (may be given several times); the source's own folder always is one.
    #[arg(short = 'I', value_name = "DIR")]
    pub includes: Vec<PathBuf>,
    /// A macro: NAME or NAME=VALUE (may be given several times).
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub defines: Vec<String>,
    /// A function constant: NAME=VALUE or INDEX=VALUE (may be given several times).
    #[arg(long = "constant", value_name = "NAME=VALUE")]
    pub constants: Vec<String>,
}

/// A launch: what runs, on what, how wide.
#[derive(Clone, Debug, Args)]
pub struct LaunchArgs {
    /// The source.
    pub file: PathBuf,
    /// Which kernel; may be left out when there is one.
    #[arg(long)]
    pub kernel: Option<String>,
    /// Threadgroups: X or X,Y,Z.
    #[arg(long, value_name = "X,Y,Z", default_value = "1")]
    pub grid: String,
    /// Threads of the whole grid, instead of threadgroups: X or X,Y,Z (`dispatchThreads`).
    #[arg(long, value_name = "X,Y,Z", conflicts_with = "grid")]
    pub grid_threads: Option<String>,
    /// Threads per threadgroup: X or X,Y,Z.
    #[arg(long, value_name = "X,Y,Z", default_value = "32")]
    pub threads: String,
    /// A buffer: NAME=FILE.npy, or NAME=zeros|ones|iota|random|unwritten:DTYPE:D0xD1… (an `unwritten` one is an output
    /// whose every element must be written).
    #[arg(long, value_name = "NAME=FILE")]
    pub buffer: Vec<String>,
    /// A scalar: NAME=VALUE.
    #[arg(long, value_name = "NAME=VALUE")]
    pub scalar: Vec<String>,
    /// Threadgroup memory of a parameter: NAME=BYTES.
    #[arg(long, value_name = "NAME=BYTES")]
    pub threadgroup: Vec<String>,
    /// A folder whose files may be included (may be given several times); the source's own folder always is one.
    #[arg(short = 'I', value_name = "DIR")]
    pub includes: Vec<PathBuf>,
    /// A macro: NAME or NAME=VALUE.
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub defines: Vec<String>,
    /// A function constant: NAME=VALUE.
    #[arg(long = "constant", value_name = "NAME=VALUE")]
    pub constants: Vec<String>,
    /// The chip whose limits hold and whose time is estimated.
    #[command(flatten)]
    pub target: TargetArgs,
}

/// `ksearch run`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Buffers are named by parameter name or buffer index.\n\nExamples:\n  ksearch run add.metal --kernel add --grid 4 --threads 256 \\\n    --buffer x=x.npy --buffer y=y.npy --out z=z.npy:f32:1024 --scalar n=1024\n  ksearch run add.metal --grid 4 --buffer x=iota:f32:128 --buffer z=zeros:f32:128 --trace 6 --lane 0 --lane 31"
)]
pub struct RunArgs {
    /// What to launch.
    #[command(flatten)]
    pub launch: LaunchArgs,
    /// An output, written after the run: NAME=FILE.npy:DTYPE:D0xD1…; with only NAME=FILE.npy, an input of that name is
    /// saved as the kernel left it.
    #[arg(long, value_name = "NAME=FILE:DTYPE:SHAPE")]
    pub out: Vec<String>,
    /// Watch with every sanitizer.
    #[arg(long)]
    pub sanitize: bool,
    /// Show what the instructions of this source line compute, and nothing else.
    #[arg(long, value_name = "LINE", conflicts_with = "sanitize")]
    pub trace: Option<u32>,
    /// Lanes to show of a trace; all by default (may be given several times).
    #[arg(long, value_name = "N", requires = "trace", value_parser = clap::value_parser!(u32).range(0..32))]
    pub lane: Vec<u32>,
    /// Threadgroup to trace: X or X,Y,Z.
    #[arg(long, value_name = "X,Y,Z", default_value = "0", requires = "trace")]
    pub at_group: String,
    /// Simdgroup to trace, within the threadgroup.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "trace")]
    pub at_simdgroup: u32,
}

/// `ksearch sanitize`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Buffers are named by parameter name or buffer index. Exit 1 when there is an error; warnings alone pass.\n\nExamples:\n  ksearch sanitize reduce.metal --grid 8 --threads 256 --buffer x=random:f32:2048 --buffer y=unwritten:f32:8 --scalar n=2048\n  ksearch sanitize reduce.metal --threads 1024 --buffer x=x.npy --target sim:m1 --sarif findings.sarif"
)]
pub struct SanitizeArgs {
    /// What to launch.
    #[command(flatten)]
    pub launch: LaunchArgs,
    /// Write the findings to this file as SARIF 2.1.0.
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
}

/// `ksearch profile`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Buffers are named by parameter name or buffer index.\n\nExample:\n  ksearch profile softmax.metal --grid 64 --threads 256 --buffer x=random:f32:64x1024 --buffer y=zeros:f32:64x1024 --html profile.html"
)]
pub struct ProfileArgs {
    /// What to launch.
    #[command(flatten)]
    pub launch: LaunchArgs,
    /// Write the source with its counters to this file, as a page that needs no other file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `ksearch dispatch`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A plan is JSON; paths in it are relative to its folder, buffers are files of raw bytes:\n\n  { \"source\": \"saxpy.metal\",\n    \"buffers\": { \"x\": { \"from\": \"x.bin\" }, \"y\": { \"bytes\": 4096, \"to\": \"y.bin\" } },\n    \"dispatches\": [ { \"kernel\": \"saxpy\", \"threads\": [1024, 1, 1], \"threadgroup\": [256, 1, 1],\n      \"args\": [ { \"index\": 0, \"buffer\": \"x\" }, { \"index\": 1, \"buffer\": \"y\", \"offset\": 0 },\n                { \"index\": 2, \"hex\": \"0000803f\" } ] } ] }\n\n`groups` instead of `threads` counts threadgroups; { \"index\": 0, \"threadgroup\": 1024 } sizes threadgroup memory;\n\"includes\", \"defines\", \"constants\" and \"fast_math\" may be given.\n\nExample:\n  ksearch dispatch plan.json --sanitize"
)]
pub struct DispatchArgs {
    /// The plan.
    pub plan: PathBuf,
    /// The chip whose limits hold.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Watch with every sanitizer.
    #[arg(long)]
    pub sanitize: bool,
}

/// `ksearch corpus …`.
#[derive(Clone, Debug, Subcommand)]
pub enum CorpusCommand {
    /// Compile every .metal file below a folder, and say what became of each.
    Check(CorpusArgs),
}

/// `ksearch corpus check`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Without --compile no code is made: templates are instantiated and every mistake is found, in a third of the time.\n\nExamples:\n  ksearch corpus check kernels/\n  ksearch corpus check mlx/backend/metal/kernels -I mlx-metal/mlx/include --json > report.json\n\nExit code 1 when any file does not compile."
)]
pub struct CorpusArgs {
    /// The folder.
    pub dir: PathBuf,
    /// A folder whose files may be included (may be given several times); the source's own folder always is one.
    #[arg(short = 'I', value_name = "DIR")]
    pub includes: Vec<PathBuf>,
    /// A macro: NAME or NAME=VALUE (may be given several times).
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    pub defines: Vec<String>,
    /// Make code of every kernel as well.
    #[arg(long)]
    pub compile: bool,
    /// Seconds that one run of the compiler may take.
    #[arg(long, value_name = "S", default_value_t = 600)]
    pub limit: u64,
}

/// `ksearch tasks`.
#[derive(Clone, Debug, Args)]
pub struct TasksArgs {
    /// Show this one in full: a task that ships, or a path to a task file.
    pub task: Option<String>,
}

/// `ksearch task …`.
#[derive(Clone, Debug, Subcommand)]
pub enum TaskCommand {
    /// Write a task file, a reference and a naive kernel to fill in; they run as they are.
    #[command(after_help = "Example:\n  ksearch task new scaled_add && ksearch search scaled_add/scaled_add.toml")]
    New {
        /// Name: lower-case letters, digits and underscores.
        name: String,
        /// Where to put it; by default a new folder of that name.
        #[arg(long)]
        dir: Option<PathBuf>,
    },
}

/// `ksearch resume`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  ksearch resume attention-3\n  ksearch resume latest --evaluations 200")]
pub struct ResumeArgs {
    /// Which run: its name, its folder, or `latest`.
    pub run: String,
    /// A wider budget.
    #[command(flatten)]
    pub budget: BudgetArgs,
}

/// `ksearch show`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  ksearch show latest\n  ksearch show latest --tree\n  ksearch show attention-3 --candidate 3fa29b1c"
)]
pub struct ShowArgs {
    /// Which run: its name, its folder, or `latest`.
    pub run: String,
    /// Print the source of this candidate (a unique beginning of its id, or `best`).
    #[arg(long, value_name = "ID")]
    pub candidate: Option<String>,
    /// Print the tree of actions.
    #[arg(long)]
    pub tree: bool,
    /// Print everything about this node of the tree, e.g. n12.
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// Print how two candidates differ: nodes, beginnings of candidate ids, `naive` or `best`.
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    pub diff: Option<Vec<String>>,
    /// Print the questions to models and their answers.
    #[arg(long)]
    pub transcript: bool,
    /// Say how robust a win against the library is; this runs both kernels on the simulator again.
    #[arg(long)]
    pub robustness: bool,
}

/// `ksearch replay`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Nothing is asked, compiled or run. Built-in roles derive their answers again; models answer from the transcript to the prompts as this program renders them; where it words a prompt differently from the program that recorded it, it says so and takes the answer that was given.\n\nExample:\n  ksearch replay latest"
)]
pub struct ReplayArgs {
    /// Which run: its name, its folder, or `latest`.
    pub run: String,
    /// Take the recorded answers of the roles as they are.
    #[arg(long)]
    pub answers: bool,
}

/// `ksearch matrix`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Runs share verdicts: a candidate is judged once for all of them, on inputs of one seed. Without `--keep` nothing is written to the runs folder.\n\nExample:\n  ksearch matrix attention --policy default,paper,random --seeds 5 --evaluations 60 --at 20,60"
)]
pub struct MatrixArgs {
    /// A task that ships, or a path to a task file.
    pub task: String,
    /// Where to run.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Policies to compare; `refinement` is the control without a tree.
    #[arg(long, value_delimiter = ',', default_value = "default,paper,random")]
    pub policy: Vec<String>,
    /// Seeds per setting.
    #[arg(long, default_value_t = 5)]
    pub seeds: u64,
    /// Evaluations per run.
    #[arg(long, default_value_t = 60)]
    pub evaluations: u32,
    /// Where to compare, in evaluations.
    #[arg(long, value_delimiter = ',', default_value = "20,60")]
    pub at: Vec<u32>,
    /// Time the cheapest workload only and check nothing: a comparison in a fraction of the time.
    #[arg(long)]
    pub quick: bool,
    /// Keep verdicts in this file, and take those it holds: a matrix that was stopped goes on, another one begins where
    /// this one ended. For one version of the program; delete the file after a change to judge, simulator or front end.
    #[arg(long, value_name = "FILE")]
    pub verdicts: Option<PathBuf>,
    /// Keep the journals of the runs as `TASK-SETTING-NUMBER` in the runs folder, for `ksearch show`.
    #[arg(long)]
    pub keep: bool,
    /// Values of K (attempts without progress that end the work on an action).
    #[arg(long, value_delimiter = ',', default_value = "3")]
    pub stagnation: Vec<u32>,
}
