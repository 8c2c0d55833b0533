//! What a run asks of the Metal API, as a trait: the real API implements it on macOS, a recording fake in tests. Must not
//! know candidates, recipes or tensors.

/// A GPU as the system describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Name, e.g. `Apple M1 Max`.
    pub name: String,
    /// Newest family it supports, e.g. `Apple7`.
    pub family: String,
    /// Threads per threadgroup at most.
    pub max_threads: u32,
    /// Threadgroup memory per threadgroup, bytes.
    pub threadgroup_memory: u32,
}

/// What the compiler made of one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Threads per threadgroup that its registers leave room for (`maxTotalThreadsPerThreadgroup`).
    pub max_threads: u32,
    /// Lanes of a simdgroup (`threadExecutionWidth`).
    pub simd_width: u32,
    /// Threadgroup memory it declares, bytes (`staticThreadgroupMemoryLength`).
    pub threadgroup_memory: u32,
}

/// One argument, at its index.
#[derive(Debug)]
pub enum Argument<'a, B> {
    /// A buffer from its start.
    Buffer(u32, &'a B),
    /// Bytes of a constant.
    Bytes(u32, &'a [u8]),
    /// Threadgroup memory of this many bytes.
    Threadgroup(u32, u32),
}

/// One dispatch, ready to be encoded.
#[derive(Debug)]
pub struct Encoded<'a, P, B> {
    /// The compiled kernel.
    pub pipeline: &'a P,
    /// Arguments.
    pub arguments: Vec<Argument<'a, B>>,
    /// Threadgroups per axis.
    pub groups: [u32; 3],
    /// Threads per threadgroup per axis.
    pub threads: [u32; 3],
}

/// The part of the Metal API that runs need. Messages are the system's own.
pub trait Gpu: Send {
    /// A compiled kernel.
    type Pipeline: Send;
    /// A buffer in memory that the processor shares.
    type Buffer;

    /// The device.
    fn device(&self) -> Device;

    /// Compiles `source` at run time and makes a pipeline of its kernel `name`.
    fn pipeline(&self, source: &str, name: &str) -> Result<Self::Pipeline, String>;

    /// What the compiler made of it.
    fn limits(&self, pipeline: &Self::Pipeline) -> Limits;

    /// A shared buffer with this content; never empty.
    fn buffer(&self, bytes: &[u8]) -> Result<Self::Buffer, String>;

    /// Overwrites a buffer's content from its start.
    fn write(&self, buffer: &mut Self::Buffer, bytes: &[u8]);

    /// A buffer's content from its start.
    fn read(&self, buffer: &Self::Buffer, bytes: &mut [u8]);

    /// Encodes all dispatches into one command buffer, runs it to the end and gives the seconds from `GPUStartTime` to
    /// `GPUEndTime`.
    fn submit(&self, dispatches: &[Encoded<'_, Self::Pipeline, Self::Buffer>]) -> Result<f64, String>;
}
