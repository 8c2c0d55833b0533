//! The pool: threads pinned to cores that call the candidate for every position of a grid. One of them loads it, so that
//! none of the candidate's code ever runs on the thread that talks to the parent. Must not know what a call means.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::super::protocol::{Arg, Call, Setup};
use super::{Address, crash};
use crate::isolation::{Filter, forbid};

/// Stack of a pool thread.
const STACK: usize = 16 << 20;
/// Turns of a spinning wait before the core is offered to others.
const SPINS: u32 = 2000;

/// A compiled adapter.
type Adapter = unsafe extern "C" fn(*const *mut c_void);

/// All threads meet here.
struct Barrier {
    arrived: AtomicU32,
    generation: AtomicU32,
    size: u32,
}

impl Barrier {
    fn wait(&self) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.size {
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut turns = 0_u32;
        while self.generation.load(Ordering::Acquire) == generation {
            turns += 1;
            if turns.is_multiple_of(SPINS) {
                thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// One dispatch, ready to be called.
struct Prepared {
    adapter: Adapter,
    grid: [u32; 3],
    groups: u64,
    repeat: u32,
    args: Vec<Arg>,
    /// Next position, for each repetition.
    next: Vec<AtomicU64>,
}

struct Job {
    dispatches: Vec<Prepared>,
}

/// When a thread began and ended, and how long it had a core.
struct Times {
    start: u64,
    end: u64,
    on_core: u64,
}

struct Shared {
    barrier: Barrier,
    inputs: Vec<Address>,
    outputs: Vec<Address>,
    threads: u32,
}

/// The running pool.
pub struct Pool {
    jobs: Vec<Sender<Arc<Job>>>,
    done: Receiver<Times>,
    adapters: Vec<Adapter>,
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Binds the calling thread to the `index`-th core it may use. Where that is refused it stays unbound, which costs
/// steadiness only.
fn pin(index: u32) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|c| allowed.is_set(*c)).collect();
    let Some(core) = cores.get(index as usize % cores.len().max(1)) else { return };
    let mut own = CpuSet::new();
    own.set(*core);
    let _unbound_is_fine = sched_setaffinity(None, &own);
}

impl Pool {
    /// Starts the threads and loads the library on the first of them. Gives how system calls are confined, or why not.
    pub fn start(
        setup: &Setup,
        inputs: Vec<Address>,
        outputs: Vec<Address>,
    ) -> Result<(Self, Result<String, String>), String> {
        let threads = setup.threads.max(1);
        let barrier = Barrier { arrived: AtomicU32::new(0), generation: AtomicU32::new(0), size: threads };
        let shared = Arc::new(Shared { barrier, inputs, outputs, threads });
        let (report, done) = channel();
        let (loaded, adapters) = channel();
        let (confined, filters) = channel();
        let mut jobs = Vec::new();
        for index in 0..threads {
            let (job, next) = channel::<Arc<Job>>();
            jobs.push(job);
            let (shared, report, confined) = (Arc::clone(&shared), report.clone(), confined.clone());
            let load = (index == 0).then(|| (setup.library.clone(), setup.entries.clone(), loaded.clone()));
            let body = move || {
                crash::own_stack();
                pin(index);
                if let Some((library, entries, loaded)) = load {
                    // Constructors of the library run here already.
                    let _noted_below = forbid(Filter::Loader, true);
                    let result = open(&library, &entries);
                    let stop = result.is_err();
                    if loaded.send(result).is_err() || stop {
                        return;
                    }
                }
                if confined.send(forbid(Filter::Kernel, true)).is_err() {
                    return;
                }
                while let Ok(job) = next.recv() {
                    if report.send(work(&shared, &job, index)).is_err() {
                        return;
                    }
                }
            };
            let builder = thread::Builder::new().stack_size(STACK).name(format!("kernel-{index}"));
            builder.spawn(body).map_err(|e| format!("a thread could not be started: {e}"))?;
        }
        drop((loaded, confined));
        let adapters = adapters.recv().map_err(|_| "the loading thread ended early".to_owned())??;
        let mut filter = Ok("seccomp".to_owned());
        for _ in 0..threads {
            let one = filters.recv().map_err(|_| "a thread of the pool ended early".to_owned())?;
            filter = filter.and(one);
        }
        Ok((Self { jobs, done, adapters }, filter))
    }

    /// Runs all dispatches. Nanoseconds it took, and the most that a thread went without a core.
    pub fn run(&self, call: Call) -> Result<(u64, u64), String> {
        let dispatches = call
            .dispatches
            .into_iter()
            .map(|d| {
                let adapter = *self.adapters.get(d.entry as usize).ok_or("there is no such entry")?;
                let groups = d.grid.iter().map(|g| u64::from(*g)).product();
                let next = (0..d.repeat).map(|_| AtomicU64::new(0)).collect();
                Ok(Prepared { adapter, grid: d.grid, groups, repeat: d.repeat, args: d.args, next })
            })
            .collect::<Result<Vec<_>, &str>>()?;
        let job = Arc::new(Job { dispatches });
        for thread in &self.jobs {
            thread.send(Arc::clone(&job)).map_err(|_| "a thread of the pool is gone")?;
        }
        let (mut start, mut end, mut lost) = (u64::MAX, 0, 0);
        for _ in &self.jobs {
            let times = self.done.recv().map_err(|_| "a thread of the pool is gone")?;
            start = start.min(times.start);
            end = end.max(times.end);
            lost = lost.max((times.end - times.start).saturating_sub(times.on_core));
        }
        Ok((end.saturating_sub(start), lost))
    }
}

fn open(library: &std::path::Path, entries: &[String]) -> Result<Vec<Adapter>, String> {
    // SAFETY: running its constructors is what the process was confined for.
    let library = unsafe { Library::open(Some(library), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| e.to_string())?;
    let mut adapters = Vec::new();
    for entry in entries {
        // SAFETY: the adapter was generated with this very type.
        let symbol = unsafe { library.get::<Adapter>(entry.as_bytes()) }.map_err(|e| e.to_string())?;
        adapters.push(*symbol);
    }
    // It stays loaded until the process ends.
    std::mem::forget(library);
    Ok(adapters)
}

/// One thread's share of a job.
fn work(shared: &Shared, job: &Job, index: u32) -> Times {
    // Positions and numbers that arguments point at; wide enough for any integer type, as memory is little-endian.
    let (mut position, thread, threads) = ([0_u64; 3], u64::from(index), u64::from(shared.threads));
    let own = |value: &u64| std::ptr::from_ref(value).cast_mut().cast::<c_void>();
    shared.barrier.wait();
    let (start, core) = (nanoseconds(ClockId::Monotonic), nanoseconds(ClockId::ThreadCPUTime));
    for dispatch in &job.dispatches {
        let position_at: [*mut c_void; 3] = {
            let base = position.as_mut_ptr();
            // SAFETY: three elements.
            [0, 1, 2].map(|i| unsafe { base.add(i) }.cast())
        };
        let args: Vec<*mut c_void> = dispatch
            .args
            .iter()
            .map(|arg| {
                let place = |regions: &[Address], region: u32, shift: u64| {
                    regions.get(region as usize).map_or(std::ptr::null_mut(), |a| a.0.wrapping_byte_add(shift as usize))
                };
                match arg {
                    Arg::Input { region, shift } => place(&shared.inputs, *region, *shift),
                    Arg::Output { region, shift } => place(&shared.outputs, *region, *shift),
                    Arg::Null => std::ptr::null_mut(),
                    Arg::Bytes(bytes) => bytes.as_ptr().cast_mut().cast(),
                    Arg::Group(axis) => position_at[usize::from(*axis) % 3],
                    Arg::Thread => own(&thread),
                    Arg::Threads => own(&threads),
                }
            })
            .collect();
        let [x, y, _] = dispatch.grid.map(u64::from);
        for next in dispatch.next.iter().take(dispatch.repeat as usize) {
            loop {
                let group = next.fetch_add(1, Ordering::Relaxed);
                if group >= dispatch.groups {
                    break;
                }
                for (axis, value) in [group % x, group / x % y, group / x / y].into_iter().enumerate() {
                    // SAFETY: one of the three elements of `position`, which outlives the call.
                    unsafe { position_at[axis].cast::<u64>().write_volatile(value) };
                }
                // SAFETY: the arguments are those that the parent made for this adapter's signature. What the code does
                // with them is contained by the process.
                unsafe { (dispatch.adapter)(args.as_ptr()) };
            }
            shared.barrier.wait();
        }
    }
    let on_core = nanoseconds(ClockId::ThreadCPUTime).saturating_sub(core);
    Times { start, end: nanoseconds(ClockId::Monotonic), on_core }
}
