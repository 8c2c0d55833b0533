//! The worker process: maps the shared memory, confines itself, loads one compiled candidate and calls it when asked. It
//! serves one candidate only and ends with it. Must not know tensors, tasks or what is right.

#![allow(unsafe_code)] // Loads and calls foreign code; that is what the process exists for.

mod crash;
mod pool;

use std::ffi::{OsStr, c_void};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use super::memory::page;
use super::protocol::{CRASH_PAGE, Confine, ORDERS, ROLE, Region, Reply, Setup, receive, send};
use crate::isolation::{self, Filter, Isolation, Limits};

/// How a worker program is started.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// A program that calls [`serve_if_asked`] before anything else.
    pub program: std::path::PathBuf,
    /// Arguments that lead it there.
    pub args: Vec<String>,
}

impl WorkerProgram {
    /// This very program, which must call [`serve_if_asked`] first in its `main`.
    pub fn this() -> io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, args: Vec::new() })
    }

    /// This test program, in which the test function `name` calls [`serve_if_asked`].
    pub fn this_test(name: &str) -> io::Result<Self> {
        let args = ["--exact", name, "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec();
        Ok(Self { program: std::env::current_exe()?, args })
    }

    /// A command that starts it in `role`, with nothing else in its environment.
    pub(crate) fn command(&self, role: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).env_clear().env(ROLE, role);
        command
    }
}

/// Serves as a worker if the environment says that this process is one, and then never returns.
pub fn serve_if_asked() {
    let Some(role) = std::env::var_os(ROLE) else { return };
    let code = if role == OsStr::new("confine") {
        confine()
    } else {
        // SAFETY: nothing else in this process reads the environment at this point.
        unsafe { std::env::remove_var(ROLE) };
        i32::from(serve().is_err())
    };
    std::process::exit(code);
}

/// Confines this process and becomes the program of the orders.
fn confine() -> i32 {
    let orders: Option<Confine> = std::env::var(ORDERS).ok().and_then(|text| serde_json::from_str(&text).ok());
    let Some(orders) = orders else { return 126 };
    // What the host cannot enforce is known to whoever gave the orders, by `isolation::available`.
    let _reported = isolation::limit(&orders.limits);
    let _reported = isolation::restrict_files(&orders.read, &orders.write);
    let _reported = isolation::deny_network();
    let error = Command::new(&orders.program)
        .args(&orders.args)
        .env_clear()
        .env("PATH", &orders.path)
        .env("LC_ALL", "C")
        .env("TMPDIR", orders.write.first().map_or_else(|| "/tmp".into(), |p| p.as_os_str().to_owned()))
        .exec();
    error.raw_os_error().unwrap_or(127)
}

/// An address in this process that threads may share.
#[derive(Clone, Copy)]
struct Address(*mut c_void);
// SAFETY: the mappings live as long as the process; what races in them is the candidate's own doing.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// Maps every region with an inaccessible page before and behind it.
fn map(file: BorrowedFd<'_>, regions: &[Region], access: ProtFlags) -> io::Result<Vec<Address>> {
    regions
        .iter()
        .map(|region| {
            let bytes = usize::try_from(region.bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
            let guard = page() as usize;
            // SAFETY: a fresh reservation aliases nothing, and the second mapping replaces the middle of it.
            unsafe {
                let whole =
                    mmap_anonymous(std::ptr::null_mut(), bytes + 2 * guard, ProtFlags::empty(), MapFlags::PRIVATE)?;
                let inner = whole.cast::<u8>().add(guard).cast::<c_void>();
                let flags = MapFlags::SHARED | MapFlags::FIXED | MapFlags::POPULATE;
                Ok(Address(mmap(inner, bytes, access, flags, file, region.offset)?))
            }
        })
        .collect()
}

fn serve() -> io::Result<()> {
    // SAFETY: whoever starts a worker gives it these three descriptors; nothing else in this process uses them.
    let socket = unsafe { UnixStream::from_raw_fd(0) };
    let (outputs, inputs) = (rustix::stdio::stdout(), rustix::stdio::stderr());
    let setup: Setup = receive(&socket)?;
    let mut isolation = Isolation::default();
    let limits = Limits {
        address_space: Some(setup.address_space),
        cpu_seconds: Some(setup.cpu_seconds),
        file_size: Some(0),
        files: Some(64),
    };
    let crash_page =
        map(outputs.as_fd(), &[Region { offset: 0, bytes: CRASH_PAGE }], ProtFlags::READ | ProtFlags::WRITE)?;
    let inputs = map(inputs.as_fd(), &setup.inputs, ProtFlags::READ)?;
    let outputs = map(outputs.as_fd(), &setup.outputs, ProtFlags::READ | ProtFlags::WRITE)?;
    let places = |all: &[Address]| all.iter().map(|a| a.0 as u64).collect::<Vec<_>>();
    let (inputs_at, outputs_at) = (places(&inputs), places(&outputs));
    if let Some(crash_page) = crash_page.first() {
        crash::watch(*crash_page)?;
    }
    isolation.note("limits of memory, processor time and file size", isolation::limit(&limits));
    isolation.note("no files but the candidate's own, no TCP", isolation::restrict_files(&setup.read, &[]));
    let pool = match pool::Pool::start(&setup, inputs, outputs) {
        Ok((pool, filter)) => {
            isolation.note("no system calls but memory, locks and clocks", filter);
            pool
        }
        Err(why) => {
            send(&socket, &Reply::Failed { why, library: true })?;
            return Ok(());
        }
    };
    isolation.note("empty environment, process group of its own, deadline", Ok("always".into()));
    // The pool's threads have filters of their own; what remains to be said was noted for them.
    let _noted = isolation::forbid(Filter::Talker, true);
    send(&socket, &Reply::Ready { isolation, inputs: inputs_at, outputs: outputs_at })?;
    loop {
        let call = receive(&socket)?;
        let (elapsed, lost) = pool.run(call).map_err(io::Error::other)?;
        send(&socket, &Reply::Done { elapsed, lost })?;
    }
}
