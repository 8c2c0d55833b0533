//! The tunable sweep: successive halving over the declared values of a candidate. Many settings are screened cheaply,
//! the best few are judged in full. Must not know strategies or roles.

use std::collections::BTreeMap;

use ksearch_judge::Status;
use ksearch_task::{Candidate, CandidateId, Figure};

use crate::config::SweepConfig;
use crate::evaluate::Stage;
use crate::noise::is_faster;
use crate::record::{Event, SweepReport};
use crate::recorder::{Abort, Activity, Recorder, candidate_record};
use crate::state::{CandidateRecord, draw};
use crate::strategy::Plan;

/// A candidate's settings.
pub type Values = BTreeMap<String, i64>;

/// The settings worth screening beside the candidate's own, at most `most`: all combinations of `free` tunables where
/// there are few; else first each one alone, then combinations drawn at random. Tunables that are not free keep their
/// value. The same candidate and seed give the same list.
pub fn settings(candidate: &Candidate, free: &[String], most: usize, seed: u64) -> Vec<Values> {
    let own: Values = candidate.tunables.iter().map(|t| (t.name.clone(), value_of(candidate, &t.name))).collect();
    let axes: Vec<(&str, &[i64])> = candidate
        .tunables
        .iter()
        .filter(|t| free.contains(&t.name) && t.values.len() > 1)
        .map(|t| (t.name.as_str(), t.values.as_slice()))
        .collect();
    let size = axes.iter().fold(1_u64, |n, (_, values)| n.saturating_mul(values.len() as u64));
    let nth = |mut index: u64| {
        let mut setting = own.clone();
        for (name, values) in &axes {
            let value = values[(index % values.len() as u64) as usize];
            index /= values.len() as u64;
            setting.insert((*name).to_owned(), value);
        }
        setting
    };
    let mut list: Vec<Values> = Vec::new();
    let mut add = |setting: Values| {
        if setting != own && !list.contains(&setting) && list.len() < most {
            list.push(setting);
        }
    };
    if size <= most as u64 + 1 {
        (0..size).map(nth).for_each(&mut add);
        return list;
    }
    for (name, values) in &axes {
        for value in *values {
            let mut setting = own.clone();
            setting.insert((*name).to_owned(), *value);
            add(setting);
        }
    }
    // Enough draws to fill up what the single steps left, without a bound that hangs on luck.
    for i in 0..4 * most as u64 {
        add(nth(draw(seed, "sweep", &i.to_string()) % size));
    }
    list
}

/// Value of a tunable: the chosen one if it is allowed, else the default.
fn value_of(candidate: &Candidate, name: &str) -> i64 {
    let Some(tunable) = candidate.tunables.iter().find(|t| t.name == name) else { return 0 };
    candidate.values.get(name).copied().filter(|v| tunable.values.contains(v)).unwrap_or(tunable.default)
}

/// What a sweep found.
pub struct Swept {
    /// What it did.
    pub report: SweepReport,
    /// The better candidate and its time, if there is one beyond noise.
    pub better: Option<(CandidateId, Candidate, Figure)>,
    /// Candidates that were judged in full.
    pub judged: Vec<CandidateId>,
}

/// Sweeps `free` tunables of a candidate that passed with `time`. What does not beat `rival` on the screen (the candidate
/// itself, where there is none) does not go on. At most `evaluations` are judged in full.
pub fn sweep(
    recorder: &Recorder<'_>,
    cycle: u32,
    start: (&CandidateId, &CandidateRecord, &Figure),
    free: &[String],
    rival: Option<(&CandidateId, &Candidate)>,
    limits: (SweepConfig, u32),
    min_gain: f64,
) -> Result<Swept, Abort> {
    let (id, record, time) = start;
    let (config, evaluations) = limits;
    let seed = recorder.look(|s| draw(s.config.seed, "settings", &id.0));
    let settings = settings(&record.candidate, free, config.screens as usize, seed);
    let total = settings.len() as u32;
    let mut report = SweepReport { screened: 0, refused: 0, full: 0, values: Values::new(), gain: 1.0 };
    let mut screened: Vec<(f64, CandidateId, Candidate)> = Vec::new();
    let (bar_id, bar) = rival.unwrap_or((id, &record.candidate));
    let bar = if total == 0 { None } else { recorder.judge(cycle, bar_id, bar, Stage::Screen)?.time };
    for (done, values) in settings.into_iter().enumerate() {
        recorder.activity(&Activity::Sweeping { cycle, done: done as u32, total });
        let candidate = Candidate { values, ..record.candidate.clone() };
        let variant = candidate.id();
        if variant == *id {
            continue;
        }
        let plan = record.plan.clone().map(|p| Plan { values: candidate.values.clone(), ..p });
        let kept = candidate_record(&candidate, plan.as_ref(), record.parent.as_ref(), &record.by, cycle);
        recorder.record(recorder.candidate_event(&variant, &kept, Some(id)).into_iter().collect::<Vec<Event>>())?;
        if recorder.check(cycle, &variant, &candidate)?.is_some() {
            report.refused += 1;
            continue;
        }
        let verdict = recorder.judge(cycle, &variant, &candidate, Stage::Screen)?;
        report.screened += 1;
        if let (Status::Passed, Some(time)) = (verdict.status, verdict.time)
            && bar.as_ref().is_none_or(|bar| is_faster(&time, bar, min_gain))
        {
            screened.push((time.value, variant, candidate));
        }
    }
    screened.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let mut judged = Vec::new();
    let mut better: Option<(CandidateId, Candidate, Figure)> = None;
    for (_, variant, candidate) in screened.into_iter().take(config.full.min(evaluations) as usize) {
        let verdict = recorder.judge(cycle, &variant, &candidate, Stage::Full)?;
        report.full += 1;
        judged.push(variant.clone());
        if let (Status::Passed, Some(new)) = (verdict.status, verdict.time)
            && is_faster(&new, better.as_ref().map_or(time, |b| &b.2), min_gain)
        {
            report.gain = time.value / new.value;
            report.values.clone_from(&candidate.values);
            better = Some((variant, candidate, new));
        }
    }
    Ok(Swept { report, better, judged })
}
