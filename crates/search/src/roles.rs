//! The two roles. A planner proposes and rates actions by editing the tree; a coder writes candidates. Both are asked
//! with typed requests and answer with typed values. Must not know how answers are produced, kept or judged.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ksearch_judge::Verdict;
pub use ksearch_llm::Exchange;
use ksearch_task::{Candidate, CandidateId};
use ksearch_world::{EditLimits, EditScript, NodeId, Refusal};
use serde::{Deserialize, Serialize};

use crate::state::RunState;
use crate::strategy::Plan;

/// A request to stop, shared by everyone who works on a run.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks everyone to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Has someone asked?
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Why a role gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleErrorKind {
    /// The provider cannot be reached or will not serve, after all retries. The run stops and can be resumed.
    Unavailable,
    /// No valid answer after all re-asks, or a refusal. Counts against the action.
    Unusable,
    /// This role cannot do what the action asks (a strategy it does not know, a combination it cannot write).
    Inapplicable,
    /// The run was asked to stop.
    Cancelled,
}

/// A role's failure, with the exchanges that led to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RoleError {
    /// Which kind.
    pub kind: RoleErrorKind,
    /// What happened and what to do.
    pub message: String,
    /// What was asked and answered on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exchanges: Vec<Exchange>,
}

impl RoleError {
    /// An error without exchanges.
    pub fn new(kind: RoleErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), exchanges: Vec::new() }
    }
}

/// What a planner is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "purpose", rename_all = "snake_case")]
pub enum PlanPurpose {
    /// The first actions.
    Initialise,
    /// More actions: the frontier is thin.
    Propose,
    /// Lessons from an action that was solved: ratings, and what to do next from there.
    Refine {
        /// Which.
        node: NodeId,
    },
    /// Lessons from an action that failed.
    Failed {
        /// Which.
        node: NodeId,
    },
}

impl PlanPurpose {
    /// Short name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Initialise => "initialise",
            Self::Propose => "propose",
            Self::Refine { .. } => "refine",
            Self::Failed { .. } => "failed",
        }
    }
}

/// A request to a planner. Held-out results are not in the state it is given.
#[derive(Debug)]
pub struct PlanRequest<'a> {
    /// What for.
    pub purpose: &'a PlanPurpose,
    /// Everything that happened so far.
    pub state: &'a RunState,
    /// What the edit may do.
    pub limits: &'a EditLimits,
    /// Why the previous answer to this request was refused.
    pub refusals: &'a [Refusal],
    /// Stop early when cancelled.
    pub cancel: &'a Cancel,
}

/// A planner's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanAnswer {
    /// The change to the tree; may be empty.
    pub script: EditScript,
    /// Exchanges with a model, if one was asked.
    pub exchanges: Vec<Exchange>,
}

/// Chooses and rates actions.
pub trait Planner: Send + Sync {
    /// Name in the journal and in calibration, e.g. `builtin` or a model's.
    fn name(&self) -> String;

    /// Answers a request.
    fn plan(&self, request: &PlanRequest<'_>) -> Result<PlanAnswer, RoleError>;
}

/// What a coder is asked for.
#[derive(Clone, Debug)]
pub enum CodeStep<'a> {
    /// Apply the action: to the base, or from the specification where there is none.
    Apply,
    /// The compiler or a static check refused the candidate: mend it. Free of the evaluation budget.
    Repair {
        /// The candidate as it is.
        candidate: &'a Candidate,
        /// What is wrong.
        verdict: &'a Verdict,
    },
    /// Nothing has passed for this action yet: find the error.
    Debug {
        /// The last candidate.
        candidate: &'a Candidate,
        /// Its verdict.
        verdict: &'a Verdict,
    },
    /// Something passed: make it faster, within the action's intent.
    Improve {
        /// The best candidate of this action so far.
        candidate: &'a Candidate,
        /// Its verdict.
        verdict: &'a Verdict,
        /// The last candidate and its verdict, where it was no better.
        last: Option<(&'a Candidate, &'a Verdict)>,
    },
}

impl CodeStep<'_> {
    /// Short name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Repair { .. } => "repair",
            Self::Debug { .. } => "debug",
            Self::Improve { .. } => "improve",
        }
    }
}

/// A request to a coder. The action is in every one of them.
#[derive(Debug)]
pub struct CodeRequest<'a> {
    /// The action.
    pub node: NodeId,
    /// What is asked.
    pub step: CodeStep<'a>,
    /// The state when work on the action began.
    pub state: &'a RunState,
    /// The parent's candidate, if there is one.
    pub base: Option<&'a CandidateId>,
    /// Running number of the work on the action.
    pub cycle: u32,
    /// 1-based attempt within this series.
    pub attempt: u32,
    /// 0 for the first answer of the attempt, then repairs.
    pub repair: u32,
    /// Evaluations that this work may still use.
    pub left: u32,
    /// Candidates of this series so far, with what came of them, in order.
    pub tried: &'a [(CandidateId, String)],
    /// Stop early when cancelled.
    pub cancel: &'a Cancel,
}

/// A coder's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum CodeAnswer {
    /// A candidate.
    Candidate {
        /// The candidate.
        candidate: Box<Candidate>,
        /// The plan it renders, where it was rendered from one.
        plan: Option<Plan>,
        /// What the coder says about it.
        notes: String,
        /// Exchanges with a model.
        exchanges: Vec<Exchange>,
    },
    /// Nothing more to try for this action.
    Nothing {
        /// One sentence.
        why: String,
        /// Exchanges with a model.
        exchanges: Vec<Exchange>,
    },
}

/// Writes candidates.
pub trait Coder: Send + Sync {
    /// Name in the journal, e.g. `builtin` or a model's.
    fn name(&self) -> String;

    /// Answers a request.
    fn write(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError>;
}
