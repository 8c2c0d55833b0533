//! One workload: build, watch, run, compare, time. Knows targets and tasks; must not know stages or the search.

use ksearch_device::target::Purpose;
use ksearch_device::{Failure, Profile, Runnable, Slots, Target, TargetFacts};
use ksearch_task::candidate::RecipeError;
use ksearch_task::compare::{compare, copied_from};
use ksearch_task::spec::Work;
use ksearch_task::{Bottleneck, Candidate, Comparison, Task, TensorInfo, Workload};

use crate::diagnose;
use crate::floor;
use crate::prepare::{PrepareError, Prepared, Preparer};
use crate::verdict::{Evidence, FaultReport, Status};

/// Why a candidate did not pass a workload.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// Status of the verdict.
    pub status: Status,
    /// What happened.
    pub summary: String,
    /// What to do.
    pub advice: String,
    /// The fault, where there is one.
    pub fault: Option<FaultReport>,
    /// Findings of the compiler.
    pub diagnostics: Vec<ksearch_msl::Diagnostic>,
    /// Error over the allowed one, where outputs were compared.
    pub error: Option<f64>,
}

impl Rejection {
    fn new(status: Status, summary: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            status,
            summary: summary.into(),
            advice: advice.into(),
            fault: None,
            diagnostics: Vec::new(),
            error: None,
        }
    }
}

impl From<PrepareError> for Rejection {
    fn from(error: PrepareError) -> Self {
        Self::new(
            Status::InfrastructureError,
            error.to_string(),
            "This is the task's fault, not the candidate's: mend the task file.",
        )
    }
}

impl From<RecipeError> for Rejection {
    fn from(error: RecipeError) -> Self {
        let advice = match &error {
            RecipeError::Requirement { .. } => {
                "Make the kernel handle this shape (guards, a second kernel under `when`), or choose other tunables."
            }
            _ => "Mend the launch recipe.",
        };
        Self::new(Status::LaunchError, error.to_string(), advice)
    }
}

impl From<Failure> for Rejection {
    fn from(failure: Failure) -> Self {
        let summary = failure.to_string();
        match failure {
            Failure::Compile(diagnostics) => {
                let advice = diagnostics
                    .iter()
                    .find_map(|d| d.help.clone())
                    .unwrap_or_else(|| "Mend the source at the line given.".into());
                Self { diagnostics, ..Self::new(Status::CompileError, summary, advice) }
            }
            Failure::Launch { help, pos, .. } => {
                let fault = pos.map(|pos| FaultReport {
                    kind: "launch".into(),
                    message: summary.clone(),
                    pos: Some(pos),
                    other: None,
                });
                Self { fault, ..Self::new(Status::LaunchError, summary, help) }
            }
            Failure::Fault { kind, message, help, pos, other } => Self {
                fault: Some(FaultReport { kind, message, pos, other }),
                ..Self::new(Status::Fault, summary, help)
            },
            Failure::Timeout { message, help, pos } => Self {
                fault: Some(FaultReport { kind: "runaway".into(), message, pos, other: None }),
                ..Self::new(Status::Timeout, summary, help)
            },
            Failure::Infrastructure(_) => Self::new(
                Status::InfrastructureError,
                summary,
                "Says nothing about the candidate; see `ksearch doctor`.",
            ),
        }
    }
}

/// What passing a workload showed.
#[derive(Clone, Debug, Default)]
pub struct Passed {
    /// Largest error over the allowed one.
    pub error: f64,
    /// Profile, where it was timed.
    pub profile: Option<Profile>,
    /// Parameters that no instruction reads.
    pub unread: Vec<String>,
    /// Outputs of the last run, for relations between runs.
    pub outputs: Vec<(TensorInfo, Vec<f64>)>,
}

/// What to do on a workload.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Watch it with the sanitizers.
    pub check: bool,
    /// Time it.
    pub time: bool,
    /// Seed of the first run's inputs; later runs draw fresh ones.
    pub seed: u64,
}

/// Everything a trial needs that stays the same over workloads.
pub struct Bench<'a> {
    /// The task.
    pub task: &'a Task,
    /// Where to run.
    pub target: &'a dyn Target,
    /// Inputs and answers.
    pub preparer: &'a Preparer,
}

impl Bench<'_> {
    /// Compiles `candidate` for `workload`.
    pub fn build(&self, candidate: &Candidate, workload: &Workload) -> Result<Box<dyn Runnable>, Rejection> {
        let resolved = candidate.resolve(self.task, &workload.env)?;
        Ok(self.target.build(candidate, &resolved)?)
    }

    /// Judges `candidate` on `workload`. Evidence is added also when it fails.
    pub fn run(
        &self,
        candidate: &Candidate,
        workload: &Workload,
        plan: Plan,
        evidence: &mut Vec<Evidence>,
    ) -> Result<Passed, Rejection> {
        let mut runnable = self.build(candidate, workload)?;
        let mut passed = Passed { unread: runnable.info().unread.clone(), ..Passed::default() };
        if plan.check {
            let prepared = self.preparer.prepare(workload, plan.seed)?;
            let slots = Self::launch(&mut *runnable, &prepared, Purpose::Check, plan.seed, workload, evidence)?.0;
            evidence.push(note("sanitizers", workload, "no fault of any kind"));
            passed.error = passed.error.max(self.answer(&prepared, &slots, workload, plan.seed, evidence)?);
            passed.outputs = outputs(&prepared, &slots);
        }
        if plan.time {
            // Other inputs and another poison than the watched run: nothing can be carried over.
            let seed = plan.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let prepared = self.preparer.prepare(workload, seed)?;
            let (slots, profile) = Self::launch(&mut *runnable, &prepared, Purpose::Measure, seed, workload, evidence)?;
            passed.error = passed.error.max(self.answer(&prepared, &slots, workload, seed, evidence)?);
            passed.outputs = outputs(&prepared, &slots);
            let Some(profile) = profile else {
                let what = format!("{}: the target gave no time", workload.label);
                return Err(Rejection::new(Status::InfrastructureError, what, "See `ksearch doctor`."));
            };
            passed.profile = Some(self.against_floor(profile, workload, evidence)?);
        }
        Ok(passed)
    }

    /// One run on inputs the caller made; the outputs, checked against the exact answer.
    pub fn run_on(
        &self,
        candidate: &Candidate,
        workload: &Workload,
        prepared: &Prepared,
        seed: u64,
        evidence: &mut Vec<Evidence>,
    ) -> Result<Vec<(TensorInfo, Vec<f64>)>, Rejection> {
        let mut runnable = self.build(candidate, workload)?;
        let slots = Self::launch(&mut *runnable, prepared, Purpose::Check, seed, workload, evidence)?.0;
        self.answer(prepared, &slots, workload, seed, evidence)?;
        Ok(outputs(prepared, &slots))
    }

    fn launch(
        runnable: &mut dyn Runnable,
        prepared: &Prepared,
        purpose: Purpose,
        poison: u64,
        workload: &Workload,
        evidence: &mut Vec<Evidence>,
    ) -> Result<(Slots, Option<Profile>), Rejection> {
        let mut slots = prepared.slots(poison);
        let report = runnable.run(&mut slots, purpose)?;
        for finding in &report.findings {
            let detail = format!("{}: {}", workload.label, finding.detail);
            evidence.push(Evidence { check: finding.check.clone(), ok: finding.ok, detail });
        }
        if let Some(finding) = report.findings.iter().find(|f| !f.ok) {
            let summary = format!("{}: {}", workload.label, finding.detail);
            let advice = "Every call must compute its answer from its own inputs, within the time it is given.";
            return Err(Rejection::new(Status::Suspect, summary, advice));
        }
        if report.launched.is_empty() {
            let advice = "The recipe launches no kernel on this workload: check the `when` of its dispatches.";
            return Err(Rejection::new(Status::NotObserved, "no kernel was launched", advice));
        }
        let changed = prepared.changed_inputs(&slots);
        if let Some(first) = changed.first() {
            let summary = format!("the kernel changed its input `{first}`");
            return Err(Rejection::new(Status::Suspect, summary, "Inputs must stay as they are; use scratch buffers."));
        }
        Ok((slots, report.profile))
    }

    /// Coverage, then closeness. The largest error over the allowed one.
    fn answer(
        &self,
        prepared: &Prepared,
        slots: &Slots,
        workload: &Workload,
        seed: u64,
        evidence: &mut Vec<Evidence>,
    ) -> Result<f64, Rejection> {
        let mut worst: f64 = 0.0;
        for (name, exact) in &prepared.expected {
            let Some(slot) = slots.get(name) else { continue };
            let info = &slot.tensor;
            if let Some(written) = &slot.written {
                coverage(name, written, info.dtype.bytes(), &info.shape, workload)?;
            }
            let got = info.values();
            let result = compare(exact, &got, info.dtype, &self.task.tolerance(info.dtype));
            let label = &workload.label;
            if result.nonfinite > 0 {
                let place = result.first_nonfinite.as_ref().map(ToString::to_string).unwrap_or_default();
                let summary = format!(
                    "{label}: {} elements of `{name}` are NaN or infinite, the first {place}",
                    result.nonfinite
                );
                let advice = "Look for 0/0, exp of a large number, -inf minus -inf (a row without visible keys), and \
                              uninitialised accumulators.";
                return Err(Rejection { error: None, ..Rejection::new(Status::Nonfinite, summary, advice) });
            }
            if !result.passed() {
                let detail = describe(&result);
                let summary = format!("{label}: `{name}` is wrong: {detail}");
                let advice = match copied_from(info, &prepared.inputs) {
                    Some(input) => format!("The output repeats the input `{input}`."),
                    None => diagnose::pattern(exact, &got),
                };
                evidence.push(Evidence {
                    check: "error".into(),
                    ok: false,
                    detail: format!("{label}, seed {seed}: {detail}"),
                });
                let error = Some(result.ratio).filter(|r| r.is_finite());
                return Err(Rejection { error, ..Rejection::new(Status::WrongAnswer, summary, advice) });
            }
            worst = worst.max(result.ratio);
            evidence.push(note(
                "error",
                workload,
                &format!(
                    "seed {seed}, `{name}`: {:.2} of the allowed error against f64 (max {:.1e}, rms {:.1e} of the output's magnitude)",
                    result.ratio, result.max, result.rms
                ),
            ));
        }
        if !prepared.trivial.is_empty() {
            let what = format!("{}: the tolerance would accept {}", workload.label, prepared.trivial.join(", "));
            return Err(Rejection::new(
                Status::InfrastructureError,
                what,
                "This is the task's fault: tighten its tolerance or vary its inputs.",
            ));
        }
        evidence.push(match prepared.degenerate.as_slice() {
            [] => note("probe_trivial", workload, "zeros, constants and copied inputs would have been refused"),
            names => {
                let names = names.join("`, `");
                note("probe_trivial", workload, &format!("not tried: the exact `{names}` is one value throughout"))
            }
        });
        Ok(worst)
    }

    fn against_floor(
        &self,
        mut profile: Profile,
        workload: &Workload,
        evidence: &mut Vec<Evidence>,
    ) -> Result<Profile, Rejection> {
        let work = self.task.work(&workload.env).map_err(PrepareError::from)?;
        let facts = self.target.facts();
        let seconds = profile.time.value * 1e-6;
        let floor = floor::impossible_below(&work, facts);
        if seconds < floor {
            let detail = format!(
                "{}: {:.3} us is below what {} can do at all ({:.3} us)",
                workload.label,
                profile.time.value,
                facts.name,
                floor * 1e6
            );
            evidence.push(Evidence { check: "floor".into(), ok: false, detail: detail.clone() });
            return Err(Rejection::new(
                Status::Suspect,
                detail,
                "Part of the work is not done, or is done outside the timed region.",
            ));
        }
        evidence.push(note(
            "floor",
            workload,
            &format!("{:.2} us is above the impossible ({:.3} us)", profile.time.value, floor * 1e6),
        ));
        profile.floor_fraction = Some((floor::attainable(&work, facts) / seconds).min(1.0));
        if profile.terms.is_empty() {
            by_work(&mut profile, &work, facts);
        }
        Ok(profile)
    }
}

/// Where the time went, for a target without counters: what the task's work takes at the target's rates, and the rest.
fn by_work(profile: &mut Profile, work: &Work, facts: &TargetFacts) {
    let time = profile.time.value;
    let at = |amount: f64, rate: Option<f64>| rate.map_or(0.0, |r| amount / (r * 1e9) * 1e6);
    let compute = at(work.flops, facts.peak_gflops);
    let special = at(work.specials, facts.exp_giga_per_s);
    let memory = at(work.bytes, facts.memory_gbs);
    let largest = compute.max(special).max(memory);
    let bottleneck = if largest < 0.5 * time {
        Bottleneck::Latency
    } else if memory >= compute.max(special) {
        Bottleneck::Bandwidth
    } else {
        Bottleneck::Compute
    };
    let mut terms = vec![("compute", compute), ("exponentials", special), ("memory", memory)];
    terms.push(("beside the task's own work", (time - largest).max(0.0)));
    terms.retain(|(_, t)| *t > 0.0);
    terms.sort_by(|a, b| b.1.total_cmp(&a.1));
    profile.terms = terms.into_iter().map(|(name, t)| (name.to_owned(), t)).collect();
    profile.bottleneck = bottleneck;
}

fn note(check: &str, workload: &Workload, detail: &str) -> Evidence {
    Evidence { check: check.into(), ok: true, detail: format!("{}: {detail}", workload.label) }
}

fn outputs(prepared: &Prepared, slots: &Slots) -> Vec<(TensorInfo, Vec<f64>)> {
    prepared
        .infos
        .iter()
        .filter(|i| i.present && i.role.is_written())
        .filter_map(|i| slots.get(&i.name).map(|s| (i.clone(), s.tensor.values())))
        .collect()
}

fn describe(result: &Comparison) -> String {
    let place = result.worst.as_ref().map(ToString::to_string).unwrap_or_default();
    if result.ratio.is_finite() {
        format!("{:.1} times the allowed error, worst {place}", result.ratio)
    } else {
        format!("wrong, worst {place}")
    }
}

/// Every element must have been written.
fn coverage(name: &str, written: &[bool], width: usize, shape: &[usize], workload: &Workload) -> Result<(), Rejection> {
    let missing = |element: &[bool]| element.iter().any(|w| !w);
    let count = written.chunks(width.max(1)).filter(|e| missing(e)).count();
    let Some(first) = written.chunks(width.max(1)).position(missing) else { return Ok(()) };
    let total = written.len() / width.max(1);
    let index = ksearch_task::tensor::unravel(first, shape);
    let label = &workload.label;
    let (summary, advice) = if count == total {
        (
            format!("{label}: the kernel wrote nothing to `{name}`"),
            "It never ran, or stores elsewhere: check the grid (threadgroups, not threads), guards and argument bindings.",
        )
    } else {
        (
            format!("{label}: {count} of {total} elements of `{name}` were never written, the first at {index:?}"),
            "The grid does not cover the output, or a guard is too tight: check ceil_div in the recipe and the bounds.",
        )
    };
    Err(Rejection::new(Status::NotObserved, summary, advice))
}
