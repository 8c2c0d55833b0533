//! Running a compiled candidate: watched runs at both ends of its memory, and timed calls on fresh inputs whose answers
//! a second process must repeat. Knows memory, workers and clocks; must not know what is right.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ksearch_msl::SourcePos;
use ksearch_task::candidate::Resolved;
use ksearch_task::{Bottleneck, Figure};

use super::bind::{self, BoundDispatch, Given};
use super::compiler::{Library, SYSTEM};
use super::layout::{Layout, Placement};
use super::process::{Stop, Timed, Worker};
use super::protocol::{Arg, Call, Crash, Dispatch, Setup};
use super::worker::WorkerProgram;
use crate::fresh::{self, Swaps};
use crate::profile::Profile;
use crate::statistics::{bootstrap, median, splitmix};
use crate::target::{BuildInfo, Failure, Finding, Purpose, RunReport, Runnable, Slots};

/// Timed calls that are wanted, at most and at least.
const SAMPLES: (usize, usize) = (21, 5);
/// Time that timed calls may take together, before repeats.
const BUDGET: Duration = Duration::from_millis(900);
/// Calls that only warm up, at least, and how long they go on.
const WARM_UP: (usize, Duration) = (2, Duration::from_millis(15));
/// A timed call counts if no thread went without a core for longer than this share of it …
const LOST_SHARE: f64 = 0.04;
/// … or this long.
const LOST_LEAST: Duration = Duration::from_micros(20);
/// Timed calls whose answers are repeated by a second process.
const REPLAYS: usize = 6;
/// Relative difference that different orders of summation may make between two right runs.
const SAME: f64 = 1e-2;

/// Everything a candidate's runs need.
pub struct Plan {
    /// How workers are started.
    pub worker: WorkerProgram,
    /// The compiled candidate.
    pub library: Arc<Library>,
    /// What is called.
    pub dispatches: Vec<BoundDispatch>,
    /// The recipe on this workload.
    pub resolved: Resolved,
    /// Threads.
    pub threads: u32,
    /// Deadline of one call.
    pub call_limit: Duration,
    /// Name of the processor.
    pub on: String,
    /// What the build showed.
    pub info: BuildInfo,
}

/// A candidate on one workload, with its worker once there is one.
pub struct CpuRunnable {
    plan: Plan,
    layout: Option<Layout>,
    worker: Option<Worker>,
}

impl CpuRunnable {
    /// Nothing is started yet.
    pub fn new(plan: Plan) -> Self {
        Self { plan, layout: None, worker: None }
    }

    fn start(plan: &Plan, layout: &mut Layout) -> Result<Worker, Failure> {
        layout.forget_crash()?;
        let (inputs, outputs) = layout.regions();
        let read = SYSTEM.iter().map(std::path::PathBuf::from);
        let setup = Setup {
            library: plan.library.path.clone(),
            entries: (0..plan.dispatches.len()).map(bind::entry).collect(),
            threads: plan.threads,
            inputs,
            outputs,
            read: read.chain([plan.library.folder.path().to_owned()]).collect(),
            // Room for a candidate's own memory beside the tensors.
            address_space: (12 << 30) + 3 * layout.bytes(),
            cpu_seconds: 1200,
        };
        let trouble = |e: std::io::Error| Failure::Infrastructure(format!("shared memory: {e}"));
        let (inputs, outputs) =
            (layout.inputs.read_only().map_err(trouble)?, layout.outputs.writable().map_err(trouble)?);
        Worker::start(&plan.worker, &setup, inputs, outputs)
            .map_err(|stop| failure(plan, stop, layout, (&[], &[]), Placement::Start))
    }

    /// One call; on failure the worker is gone and the next call starts another.
    fn call(&mut self, placement: Placement) -> Result<Timed, Failure> {
        let Self { plan, layout, worker } = self;
        let layout = layout.as_mut().ok_or_else(|| Failure::Infrastructure("nothing is loaded".into()))?;
        let call = request(plan, layout, placement);
        let live = match worker {
            Some(live) => live,
            None => worker.insert(Self::start(plan, layout)?),
        };
        match live.call(&call, plan.call_limit) {
            Ok(timed) => Ok(timed),
            Err(stop) => {
                let places = (live.places().0.to_vec(), live.places().1.to_vec());
                *worker = None;
                Err(failure(plan, stop, layout, (&places.0, &places.1), placement))
            }
        }
    }

    fn layout(&mut self) -> Result<&mut Layout, Failure> {
        if self.layout.is_none() {
            self.layout = Some(Layout::new(&self.plan.resolved)?);
        }
        self.layout.as_mut().ok_or_else(|| Failure::Infrastructure("no memory".into()))
    }

    fn launched(&self) -> Vec<String> {
        let each = |d: &BoundDispatch| std::iter::repeat_n(d.kernel.clone(), d.repeat as usize);
        self.plan.dispatches.iter().flat_map(each).collect()
    }

    fn isolation(&self) -> Option<Finding> {
        let isolation = self.worker.as_ref()?.isolation();
        Some(Finding { check: "isolation".into(), ok: true, detail: isolation.sentence() })
    }

    /// Runs at both ends of the memory, with different contents wherever nothing was written yet.
    fn check(&mut self, slots: &mut Slots) -> Result<RunReport, Failure> {
        let first = self.watched(slots.clone(), Placement::End, 0xa5)?;
        // Every bit that the first run left in an output is turned over before the second: what no run writes shows.
        let mut other = slots.clone();
        for (name, slot) in other.iter_mut().filter(|(_, s)| s.written.is_some()) {
            if let Some(answer) = first.get(name) {
                slot.tensor.bytes = answer.tensor.bytes.iter().map(|b| !b).collect();
            }
        }
        let covered = other.clone();
        let second = self.watched(other, Placement::Start, 0x3c)?;
        for (name, slot) in slots.iter_mut().filter(|(_, s)| s.writable) {
            let (Some(a), Some(b), Some(before)) = (first.get(name), second.get(name), covered.get(name)) else {
                continue;
            };
            if let Some(written) = &mut slot.written {
                mark(written, slot.tensor.dtype.bytes(), &b.tensor.bytes, &before.tensor.bytes);
            }
            let complete = slot.written.as_ref().is_none_or(|w| w.iter().all(|w| *w));
            if complete && let Some(at) = differs(&a.tensor.values(), &b.tensor.values()) {
                return Err(unstable(&self.plan, name, at));
            }
            slot.tensor.bytes.clone_from(&a.tensor.bytes);
        }
        Ok(RunReport { profile: None, launched: self.launched(), findings: self.isolation().into_iter().collect() })
    }

    /// One run with everything around and between the tensors watched.
    fn watched(&mut self, mut slots: Slots, placement: Placement, scratch: u8) -> Result<Slots, Failure> {
        self.layout()?.load(&slots, placement, scratch)?;
        self.call(placement)?;
        let layout = self.layout()?;
        if let Some((name, distance)) = layout.overrun(placement)? {
            return Err(overrun(&self.plan, &name, distance));
        }
        fetch(layout, &mut slots, placement)?;
        Ok(slots)
    }

    /// Timed calls, each on inputs that no call saw before, then the first inputs again for the answer.
    fn measure(&mut self, slots: &mut Slots) -> Result<RunReport, Failure> {
        const AT: Placement = Placement::Start;
        self.layout()?.load(slots, AT, 0xa5)?;
        let begin = Instant::now();
        let mut first = self.call(AT)?;
        for _ in 1.. {
            if begin.elapsed() >= WARM_UP.1 {
                break;
            }
            first = self.call(AT)?;
        }
        let wanted = (BUDGET.as_secs_f64() / first.elapsed.as_secs_f64().max(1e-6)) as usize;
        let wanted = wanted.clamp(if first.elapsed > BUDGET / 3 { 3 } else { SAMPLES.1 }, SAMPLES.0);
        // Inputs a candidate cannot know beforehand.
        let mut state = begin.elapsed().as_nanos() as u64 ^ u64::from(std::process::id()) << 32;
        splitmix(&mut state);
        let mut now = slots.clone();
        let mut calls: Vec<(Timed, Swaps, Vec<Vec<u8>>)> = Vec::new();
        let clean = |t: &Timed| t.lost <= LOST_LEAST.max(t.elapsed.mul_f64(LOST_SHARE));
        let mut good = 0;
        while good < wanted && calls.len() < 3 * wanted {
            let swaps = fresh::draw(&now, &mut state);
            fresh::apply(&mut now, &swaps, false);
            self.place(&now, &swaps, AT)?;
            let timed = self.call(AT)?;
            good += usize::from(clean(&timed));
            calls.push((timed, swaps, self.answer(&now, AT)?));
        }
        let mut findings: Vec<Finding> = self.isolation().into_iter().collect();
        findings.push(self.replay(&mut now, &calls)?);
        let times: Vec<Timed> = calls.iter().map(|c| c.0).collect();
        findings.push(clock(&times));
        let mut counted: Vec<f64> = times.iter().filter(|t| clean(t)).map(|t| micros(t.elapsed)).collect();
        let mut advice = Vec::new();
        if counted.len() < wanted.div_ceil(2) {
            // The least disturbed ones; the rule looks at what was lost, never at the time.
            let mut all = times.clone();
            all.sort_by_key(|t| t.lost);
            counted = all.iter().take(wanted.div_ceil(2)).map(|t| micros(t.elapsed)).collect();
            advice.push(format!(
                "The machine was busy: only {good} of {} timed calls had their cores to themselves.",
                times.len()
            ));
        }
        // The answer that is judged: the first inputs, in the process that was timed.
        self.layout()?.load(slots, AT, 0x5a)?;
        self.call(AT)?;
        let layout = self.layout()?;
        fetch(layout, slots, AT)?;
        // Whether every element was written was seen by the watched runs; here the values tell.
        slots.values_mut().for_each(|s| s.written = None);
        let time = Figure::measured_us(median(&counted), self.plan.on.clone(), bootstrap(&counted, median));
        let profile = profile(time, advice, &self.plan);
        Ok(RunReport { profile: Some(profile), launched: self.launched(), findings })
    }

    /// Copies in what changed, and covers the last answer.
    fn place(&mut self, now: &Slots, swaps: &Swaps, placement: Placement) -> Result<(), Failure> {
        let layout = self.layout()?;
        let mut done: Vec<&str> = Vec::new();
        for (name, _, _) in swaps {
            if let Some(slot) = now.get(name)
                && !done.contains(&name.as_str())
            {
                layout.put(name, placement, &slot.tensor.bytes)?;
                done.push(name);
            }
        }
        for (name, slot) in now.iter().filter(|(_, s)| s.writable) {
            layout.put(name, placement, &slot.tensor.bytes)?;
        }
        Ok(())
    }

    fn answer(&mut self, now: &Slots, placement: Placement) -> Result<Vec<Vec<u8>>, Failure> {
        let layout = self.layout()?;
        now.iter().filter(|(_, s)| s.writable).map(|(name, _)| layout.get(name, placement)).collect()
    }

    /// Gives some of the timed calls, the last first, to a process that has seen none of them: it must answer alike.
    /// `now` are the inputs of the last call.
    fn replay(&mut self, now: &mut Slots, calls: &[(Timed, Swaps, Vec<Vec<u8>>)]) -> Result<Finding, Failure> {
        const AT: Placement = Placement::Start;
        let timed = self.worker.take();
        let step = calls.len().div_ceil(REPLAYS).max(1);
        let mut repeated = 0;
        let mut result = Ok(());
        // The state of the fresh process's memory must not hold what the timed one left there.
        self.layout()?.load(now, AT, 0x77)?;
        for (i, (_, swaps, answer)) in calls.iter().enumerate().rev() {
            if (calls.len() - 1 - i).is_multiple_of(step) {
                self.layout()?.load(now, AT, 0x77)?;
                self.call(AT)?;
                repeated += 1;
                let again = self.answer(now, AT)?;
                let outputs = now.iter().filter(|(_, s)| s.writable);
                for ((name, slot), (a, b)) in outputs.zip(answer.iter().zip(&again)) {
                    let decode = |bytes: &[u8]| slot.tensor.dtype.decode(bytes);
                    if a != b && differs(&decode(a), &decode(b)).is_some() {
                        result = Err(name.clone());
                    }
                }
            }
            fresh::apply(now, swaps, true);
        }
        // Back to the process that was timed.
        self.worker = timed;
        Ok(match result {
            Ok(()) => Finding {
                check: "replay".into(),
                ok: true,
                detail: format!(
                    "{} timed calls, each on inputs of its own; a fresh process repeats the answers of {repeated} of them",
                    calls.len()
                ),
            },
            Err(name) => Finding {
                check: "replay".into(),
                ok: false,
                detail: format!(
                    "a timed call left an `{name}` that a fresh process does not repeat on the same inputs: the answer \
                     was not computed from them in that call"
                ),
            },
        })
    }
}

impl Runnable for CpuRunnable {
    fn info(&self) -> &BuildInfo {
        &self.plan.info
    }

    fn run(&mut self, slots: &mut Slots, purpose: Purpose) -> Result<RunReport, Failure> {
        match purpose {
            Purpose::Check => self.check(slots),
            Purpose::Measure => self.measure(slots),
        }
    }

    fn again(&mut self, calls: u32) -> Result<Vec<f64>, Failure> {
        // The first call wakes threads and caches, as libraries that are timed in turns are woken too.
        self.call(Placement::Start)?;
        (0..calls).map(|_| self.call(Placement::Start).map(|t| micros(t.elapsed))).collect()
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn request(plan: &Plan, layout: &Layout, placement: Placement) -> Call {
    let dispatches = plan.dispatches.iter().enumerate();
    let dispatches = dispatches
        .map(|(index, d)| Dispatch {
            entry: index as u32,
            grid: d.grid,
            repeat: d.repeat,
            args: d
                .given
                .iter()
                .map(|given| match given {
                    Given::Tensor(name) => layout.tensor(name, placement),
                    Given::Scratch(name) => layout.scratch(name, placement),
                    Given::Absent => Arg::Null,
                    Given::Bytes(bytes) => Arg::Bytes(bytes.clone()),
                    Given::Group(axis) => Arg::Group(*axis),
                    Given::Thread => Arg::Thread,
                    Given::Threads => Arg::Threads,
                })
                .collect(),
        })
        .collect();
    Call { dispatches }
}

/// Copies outputs back.
fn fetch(layout: &Layout, slots: &mut Slots, placement: Placement) -> Result<(), Failure> {
    for (name, slot) in slots.iter_mut().filter(|(_, s)| s.writable) {
        slot.tensor.bytes = layout.get(name, placement)?;
    }
    Ok(())
}

/// An element counts as written if it is not what it was before.
fn mark(written: &mut [bool], width: usize, after: &[u8], before: &[u8]) {
    let width = width.max(1);
    for (i, element) in written.chunks_mut(width).enumerate() {
        let range = i * width..(i + 1) * width;
        if after.get(range.clone()) != before.get(range) {
            element.fill(true);
        }
    }
}

/// The first element in which two answers differ by more than rounding.
fn differs(a: &[f64], b: &[f64]) -> Option<usize> {
    let scale = (a.iter().filter(|v| v.is_finite()).map(|v| v * v).sum::<f64>() / a.len().max(1) as f64).sqrt();
    a.iter().zip(b).position(|(x, y)| match (x.is_finite(), y.is_finite()) {
        (true, true) => (x - y).abs() > SAME * scale.max(x.abs()),
        (one, other) => one != other,
    })
}

/// The worker's clock against this process's own.
fn clock(times: &[Timed]) -> Finding {
    let outside = times.iter().map(|t| micros(t.wall.saturating_sub(t.elapsed))).fold(f64::INFINITY, f64::min);
    let inside = median(&times.iter().map(|t| micros(t.elapsed)).collect::<Vec<_>>());
    let ok = outside <= 0.5 * inside + 3000.0;
    let detail = format!(
        "timed calls took {inside:.0} us by the worker's clock and at least {outside:.0} us more by the judge's own"
    );
    Finding { check: "clock".into(), ok, detail }
}

fn profile(time: Figure, advice: Vec<String>, plan: &Plan) -> Profile {
    let groups = plan.dispatches.iter().map(|d| d.grid.iter().map(|g| u64::from(*g)).product::<u64>());
    let busy = groups.max().unwrap_or(0).min(u64::from(plan.threads)) as f64 / f64::from(plan.threads.max(1));
    Profile {
        time,
        resources: indexmap::IndexMap::new(),
        bottleneck: Bottleneck::Compute,
        terms: indexmap::IndexMap::new(),
        instructions: indexmap::IndexMap::new(),
        bytes: indexmap::IndexMap::new(),
        occupancy: busy,
        occupancy_limit: if busy < 1.0 { "grid" } else { "threads" }.into(),
        registers: None,
        threadgroup_memory: 0,
        conflict_share: 0.0,
        barriers: 0.0,
        divergence: 0.0,
        floor_fraction: None,
        advice,
    }
}

fn place_of(plan: &Plan) -> Option<SourcePos> {
    let d = plan.dispatches.first()?;
    Some(SourcePos { file: d.file.clone(), line: d.signature.line, column: 0 })
}

fn fault(plan: &Plan, kind: &str, message: String, help: &str) -> Failure {
    Failure::Fault { kind: kind.into(), message, help: help.into(), pos: place_of(plan), other: None }
}

fn forbidden(plan: &Plan, call: &str) -> Failure {
    fault(
        plan,
        "forbidden_call",
        format!("the kernel made a system call that is forbidden to it: {call}"),
        "A kernel computes on its arguments: no files, no network, no processes, no threads of its own (the grid is what \
         threads share), no printing; a failed assert and an uncaught exception end here too.",
    )
}

fn overrun(plan: &Plan, name: &str, distance: i64) -> Failure {
    let message = if distance < 0 {
        format!("the kernel wrote {} bytes before the start of `{name}`", -distance)
    } else {
        format!("the kernel wrote past the end of `{name}`, {distance} bytes beyond it")
    };
    fault(plan, "out_of_bounds", message, "Check the last vector of a row and the last block: mask or handle the tail.")
}

fn unstable(plan: &Plan, name: &str, at: usize) -> Failure {
    fault(
        plan,
        "uninitialized_read",
        format!("two runs on the same inputs give different `{name}`, first at element {at}"),
        "It depends on memory nobody wrote (scratch, the output's old contents, uninitialised locals, state kept between \
         calls), or threads race on it.",
    )
}

fn failure(plan: &Plan, stop: Stop, layout: &Layout, places: (&[u64], &[u64]), placement: Placement) -> Failure {
    match stop {
        Stop::Deadline(limit) => Failure::Timeout {
            message: format!("the kernel did not end within {} s; its process was killed", limit.as_secs_f32()),
            help: "Look for a loop that does not end, or for far too much work.".into(),
            pos: place_of(plan),
        },
        Stop::Library(why) => Failure::Launch {
            message: format!("the compiled kernel cannot be loaded: {why}"),
            help: "It may use only the C and C++ standard libraries.".into(),
            pos: None,
        },
        Stop::Broken(why) => Failure::Infrastructure(format!("the worker process failed: {why}")),
        Stop::Died(status) => match layout.crash() {
            Some(crash) => crashed(plan, crash, layout, places, placement),
            // The C library blocks all signals while it starts a thread, so that no handler can tell of it.
            None if status.contains("SIGSYS") => forbidden(plan, "clone (starting a thread)"),
            None => fault(
                plan,
                "crash",
                format!("the kernel's process ended: {status}"),
                "It used up its memory or time, or ended itself.",
            ),
        },
    }
}

fn crashed(plan: &Plan, crash: Crash, layout: &Layout, places: (&[u64], &[u64]), placement: Placement) -> Failure {
    if crash.signal == libc::SIGSYS as u32 {
        return forbidden(plan, &call_name(crash.call));
    }
    let memory = crash.signal == libc::SIGSEGV as u32 || crash.signal == libc::SIGBUS as u32;
    if memory && let Some(near) = layout.near(crash.address, places, placement) {
        let (name, distance, bytes) = (near.name, near.distance, near.bytes as i64);
        return if distance >= bytes {
            let message =
                format!("the kernel went {} bytes past the end of `{name}` ({bytes} bytes)", distance - bytes);
            fault(
                plan,
                "out_of_bounds",
                message,
                "Check the last vector of a row and the last block: mask or handle the tail.",
            )
        } else if distance < 0 {
            let message = format!("the kernel went {} bytes before the start of `{name}`", -distance);
            fault(plan, "out_of_bounds", message, "Check index arithmetic for negative values.")
        } else if near.input {
            let message = format!("the kernel wrote to its input `{name}`, at byte {distance}");
            fault(plan, "read_only_write", message, "Inputs must stay as they are; use scratch buffers.")
        } else {
            let message = format!("the kernel cannot reach byte {distance} of `{name}`");
            fault(plan, "illegal_address", message, "Check index arithmetic and alignment.")
        };
    }
    match crash.signal as i32 {
        libc::SIGSEGV | libc::SIGBUS => fault(
            plan,
            "illegal_address",
            format!("the kernel touched an illegal address (0x{:x})", crash.address),
            "Check pointers and indices; large arrays belong into scratch buffers, the stack has 16 MiB; aligned vector \
             loads need aligned addresses.",
        ),
        libc::SIGFPE => {
            fault(plan, "arithmetic", "the kernel divided an integer by zero".into(), "Guard the division.")
        }
        libc::SIGILL => fault(
            plan,
            "illegal_instruction",
            "the kernel ran into an illegal instruction".into(),
            "A path the compiler holds for unreachable was reached (a missing return, undefined behaviour).",
        ),
        libc::SIGABRT => fault(plan, "abort", "the kernel aborted".into(), "A failed assert or an uncaught exception."),
        other => fault(plan, "crash", format!("the kernel's process was ended by signal {other}"), "See the signal."),
    }
}

/// Names of the calls that people meet; a number for the rest.
fn call_name(call: i64) -> String {
    let names = [
        (libc::SYS_socket, "socket (network)"),
        (libc::SYS_connect, "connect (network)"),
        (libc::SYS_openat, "openat (opening a file)"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, "open (opening a file)"),
        (libc::SYS_write, "write (printing or writing)"),
        (libc::SYS_writev, "writev (printing or writing)"),
        (libc::SYS_read, "read"),
        (libc::SYS_newfstatat, "stat (looking at a file)"),
        (libc::SYS_fstat, "fstat (looking at a file, or printing)"),
        (libc::SYS_clone, "clone (starting a thread or process)"),
        (libc::SYS_clone3, "clone3 (starting a thread or process)"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_fork, "fork (starting a process)"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_vfork, "vfork (starting a process)"),
        (libc::SYS_execve, "execve (starting a program)"),
        (libc::SYS_kill, "kill (a signal to a process)"),
        (libc::SYS_tgkill, "tgkill (abort)"),
        (libc::SYS_mmap, "mmap (mapping a file or code)"),
        (libc::SYS_mprotect, "mprotect (making memory executable)"),
        (libc::SYS_ptrace, "ptrace"),
        (libc::SYS_setitimer, "setitimer"),
        (libc::SYS_timer_create, "timer_create"),
        (libc::SYS_rt_sigaction, "rt_sigaction (catching signals)"),
    ];
    names.iter().find(|(n, _)| *n == call).map_or_else(|| format!("number {call}"), |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_written_if_it_changed() {
        let mut written = vec![false; 6];
        mark(&mut written, 2, &[9, 9, 1, 1, 2, 3], &[9, 9, 0, 0, 2, 2]);
        assert_eq!(written, [false, false, true, true, true, true]);
    }

    #[test]
    fn answers_differ_beyond_rounding_only() {
        assert_eq!(differs(&[1.0, 2.0], &[1.0, 2.001]), None);
        assert_eq!(differs(&[1.0, 2.0], &[1.0, 2.5]), Some(1));
        assert_eq!(differs(&[1.0, f64::NAN], &[1.0, 2.0]), Some(1));
        assert_eq!(differs(&[1.0, f64::NAN], &[1.0, f64::NAN]), None);
    }

    #[test]
    fn a_clock_that_runs_slow_shows() {
        let timed = |elapsed, wall| Timed {
            elapsed: Duration::from_micros(elapsed),
            lost: Duration::ZERO,
            wall: Duration::from_micros(wall),
        };
        assert!(clock(&[timed(1000, 1200), timed(1000, 9000)]).ok);
        assert!(!clock(&[timed(10, 90_000), timed(10, 80_000)]).ok);
    }
}
