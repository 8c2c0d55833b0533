//! Events: the only way a tree changes. Applying the same events to a fresh tree gives the same tree.
//! Must not know where events are kept.

use serde::{Deserialize, Serialize};

use crate::edit::{EditLimits, EditScript, Refusal};
use crate::node::{Failure, NodeId, Outcome, State};
use crate::tree::World;

/// Something that happened to the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum WorldEvent {
    /// The candidate that the search starts from was measured.
    Seeded {
        /// What was measured; its gain is none.
        outcome: Outcome,
    },
    /// A planner changed the tree; the script passed validation under these limits.
    Edited {
        /// Who.
        by: String,
        /// What.
        script: EditScript,
        /// Limits it was checked against.
        limits: EditLimits,
    },
    /// An attempt series on an action began.
    Started {
        /// Which.
        node: NodeId,
    },
    /// It ended with a passing candidate, which is now attached, be it faster than the parent's or not.
    Solved {
        /// Which.
        node: NodeId,
        /// What was measured.
        outcome: Outcome,
    },
    /// It ended without one; the action is open again.
    Failed {
        /// Which.
        node: NodeId,
        /// How.
        failure: Failure,
    },
    /// It was interrupted by no fault of its own; the attempt does not count.
    Returned {
        /// Which.
        node: NodeId,
    },
    /// It is given up.
    Abandoned {
        /// Which.
        node: NodeId,
        /// One sentence.
        why: String,
    },
}

/// What applying an event created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Nodes that an edit script inserted, in its order.
    pub created: Vec<NodeId>,
}

/// Why an event does not fit the tree. For events the engine makes itself this is a defect or a damaged journal.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// No such node.
    #[error("there is no node {0}")]
    NoNode(NodeId),
    /// The node is not in the state the event needs.
    #[error("{node} cannot be {event}: it is {state}")]
    WrongState {
        /// Which.
        node: NodeId,
        /// Name of the event.
        event: &'static str,
        /// Where it stands.
        state: String,
    },
    /// A script that does not validate.
    #[error("the edit was refused: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<Refusal>),
}

impl World {
    /// Applies one event, whole or not at all.
    pub fn apply(&mut self, event: &WorldEvent) -> Result<Applied, WorldError> {
        match event {
            WorldEvent::Seeded { outcome } => {
                let root = self.node_mut(NodeId::ROOT).ok_or(WorldError::NoNode(NodeId::ROOT))?;
                root.state = State::Solved(outcome.clone());
            }
            WorldEvent::Edited { by, script, limits } => {
                return self.edit(by, script, limits).map_err(WorldError::Refused);
            }
            WorldEvent::Started { node } => {
                self.expect(*node, "started", |s| *s == State::Open)?;
                self.round += 1;
                self.update(*node, |n| {
                    n.attempts += 1;
                    n.state = State::Active;
                })?;
            }
            WorldEvent::Solved { node, outcome } => {
                self.expect(*node, "solved", |s| *s == State::Active)?;
                self.update(*node, |n| n.state = State::Solved(outcome.clone()))?;
                let solved = self.get(*node).ok_or(WorldError::NoNode(*node))?.clone();
                self.calibration.observe_success(&solved, outcome.applied.or(outcome.gain));
            }
            WorldEvent::Failed { node, failure } => {
                self.expect(*node, "failed", |s| *s == State::Active)?;
                self.update(*node, |n| {
                    n.failures.push(failure.clone());
                    n.state = State::Open;
                })?;
                let failed = self.get(*node).ok_or(WorldError::NoNode(*node))?.clone();
                self.calibration.observe_failure(&failed);
            }
            WorldEvent::Returned { node } => {
                self.expect(*node, "returned", |s| *s == State::Active)?;
                self.update(*node, |n| {
                    n.attempts -= 1;
                    n.state = State::Open;
                })?;
            }
            WorldEvent::Abandoned { node, why } => {
                self.expect(*node, "abandoned", |s| *s == State::Open)?;
                self.update(*node, |n| n.state = State::Abandoned { why: why.clone() })?;
            }
        }
        Ok(Applied::default())
    }

    fn expect(&self, id: NodeId, event: &'static str, holds: impl Fn(&State) -> bool) -> Result<(), WorldError> {
        let node = self.get(id).ok_or(WorldError::NoNode(id))?;
        if id != NodeId::ROOT && holds(&node.state) {
            return Ok(());
        }
        let state = match &node.state {
            _ if id == NodeId::ROOT => "the root",
            State::Open => "open",
            State::Active => "in work",
            State::Solved(_) => "solved",
            State::Abandoned { .. } => "abandoned",
            State::Deleted { .. } => "deleted",
        };
        Err(WorldError::WrongState { node: id, event, state: state.to_owned() })
    }

    fn update(&mut self, id: NodeId, change: impl FnOnce(&mut crate::node::Node)) -> Result<(), WorldError> {
        change(self.node_mut(id).ok_or(WorldError::NoNode(id))?);
        Ok(())
    }
}
