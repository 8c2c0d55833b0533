//! What a launch needs: memory, arguments, sizes, limits, mode; and what it gives back. Knows nothing about lowering.

use serde::{Deserialize, Serialize};

use crate::counters::Counters;
use crate::fault::Fault;
use crate::observe::PointTraffic;
use crate::observe::footprint::Footprint;
use crate::observe::trace::Trace;
use crate::shape::Shape;

/// A buffer of device memory. Buffers are handed over whole and taken back after the run.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    /// Name for messages.
    pub name: String,
    /// Contents.
    pub bytes: Vec<u8>,
    /// Initialised bytes; `None` when all are.
    pub written: Option<Vec<bool>>,
    /// May the kernel write it?
    pub read_only: bool,
}

/// Index of a buffer in [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferId(pub u32);

/// All device memory that a launch can reach.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// Buffers by [`BufferId`].
    pub buffers: Vec<Buffer>,
}

impl Memory {
    /// Adds a buffer.
    pub fn add(&mut self, buffer: Buffer) -> BufferId {
        self.buffers.push(buffer);
        BufferId(self.buffers.len() as u32 - 1)
    }
}

/// Value of one IR argument of the entry point, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// A buffer, at a byte offset.
    Buffer(BufferId, u64),
    /// Bytes placed in constant memory for this launch (`setBytes`).
    Bytes(Vec<u8>),
    /// Threadgroup memory of this many bytes.
    Threadgroup(u32),
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Threadgroups per axis.
    pub groups: [u32; 3],
    /// Threads per threadgroup per axis.
    pub threads: [u32; 3],
    /// Threads per grid per axis where they are no multiple of the threadgroup (`dispatchThreads`): the last
    /// threadgroups are smaller. `None` for whole threadgroups.
    pub grid: Option<[u32; 3]>,
    /// Arguments, in order of the IR function's parameters.
    pub args: Vec<ArgValue>,
    /// Linear threadgroups to run, ascending; `None` for all. A sample of a launch, for its counters: what the others
    /// would have written is missing.
    pub only: Option<Vec<u64>>,
}

impl Launch {
    /// A dispatch of whole threadgroups.
    pub fn new(groups: [u32; 3], threads: [u32; 3], args: Vec<ArgValue>) -> Self {
        Self { groups, threads, grid: None, args, only: None }
    }

    /// A dispatch of exactly `grid` threads in threadgroups of at most `threads` (`dispatchThreads`).
    pub fn exact(grid: [u32; 3], threads: [u32; 3], args: Vec<ArgValue>) -> Self {
        let groups = std::array::from_fn(|k| grid[k].div_ceil(threads[k].max(1)));
        Self { groups, threads, grid: Some(grid), args, only: None }
    }

    /// Threadgroups of the whole launch.
    pub fn group_count(&self) -> u64 {
        self.groups.iter().map(|&g| u64::from(g)).fold(1, u64::saturating_mul)
    }

    /// Threads per grid per axis.
    pub fn grid_size(&self) -> [u32; 3] {
        self.grid.unwrap_or_else(|| std::array::from_fn(|k| self.groups[k].wrapping_mul(self.threads[k])))
    }

    /// Threads per axis of one threadgroup.
    pub fn group_size(&self, group: [u32; 3]) -> [u32; 3] {
        match self.grid {
            None => self.threads,
            Some(g) => std::array::from_fn(|k| {
                let before = u64::from(group[k]) * u64::from(self.threads[k]);
                u64::from(g[k]).saturating_sub(before).min(u64::from(self.threads[k])) as u32
            }),
        }
    }
}

/// Limits of the chip that a launch is checked against, and of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Threads per threadgroup at most (the chip's; a kernel's registers can lower it).
    pub max_threads: u32,
    /// Bytes of threadgroup memory at most, static and dynamic together.
    pub max_threadgroup_bytes: u32,
    /// Simdgroup instructions at most, over the whole launch.
    pub max_instructions: u64,
    /// Simdgroup instructions at most, of one threadgroup: an endless loop is found long before the launch's budget is
    /// used up.
    pub max_group_instructions: u64,
    /// Host threads to use; 0 for all.
    pub host_threads: usize,
}

/// What a run watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Mode {
    /// Bounds and instruction budget only.
    #[default]
    Fast,
    /// All counters, with addresses.
    Profile,
    /// All sanitizers.
    Sanitize,
}

/// How often a block ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockRuns {
    /// Times, by simdgroups.
    pub runs: u64,
    /// Active lanes, summed.
    pub lanes: u64,
    /// Times its branch split the lanes.
    pub splits: u64,
}

/// Work of neighbouring threadgroups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupWork {
    /// First linear threadgroup.
    pub first: u64,
    /// Threadgroups that ran.
    pub groups: u64,
    /// Simdgroup instructions of all of them.
    pub instructions: u64,
    /// Simdgroup instructions of the one with most.
    pub most: u64,
}

/// Everything a profile knows beyond [`Counters`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// What the kernel's blocks issue.
    pub shape: Shape,
    /// By block of the shape.
    pub blocks: Vec<BlockRuns>,
    /// Memory traffic by program point.
    pub points: Vec<PointTraffic>,
    /// The way of a few simdgroups through the kernel.
    pub traces: Vec<Trace>,
    /// Distinct lines of consecutive threadgroups.
    pub footprint: Footprint,
    /// Work along the grid, in at most [`WORK_BINS`] stretches.
    pub work: Vec<GroupWork>,
}

/// Stretches of the grid that work is reported for.
pub const WORK_BINS: usize = 256;

/// A launch that ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Counters; in modes other than [`Mode::Profile`] only the cheap ones are filled.
    pub counters: Counters,
    /// Faults, the first of each place; empty when clean.
    pub faults: Vec<Fault>,
    /// Threadgroups that were really run (fewer than launched when sampled).
    pub groups_run: u64,
    /// More; only in [`Mode::Profile`].
    pub detail: Option<Detail>,
}

impl Default for Limits {
    /// The limits that all Apple GPUs share, and budgets of ten thousand million instructions, a thousand million
    /// of them in one threadgroup.
    fn default() -> Self {
        Self {
            max_threads: 1024,
            max_threadgroup_bytes: 32 << 10,
            max_instructions: 10_000_000_000,
            max_group_instructions: 1_000_000_000,
            host_threads: 0,
        }
    }
}
