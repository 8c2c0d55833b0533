//! Faults: what a sanitizer found, where, in which thread. Knows nothing about how it was found.

use ksearch_msl::SourcePos;

/// Kind of a fault; the names are those of the verdict contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// An access outside every buffer, or outside the one the pointer came from.
    OutOfBounds,
    /// A read of memory nothing has written.
    UninitializedRead,
    /// Two unordered accesses to the same address, at least one a write.
    DataRace,
    /// A barrier that not every thread of the group reaches.
    BarrierDivergence,
    /// A vector access at an address that is not a multiple of its size.
    Misaligned,
    /// A write through a read-only buffer.
    ReadOnlyWrite,
    /// The instruction budget ran out.
    Runaway,
    /// A construct the machine cannot run.
    Unsupported,
}

impl FaultKind {
    /// Name as written in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out_of_bounds",
            Self::UninitializedRead => "uninitialized_read",
            Self::DataRace => "data_race",
            Self::BarrierDivergence => "barrier_divergence",
            Self::Misaligned => "misaligned",
            Self::ReadOnlyWrite => "read_only_write",
            Self::Runaway => "runaway",
            Self::Unsupported => "unsupported",
        }
    }
}

/// One side of a fault: which thread did what where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Source position, when debug information has one.
    pub pos: Option<SourcePos>,
    /// Threadgroup position in grid.
    pub group: [u32; 3],
    /// Simdgroup in the threadgroup.
    pub simdgroup: u32,
    /// Lane in the simdgroup.
    pub lane: u32,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", kind.name())]
pub struct Fault {
    /// Kind.
    pub kind: FaultKind,
    /// One sentence, with numbers (offset, size, buffer name).
    pub message: String,
    /// The access that was caught.
    pub at: Access,
    /// The other access (of a race), or the allocation's first write.
    pub other: Option<Access>,
    /// What to do, one sentence.
    pub help: String,
}
