//! What a place that runs Metal kernels offers: memory, and launches in order. Must not know models.

use crate::error::Result;

/// An argument of a kernel, by buffer index.
pub enum Argument<'a, M> {
    /// Device memory.
    Memory(&'a M),
    /// A few words in constant memory (`setBytes`).
    Words(&'a [u32]),
}

impl<'a, M> From<&'a M> for Argument<'a, M> {
    fn from(memory: &'a M) -> Self {
        Self::Memory(memory)
    }
}

/// One dispatch.
pub struct Launch<'a, M> {
    /// Name of the kernel, as the host sees it.
    pub kernel: &'static str,
    /// Threadgroups per axis.
    pub groups: [usize; 3],
    /// Threads of a threadgroup, all along x.
    pub threads: usize,
    /// Arguments by buffer index, from 0 on.
    pub arguments: &'a [Argument<'a, M>],
}

/// A place that runs Metal kernels.
pub trait Runtime: Sized {
    /// Device memory.
    type Memory;

    /// Compiles `source` with these macros and makes all its kernels ready.
    fn open(source: &str, defines: &[(&'static str, String)]) -> Result<Self>;

    /// What it is, for people.
    fn name(&self) -> String;

    /// Zeroed memory.
    fn memory(&self, bytes: usize, what: &str) -> Result<Self::Memory>;

    /// Overwrites the beginning of `memory`, after all launches.
    fn write(&self, memory: &Self::Memory, bytes: &[u8]) -> Result<()>;

    /// Reads the beginning of `memory`, after all launches.
    fn read(&self, memory: &Self::Memory, bytes: &mut [u8]) -> Result<()>;

    /// Launches a kernel after all launches before it.
    fn launch(&self, launch: &Launch<'_, Self::Memory>) -> Result<()>;
}
