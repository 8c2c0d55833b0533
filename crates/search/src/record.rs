//! Events: everything that is kept of a run. An event is either an effect (something from outside: an answer, a
//! verdict) or a decision (something the engine derived). Folding them gives the state; deriving the decisions again
//! from the effects must give the same decisions. Must not know where events are kept.

use std::collections::BTreeMap;

use ksearch_judge::Verdict;
use ksearch_task::{Bottleneck, Candidate, CandidateId, Figure};
use ksearch_world::{EditScript, NodeId, Refusal, Selection, WorldEvent};
use serde::{Deserialize, Serialize};

use crate::config::SearchConfig;
use crate::evaluate::Stage;
use crate::facts::Facts;
use crate::roles::{Exchange, PlanPurpose, RoleErrorKind};
use crate::strategy::Plan;

/// Version of the event format. Raised when a field changes its meaning; new optional fields do not raise it.
pub const VERSION: u32 = 1;

/// A kernel to compare with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// What it is, e.g. `MLX 0.29 scaled_dot_product_attention`.
    pub name: String,
    /// Its time over the search workloads.
    pub time: Figure,
}

/// What is known before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Premises {
    /// Task and chip.
    pub facts: Facts,
    /// The best library kernel, where there is one.
    pub baseline: Option<Baseline>,
    /// The physical floor of the task on the target, where it is known.
    pub floor: Option<Figure>,
    /// The candidate to start from, which is the root of the tree. None: the first is written from the specification.
    pub naive: Option<CandidateId>,
    /// Version of the program and whatever else the caller wants to be on record (tools, task hash), by name.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// A kernel of the user's that takes part as the first solved action, beside the one to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<CandidateId>,
    /// A tree to start with, in the original's `world_model.json` schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<serde_json::Value>,
    /// Text of the context pack that models are shown, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// How a candidate came to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum Content {
    /// In full.
    Whole {
        /// The candidate.
        candidate: Box<Candidate>,
    },
    /// Another candidate with other values of its tunables.
    Variant {
        /// Which.
        of: CandidateId,
        /// All chosen values.
        values: BTreeMap<String, i64>,
    },
}

/// A role's failure as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleFailure {
    /// Which kind.
    pub kind: RoleErrorKind,
    /// What happened.
    pub message: String,
}

/// What a coder answered, as it is kept. The candidate itself is an event of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum CodeResult {
    /// A candidate.
    Candidate {
        /// Which.
        id: CandidateId,
        /// The coder's words.
        notes: String,
    },
    /// Nothing more to try.
    Nothing {
        /// One sentence.
        why: String,
    },
    /// A failure.
    Failed(RoleFailure),
}

/// What a planner answered, as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum PlanResult {
    /// An edit.
    Script {
        /// The edit.
        script: EditScript,
    },
    /// A failure.
    Failed(RoleFailure),
}

/// Why work on an action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CycleEnd {
    /// K attempts in a row without progress.
    Stagnation,
    /// The most attempts that one go allows.
    Attempts,
    /// Its share of the evaluation budget is used up.
    Budget,
    /// The coder had nothing more to try.
    Done,
    /// The wall-clock budget ran out.
    WallTime,
    /// The token or money budget ran out.
    Cost,
    /// The coder could not be reached.
    Unavailable,
    /// The coder cannot do what the action asks.
    Inapplicable,
}

/// What a tunable sweep did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepReport {
    /// Settings that were screened.
    pub screened: u32,
    /// Settings that a static check refused.
    pub refused: u32,
    /// Settings that were judged in full.
    pub full: u32,
    /// The values that won; empty when the candidate's own did.
    pub values: BTreeMap<String, i64>,
    /// Time before over time after.
    pub gain: f64,
}

/// One attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// `apply`, `debug` or `improve`.
    pub step: String,
    /// The candidate, after repairs and before a sweep.
    pub candidate: Option<CandidateId>,
    /// Verdict status, or `duplicate`, `nothing`, `role_error`.
    pub status: String,
    /// One sentence.
    pub summary: String,
    /// Time, if it passed.
    pub time: Option<Figure>,
    /// Repairs before it compiled.
    pub repairs: u32,
    /// Better than what this series had, beyond noise?
    pub improved: bool,
    /// The sweep that followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepReport>,
}

impl SweepReport {
    /// What it did, in one clause.
    pub fn telling(&self) -> String {
        let refused = if self.refused > 0 { format!(", {} broke a limit", self.refused) } else { String::new() };
        let outcome = if self.values.is_empty() {
            "and left the tunables as they were".to_owned()
        } else {
            let values = self.values.iter().map(|(n, v)| format!("{n} = {v}")).collect::<Vec<_>>().join(", ");
            format!("and chose {values}, {:.2}x as fast as before", self.gain)
        };
        let plural = if self.screened == 1 { "" } else { "s" };
        format!("the sweep screened {} setting{plural} ({} in full{refused}) {outcome}", self.screened, self.full)
    }
}

impl Attempt {
    /// What came of it, in one line.
    pub fn telling(&self) -> String {
        let time = self.time.as_ref().map_or_else(String::new, |t| format!(" ({:.1} {})", t.value, t.unit));
        let sweep = self.sweep.as_ref().map_or_else(String::new, |s| format!("; {}", s.telling()));
        format!("{}: {}{time}{sweep}", self.status, self.summary)
    }
}

/// What came of the work on an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleReport {
    /// Attempts in order.
    pub attempts: Vec<Attempt>,
    /// The best passing candidate.
    pub best: Option<CandidateId>,
    /// The evaluations it used: distinct candidates judged in full that no earlier work had judged.
    pub judged: Vec<CandidateId>,
    /// Screens it used.
    pub screens: u32,
    /// Why it ended.
    pub ended: CycleEnd,
}

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stop", rename_all = "snake_case")]
pub enum Stop {
    /// The evaluation budget is used up.
    Evaluations,
    /// The wall-clock budget is used up.
    WallTime,
    /// The token budget is used up.
    Tokens,
    /// The money budget is used up.
    Money,
    /// No better candidate for this many evaluations.
    Plateau {
        /// How many.
        evaluations: u32,
    },
    /// The target ratio against the baseline is reached.
    TargetRatio {
        /// What was reached.
        ratio: f64,
    },
    /// The physical floor is (nearly) reached.
    Floor {
        /// Floor over time.
        fraction: f64,
    },
    /// No open action is left and the planner has no more.
    Exhausted,
    /// The candidate to start from did not pass.
    NaiveFailed {
        /// Status and summary of its verdict.
        summary: String,
    },
    /// A role could not be reached, again and again.
    RoleUnavailable {
        /// Its message.
        message: String,
    },
    /// The judge failed for reasons of its own, again and again.
    Infrastructure {
        /// Its message.
        message: String,
    },
    /// The user asked for it.
    Interrupted,
}

impl Stop {
    /// Did the run end before it was done, so that it should be resumed rather than concluded?
    pub const fn is_premature(&self) -> bool {
        matches!(
            self,
            Self::Interrupted | Self::RoleUnavailable { .. } | Self::Infrastructure { .. } | Self::NaiveFailed { .. }
        )
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Evaluations => f.write_str("the evaluation budget is used up"),
            Self::WallTime => f.write_str("the time budget is used up"),
            Self::Tokens => f.write_str("the token budget is used up"),
            Self::Money => f.write_str("the money budget is used up"),
            Self::Plateau { evaluations } => write!(f, "no better candidate in {evaluations} evaluations"),
            Self::TargetRatio { ratio } => write!(f, "the target is reached: {ratio:.3}x the baseline"),
            Self::Floor { fraction } => {
                write!(f, "the physical floor is reached: {:.0}% of what is possible", fraction * 100.0)
            }
            Self::Exhausted => f.write_str("no action is left to try"),
            Self::NaiveFailed { summary } => write!(f, "the kernel to start from did not pass: {summary}"),
            Self::RoleUnavailable { message } | Self::Infrastructure { message } => f.write_str(message),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// A candidate that was judged again at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finalist {
    /// Its node.
    pub node: NodeId,
    /// Which.
    pub candidate: CandidateId,
    /// Time during the search.
    pub time: Figure,
    /// Status with fresh inputs.
    pub status: String,
    /// Time with fresh inputs.
    pub confirmed: Option<Figure>,
    /// Held-out workloads passed and tried; none where it was not its turn.
    pub heldout: Option<(u32, u32)>,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant)] // Few are alive at a time; boxes would only clutter the matches.
pub enum Event {
    /// Decision: the run began.
    Started {
        /// Settings.
        config: SearchConfig,
        /// What is known.
        premises: Premises,
    },
    /// Decision: the run goes on, perhaps with a larger budget.
    Resumed {
        /// Settings from here on.
        config: SearchConfig,
    },
    /// Effect: a candidate was written.
    Candidate {
        /// Its content address.
        id: CandidateId,
        /// Its content.
        content: Content,
        /// The plan it renders.
        plan: Option<Plan>,
        /// What it was made from.
        parent: Option<CandidateId>,
        /// Who wrote it.
        by: String,
        /// During which work; 0 before the first.
        cycle: u32,
    },
    /// Effect: a coder answered.
    Coded {
        /// During which work.
        cycle: u32,
        /// 1-based attempt.
        attempt: u32,
        /// 0 for the first answer of the attempt, then repairs.
        repair: u32,
        /// What was asked.
        step: String,
        /// Who.
        by: String,
        /// How long it took.
        seconds: f64,
        /// What came back.
        result: CodeResult,
        /// Exchanges with a model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exchanges: Vec<Exchange>,
    },
    /// Effect: the judge answered. Static checks are kept only where they found something.
    Judged {
        /// During which work.
        cycle: u32,
        /// Which candidate.
        candidate: CandidateId,
        /// How thoroughly.
        stage: Stage,
        /// With which inputs.
        seed: u64,
        /// How long it took.
        seconds: f64,
        /// The answer.
        verdict: Verdict,
    },
    /// Effect: a planner answered.
    Planned {
        /// Running number of the request.
        call: u32,
        /// 0 for the first answer, then what was asked again.
        retry: u32,
        /// What was asked.
        request: PlanPurpose,
        /// Who.
        by: String,
        /// How long it took.
        seconds: f64,
        /// What came back.
        result: PlanResult,
        /// Exchanges with a model.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        exchanges: Vec<Exchange>,
    },
    /// Decision: a request to the planner is settled.
    Settled {
        /// Running number of the request.
        call: u32,
        /// What was asked.
        request: PlanPurpose,
        /// Nodes that were added.
        created: Vec<NodeId>,
        /// Why the last answer was refused, if it was; the tree is as before then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refusals: Vec<Refusal>,
        /// Why there was no answer, if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<RoleFailure>,
    },
    /// Decision: the tree changed.
    Tree {
        /// How.
        change: WorldEvent,
    },
    /// Decision: an action was chosen and work on it began.
    Selected {
        /// Running number of the work, from 1.
        cycle: u32,
        /// The choice and its reasons.
        selection: Selection,
        /// The parent's candidate.
        base: Option<CandidateId>,
        /// Evaluations it may use.
        allowance: u32,
    },
    /// Decision: work on an action ended.
    Closed {
        /// Which.
        cycle: u32,
        /// On which node.
        node: NodeId,
        /// What came of it.
        report: CycleReport,
    },
    /// Decision: there is a new best, beyond noise.
    Best {
        /// Its node.
        node: NodeId,
        /// Which candidate.
        candidate: CandidateId,
        /// Its time.
        time: Figure,
        /// Time of the naive kernel over it.
        speedup: Option<f64>,
        /// What bounds it.
        bottleneck: Option<Bottleneck>,
    },
    /// Decision: no further action is begun.
    Stopped {
        /// Why.
        reason: Stop,
    },
    /// Decision: the run is concluded.
    Finished {
        /// Candidates that were judged again, best first.
        finalists: Vec<Finalist>,
        /// Index of the winner in `finalists`; none when nothing passed everything.
        winner: Option<usize>,
    },
}

impl Event {
    /// Name of the kind, as in JSON.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Resumed { .. } => "resumed",
            Self::Candidate { .. } => "candidate",
            Self::Coded { .. } => "coded",
            Self::Judged { .. } => "judged",
            Self::Planned { .. } => "planned",
            Self::Settled { .. } => "settled",
            Self::Tree { .. } => "tree",
            Self::Selected { .. } => "selected",
            Self::Closed { .. } => "closed",
            Self::Best { .. } => "best",
            Self::Stopped { .. } => "stopped",
            Self::Finished { .. } => "finished",
        }
    }

    /// Is it derived by the engine, rather than something from outside?
    pub const fn is_decision(&self) -> bool {
        !matches!(
            self,
            Self::Candidate { .. }
                | Self::Coded { .. }
                | Self::Judged { .. }
                | Self::Planned { .. }
                | Self::Resumed { .. }
        )
    }
}

/// An event as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// Position in the journal, from 1.
    pub seq: u64,
    /// Milliseconds since 1970, UTC.
    pub at_ms: u64,
    /// The event.
    pub event: Event,
}
