//! The judge: runs the trials of a stage and writes the verdict. Must not know who proposed the candidate, nor why.

use std::sync::Arc;
use std::time::Instant;

use ksearch_device::Target;
use ksearch_task::{Candidate, Figure, FigureKind, Set, Task, Workload};

use crate::prepare::Preparer;
use crate::relations;
use crate::stage::Stage;
use crate::trial::{Bench, Passed, Plan, Rejection};
use crate::verdict::{Evidence, Status, Verdict, WorkloadResult};

/// Judges candidates of one task on one target.
pub struct Judge {
    task: Arc<Task>,
    target: Arc<dyn Target>,
    preparer: Preparer,
}

impl Judge {
    /// A judge of `task` on `target`.
    pub fn new(task: Arc<Task>, target: Arc<dyn Target>) -> Self {
        let preparer = Preparer::new(Arc::clone(&task));
        Self { task, target, preparer }
    }

    /// The task it judges.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Where it judges.
    pub fn target(&self) -> &dyn Target {
        &*self.target
    }

    /// Judges `candidate` at `stage` with inputs drawn from `seed`.
    pub fn judge(&self, candidate: &Candidate, stage: Stage, seed: u64) -> Verdict {
        let workloads: Vec<&Workload> = match stage {
            Stage::HeldOut => self.task.workloads_of(Set::HeldOut).collect(),
            Stage::Screen => self.cheapest().into_iter().collect(),
            Stage::Check | Stage::Full | Stage::Confirm => self.task.workloads_of(Set::Search).collect(),
        };
        self.judge_on(candidate, stage, seed, &workloads)
    }

    /// Judges `candidate` on these workloads only.
    pub fn judge_on(&self, candidate: &Candidate, stage: Stage, seed: u64, workloads: &[&Workload]) -> Verdict {
        let start = Instant::now();
        let bench = Bench { task: &self.task, target: &*self.target, preparer: &self.preparer };
        let mut verdict = Verdict {
            candidate: candidate.id(),
            task: self.task.name.clone(),
            target: self.target.id().to_string(),
            seed,
            status: Status::Passed,
            summary: String::new(),
            advice: String::new(),
            fault: None,
            workloads: Vec::new(),
            time: None,
            profile: None,
            evidence: Vec::new(),
            diagnostics: Vec::new(),
            wall_s: 0.0,
        };
        if candidate.language != self.target.id().language() {
            let summary = format!(
                "the candidate is written in {:?}, but {} runs {:?}",
                candidate.language,
                self.target.id(),
                self.target.id().language()
            );
            verdict.status = Status::CompileError;
            verdict.summary = summary;
            verdict.advice = "Choose a target that takes this language.".into();
            return verdict;
        }
        let mut unread: Option<Vec<String>> = None;
        for workload in workloads {
            let outcome = Self::one(&bench, candidate, workload, stage, seed, &mut verdict.evidence);
            match outcome {
                Ok(passed) => {
                    // An argument counts as unread only if no specialisation reads it.
                    match &mut unread {
                        Some(names) => names.retain(|n| passed.unread.contains(n)),
                        None => unread = Some(passed.unread.clone()),
                    }
                    verdict.workloads.push(WorkloadResult {
                        label: workload.label.clone(),
                        status: Status::Passed,
                        time: passed.profile.as_ref().map(|p| p.time.clone()),
                        error: (stage != Stage::Check).then_some(passed.error),
                        profile: passed.profile,
                    });
                }
                Err(rejection) => {
                    verdict.workloads.push(WorkloadResult {
                        label: workload.label.clone(),
                        status: rejection.status,
                        time: None,
                        error: rejection.error,
                        profile: None,
                    });
                    verdict.reject(rejection);
                    break;
                }
            }
        }
        if verdict.status == Status::Passed {
            Self::pass(&mut verdict, stage, workloads, unread.unwrap_or_default());
        }
        verdict.wall_s = start.elapsed().as_secs_f64();
        verdict
    }

    fn one(
        bench: &Bench<'_>,
        candidate: &Candidate,
        workload: &Workload,
        stage: Stage,
        seed: u64,
        evidence: &mut Vec<Evidence>,
    ) -> Result<Passed, Rejection> {
        match stage {
            Stage::Check => {
                let built = bench.build(candidate, workload)?;
                Ok(Passed { unread: built.info().unread.clone(), ..Passed::default() })
            }
            Stage::Screen => bench.run(candidate, workload, Plan { check: false, time: true, seed }, evidence),
            Stage::Full | Stage::Confirm | Stage::HeldOut => {
                let plan = Plan { check: workload.purpose.checks(), time: workload.purpose.times(), seed };
                let passed = bench.run(candidate, workload, plan, evidence)?;
                if stage == Stage::Confirm {
                    relations::check(bench, candidate, workload, seed, evidence)?;
                }
                Ok(passed)
            }
        }
    }

    fn pass(verdict: &mut Verdict, stage: Stage, workloads: &[&Workload], unread: Vec<String>) {
        let n = workloads.len();
        verdict.summary = match stage {
            Stage::Check => format!("compiles and fits the chip on {n} workloads"),
            _ => format!("right on {n} of {n} workloads"),
        };
        for name in unread {
            let detail = format!("{name} is never read; it must not matter on any workload");
            verdict.evidence.push(Evidence { check: "unread_argument".into(), ok: false, detail });
        }
        let mut log_sum = 0.0;
        let mut weights = 0.0;
        let mut heaviest: Option<(f64, &WorkloadResult)> = None;
        let mut bounds: Option<[f64; 2]> = Some([0.0, 0.0]);
        for (workload, result) in workloads.iter().zip(&verdict.workloads) {
            let Some(time) = &result.time else { continue };
            log_sum += workload.weight * time.value.ln();
            weights += workload.weight;
            bounds = match (bounds, time.ci) {
                (Some([lo, hi]), Some([a, b])) => Some([lo + workload.weight * a.ln(), hi + workload.weight * b.ln()]),
                _ => None,
            };
            if heaviest.is_none_or(|(w, _)| workload.weight > w) {
                heaviest = Some((workload.weight, result));
            }
        }
        if let Some((_, result)) = heaviest {
            verdict.profile.clone_from(&result.profile);
            verdict.time = result.time.as_ref().map(|t| Figure {
                value: (log_sum / weights).exp(),
                unit: t.unit.clone(),
                kind: t.kind,
                on: t.on.clone(),
                ci: bounds.map(|[lo, hi]| [(lo / weights).exp(), (hi / weights).exp()]),
            });
        }
    }

    /// The time a perfect implementation would take over the timed search workloads, weighted as a verdict's time is.
    pub fn floor(&self) -> Option<Figure> {
        let facts = self.target.facts();
        let (mut log_sum, mut weights) = (0.0, 0.0);
        for w in self.task.workloads_of(Set::Search).filter(|w| w.purpose.times()) {
            let seconds = crate::floor::attainable(&self.task.work(&w.env).ok()?, facts);
            log_sum += w.weight * (seconds * 1e6).ln();
            weights += w.weight;
        }
        let value = (log_sum / weights).exp();
        (value.is_finite() && value > 0.0).then(|| Figure {
            value,
            unit: "us".into(),
            kind: FigureKind::Derived,
            on: facts.name.clone(),
            ci: None,
        })
    }

    /// The timed search workload with the least work.
    fn cheapest(&self) -> Option<&Workload> {
        let work = |w: &Workload| self.task.work(&w.env).map_or(f64::INFINITY, |k| k.flops + k.bytes);
        self.task.workloads_of(Set::Search).filter(|w| w.purpose.times()).min_by(|a, b| work(a).total_cmp(&work(b)))
    }
}

impl Verdict {
    fn reject(&mut self, rejection: Rejection) {
        self.status = rejection.status;
        self.summary = rejection.summary;
        self.advice = rejection.advice;
        self.fault = rejection.fault;
        self.diagnostics = rejection.diagnostics;
    }
}
