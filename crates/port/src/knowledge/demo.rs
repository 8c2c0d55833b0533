//! Demonstrations: small programs that show an entry at work, with what they must compute. Data only; running them is
//! for those who have a machine.

use std::collections::BTreeMap;

use ksearch_task::{DType, Expr};

/// A kernel launch of a demonstration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Entry point.
    pub kernel: String,
    /// Threadgroups per axis.
    pub groups: [u32; 3],
    /// Threads per threadgroup and axis.
    pub threads: [u32; 3],
    /// Bytes of threadgroup memory sized by the host (dynamic shared memory), if any.
    pub shared: u32,
    /// Buffers that the kernel takes.
    pub buffers: Vec<String>,
}

/// Source text and the launches to run from it, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// File, relative to the file of the entry.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Launches.
    pub steps: Vec<Step>,
}

/// How a buffer is filled before the run.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// An expression over the element's index `i`.
    Values(Expr),
    /// Nothing is written: an output.
    None,
}

/// A buffer of a demonstration, bound by name to the kernel's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoBuffer {
    /// Parameter name.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Elements.
    pub len: usize,
    /// Contents before the run.
    pub fill: Fill,
    /// Contents after the run, an expression over `i`.
    pub expect: Option<Expr>,
    /// Largest difference from what is expected, or between two programs.
    pub tolerance: f64,
    /// Compared between programs.
    pub is_output: bool,
}

/// What a demonstration gains over the plain way.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// Time of the plain way over time of this one, at least.
    pub at_least: f64,
    /// Chips for which that is claimed.
    pub on: Vec<String>,
    /// Chips on which there is none, with the reason.
    pub none_on: BTreeMap<String, String>,
}

/// A demonstration.
#[derive(Clone, Debug, PartialEq)]
pub struct Demo {
    /// The Metal program.
    pub metal: Program,
    /// The same in CUDA: outputs must agree.
    pub cuda: Option<Program>,
    /// The plain way in Metal: outputs must agree.
    pub plain: Option<Program>,
    /// Buffers.
    pub buffers: Vec<DemoBuffer>,
    /// Gain over `plain`.
    pub gain: Option<Gain>,
    /// A fault that running it must show, e.g. `data_race`: the demonstration is of a mistake.
    pub fault: Option<String>,
}
