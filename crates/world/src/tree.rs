//! The tree itself: structure, frontier, best node, counts. Read-only here; it changes only by events (`event`).
//! Must not know policies.

use std::sync::Arc;

use serde::Serialize;

use crate::calibration::Calibration;
use crate::node::{Node, NodeId, State};

/// How many nodes stand where. The root is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All that were ever proposed and not deleted.
    pub nodes: usize,
    /// With a passing candidate.
    pub solved: usize,
    /// Open or in work.
    pub open: usize,
    /// Given up.
    pub abandoned: usize,
}

/// The world model. Nodes are shared, so a clone is cheap and serves as a snapshot.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    pub(crate) nodes: Vec<Arc<Node>>,
    /// What the planner says about the task as a whole.
    pub summary: String,
    /// What it does not know yet.
    pub open_questions: Vec<String>,
    /// Number of attempt series started so far.
    pub round: u32,
    /// Predictions against results.
    pub calibration: Calibration,
}

impl Default for World {
    fn default() -> Self {
        Self {
            nodes: vec![Arc::new(Node::new(NodeId::ROOT, None, "engine"))],
            summary: String::new(),
            open_questions: Vec::new(),
            round: 0,
            calibration: Calibration::default(),
        }
    }
}

impl World {
    /// The node with this id, deleted ones included.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize).map(Arc::as_ref)
    }

    /// The root.
    pub fn root(&self) -> &Node {
        &self.nodes[0]
    }

    /// All nodes in the order of their ids, deleted ones included.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().map(Arc::as_ref)
    }

    /// Children that are not deleted.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = &Node> {
        self.get(id).into_iter().flat_map(|n| &n.children).filter_map(|c| self.get(*c)).filter(|n| !n.is_deleted())
    }

    /// From the root to `id`, both included. Empty when there is no such node.
    pub fn path(&self, id: NodeId) -> Vec<&Node> {
        let mut path = Vec::new();
        let mut next = self.get(id);
        while let Some(node) = next {
            path.push(node);
            next = node.parent.and_then(|p| self.get(p));
        }
        path.reverse();
        path
    }

    /// Open actions whose parent is the root or solved, in the order of their ids.
    pub fn frontier(&self) -> impl Iterator<Item = &Node> {
        self.nodes().filter(|n| self.on_frontier(n))
    }

    /// Is this node on the frontier?
    pub fn on_frontier(&self, node: &Node) -> bool {
        let unlocked = |p: NodeId| p == NodeId::ROOT || self.get(p).is_some_and(|p| p.outcome().is_some());
        node.is_open() && node.action.is_some() && node.parent.is_some_and(unlocked)
    }

    /// The solved node with the shortest time (the root included); of equals the first.
    pub fn best(&self) -> Option<&Node> {
        self.nodes()
            .filter_map(|n| n.time().map(|t| (n, t)))
            .reduce(|a, b| if b.1 < a.1 { b } else { a })
            .map(|(n, _)| n)
    }

    /// Time of the parent, if it is solved.
    pub fn parent_time(&self, node: &Node) -> Option<f64> {
        self.get(node.parent?)?.time()
    }

    /// Counts for display.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for node in self.nodes().skip(1) {
            match node.state {
                State::Open | State::Active => counts.open += 1,
                State::Solved(_) => counts.solved += 1,
                State::Abandoned { .. } => counts.abandoned += 1,
                State::Deleted { .. } => continue,
            }
            counts.nodes += 1;
        }
        counts
    }

    /// For writing by events. Copies the node only where a snapshot still shares it.
    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0 as usize).map(Arc::make_mut)
    }

    /// Adds a node under `parent` and gives its id; ids are dense and never reused.
    pub(crate) fn push(&mut self, parent: NodeId, by: &str) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Arc::new(Node::new(id, Some(parent), by)));
        if let Some(parent) = self.node_mut(parent) {
            parent.children.push(id);
        }
        id
    }
}
