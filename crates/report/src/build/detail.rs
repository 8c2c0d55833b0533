//! One node in full: hypothesis, prediction against result, verdict, profile, difference to the parent, exchanges.
//! Must not know how it is drawn.

use std::time::Duration;

use indexmap::IndexMap;
use ksearch_device::Profile;
use ksearch_judge::Verdict;
use ksearch_search::state::CandidateRecord;
use ksearch_task::{Candidate, CandidateId};
use ksearch_world::{Node, NodeId, State};
use similar::TextDiff;

use super::Loaded;
use super::proof::workloads;
use crate::model::{AttemptRow, CandidateDetail, ExchangeRow, NodeDetail, ProfileDetail, Shown, VerdictDetail};
use crate::text;

/// The longest that a difference may take; after that a coarser one is given.
pub(crate) const DIFF_PATIENCE: Duration = Duration::from_millis(300);

impl Loaded {
    /// Everything on a node; none where there is no such node.
    pub fn node(&self, id: NodeId) -> Option<NodeDetail> {
        let state = &self.view.state;
        let node = state.world.get(id).filter(|n| !n.is_deleted())?;
        let action = node.action.clone().unwrap_or_default();
        let cycles: Vec<_> = state.closed.iter().filter(|c| c.node == id).collect();
        let attempts: Vec<AttemptRow> = cycles.iter().flat_map(|c| &c.report.attempts).map(attempt).collect();
        let tried = || cycles.iter().flat_map(|c| &c.report.attempts).rev().find_map(|a| a.candidate.clone());
        let attached = node.outcome().map(|o| o.candidate.clone()).or_else(tried);
        let outcome = node.outcome();
        let cycle_numbers: Vec<u32> = cycles
            .iter()
            .map(|c| c.cycle)
            .chain(state.open.values().filter(|c| c.node == id).map(|c| c.cycle))
            .collect();
        let said =
            self.exchanges.iter().filter(|s| s.node == Some(id) || s.cycle.is_some_and(|c| cycle_numbers.contains(&c)));
        Some(NodeDetail {
            id: id.to_string(),
            title: super::title(node),
            description: text::block(&action.description),
            rationale: text::block(&action.rationale),
            strategy: action.strategy.as_deref().map(text::line),
            by: text::line(&node.by),
            rating: node.rating,
            confidence: node.confidence,
            difficulty: node.action.is_some().then_some(action.difficulty),
            predicted: node.predicted_gain,
            gain: outcome.and_then(|o| o.gain),
            within_noise: outcome.is_some_and(|o| o.within_noise),
            impacts: node.impacts.iter().map(|(r, i)| (resource(*r), i.rating, text::line(&i.notes))).collect(),
            notes: text::block(&node.notes),
            standing: standing(node),
            attempts,
            diff: self.diff_to_parent(node, attached.as_ref()),
            candidate: attached.and_then(|id| self.candidate(&id)),
            exchanges: said
                .flat_map(|s| s.exchanges.iter().map(|e| (&s.purpose, e)))
                .map(|(purpose, e)| ExchangeRow {
                    purpose: purpose.clone(),
                    model: format!("{} {}", text::line(&e.provider), text::line(&e.model)),
                    system: text::block(&e.system),
                    user: text::block(&e.user),
                    answer: text::block(&e.answer),
                    error: e.error.as_ref().map(|e| text::line(&e.message)),
                    tokens: (e.tokens_in, e.tokens_out),
                    seconds: e.seconds,
                })
                .collect(),
        })
    }

    /// A candidate with its verdict.
    pub fn candidate(&self, id: &CandidateId) -> Option<CandidateDetail> {
        let state = &self.view.state;
        let record = state.candidates.get(id)?;
        Some(CandidateDetail {
            id: id.0.clone(),
            by: text::line(&record.by),
            values: values(record),
            verdict: Shown::or(state.any_verdict(id).map(|v| verdict(v)), "it was not judged"),
        })
    }

    /// A unified diff between two candidates of the run.
    pub fn diff(&self, before: &CandidateId, after: &CandidateId) -> Shown<String> {
        let of = |id: &CandidateId| self.view.state.candidates.get(id).map(|r| candidate_text(&r.candidate));
        match (of(before), of(after)) {
            (Some(a), Some(b)) => Shown::Known(unified(&a, &b, before.short(), after.short())),
            _ => Shown::missing("the journal does not hold both candidates"),
        }
    }

    fn diff_to_parent(&self, node: &Node, attached: Option<&CandidateId>) -> Shown<String> {
        let Some(attached) = attached else { return Shown::missing("no candidate was written") };
        let Some(parent) = node.parent else { return Shown::missing("this is where the search started") };
        // A parent that was never solved has no candidate: what the work began from is then further up.
        let path = self.view.state.world.path(parent);
        match path.iter().rev().find_map(|n| n.outcome()) {
            Some(before) => self.diff(&before.candidate, attached),
            None => Shown::missing("its parent has no candidate"),
        }
    }
}

/// The files of a candidate as one text: its recipe in a comment, every file under its name.
pub fn candidate_text(candidate: &Candidate) -> String {
    let candidate = candidate.clone().with_recipe_comment();
    match candidate.files.as_slice() {
        [only] => text::block(&only.text),
        files => files
            .iter()
            .map(|f| format!("// file: {}\n{}\n", text::line(&f.path), text::block(&f.text)))
            .collect::<Vec<_>>()
            .concat(),
    }
}

/// A unified diff of two texts.
pub fn unified(before: &str, after: &str, before_name: &str, after_name: &str) -> String {
    TextDiff::configure()
        .timeout(DIFF_PATIENCE)
        .diff_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(before_name, after_name)
        .to_string()
}

fn values(record: &CandidateRecord) -> std::collections::BTreeMap<String, i64> {
    let c = &record.candidate;
    c.tunables.iter().map(|t| (text::line(&t.name), c.value_of(t))).collect()
}

fn attempt(a: &ksearch_search::record::Attempt) -> AttemptRow {
    AttemptRow {
        step: text::line(&a.step),
        status: text::line(&a.status),
        summary: text::line(&a.summary),
        time: a.time.clone(),
        sweep: a.sweep.as_ref().map(|s| {
            let won: Vec<String> = s.values.iter().map(|(k, v)| format!("{} = {v}", text::line(k))).collect();
            let won = if won.is_empty() { "its own values won".to_owned() } else { won.join(", ") };
            format!("{} settings screened, {} judged in full: {won}, {:.2}×", s.screened, s.full, s.gain)
        }),
    }
}

fn resource(resource: ksearch_world::node::Resource) -> String {
    serde_json::to_value(resource).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

fn standing(node: &Node) -> String {
    match &node.state {
        State::Open if node.failures.is_empty() => "not tried".to_owned(),
        State::Open => "tried without success, may be tried again".to_owned(),
        State::Active => "in work".to_owned(),
        State::Solved(_) if node.id == NodeId::ROOT => "the kernel the search started from".to_owned(),
        State::Solved(_) => "a passing candidate is attached".to_owned(),
        State::Abandoned { why } | State::Deleted { why } => format!("given up: {}", text::line(why)),
    }
}

fn verdict(v: &Verdict) -> VerdictDetail {
    let fault = v.fault.iter().map(|f| {
        let at = f.pos.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
        text::line(&format!("{at}{}: {}", f.kind, f.message))
    });
    let diagnostics = v.diagnostics.iter().map(|d| {
        let at = d.pos.as_ref().map(|p| format!("{p}: ")).unwrap_or_default();
        text::line(&format!("{at}{}", d.message))
    });
    VerdictDetail {
        status: v.status.name().to_owned(),
        summary: text::line(&v.summary),
        advice: text::line(&v.advice),
        time: v.time.clone(),
        workloads: workloads(v),
        findings: fault.chain(diagnostics).collect(),
        profile: v.profile.as_ref().map(profile),
    }
}

fn profile(p: &Profile) -> ProfileDetail {
    let copy = |m: &IndexMap<String, f64>| -> IndexMap<String, f64> {
        m.iter().filter(|(_, v)| **v > 0.0).map(|(k, v)| (text::line(k), *v)).collect()
    };
    let mut instructions = copy(&p.instructions);
    instructions.sort_by(|_, a, _, b| b.total_cmp(a));
    instructions.truncate(8);
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let mut facts = vec![
        ("occupancy".to_owned(), format!("{}, limited by {}", percent(p.occupancy), text::line(&p.occupancy_limit))),
        ("threadgroup memory".to_owned(), format!("{} bytes", p.threadgroup_memory)),
        ("bank conflicts".to_owned(), format!("{} of passes", percent(p.conflict_share))),
        ("barriers".to_owned(), format!("{} per threadgroup", crate::words::number(p.barriers))),
        ("divergent branches".to_owned(), percent(p.divergence)),
    ];
    if let Some(r) = p.registers {
        facts.insert(1, ("registers".to_owned(), format!("{r:.0} per thread")));
    }
    if let Some(f) = p.floor_fraction {
        facts.push(("of the floor".to_owned(), percent(f)));
    }
    ProfileDetail {
        bottleneck: p.bottleneck,
        time: p.time.clone(),
        terms: copy(&p.terms),
        bytes: copy(&p.bytes),
        instructions,
        facts,
        advice: p.advice.iter().map(|a| text::line(a)).collect(),
    }
}
