//! What prompts show of a run: plain text values made from the state. Must not know templates.

use std::fmt::Write as _;

use ksearch_device::Profile;
use ksearch_judge::Verdict;
use ksearch_task::{Candidate, CandidateId, Figure};
use ksearch_world::{Node, NodeId, State};
use serde::Serialize;

use super::briefing::{magnitude, significant};
use crate::record::CycleReport;
use crate::state::RunState;
use crate::strategy::{Catalogue, Strategy};

/// Nodes shown per section of the tree.
const SHOWN: usize = 12;

#[derive(Debug, Serialize)]
pub(super) struct FileView {
    path: String,
    text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct CandidateView {
    files: Vec<FileView>,
    tunables: String,
}

/// A candidate as a model should write it: the recipe in the head of the main file. `swept` is what is known of a sweep
/// of its tunables.
pub(super) fn candidate(candidate: &Candidate, swept: Option<String>) -> CandidateView {
    let setting = |t: &ksearch_task::Tunable| {
        format!("{} = {}", t.name, candidate.values.get(&t.name).copied().unwrap_or(t.default))
    };
    let settings = candidate.tunables.iter().map(setting).collect::<Vec<_>>().join(", ");
    let swept = swept.unwrap_or_else(|| "they were not swept".to_owned());
    let tunables = if settings.is_empty() { String::new() } else { format!("Tunables: {settings}; {swept}.") };
    CandidateView { files: sources(candidate), tunables }
}

fn sources(candidate: &Candidate) -> Vec<FileView> {
    let whole = candidate.clone().with_recipe_comment().files.into_iter();
    whole.map(|f| FileView { path: f.path, text: f.text.trim_end().to_owned() }).collect()
}

/// What changes from `old` to `new`, as a unified diff of all files.
pub(super) fn diff(old: &Candidate, new: &Candidate) -> String {
    let text = |c: &Candidate| sources(c).into_iter().map(|f| f.text + "\n").collect::<String>();
    let (old, new) = (text(old), text(new));
    let changes = similar::TextDiff::from_lines(&old, &new);
    changes.unified_diff().context_radius(2).to_string().trim_end().to_owned()
}

/// What closed work says of a sweep that `id` came through: as the candidate that was swept, or as what the sweep chose.
pub(super) fn swept(state: &RunState, id: &CandidateId) -> Option<String> {
    let attempts = state.closed.iter().rev().flat_map(|c| &c.report.attempts);
    attempts.filter_map(|a| a.candidate.as_ref().zip(a.sweep.as_ref())).find_map(|(start, sweep)| {
        let chosen = || {
            let record = state.candidates.get(start)?;
            Some(Candidate { values: sweep.values.clone(), ..record.candidate.clone() }.id())
        };
        let is_it = if sweep.values.is_empty() { start == id } else { chosen().as_ref() == Some(id) };
        is_it.then(|| sweep.telling())
    })
}

#[derive(Debug, Serialize)]
pub(super) struct WorkloadRow {
    label: String,
    status: &'static str,
    time: String,
    error: String,
}

#[derive(Debug, Serialize)]
pub(super) struct VerdictView {
    status: &'static str,
    time: Option<String>,
    summary: String,
    advice: String,
    fault: Option<String>,
    diagnostics: Vec<String>,
    workloads: Vec<WorkloadRow>,
    failed_checks: Vec<String>,
    profile: Option<ProfileView>,
}

#[derive(Debug, Serialize)]
pub(super) struct ProfileView {
    origin: String,
    time: String,
    bottleneck: &'static str,
    floor: Option<String>,
    terms: String,
    occupancy: String,
    occupancy_limit: String,
    registers: Option<String>,
    threadgroup_memory: u32,
    bytes: String,
    instructions: String,
    conflicts: String,
    barriers: String,
    divergence: String,
    advice: Vec<String>,
}

/// `12.3 us (simulated on m1-max)`.
pub(super) fn figure(figure: &Figure) -> String {
    format!("{} {} ({} on {})", significant(figure.value), figure.unit, figure.kind, figure.on)
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// A gain as a factor.
pub(super) fn factor(gain: f64) -> String {
    format!("{gain:.2}x")
}

/// A verdict on `candidate`.
pub(super) fn verdict(verdict: &Verdict, candidate: &Candidate) -> VerdictView {
    let at = |pos: &Option<ksearch_msl::SourcePos>| {
        pos.as_ref().map_or_else(String::new, |p| format!(" at {p}{}", line_of(candidate, p)))
    };
    VerdictView {
        status: verdict.status.name(),
        time: verdict.time.as_ref().map(figure),
        summary: verdict.summary.clone(),
        advice: verdict.advice.clone(),
        fault: verdict.fault.as_ref().map(|f| {
            let other = f.other.as_ref().map_or_else(String::new, |_| format!("; the other side{}", at(&f.other)));
            format!("{}{}: {}{other}", f.kind, at(&f.pos), f.message)
        }),
        diagnostics: verdict
            .diagnostics
            .iter()
            .take(20)
            .map(|d| {
                let help = d.help.as_ref().map_or_else(String::new, |h| format!(" ({h})"));
                format!("{:?}{}: {}{help}", d.severity, at(&d.pos), d.message).to_lowercase_first()
            })
            .collect(),
        workloads: verdict
            .workloads
            .iter()
            .map(|w| WorkloadRow {
                label: w.label.clone(),
                status: w.status.name(),
                time: w
                    .time
                    .as_ref()
                    .map_or_else(|| "-".to_owned(), |t| format!("{} {}", significant(t.value), t.unit)),
                error: w.error.map_or_else(|| "-".to_owned(), significant),
            })
            .collect(),
        failed_checks: verdict
            .evidence
            .iter()
            .filter(|e| !e.ok)
            .map(|e| format!("{}: {}", e.check, e.detail))
            .collect(),
        profile: verdict.profile.as_ref().map(profile),
    }
}

trait LowercaseFirst {
    fn to_lowercase_first(&self) -> String;
}

impl LowercaseFirst for String {
    fn to_lowercase_first(&self) -> String {
        let mut chars = self.chars();
        chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
    }
}

/// The source line a position names, as a quotation.
fn line_of(candidate: &Candidate, pos: &ksearch_msl::SourcePos) -> String {
    // Positions count lines of the file as it was compiled, which is the file as it is stored.
    let file = candidate.files.iter().find(|f| f.path == pos.file || pos.file.ends_with(&f.path));
    let line = file.and_then(|f| f.text.lines().nth((pos.line as usize).checked_sub(1)?));
    line.map_or_else(String::new, |l| format!(" (`{}`)", l.trim()))
}

fn profile(p: &Profile) -> ProfileView {
    let list = |entries: &indexmap::IndexMap<String, f64>, show: &dyn Fn(f64) -> String| {
        let mut entries: Vec<_> = entries.iter().filter(|(_, v)| **v > 0.0).collect();
        entries.sort_by(|a, b| b.1.total_cmp(a.1));
        entries.iter().take(10).map(|(n, v)| format!("{n} {}", show(**v))).collect::<Vec<_>>().join(", ")
    };
    ProfileView {
        origin: format!("{} on {}", p.time.kind, p.time.on),
        time: format!("{} {}", significant(p.time.value), p.time.unit),
        bottleneck: p.bottleneck.name(),
        floor: p.floor_fraction.map(percent),
        terms: list(&p.terms, &|v| format!("{} us", significant(v))),
        occupancy: percent(p.occupancy),
        occupancy_limit: p.occupancy_limit.clone(),
        registers: p.registers.map(|r| format!("{r:.0}")),
        threadgroup_memory: p.threadgroup_memory,
        bytes: list(&p.bytes, &|v| magnitude(v, "B")),
        instructions: list(&p.instructions, &|v| magnitude(v, "")),
        conflicts: percent(p.conflict_share),
        barriers: significant(p.barriers),
        divergence: percent(p.divergence),
        advice: p.advice.clone(),
    }
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeView {
    id: String,
    parent: String,
    title: String,
    strategy: Option<String>,
    state: String,
    rating: String,
    confidence: String,
    difficulty: u8,
    predicted: Option<String>,
    measured: Option<String>,
    bottleneck: Option<String>,
    description: String,
    rationale: String,
    impacts: String,
    notes: String,
    failures: Vec<String>,
}

/// A node with everything that is known of it.
pub(super) fn node(node: &Node) -> NodeView {
    let action = node.action.clone().unwrap_or_default();
    let outcome = node.outcome();
    let measured = outcome.map(|o| {
        let gain = o.gain.map_or_else(String::new, |g| format!("{} over its parent, ", factor(g)));
        let noise = if o.within_noise { " (no difference beyond noise)" } else { "" };
        let applied = o.applied.map_or_else(String::new, |g| {
            format!(" (the action as first written gave {}, improvements beyond it the rest)", factor(g))
        });
        format!("{gain}{} {}{noise}{applied}", significant(o.time.value), o.time.unit)
    });
    let bottleneck = outcome
        .and_then(|o| o.bottleneck)
        .map(|b| format!("bound by {b}"))
        .or_else(|| node.bottleneck.map(|b| format!("attacks {b}")));
    let impacts = node.impacts.iter().map(|(resource, impact)| {
        let name = serde_json::to_value(resource).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
        let mut text = format!("{name} {}", impact.rating);
        if !impact.notes.is_empty() {
            let _ = write!(text, " ({})", impact.notes);
        }
        text
    });
    NodeView {
        id: node.id.to_string(),
        parent: node.parent.map_or_else(|| "nothing".to_owned(), |p| p.to_string()),
        title: if node.id == NodeId::ROOT { "the start".to_owned() } else { node.title().to_owned() },
        strategy: action.strategy,
        state: match &node.state {
            State::Open if node.attempts > 0 => format!("open, {} tries failed", node.attempts),
            State::Open => "open".to_owned(),
            State::Active => "in work".to_owned(),
            State::Solved(_) => "solved".to_owned(),
            State::Abandoned { why } => format!("given up: {why}"),
            State::Deleted { why } => format!("deleted: {why}"),
        },
        rating: significant(node.rating),
        confidence: significant(node.confidence),
        difficulty: action.difficulty,
        predicted: node.predicted_gain.map(factor),
        measured,
        bottleneck,
        description: action.description,
        rationale: action.rationale,
        impacts: impacts.collect::<Vec<_>>().join("; "),
        notes: node.notes.clone(),
        failures: node.failures.iter().map(|f| format!("{}: {}", f.status, f.summary)).collect(),
    }
}

/// A node that is settled: what it gave and what was learnt, without the plea for it.
fn brief(settled: &Node) -> NodeView {
    NodeView { description: String::new(), rationale: String::new(), impacts: String::new(), ..node(settled) }
}

impl NodeView {
    /// What failed on it.
    pub(super) fn failures(self) -> Vec<String> {
        self.failures
    }
}

#[derive(Debug, Default, Serialize)]
pub(super) struct TreeView {
    counts: String,
    summary: String,
    questions: Vec<String>,
    path: Vec<NodeView>,
    frontier: Vec<NodeView>,
    frontier_more: usize,
    solved: Vec<NodeView>,
    solved_more: usize,
    failed: Vec<NodeView>,
    failed_more: usize,
    waiting: Vec<NodeView>,
    waiting_more: usize,
    calibration: Vec<String>,
}

/// The part of the tree that matters for `active`: its path, the frontier, the best, what failed, with all notes. Whole
/// entries only; what is left out is counted.
pub(super) fn tree(state: &RunState, active: Option<NodeId>) -> TreeView {
    let world = &state.world;
    let counts = world.counts();
    let path: Vec<&Node> = active.map(|a| world.path(a)).unwrap_or_default();
    let on_path = |n: &Node| path.iter().any(|p| p.id == n.id);
    let section = |mut nodes: Vec<&Node>, order: &dyn Fn(&Node) -> f64, view: fn(&Node) -> NodeView| {
        nodes.retain(|n| !on_path(n));
        nodes.sort_by(|a, b| order(a).total_cmp(&order(b)).then(a.id.cmp(&b.id)));
        let more = nodes.len().saturating_sub(SHOWN);
        (nodes.into_iter().take(SHOWN).map(view).collect::<Vec<_>>(), more)
    };
    let (frontier, frontier_more) = section(world.frontier().collect(), &|n| -n.rating, node);
    let (solved, solved_more) = section(state.ranking(), &|n| n.time().unwrap_or(f64::INFINITY), brief);
    let failed = world.nodes().filter(|n| matches!(n.state, State::Abandoned { .. })).collect();
    let (failed, failed_more) = section(failed, &|n| -f64::from(n.id.0), brief);
    let waiting = world.nodes().filter(|n| n.is_open() && n.action.is_some() && !world.on_frontier(n)).collect();
    let (waiting, waiting_more) = section(waiting, &|n| -n.rating, node);
    TreeView {
        counts: format!(
            "{} actions: {} solved, {} open, {} given up.",
            counts.nodes, counts.solved, counts.open, counts.abandoned
        ),
        summary: world.summary.clone(),
        questions: world.open_questions.clone(),
        path: path.into_iter().map(|n| if n.outcome().is_some() { brief(n) } else { node(n) }).collect(),
        frontier,
        frontier_more,
        solved,
        solved_more,
        failed,
        failed_more,
        waiting,
        waiting_more,
        calibration: calibration(state),
    }
}

/// How far predictions were off, per role and per strategy that was tried more than once.
fn calibration(state: &RunState) -> Vec<String> {
    let all = &state.world.calibration;
    let line = |name: &str, r: &ksearch_world::calibration::Record| {
        let compared = f64::from(r.compared.max(1));
        format!(
            "{name}: {} passed, {} failed; measured gains were {} on average, {} of what was predicted",
            r.passes,
            r.failures,
            factor((r.observed / compared).exp()),
            factor(((r.observed - r.predicted) / compared).exp()),
        )
    };
    // Prompts do not name who plays, so that a transcript answers them for whoever plays next.
    let whose = |n: &str| match n {
        "engine" | "import" => format!("predictions by the {n}"),
        _ => "your predictions".to_owned(),
    };
    let roles = all.roles.iter().filter(|(_, r)| r.compared > 0).map(|(n, r)| line(&whose(n), r));
    let strategies =
        all.strategies.iter().filter(|(n, r)| !n.is_empty() && r.compared > 0).map(|(n, r)| line(&format!("`{n}`"), r));
    roles.chain(strategies).collect()
}

/// Attempts of a series, one line each.
pub(super) fn attempts(report: &CycleReport) -> Vec<String> {
    report.attempts.iter().map(|a| format!("{} → {}", a.step, a.telling())).collect()
}

/// What of the budget is used, and what ends the run early.
pub(super) fn budget(state: &RunState) -> String {
    let budget = &state.config.budget;
    let mut text = format!("{} of {} evaluations are used", state.evaluations, budget.evaluations);
    let mut add = |clause: String| {
        text.push_str("; ");
        text.push_str(&clause);
    };
    if let Some(most) = budget.wall_s {
        add(format!("{:.0} of {most:.0} seconds", state.elapsed_s));
    }
    let (usd, tokens_in, tokens_out) = state.cost();
    if let Some(most) = budget.tokens {
        add(format!("{} of {most} tokens", tokens_in + tokens_out));
    }
    if let Some(most) = budget.usd {
        add(format!("{usd:.2} of {most:.2} US dollars"));
    }
    if let Some(most) = budget.plateau {
        add(format!("the run ends after {most} evaluations in a row without a better kernel"));
    }
    if let Some(goal) = budget.target_ratio {
        add(format!("it ends once a kernel is {goal:.2}x as fast as the library's"));
    }
    if let Some(goal) = budget.floor_fraction.filter(|_| state.premises.floor.is_some()) {
        add(format!("the run ends at {} of the floor's speed", percent(goal)));
    }
    text + "."
}

#[derive(Debug, Serialize)]
pub(super) struct StrategyView {
    id: &'static str,
    title: &'static str,
    why: &'static str,
    difficulty: u8,
    requires: String,
    conflicts: String,
}

/// The strategies of a catalogue that apply here.
pub(super) fn strategies(catalogue: &Catalogue, state: &RunState) -> Vec<StrategyView> {
    let applies = |s: &&Strategy| (s.applies)(&state.premises.facts).is_ok();
    catalogue
        .iter()
        .filter(applies)
        .map(|s| StrategyView {
            id: s.id,
            title: s.title,
            why: s.why,
            difficulty: s.difficulty,
            requires: s.requires.join(", "),
            conflicts: s.conflicts.join(", "),
        })
        .collect()
}

#[derive(Debug, Serialize)]
pub(super) struct BaselineView {
    name: String,
    time: String,
}

/// The baseline, where there is one.
pub(super) fn baseline(state: &RunState) -> Option<BaselineView> {
    state.premises.baseline.as_ref().map(|b| BaselineView { name: b.name.clone(), time: figure(&b.time) })
}
