//! Nodes of the tree: what was proposed (written by planners) and what came of it (written by the engine alone).
//! Must not know how a node is chosen or edited.

use std::collections::BTreeMap;
use std::fmt;

use ksearch_task::{Bottleneck, CandidateId, Figure};
use serde::{Deserialize, Serialize};

/// Identity of a node: unique for ever within a tree, also after deletion. Written `n12`; the root is `n0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The root.
    pub const ROOT: Self = Self(0);

    /// Parses `n12`, and `root` as the root.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "root" {
            return Some(Self::ROOT);
        }
        text.strip_prefix('n')?.parse().ok().map(Self)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

impl Serialize for NodeId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a node id such as `n12`")))
    }
}

/// A hardware resource that an action is expected to touch. The first four are the bottleneck classes; the others are
/// the original K-Search's, kept so that its files can be read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Bytes moved.
    Bandwidth,
    /// Dependent chains.
    Latency,
    /// Instruction issue and arithmetic.
    Compute,
    /// Barriers, atomics, launches.
    Synchronization,
    /// The original's `memory_bandwidth`.
    MemoryBandwidth,
    /// The original's `register_pressure`.
    RegisterPressure,
    /// The original's `compute_intensity_and_hw_fit`.
    ComputeIntensityAndHwFit,
}

/// Expected impact of an action on one resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Impact {
    /// 0 (none) to 10 (decisive).
    pub rating: f64,
    /// What could go wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub risk: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// The original's separate hardware remark.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hw_notes: String,
}

/// What a node proposes to do to its parent's candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// A few words.
    pub title: String,
    /// What to do.
    pub description: String,
    /// Why it should help.
    pub rationale: String,
    /// Catalogue entry that it applies, if it is one.
    pub strategy: Option<String>,
    /// 1 (a line) to 5 (a new kernel).
    pub difficulty: u8,
    /// The original's own priority (V); where absent, a tenth of the rating.
    pub score: Option<f64>,
}

/// What the engine measured when a node was solved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The candidate that is attached.
    pub candidate: CandidateId,
    /// Its time over the search workloads.
    pub time: Figure,
    /// Parent's time over its time: above 1 is faster. None where the parent has no time.
    pub gain: Option<f64>,
    /// The same for the first candidate that passed, where improvements beyond the action followed: what a prediction of
    /// the action is compared with, and what its strategy is credited with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<f64>,
    /// The class that bounds it, as its profile says.
    pub bottleneck: Option<Bottleneck>,
    /// Is its difference from the parent within noise?
    pub within_noise: bool,
}

/// One attempt series that ended without a passing candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Verdict status of the last attempt, or the role's error.
    pub status: String,
    /// One sentence.
    pub summary: String,
    /// The last candidate, if one was written.
    pub candidate: Option<CandidateId>,
}

/// Where a node stands. Written by the engine alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Proposed and not tried, or tried without success and still worth another try.
    #[default]
    Open,
    /// Being tried.
    Active,
    /// A passing candidate is attached.
    Solved(Outcome),
    /// Given up after a bounded number of tries.
    Abandoned {
        /// One sentence.
        why: String,
    },
    /// Removed by an edit; its id is never used again.
    Deleted {
        /// One sentence.
        why: String,
    },
}

/// One node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Identity.
    pub id: NodeId,
    /// Parent; none for the root only.
    pub parent: Option<NodeId>,
    /// Children in the order they were added, deleted ones included.
    pub children: Vec<NodeId>,
    /// What it proposes. None for the root and for nodes of the original that only group.
    pub action: Option<Action>,
    /// The original's decision and choice, where imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<(String, String)>,
    /// Overall rating, 0..10, by the planner.
    pub rating: f64,
    /// Planner's confidence in its rating and prediction, 0..1.
    pub confidence: f64,
    /// Predicted gain: parent's time over this node's time. Frozen once tried.
    pub predicted_gain: Option<f64>,
    /// Expected impacts.
    pub impacts: BTreeMap<Resource, Impact>,
    /// The class the action attacks, as the planner sees it.
    pub bottleneck: Option<Bottleneck>,
    /// Planner's notes.
    pub notes: String,
    /// Who proposed it.
    pub by: String,
    /// Round in which a planner last wrote to it.
    pub updated_round: u32,
    /// Attempt series that were started on it. Engine.
    pub attempts: u32,
    /// What failed so far. Engine.
    pub failures: Vec<Failure>,
    /// Where it stands. Engine.
    #[serde(flatten)]
    pub state: State,
    /// Result that came with an imported tree: shown, never trusted as a measurement here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<serde_json::Value>,
}

impl Node {
    /// A fresh open node.
    pub fn new(id: NodeId, parent: Option<NodeId>, by: &str) -> Self {
        Self {
            id,
            parent,
            children: Vec::new(),
            action: None,
            decision: None,
            rating: 0.0,
            confidence: 0.0,
            predicted_gain: None,
            impacts: BTreeMap::new(),
            bottleneck: None,
            notes: String::new(),
            by: by.to_owned(),
            updated_round: 0,
            attempts: 0,
            failures: Vec::new(),
            state: State::Open,
            imported: None,
        }
    }

    /// The measurement, if it is solved.
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.state {
            State::Solved(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Time in the outcome's unit, if it is solved.
    pub fn time(&self) -> Option<f64> {
        self.outcome().map(|o| o.time.value)
    }

    /// Catalogue entry of its action.
    pub fn strategy(&self) -> Option<&str> {
        self.action.as_ref()?.strategy.as_deref()
    }

    /// Title of its action; `root` for the root, its choice for a grouping node.
    pub fn title(&self) -> &str {
        match (&self.action, &self.decision) {
            (Some(action), _) => &action.title,
            (None, Some((_, choice))) => choice,
            (None, None) => "root",
        }
    }

    /// Proposed and not in work, solved or gone.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Removed by an edit.
    pub fn is_deleted(&self) -> bool {
        matches!(self.state, State::Deleted { .. })
    }
}
