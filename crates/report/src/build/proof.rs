//! Why the best kernel is believed to be right: every judgement of it, and what none of them shows. Must not know how
//! it is drawn.

use indexmap::IndexMap;
use ksearch_judge::{Evidence, Status, Verdict};
use ksearch_search::Stage;
use ksearch_search::view::best;
use ksearch_task::FigureKind;

use super::Loaded;
use crate::model::{Check, Proof, ProofSet, Shown, WorkloadRow};
use crate::text;

/// The proof of the best candidate.
pub fn proof(run: &Loaded) -> Shown<Proof> {
    let state = &run.view.state;
    let Some(best) = best(state) else { return Shown::missing("no candidate has passed") };
    let mut sets = Vec::new();
    if let Some(verdict) = state.full_verdict(&best.candidate) {
        sets.push(set("search workloads", verdict));
    }
    let late = |stage: Stage| run.late.iter().rev().find(|(s, v)| *s == stage && v.candidate == best.candidate);
    if let Some((_, verdict)) = late(Stage::Confirm) {
        sets.push(set("search workloads, fresh inputs", verdict));
    }
    if let Some((_, verdict)) = late(Stage::HeldOut) {
        sets.push(set("held-out workloads", verdict));
    }
    let mut open = Vec::new();
    if best.time.kind == FigureKind::Simulated {
        open.push(
            "No real GPU has run it: results come from a simulator that runs the compiled kernel, times from a model \
             of the chip. Apple's own compiler has not seen it."
                .to_owned(),
        );
    }
    if best.time.ci.is_none() {
        open.push("The time has no interval.".to_owned());
    }
    if late(Stage::Confirm).is_none() {
        open.push("It was not judged again with fresh inputs.".to_owned());
    }
    if late(Stage::HeldOut).is_none() {
        open.push("The held-out workloads were not judged.".to_owned());
    }
    if state.premises.baseline.is_none() {
        open.push(
            "No library kernel was timed on this target: nothing is said about the best known kernel.".to_owned(),
        );
    }
    let rows = || sets.iter().flat_map(|s| &s.workloads);
    let untimed = rows().filter(|w| w.time.is_none() && w.status == Status::Passed.name()).count();
    if untimed > 0 {
        open.push(format!(
            "{} checked, not timed.",
            crate::words::count(untimed, "workload was").replace("wass", "s were")
        ));
    }
    for failed in sets.iter().flat_map(|s| &s.checks).filter(|c| c.held < c.made) {
        open.push(format!("{} did not hold: {}", failed.name, failed.example));
    }
    open.push(format!(
        "Shapes, types and parameters other than those of the {} above were not tried.",
        crate::words::count(rows().count(), "judgement")
    ));
    Shown::Known(Proof { sets, open })
}

fn set(name: &str, verdict: &Verdict) -> ProofSet {
    ProofSet {
        name: name.to_owned(),
        seed: verdict.seed,
        outcome: text::line(&verdict.summary),
        passed: verdict.status == Status::Passed,
        workloads: workloads(verdict),
        checks: checks(&verdict.evidence),
    }
}

/// The workloads of a verdict.
pub fn workloads(verdict: &Verdict) -> Vec<WorkloadRow> {
    let row = |w: &ksearch_judge::WorkloadResult| WorkloadRow {
        label: text::line(&w.label),
        status: w.status.name().to_owned(),
        time: w.time.clone(),
        error: w.error,
    };
    verdict.workloads.iter().map(row).collect()
}

fn checks(evidence: &[Evidence]) -> Vec<Check> {
    let mut by_name: IndexMap<&str, Vec<&Evidence>> = IndexMap::new();
    for e in evidence {
        by_name.entry(&e.check).or_default().push(e);
    }
    by_name
        .into_iter()
        .map(|(name, all)| {
            let telling = all.iter().find(|e| !e.ok).or(all.first());
            Check {
                name: text::line(name),
                held: all.iter().filter(|e| e.ok).count(),
                made: all.len(),
                example: telling.map(|e| text::line(&e.detail)).unwrap_or_default(),
            }
        })
        .collect()
}
