//! Observers: what watches a run. The machine tells them of memory accesses and synchronisation; they cannot change what
//! a kernel computes. Knows addresses and program points, not instructions.

pub mod footprint;
mod lines;
mod profile;
pub mod race;
pub mod reuse;
mod sanitize;
pub mod trace;
pub mod values;

pub use profile::{PointTraffic, Profile};
pub use sanitize::Sanitize;

use race::{LaneAccess, Race, Row};

use crate::lower::sir::Space;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes at once.
    Atomic,
}

/// One memory instruction of one simdgroup, after its bounds check.
#[derive(Clone, Copy, Debug)]
pub struct MemEvent<'a> {
    /// What it does.
    pub kind: AccessKind,
    /// Where ([`Space::Generic`] never occurs).
    pub space: Space,
    /// Program point: index of the instruction in the lowered kernel.
    pub point: u32,
    /// Threadgroup, linear.
    pub group: u64,
    /// Simdgroup in the group.
    pub simdgroup: u32,
    /// Bytes per lane.
    pub bytes: u32,
    /// Lanes that take part, at least one.
    pub mask: u32,
    /// Lowest address: for device memory the buffer's number in bits 40 and up (see [`buffer_of`]), else an offset.
    pub base: u64,
    /// Highest address that a lane starts at.
    pub last: u64,
    /// Distance of each lane from `base`; meaningless outside the mask.
    pub offsets: &'a [u32; 32],
}

impl MemEvent<'_> {
    /// Address of a lane.
    pub fn address(&self, lane: usize) -> u64 {
        self.base + u64::from(self.offsets.get(lane).copied().unwrap_or(0))
    }

    /// Lanes that take part, in order.
    pub fn lanes(&self) -> impl Iterator<Item = usize> {
        let mask = self.mask;
        (0..32).filter(move |l| mask >> l & 1 == 1)
    }
}

/// Buffer number and byte offset of a device address. Numbers are those of [`crate::BufferId`] plus one; arguments
/// passed as bytes and the kernel's constants have numbers of their own above them.
pub fn buffer_of(address: u64) -> (u32, i64) {
    ((address >> 40) as u32, (address & ((1 << 40) - 1)) as i64 - (1 << 39))
}

/// What a launch is going to be.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Threadgroups whose way through the kernel is wanted.
    pub traced: Vec<u64>,
    /// Simdgroups per threadgroup.
    pub simdgroups: u32,
    /// Program points of accesses that a GPU makes once per launch, not in the kernel: constants read in advance.
    pub in_advance: Vec<u32>,
    /// Values that are wanted.
    pub watch: values::Watch,
}

/// Watches one threadgroup at a time.
pub trait Observer: Findings + Send + Default {
    /// Are memory events wanted? Without, the machine takes its fastest paths.
    const EVENTS: bool;
    /// Does the run look for faults, and go on after them?
    const SANITIZE: bool;
    /// Are values of instructions wanted?
    const VALUES: bool = false;
    /// Instructions a simdgroup runs before another of its threadgroup gets its turn.
    const SLICE: i64 = 1 << 16;

    /// Before the launch.
    fn plan(&mut self, _plan: &Plan) {}
    /// A simdgroup enters a block; told only where [`Self::EVENTS`] is set.
    fn enter(&mut self, _simdgroup: u32, _block: u32) {}

    /// Are the values of this instruction wanted? Asked only where [`Self::VALUES`] is set.
    fn wants(&self, _simdgroup: u32, _point: u32) -> bool {
        false
    }
    /// The values of an instruction that were wanted.
    fn observed(&mut self, _values: values::Observed) {}

    /// Before the launch: bytes that every access to threadgroup and to device memory is a multiple of.
    fn granules(&mut self, _threadgroup: u32, _device: u32) {}
    /// A memory instruction.
    fn access(&mut self, event: &MemEvent<'_>);
    /// One lane's access, just before it takes place; told only where [`Self::SANITIZE`] is set.
    fn lane(&mut self, _space: Space, _access: &LaneAccess<'_>) {}
    /// A simdgroup's load or store, just before it takes place, where nothing else is amiss with it; told only where
    /// [`Self::SANITIZE`] is set. `false` asks for it lane by lane.
    fn row(&mut self, _space: Space, _row: &Row<'_>) -> bool {
        true
    }
    /// All threads of the group met at a barrier with these `mem_flags`.
    fn barrier(&mut self, _flags: u32) {}
    /// The lanes of a simdgroup met.
    fn simd_barrier(&mut self, _simdgroup: u32, _flags: u32) {}
    /// A threadgroup starts.
    fn group_start(&mut self, group: u64);
    /// A threadgroup ended.
    fn group_end(&mut self);
    /// Takes over what another observer of the same launch has seen.
    fn merge(&mut self, other: Self)
    where
        Self: Sized;
}

/// What an observer has found.
pub trait Findings {
    /// Is there anything to take?
    fn any(&self) -> bool {
        false
    }
    /// The next race.
    fn race(&mut self) -> Option<(Space, Race)> {
        None
    }
}

/// Watches nothing.
#[derive(Debug, Default)]
pub struct Nothing;

impl Observer for Nothing {
    const EVENTS: bool = false;
    const SANITIZE: bool = false;
    fn access(&mut self, _: &MemEvent<'_>) {}
    fn group_start(&mut self, _: u64) {}
    fn group_end(&mut self) {}
    fn merge(&mut self, _: Self) {}
}

impl Findings for Nothing {}
impl Findings for Profile {}
