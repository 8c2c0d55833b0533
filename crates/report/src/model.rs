//! What is shown of a run: typed, complete, and with everything that is missing named as missing. Every text in it is
//! clean (see [`crate::text`]). Must not know how it is drawn, and decides nothing.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ksearch_task::{Bottleneck, Figure};
use serde::{Deserialize, Serialize};

/// Version of the JSON form. Raised when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// Something that may not be there; then with the reason, never silently.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Shown<T> {
    /// It is there.
    Known(T),
    /// It is not.
    Missing {
        /// Why, one sentence.
        missing: String,
    },
}

impl<T> Shown<T> {
    /// `value`, else missing because of `why`.
    pub fn or(value: Option<T>, why: impl Into<String>) -> Self {
        value.map_or_else(|| Self::missing(why), Self::Known)
    }

    /// Missing because of `why`.
    pub fn missing(why: impl Into<String>) -> Self {
        Self::Missing { missing: why.into() }
    }

    /// The value, if it is there.
    pub const fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Missing { .. } => None,
        }
    }

    /// Why it is missing, if it is.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Known(_) => None,
            Self::Missing { missing } => Some(missing),
        }
    }
}

/// Everything that is shown of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// See [`SCHEMA`].
    pub schema: u32,
    /// What was run.
    pub run: RunFacts,
    /// The figures at the top.
    pub headline: Headline,
    /// From the naive kernel to the best one, one step per node on the way.
    pub steps: Vec<Step>,
    /// Each time the best became better.
    pub records: Vec<Record>,
    /// Candidates judged in full, in order.
    pub trials: Vec<Trial>,
    /// The tree, parents before children.
    pub tree: Vec<TreeNode>,
    /// Where the time goes, naive against best.
    pub split: Shown<Split>,
    /// Candidates against the limits of the chip.
    pub roofline: Shown<Roofline>,
    /// The best kernel, line by line.
    pub source: Shown<AnnotatedSource>,
    /// Why the best kernel is believed to be right.
    pub proof: Shown<Proof>,
    /// How to get the same again.
    pub reproduce: Reproduce,
    /// What each part of the tool contributed.
    pub ablation: Shown<Ablation>,
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFacts {
    /// Name of the run.
    pub name: String,
    /// Task.
    pub task: String,
    /// Target string.
    pub target: String,
    /// Who chose actions.
    pub planner: String,
    /// Who wrote candidates.
    pub coder: String,
    /// Context pack, if one was shown to the roles.
    pub context: Option<String>,
    /// Seed.
    pub seed: u64,
    /// Selection policy.
    pub policy: String,
    /// `running`, `stopped` or `finished`.
    pub status: String,
    /// Why it stopped.
    pub stopped: Option<String>,
    /// Milliseconds since 1970, UTC.
    pub began_ms: u64,
    /// Last entry of the journal, likewise.
    pub last_ms: u64,
    /// Position of the last entry of the journal.
    pub seq: u64,
    /// Seconds over all sessions.
    pub wall_s: f64,
    /// Full judgements used.
    pub evaluations: u32,
    /// Full judgements allowed.
    pub budget: u32,
    /// Settings of tunables that were screened.
    pub screens: u32,
    /// US dollars, tokens in, tokens out.
    pub cost: (f64, u64, u64),
    /// What each role was asked and used; empty where no model was asked.
    pub ledger: Vec<RoleUse>,
    /// Nodes, solved, open, abandoned.
    pub nodes: (usize, usize, usize, usize),
    /// What is in work: action and attempt.
    pub working: Vec<String>,
}

/// What a role was asked and used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoleUse {
    /// `planner` or `coder`.
    pub role: String,
    /// Requests by the engine, and how many of them failed.
    pub requests: (u32, u32),
    /// Exchanges with a model, retries included.
    pub exchanges: u32,
    /// Tokens in and out.
    pub tokens: (u64, u64),
    /// US dollars by list price; none where no price is known.
    pub usd: Option<f64>,
    /// Seconds waited.
    pub seconds: f64,
}

/// The figures at the top.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    /// The kernel the search started from.
    pub naive: Shown<Figure>,
    /// The best library kernel.
    pub baseline: Shown<Named>,
    /// The best candidate.
    pub best: Shown<Best>,
    /// What the task cannot go below on this target.
    pub floor: Shown<Figure>,
    /// Held-out workloads passed and tried.
    pub heldout: Shown<(u32, u32)>,
}

/// A figure with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// What it is.
    pub name: String,
    /// Its time.
    pub time: Figure,
}

/// The best candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Content address.
    pub candidate: String,
    /// Its node.
    pub node: String,
    /// Its time.
    pub time: Figure,
    /// Was it judged again with fresh inputs before it was announced?
    pub confirmed: bool,
    /// Naive time over its time, with the interval that follows from both.
    pub speedup: Option<Figure>,
    /// Baseline's time over its time.
    pub ratio: Option<Figure>,
    /// Floor over its time, at most 1.
    pub of_floor: Option<f64>,
    /// What bounds it.
    pub bottleneck: Option<Bottleneck>,
    /// Strategies in it.
    pub strategies: Vec<String>,
}

/// A step of the way from naive to best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Node.
    pub node: String,
    /// What was done.
    pub title: String,
    /// Time after it.
    pub time: Figure,
    /// Time before over time after; none for the first.
    pub gain: Option<f64>,
    /// What the planner had predicted.
    pub predicted: Option<f64>,
    /// What bounds it afterwards.
    pub bottleneck: Option<Bottleneck>,
}

/// One improvement of the best.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// Evaluations used by then.
    pub evaluations: u32,
    /// Node.
    pub node: String,
    /// What gave it.
    pub title: String,
    /// Its time.
    pub time: Figure,
}

/// A candidate that was judged in full.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// Running number, from 1.
    pub number: u32,
    /// Content address.
    pub candidate: String,
    /// Node it was written for.
    pub node: String,
    /// Title of that node's action.
    pub title: String,
    /// Verdict status.
    pub status: String,
    /// Its time, if it passed.
    pub time: Option<Figure>,
    /// Seconds since the run began.
    pub at_s: f64,
    /// What bounds it.
    pub bottleneck: Option<Bottleneck>,
    /// Arithmetic per byte and arithmetic rate, see [`Roofline`].
    pub point: Option<(f64, f64)>,
    /// Values of its tunables.
    pub values: BTreeMap<String, i64>,
}

/// Where a node stands, as shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// A passing candidate, faster than its parent's.
    Better,
    /// A passing candidate that is no faster.
    Passed,
    /// Tried without success.
    Failed,
    /// Not tried.
    Open,
    /// In work.
    Active,
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TreeNode {
    /// `n12`.
    pub id: String,
    /// Parent; none for the root.
    pub parent: Option<String>,
    /// Title of the action.
    pub title: String,
    /// Where it stands.
    pub state: Standing,
    /// Time in the unit of the run, if it is solved.
    pub time: Option<f64>,
    /// Gain over its parent.
    pub gain: Option<f64>,
    /// Is it on the way to the best?
    pub best: bool,
}

/// Where the time goes, by limiter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// `us`, with its label.
    pub label: String,
    /// What the figures are of: the workload that weighs most.
    pub note: String,
    /// Per term: name, before, after.
    pub terms: Vec<(String, f64, f64)>,
    /// Total before and after.
    pub total: (f64, f64),
}

/// Candidates against arithmetic rate and memory bandwidth. Points are in [`Trial::point`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// Bandwidth of main memory, GB/s.
    pub bandwidth: f64,
    /// Peak arithmetic, GFLOP/s.
    pub peak: f64,
    /// Memory level whose bytes are counted.
    pub level: String,
    /// How points are computed, and their label.
    pub note: String,
}

/// What each line of the best kernel costs, counted by whoever can run it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineCosts {
    /// What was counted, on what: `share of simdgroup instructions on f32-1024, simulated on m1-max`.
    pub label: String,
    /// File, 1-based line, share, remark.
    pub lines: Vec<(String, u32, f64, String)>,
}

/// A source with remarks on its lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnnotatedSource {
    /// File.
    pub path: String,
    /// Lines in order.
    pub lines: Vec<SourceLine>,
    /// What the remarks are of.
    pub note: String,
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceLine {
    /// The text.
    pub text: String,
    /// Share of the time or instructions, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Is it other than in the naive kernel?
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
}

/// Why the best kernel is believed to be right, and what is not shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// Sets of workloads it was judged on.
    pub sets: Vec<ProofSet>,
    /// What was not proven, one sentence each.
    pub open: Vec<String>,
}

/// One judgement of the best kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProofSet {
    /// `search`, `fresh inputs`, `held-out`.
    pub name: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// Status and one sentence.
    pub outcome: String,
    /// Did it pass?
    pub passed: bool,
    /// Per workload.
    pub workloads: Vec<WorkloadRow>,
    /// Checks by name: what it means, held, tried, one example.
    pub checks: Vec<Check>,
}

/// A workload as judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadRow {
    /// Label.
    pub label: String,
    /// Status.
    pub status: String,
    /// Time, if it was timed.
    pub time: Option<Figure>,
    /// Largest error over the allowed one.
    pub error: Option<f64>,
}

/// All evidence of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Identifier.
    pub name: String,
    /// How often it held.
    pub held: usize,
    /// How often it was made.
    pub made: usize,
    /// The first that failed, else the first.
    pub example: String,
}

/// How to get the same again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduce {
    /// Commands with their meaning.
    pub commands: Vec<(String, String)>,
    /// Versions on record.
    pub versions: BTreeMap<String, String>,
}

/// What each part of the tool contributed: runs with one part switched off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ablation {
    /// Per variant: its name and the final time with its interval over seeds, or the ratio of another kernel's time to it.
    pub variants: Vec<Named>,
    /// What ratios are to, e.g. `MLX's sdpa_vector`; empty where figures are times.
    #[serde(default)]
    pub against: String,
    /// The best kernel built up from the first one, a strategy at a time: each figure is with all that stand before it.
    #[serde(default)]
    pub ladder: Vec<Named>,
    /// The best kernel without one of its strategies at a time.
    #[serde(default)]
    pub without: Vec<Named>,
}

/// Everything on one node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeDetail {
    /// `n12`.
    pub id: String,
    /// Title.
    pub title: String,
    /// What to do.
    pub description: String,
    /// Why it should help.
    pub rationale: String,
    /// Catalogue entry.
    pub strategy: Option<String>,
    /// Who proposed it.
    pub by: String,
    /// 0..10.
    pub rating: f64,
    /// 0..1.
    pub confidence: f64,
    /// 1..5.
    pub difficulty: Option<u8>,
    /// Predicted gain.
    pub predicted: Option<f64>,
    /// Actual gain.
    pub gain: Option<f64>,
    /// Is the difference within noise?
    pub within_noise: bool,
    /// Expected impact per resource: name, rating, why.
    pub impacts: Vec<(String, f64, String)>,
    /// Planner's notes.
    pub notes: String,
    /// Where it stands, in words.
    pub standing: String,
    /// Attempts.
    pub attempts: Vec<AttemptRow>,
    /// The attached candidate, or the last that was tried.
    pub candidate: Option<CandidateDetail>,
    /// Difference to the parent's candidate, as a unified diff.
    pub diff: Shown<String>,
    /// Exchanges with a model.
    pub exchanges: Vec<ExchangeRow>,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptRow {
    /// What was asked.
    pub step: String,
    /// What came of it.
    pub status: String,
    /// One sentence.
    pub summary: String,
    /// Its time.
    pub time: Option<Figure>,
    /// Sweep, in words.
    pub sweep: Option<String>,
}

/// A candidate and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateDetail {
    /// Content address.
    pub id: String,
    /// Who wrote it.
    pub by: String,
    /// Values of tunables.
    pub values: BTreeMap<String, i64>,
    /// Verdict.
    pub verdict: Shown<VerdictDetail>,
}

/// A verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictDetail {
    /// Status.
    pub status: String,
    /// One sentence.
    pub summary: String,
    /// What to do.
    pub advice: String,
    /// Time.
    pub time: Option<Figure>,
    /// Per workload.
    pub workloads: Vec<WorkloadRow>,
    /// Faults and compiler findings.
    pub findings: Vec<String>,
    /// Profile.
    pub profile: Option<ProfileDetail>,
}

/// A profile as shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfileDetail {
    /// What bounds it.
    pub bottleneck: Bottleneck,
    /// Time.
    pub time: Figure,
    /// Microseconds by term.
    pub terms: IndexMap<String, f64>,
    /// Bytes by level.
    pub bytes: IndexMap<String, f64>,
    /// Simdgroup instructions by class, the most frequent ones.
    pub instructions: IndexMap<String, f64>,
    /// Other facts: name and value in words.
    pub facts: Vec<(String, String)>,
    /// Advice.
    pub advice: Vec<String>,
}

/// An exchange with a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExchangeRow {
    /// Who asked for what: `coder, attempt 1: apply`.
    pub purpose: String,
    /// Provider and model.
    pub model: String,
    /// Instructions.
    pub system: String,
    /// Request.
    pub user: String,
    /// Answer.
    pub answer: String,
    /// What went wrong.
    pub error: Option<String>,
    /// Tokens in and out.
    pub tokens: (u64, u64),
    /// Seconds.
    pub seconds: f64,
}
