//! What the target and its worker process say to each other: length-prefixed JSON over a socket. Knows no memory and no
//! thread.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::isolation::Isolation;

/// Longest message.
const LONGEST: u32 = 16 << 20;

/// Environment variable that makes a program serve as a worker; its value says in which way.
pub const ROLE: &str = "KSEARCH_WORKER";
/// Environment variable with the orders of a [`Confine`].
pub const ORDERS: &str = "KSEARCH_WORKER_ORDERS";

/// A stretch of one of the two shared files: whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Where it starts in the file, a multiple of the page size.
    pub offset: u64,
    /// Length, a multiple of the page size.
    pub bytes: u64,
}

/// The first message: what to load and what to work on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The compiled candidate.
    pub library: PathBuf,
    /// Adapter symbols, in the order in which calls name them.
    pub entries: Vec<String>,
    /// Threads of the pool.
    pub threads: u32,
    /// Regions of the file of inputs, mapped for reading.
    pub inputs: Vec<Region>,
    /// Regions of the file of outputs and scratch, mapped for writing.
    pub outputs: Vec<Region>,
    /// Folders the dynamic loader needs.
    pub read: Vec<PathBuf>,
    /// Address space, bytes.
    pub address_space: u64,
    /// Processor time, seconds.
    pub cpu_seconds: u64,
}

/// One argument of an adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arg {
    /// A place in a region of inputs.
    Input {
        /// Which region.
        region: u32,
        /// Bytes from its start.
        shift: u64,
    },
    /// A place in a region of outputs.
    Output {
        /// Which region.
        region: u32,
        /// Bytes from its start.
        shift: u64,
    },
    /// The null pointer: a tensor that is not there.
    Null,
    /// A value.
    Bytes(Vec<u8>),
    /// The position in the grid along this axis.
    Group(u8),
    /// The number of the thread.
    Thread,
    /// How many threads there are.
    Threads,
}

/// One dispatch: an adapter called once for every position of a grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dispatch {
    /// Index into [`Setup::entries`].
    pub entry: u32,
    /// Extents of the grid.
    pub grid: [u32; 3],
    /// How many times in a row.
    pub repeat: u32,
    /// Arguments.
    pub args: Vec<Arg>,
}

/// A request: all dispatches, one after another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// In order.
    pub dispatches: Vec<Dispatch>,
}

/// What the worker answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// It is set up.
    Ready {
        /// How it is confined.
        isolation: Isolation,
        /// Where the regions of inputs lie in its address space.
        inputs: Vec<u64>,
        /// Where the regions of outputs lie.
        outputs: Vec<u64>,
    },
    /// A call ended.
    Done {
        /// Nanoseconds from when all threads stood ready to when the last one ended.
        elapsed: u64,
        /// Nanoseconds that the thread which lost most spent without a core.
        lost: u64,
    },
    /// It cannot be set up.
    Failed {
        /// Why.
        why: String,
        /// Is it the library that cannot be loaded?
        library: bool,
    },
}

/// Orders for a program that confines itself and then becomes another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Confine {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its search path.
    pub path: String,
    /// What it may read.
    pub read: Vec<PathBuf>,
    /// What it may write.
    pub write: Vec<PathBuf>,
    /// Limits.
    pub limits: crate::isolation::Limits,
}

/// Writes one message.
pub fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok().filter(|n| *n <= LONGEST).ok_or(io::ErrorKind::InvalidInput)?;
    let mut whole = Vec::with_capacity(body.len() + 4);
    whole.extend_from_slice(&length.to_le_bytes());
    whole.extend_from_slice(&body);
    to.write_all(&whole)
}

/// Reads one message.
pub fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut head = [0; 4];
    from.read_exact(&mut head)?;
    let length = u32::from_le_bytes(head);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the message is too long"));
    }
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// What the worker's last breath leaves in shared memory: which signal ended it and where. Little-endian words at the
/// start of the file of outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Signal number.
    pub signal: u32,
    /// Address that was touched, for memory faults.
    pub address: u64,
    /// System call that was refused, for SIGSYS.
    pub call: i64,
}

/// Bytes at the start of the file of outputs that are kept for [`Crash`].
pub const CRASH_PAGE: u64 = 4096;

impl Crash {
    /// From the words that the worker left; `None` where it left none.
    pub fn read(words: &[u8]) -> Option<Self> {
        let word = |i: usize| Some(u64::from_le_bytes(words.get(8 * i..8 * i + 8)?.try_into().ok()?));
        let signal = u32::try_from(word(0)?).ok().filter(|s| *s != 0)?;
        Some(Self { signal, address: word(1)?, call: word(2)? as i64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip_and_broken_ones_are_errors() {
        let call = Call {
            dispatches: vec![Dispatch {
                entry: 1,
                grid: [2, 3, 4],
                repeat: 5,
                args: vec![Arg::Input { region: 0, shift: 64 }, Arg::Null, Arg::Bytes(vec![1, 2]), Arg::Group(2)],
            }],
        };
        let mut bytes = Vec::new();
        send(&mut bytes, &call).unwrap();
        assert_eq!(receive::<Call>(bytes.as_slice()).unwrap(), call);
        assert!(receive::<Call>(&bytes[..bytes.len() - 1]).is_err());
        assert!(receive::<Call>([0xff; 8].as_slice()).is_err());
        assert!(receive::<Reply>(bytes.as_slice()).is_err());
    }

    #[test]
    fn a_crash_is_read_from_its_words() {
        let mut page = vec![0; 32];
        assert_eq!(Crash::read(&page), None);
        page[0] = 11;
        page[8] = 0x10;
        assert_eq!(Crash::read(&page), Some(Crash { signal: 11, address: 16, call: 0 }));
        assert_eq!(Crash::read(&page[..4]), None);
    }
}
