//! The parent's end of a worker process: started in a process group of its own, asked over a socket, killed at a
//! deadline. Knows processes; must not know kernels.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::protocol::{Call, Reply, Setup, receive, send};
use super::worker::WorkerProgram;
use crate::isolation::Isolation;

/// Time for a worker to start and load a candidate, constructors included.
const START_LIMIT: Duration = Duration::from_secs(20);

/// Why a worker gave no answer.
#[derive(Debug)]
pub enum Stop {
    /// The deadline passed; the whole process group was killed.
    Deadline(Duration),
    /// It died; what it left in shared memory says more.
    Died(String),
    /// The library cannot be loaded.
    Library(String),
    /// It could not be started or talked to.
    Broken(String),
}

/// A child and everything it may have started: killed when this goes out of scope.
#[derive(Debug)]
pub struct Group {
    child: Child,
    ended: bool,
}

impl Group {
    /// Starts `command` as the leader of a new process group.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.process_group(0).spawn()?, ended: false })
    }

    /// The child itself, e.g. for its streams.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Kills the whole group and waits for its leader. How the leader ended.
    pub fn end(&mut self) -> String {
        if !self.ended
            && let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
        {
            // It may be gone already.
            let _gone = kill_process_group(group, Signal::KILL);
        }
        self.ended = true;
        self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// A worker that is set up.
#[derive(Debug)]
pub struct Worker {
    group: Group,
    socket: UnixStream,
    isolation: Isolation,
    places: (Vec<u64>, Vec<u64>),
}

impl Worker {
    /// Starts a worker and sets it up. `inputs` and `outputs` are the shared files as it may use them.
    pub fn start(program: &WorkerProgram, setup: &Setup, inputs: OwnedFd, outputs: OwnedFd) -> Result<Self, Stop> {
        let broken = |e: io::Error| Stop::Broken(e.to_string());
        let (socket, theirs) = UnixStream::pair().map_err(broken)?;
        let mut command = program.command("cpu");
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(outputs)).stderr(Stdio::from(inputs));
        let group = Group::spawn(&mut command)
            .map_err(|e| Stop::Broken(format!("cannot start {}: {e}", program.program.display())))?;
        // The command holds the child's end of the socket; kept open it would hide that the child has died.
        drop(command);
        let mut worker = Self { group, socket, isolation: Isolation::default(), places: (Vec::new(), Vec::new()) };
        send(&worker.socket, setup).map_err(broken)?;
        match worker.answer(START_LIMIT)? {
            Reply::Ready { isolation, inputs, outputs } => {
                worker.isolation = isolation;
                worker.places = (inputs, outputs);
                Ok(worker)
            }
            Reply::Failed { why, library: true } => Err(Stop::Library(why)),
            Reply::Failed { why, library: false } => Err(Stop::Broken(why)),
            Reply::Done { .. } => Err(Stop::Broken("the worker answered what was not asked".into())),
        }
    }

    /// How it is confined.
    pub fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// Where the regions of inputs and of outputs lie in its address space.
    pub fn places(&self) -> (&[u64], &[u64]) {
        (&self.places.0, &self.places.1)
    }

    /// One call. Its time as the worker took it and as it passed here, and what the slowest thread lost.
    pub fn call(&mut self, call: &Call, limit: Duration) -> Result<Timed, Stop> {
        let start = Instant::now();
        if let Err(e) = send(&self.socket, call) {
            return Err(Stop::Died(format!("{e}; {}", self.group.end())));
        }
        match self.answer(limit)? {
            Reply::Done { elapsed, lost } => Ok(Timed {
                elapsed: Duration::from_nanos(elapsed),
                lost: Duration::from_nanos(lost),
                wall: start.elapsed(),
            }),
            Reply::Failed { why, .. } => Err(Stop::Broken(why)),
            Reply::Ready { .. } => Err(Stop::Broken("the worker answered what was not asked".into())),
        }
    }

    fn answer(&mut self, limit: Duration) -> Result<Reply, Stop> {
        let deadline = Instant::now() + limit;
        match receive(Until { socket: &self.socket, deadline }) {
            Ok(reply) => Ok(reply),
            Err(e) if e.kind() == io::ErrorKind::TimedOut => {
                self.group.end();
                Err(Stop::Deadline(limit))
            }
            Err(e) => {
                // Closing the socket is how a worker's death shows; anything else it says is as good as that.
                let status = self.group.end();
                Err(Stop::Died(if e.kind() == io::ErrorKind::UnexpectedEof {
                    status
                } else {
                    format!("{e}; {status}")
                }))
            }
        }
    }
}

/// One timed call.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// Between the worker's own clock readings.
    pub elapsed: Duration,
    /// The most that one of its threads went without a core meanwhile.
    pub lost: Duration,
    /// From question to answer, on this side.
    pub wall: Duration,
}

/// Reads until a deadline.
struct Until<'a> {
    socket: &'a UnixStream,
    deadline: Instant,
}

impl io::Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))?;
        let mut socket = self.socket;
        socket.read(buffer).map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => e,
        })
    }
}
