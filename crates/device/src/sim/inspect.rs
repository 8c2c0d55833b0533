//! Inspection: dispatches run once for what they show, not for a verdict or a time: every fault, counters by source line,
//! values of a line. Must not know tasks or what is right.

use ksearch_apple::occupancy::max_threads_by_registers;
use ksearch_msl::{Diagnostic, EntryPoint, Optimise, Param, SourcePos};
use ksearch_simt::{Counters, Fault, Launch, LineCounts, Mode, Outcome, Traced};
use ksearch_task::Candidate;
use ksearch_task::candidate::{Resolved, ResolvedDispatch};

use super::{SimTarget, Sources, bind, constants, run_error, unread_params};
use crate::target::{Failure, Slots};

/// Threads of a threadgroup that every kernel has registers for: Apple's compiler spills rather than allow fewer.
const LEAST_ROOM: u32 = 384;

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspect {
    /// Faults, with every sanitizer, in the program as written.
    Faults,
    /// Counters by line, in the optimised program.
    Lines,
    /// Values of a source line, in the program as written.
    Values {
        /// 1-based line.
        line: u32,
        /// Position of the threadgroup.
        group: [u32; 3],
        /// Simdgroup in it.
        simdgroup: u32,
        /// Executions to keep at most.
        most: usize,
    },
}

/// One dispatch as it ran.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The kernel.
    pub entry: EntryPoint,
    /// Faults, the first of each place.
    pub faults: Vec<Fault>,
    /// Parameters that no instruction uses.
    pub unread: Vec<Param>,
    /// Threads of a threadgroup that its registers leave room for on this chip, where fewer than were launched. An
    /// estimate: only Apple's compiler knows.
    pub crowded: Option<u32>,
    /// Counters; those of memory only for [`Inspect::Lines`].
    pub counters: Counters,
    /// Only for [`Inspect::Lines`].
    pub lines: Vec<LineCounts>,
    /// Only for [`Inspect::Values`].
    pub traced: Option<Traced>,
}

/// What an inspection showed.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Compiler warnings.
    pub warnings: Vec<Diagnostic>,
    /// Dispatches in order.
    pub dispatches: Vec<Inspected>,
}

impl Inspection {
    /// Position of the kernel that was launched last: where findings without a place of their own belong.
    pub fn place(&self) -> Option<&SourcePos> {
        self.dispatches.last().map(|d| &d.entry.pos)
    }
}

impl SimTarget {
    /// Runs all dispatches once. `exact` launches that many threads per axis instead of whole threadgroups
    /// (`dispatchThreads`). Slots are updated in place, also when it fails.
    pub fn inspect(
        &self,
        candidate: &Candidate,
        resolved: &Resolved,
        slots: &mut Slots,
        what: Inspect,
        exact: Option<[u32; 3]>,
    ) -> Result<Inspection, Failure> {
        let sources = Sources::new(candidate, resolved);
        let mut out = Inspection::default();
        let mut memory = bind::DeviceMemory::new(slots, resolved);
        let result = resolved.dispatches.iter().try_for_each(|dispatch| {
            self.look(&sources, dispatch, resolved, &mut memory, what, exact).map(|(warnings, inspected)| {
                out.warnings.extend(warnings);
                out.dispatches.push(inspected);
            })
        });
        memory.give_back(slots);
        result.map(|()| out)
    }

    fn look(
        &self,
        sources: &Sources,
        dispatch: &ResolvedDispatch,
        resolved: &Resolved,
        memory: &mut bind::DeviceMemory,
        what: Inspect,
        exact: Option<[u32; 3]>,
    ) -> Result<(Vec<Diagnostic>, Inspected), Failure> {
        let optimise = if what == Inspect::Lines { Optimise::Speed } else { Optimise::Faithful };
        let variables = matches!(what, Inspect::Values { .. });
        let unit = sources.build_with(&self.compiler, &constants(&dispatch.constants), optimise, variables)?;
        bind::check(&unit.module, dispatch, resolved, &self.chip)?;
        let args = bind::arguments(&unit.module, dispatch, resolved, memory)?;
        let launch = match exact {
            Some(grid) => Launch::exact(grid, dispatch.threadgroup, args),
            None => Launch::new(dispatch.grid, dispatch.threadgroup, args),
        };
        let limits = self.limits(&launch);
        let refuse = |e| run_error(e, &unit.module, dispatch);
        let traced = match what {
            Inspect::Values { line, group, simdgroup, most } => {
                let [x, y, _] = launch.groups.map(u64::from);
                let [i, j, k] = group.map(u64::from);
                let at = (i + x * (j + y * k), simdgroup, most);
                Some(unit.program.trace(&dispatch.kernel, &launch, &mut memory.memory, &limits, line, at))
            }
            Inspect::Faults | Inspect::Lines => None,
        };
        let traced = traced.transpose().map_err(refuse)?;
        let outcome = if let Some(t) = &traced {
            t.outcome.clone()
        } else {
            let mode = if what == Inspect::Lines { Mode::Profile } else { Mode::Sanitize };
            unit.program.run(&dispatch.kernel, &launch, &mut memory.memory, &limits, mode).map_err(refuse)?
        };
        let Outcome { counters, faults, detail, .. } = outcome;
        let lines = match (&detail, what) {
            (Some(detail), Inspect::Lines) => {
                ksearch_simt::by_line(unit.program.counted(&dispatch.kernel).map_err(refuse)?, detail)
            }
            _ => Vec::new(),
        };
        let threads: u32 = launch.threads.iter().product();
        let crowded = match what {
            Inspect::Faults if threads > LEAST_ROOM => {
                // Registers are those of the optimised program.
                let fast = sources.build(&self.compiler, &constants(&dispatch.constants), Optimise::Speed)?;
                let lowered = fast.program.lowered(&dispatch.kernel).map_err(refuse)?;
                let room = max_threads_by_registers(&self.chip, lowered.register_halves);
                (room < threads).then_some(room)
            }
            _ => None,
        };
        let unread = unread_params(&unit, dispatch).into_iter().cloned().collect();
        let Some(entry) = unit.module.entries.iter().find(|e| e.name == dispatch.kernel) else {
            return Err(Failure::Infrastructure(format!("kernel `{}` was not built", dispatch.kernel)));
        };
        let inspected = Inspected { entry: entry.clone(), faults, unread, crowded, counters, lines, traced };
        Ok((unit.module.warnings.clone(), inspected))
    }
}
