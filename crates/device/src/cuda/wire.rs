//! What passes between this process and the one that owns the GPU: frames of a JSON header and raw bytes. Plain values;
//! must not know CUDA.

use std::io::{self, Read, Write};

use ksearch_task::DType;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Longest header and longest body that are believed, bytes.
const MOST_HEADER: u64 = 256 << 20;
const MOST_BODY: u64 = 64 << 30;

/// Code to load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Code {
    /// CUDA C++: the first file is compiled, the others can be included by it.
    Source {
        /// Relative path and text.
        files: Vec<(String, String)>,
        /// Macros.
        defines: Vec<(String, String)>,
        /// Kernels by the names the recipe uses; template instances are spelt out.
        kernels: Vec<String>,
    },
    /// PTX modules.
    Ptx {
        /// Text of each module, with its kernels: the name that steps use, and the symbol.
        modules: Vec<(String, Vec<(String, String)>)>,
    },
}

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Use {
    /// Read only: contents come, and must not change.
    Input,
    /// Contents come and go back.
    InOut,
    /// Poison comes, contents go back.
    Output,
    /// Nothing comes or goes.
    Scratch,
}

/// A buffer on the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BufferSpec {
    /// Name for messages.
    pub name: String,
    /// Size.
    pub bytes: usize,
    /// Element type; none for what has no elements of its own.
    pub dtype: Option<DType>,
    /// What it is for.
    pub usage: Use,
}

impl BufferSpec {
    /// Bytes of one element, 1 where there are none.
    pub fn element(&self) -> usize {
        self.dtype.map_or(1, DType::bytes)
    }
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arg {
    /// Address of the n-th buffer.
    Buffer(usize),
    /// A null address: an absent tensor.
    Null,
    /// Bytes of a value.
    Bytes(Vec<u8>),
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Which of the code's kernels, by the name the recipe uses.
    pub kernel: String,
    /// Blocks per axis.
    pub grid: [u32; 3],
    /// Threads per block per axis.
    pub block: [u32; 3],
    /// Blocks per cluster per axis; all 1 without clusters.
    pub cluster: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub shared: u32,
    /// How many times in a row.
    pub repeat: u32,
    /// Arguments in order.
    pub args: Vec<Arg>,
}

/// What is asked of the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Facts of the GPU.
    Hello,
    /// Compile and load; the code is kept under `key`.
    Load {
        /// Name for later requests.
        key: u64,
        /// Code.
        code: Code,
        /// Shared memory that will be asked for, by kernel: for the occupancy.
        launches: Vec<(String, u32, u32)>,
    },
    /// Run all steps once over fresh buffers, whose contents (all but scratch, in order) are the body.
    Run {
        /// Which code.
        key: u64,
        /// Buffers.
        buffers: Vec<BufferSpec>,
        /// Dispatches.
        steps: Vec<Step>,
        /// Run a second time with other poison, to see which elements are written, and look at guard zones.
        probe: bool,
        /// Microseconds of timed calls wanted, and most samples; none without a time.
        timing: Option<(f64, u32)>,
    },
    /// More samples of the last run that was timed under `key`.
    Again {
        /// Which code.
        key: u64,
        /// How many.
        samples: u32,
    },
    /// Let go of code and buffers.
    Unload {
        /// Which code.
        key: u64,
    },
}

/// The GPU and the software under it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Card.
    pub name: String,
    /// Compute capability.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Highest clock, MHz.
    pub clock_mhz: f64,
    /// Memory bandwidth from clock and width, GB/s.
    pub memory_gbs: f64,
    /// L2, bytes.
    pub l2_bytes: u64,
    /// Shared memory a block may ask for, bytes.
    pub shared_optin: u32,
    /// CUDA version of the driver, e.g. 13.0.
    pub driver: String,
    /// NVRTC version.
    pub nvrtc: String,
}

/// Resources of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Name the recipe uses.
    pub kernel: String,
    /// Registers per thread.
    pub registers: u32,
    /// Static shared memory, bytes.
    pub shared: u32,
    /// Local memory per thread, bytes: spills and arrays with run-time indices.
    pub local: u32,
    /// Threads a block may have.
    pub max_threads: u32,
    /// Blocks resident on a multiprocessor at the launch asked for.
    pub blocks: u32,
    /// Resident warps over the most there can be.
    pub occupancy: f64,
    /// Indices of parameters that no instruction reads.
    pub unread: Vec<u32>,
}

/// How a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trouble {
    /// The source is refused; the compiler's text.
    Compile(String),
    /// The launch does not fit: what, and what to do.
    Launch(String, String),
    /// The kernel did what no kernel may do: kind and sentence.
    Fault(String, String),
    /// The machine or this program failed.
    Machine(String),
}

/// What the worker answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Request::Hello`].
    Facts(Facts),
    /// To [`Request::Load`].
    Loaded {
        /// Per kernel.
        kernels: Vec<KernelReport>,
        /// What the compiler said.
        log: String,
    },
    /// To [`Request::Run`]; the body holds the buffers that go back, in order (those of inputs too if one of them
    /// changed), then, after a probe, for each output one byte an element: 1 where it was written.
    Ran {
        /// Kernels launched.
        launched: Vec<String>,
        /// Microseconds of each timed call.
        samples: Vec<f64>,
        /// Clock of the multiprocessors right after the timed calls, MHz.
        clock_mhz: f64,
        /// Did an input change?
        changed: bool,
    },
    /// To [`Request::Again`].
    Samples(Vec<f64>),
    /// To [`Request::Unload`].
    Done,
    /// Any request that failed. After `lost` the worker ends: its context is gone.
    Failed {
        /// How.
        trouble: Trouble,
        /// Must the worker be replaced?
        lost: bool,
    },
}

/// Writes a frame.
pub fn send(to: &mut impl Write, header: &impl Serialize, body: &[&[u8]]) -> io::Result<()> {
    let header = serde_json::to_vec(header)?;
    to.write_all(&(header.len() as u64).to_le_bytes())?;
    to.write_all(&body.iter().map(|b| b.len() as u64).sum::<u64>().to_le_bytes())?;
    to.write_all(&header)?;
    for part in body {
        to.write_all(part)?;
    }
    to.flush()
}

/// Reads a frame; `None` where the other side has ended.
pub fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut sizes = [0u8; 16];
    match from.read_exact(&mut sizes) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(e) => return Err(e),
    }
    let (header, body) = sizes.split_at(8);
    let number = |b: &[u8]| b.iter().rev().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
    let (header, body) = (number(header), number(body));
    if header > MOST_HEADER || body > MOST_BODY {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of the GPU's worker is out of bounds"));
    }
    let mut text = vec![0; header as usize];
    from.read_exact(&mut text)?;
    let mut bytes = vec![0; body as usize];
    from.read_exact(&mut bytes)?;
    Ok(Some((serde_json::from_slice(&text)?, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_round_trip_and_nonsense_is_refused() {
        let mut pipe = Vec::new();
        let request = Request::Again { key: 7, samples: 3 };
        send(&mut pipe, &request, &[b"ab", b"c"]).unwrap();
        let (back, body): (Request, _) = receive(&mut pipe.as_slice()).unwrap().unwrap();
        assert_eq!((back, body.as_slice()), (request, b"abc".as_slice()));
        assert!(receive::<Request>(&mut [].as_slice()).unwrap().is_none());
        assert!(receive::<Request>(&mut [255u8; 32].as_slice()).is_err());
        let cut = &pipe[..pipe.len() - 1];
        assert!(receive::<Request>(&mut &cut[..]).is_err());
    }
}
