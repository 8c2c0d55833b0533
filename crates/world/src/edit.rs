//! Edits: how planners change the tree. A script is validated whole and applied whole, or refused whole with every
//! reason, so that a model can be shown what to mend. Fields that are measured cannot be written by an edit at all.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use ksearch_task::Bottleneck;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::Applied;
use crate::node::{Action, Impact, NodeId, Resource, State};
use crate::tree::World;

/// Names a node in a script: an id such as `n12`, or a name that an earlier insert of the same script gave.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeRef(pub String);

impl From<NodeId> for NodeRef {
    fn from(id: NodeId) -> Self {
        Self(id.to_string())
    }
}

/// The fields a planner may write. Absent fields keep their value (update) or get the default (insert).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Patch {
    /// A few words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why it should help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Catalogue entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// 1..5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difficulty: Option<u8>,
    /// 0..1, the original's V.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// 0..10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<f64>,
    /// 0..1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Parent's time over the expected time; above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted_gain: Option<f64>,
    /// Expected impacts; each resource that is named replaces what was there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub impacts: BTreeMap<Resource, Impact>,
    /// The class the action attacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Notes; replaces what was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Anything else that was written; refused by name.
    #[serde(flatten, skip_serializing_if = "BTreeMap::is_empty")]
    pub other: BTreeMap<String, Value>,
}

/// A node that a split adds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewNode {
    /// Name for later operations of the same script.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its fields.
    #[serde(flatten)]
    pub patch: Patch,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Edit {
    /// Adds an action under a node.
    Insert {
        /// Under which.
        parent: NodeRef,
        /// The new node.
        #[serde(flatten)]
        node: NewNode,
    },
    /// Changes what a planner wrote.
    Update {
        /// Which.
        node: NodeRef,
        /// The change.
        #[serde(flatten)]
        patch: Patch,
    },
    /// Makes an action smaller and adds its further steps as children.
    Split {
        /// Which.
        node: NodeRef,
        /// The further steps.
        children: Vec<NewNode>,
        /// The change to the node itself.
        #[serde(flatten)]
        patch: Patch,
    },
    /// Removes an open action without children.
    Delete {
        /// Which.
        node: NodeRef,
        /// One sentence.
        #[serde(default)]
        why: String,
    },
}

/// A planner's change to the tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EditScript {
    /// New summary of the task, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// New list of open questions, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_questions: Option<Vec<String>>,
    /// Operations, in order.
    #[serde(default)]
    pub ops: Vec<Edit>,
}

impl EditScript {
    /// Does it change nothing?
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.summary.is_none() && self.open_questions.is_none()
    }
}

/// What one script may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditLimits {
    /// Most new nodes.
    pub max_new: usize,
    /// Most children of one node that are not deleted.
    pub max_children: usize,
}

impl Default for EditLimits {
    fn default() -> Self {
        Self { max_new: 8, max_children: 24 }
    }
}

/// One reason why a script was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// 0-based operation; none when the script as a whole is at fault.
    pub op: Option<usize>,
    /// What is wrong and what to do.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            Some(op) => write!(f, "operation {op}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// Fields that only the engine writes, under our names and the original's.
const MEASURED: [&str; 14] = [
    "attempts",
    "failures",
    "state",
    "outcome",
    "candidate",
    "time",
    "gain",
    "within_noise",
    "solution_ref",
    "solution_id",
    "eval",
    "children",
    "by",
    "updated_round",
];

impl World {
    /// Checks and applies a script. On refusal the tree is as before and every reason is given.
    pub fn edit(&mut self, by: &str, script: &EditScript, limits: &EditLimits) -> Result<Applied, Vec<Refusal>> {
        let mut draft = Draft {
            world: self.clone(),
            by,
            limits,
            names: HashMap::new(),
            created: Vec::new(),
            refusals: Vec::new(),
            op: None,
        };
        for (index, edit) in script.ops.iter().enumerate() {
            draft.op = Some(index);
            draft.step(edit);
        }
        draft.op = None;
        if draft.created.len() > limits.max_new {
            draft.refuse(format!(
                "{} new nodes in one script; at most {} are allowed: keep the best",
                draft.created.len(),
                limits.max_new
            ));
        }
        if !draft.refusals.is_empty() {
            return Err(draft.refusals);
        }
        let Draft { mut world, created, .. } = draft;
        if let Some(summary) = &script.summary {
            world.summary.clone_from(summary);
        }
        if let Some(questions) = &script.open_questions {
            world.open_questions.clone_from(questions);
        }
        *self = world;
        Ok(Applied { created })
    }
}

/// A script in the course of validation, on a snapshot.
struct Draft<'a> {
    world: World,
    by: &'a str,
    limits: &'a EditLimits,
    names: HashMap<&'a str, NodeId>,
    created: Vec<NodeId>,
    refusals: Vec<Refusal>,
    op: Option<usize>,
}

impl<'a> Draft<'a> {
    fn refuse(&mut self, reason: String) {
        self.refusals.push(Refusal { op: self.op, reason });
    }

    fn step(&mut self, edit: &'a Edit) {
        match edit {
            Edit::Insert { parent, node } => {
                if let Some(parent) = self.resolve(parent) {
                    self.insert(parent, node);
                }
            }
            Edit::Update { node, patch } => {
                if let Some(node) = self.resolve(node) {
                    self.patch(node, patch);
                }
            }
            Edit::Split { node, children, patch } => {
                let Some(id) = self.resolve(node) else { return };
                if children.is_empty() {
                    self.refuse(format!("a split of {id} needs at least one child"));
                }
                if self.world.get(id).is_some_and(|n| n.state != State::Open) || id == NodeId::ROOT {
                    self.refuse(format!("{id} is not an open action, so it cannot be split; insert under it instead"));
                    return;
                }
                self.patch(id, patch);
                for child in children {
                    self.insert(id, child);
                }
            }
            Edit::Delete { node, why } => {
                let Some(id) = self.resolve(node) else { return };
                if id == NodeId::ROOT {
                    self.refuse("the root cannot be deleted".to_owned());
                } else if self.world.get(id).is_some_and(|n| n.state != State::Open) {
                    self.refuse(format!("{id} is not an open action; only those can be deleted: lower its rating"));
                } else if self.world.children(id).next().is_some() {
                    self.refuse(format!("{id} has children; delete those first"));
                } else if let Some(node) = self.world.node_mut(id) {
                    node.state = State::Deleted { why: why.clone() };
                }
            }
        }
    }

    fn resolve(&mut self, reference: &NodeRef) -> Option<NodeId> {
        let name = reference.0.as_str();
        let id = self.names.get(name).copied().or_else(|| NodeId::parse(name));
        match id.and_then(|id| self.world.get(id)) {
            Some(node) if node.is_deleted() => {
                self.refuse(format!("`{name}` is deleted"));
                None
            }
            Some(node) => Some(node.id),
            None => {
                self.refuse(format!("there is no node `{name}`"));
                None
            }
        }
    }

    fn insert(&mut self, parent: NodeId, new: &'a NewNode) {
        let title = new.patch.title.as_deref().unwrap_or("").trim();
        if new.patch.title.is_none() {
            self.refuse("a new node needs a title".to_owned());
        }
        if let Some(twin) = self.twin(parent, title, new.patch.strategy.as_deref()) {
            self.refuse(format!("{twin} under {parent} already proposes this; update it instead"));
        }
        if self.world.children(parent).count() >= self.limits.max_children {
            let most = self.limits.max_children;
            self.refuse(format!("{parent} has {most} children, which is the most; delete the weakest first"));
        }
        if let Some(name) = &new.id
            && (NodeId::parse(name).is_some() || self.names.contains_key(name.as_str()))
        {
            self.refuse(format!("`{name}` cannot name a new node: ids are given by the engine, names must be unique"));
        }
        let id = self.world.push(parent, self.by);
        self.created.push(id);
        if let Some(name) = &new.id {
            self.names.insert(name, id);
        }
        if let Some(node) = self.world.node_mut(id) {
            node.action = Some(Action { difficulty: 3, ..Action::default() });
        }
        self.patch(id, &new.patch);
    }

    /// A living child of `parent` that proposes the same.
    fn twin(&self, parent: NodeId, title: &str, strategy: Option<&str>) -> Option<NodeId> {
        let same = |t: &str| t.trim().eq_ignore_ascii_case(title);
        self.world
            .children(parent)
            .find(|n| {
                (strategy.is_some_and(|s| !s.is_empty()) && n.strategy() == strategy)
                    || (!title.is_empty() && same(n.title()))
            })
            .map(|n| n.id)
    }

    fn patch(&mut self, id: NodeId, patch: &Patch) {
        self.check_ranges(patch);
        let Some(node) = self.world.get(id) else { return };
        let tried = node.attempts > 0;
        let proposes = patch.title.is_some()
            || patch.description.is_some()
            || patch.rationale.is_some()
            || patch.strategy.is_some()
            || patch.difficulty.is_some()
            || patch.score.is_some();
        let fixed = node.state != State::Open;
        if node.action.is_none() && proposes {
            self.refuse(format!("{id} is not an action, so it has no title, strategy or difficulty"));
            return;
        }
        if fixed && (patch.title.is_some() || patch.description.is_some() || patch.strategy.is_some()) {
            self.refuse(format!("{id} is no longer open, so what it proposes stands; insert a new action instead"));
        }
        if tried && patch.predicted_gain.is_some() {
            self.refuse(format!("{id} has been tried, so its predicted_gain stands as the record of a prediction"));
        }
        if patch.title.as_deref().is_some_and(|t| t.trim().is_empty()) {
            self.refuse(format!("{id}: the title cannot be empty"));
        }
        let round = self.world.round;
        let Some(node) = self.world.node_mut(id) else { return };
        node.updated_round = round;
        if let Some(action) = &mut node.action {
            set(&mut action.title, patch.title.as_ref());
            set(&mut action.description, patch.description.as_ref());
            set(&mut action.rationale, patch.rationale.as_ref());
            set(&mut action.difficulty, patch.difficulty.as_ref());
            // An empty name takes the strategy away: the action has become something else.
            if let Some(strategy) = &patch.strategy {
                action.strategy = Some(strategy.trim().to_owned()).filter(|s| !s.is_empty());
            }
            if patch.score.is_some() {
                action.score = patch.score;
            }
        }
        set(&mut node.rating, patch.rating.as_ref());
        set(&mut node.confidence, patch.confidence.as_ref());
        set(&mut node.notes, patch.notes.as_ref());
        node.predicted_gain = patch.predicted_gain.or(node.predicted_gain);
        node.bottleneck = patch.bottleneck.or(node.bottleneck);
        for (resource, impact) in &patch.impacts {
            node.impacts.insert(*resource, impact.clone());
        }
    }

    fn check_ranges(&mut self, patch: &Patch) {
        for name in patch.other.keys() {
            if MEASURED.contains(&name.as_str()) {
                self.refuse(format!("`{name}` is measured or kept by the engine; remove it"));
            } else {
                self.refuse(format!("there is no field `{name}`; remove it"));
            }
        }
        let impacts = patch.impacts.values().map(|i| ("impact rating", Some(i.rating), 0.0, 10.0));
        let ranges = [
            ("rating", patch.rating, 0.0, 10.0),
            ("confidence", patch.confidence, 0.0, 1.0),
            ("score", patch.score, 0.0, 1.0),
            ("difficulty", patch.difficulty.map(f64::from), 1.0, 5.0),
            ("predicted_gain", patch.predicted_gain, 0.01, 1000.0),
        ];
        for (name, value, low, high) in ranges.into_iter().chain(impacts) {
            if let Some(value) = value
                && !(low..=high).contains(&value)
            {
                self.refuse(format!("{name} {value} is outside {low}..{high}"));
            }
        }
    }
}

fn set<T: Clone>(target: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        target.clone_from(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::WorldEvent;
    use crate::node::{Failure, Outcome};
    use ksearch_task::{CandidateId, Figure};
    use serde_json::json;

    fn script(ops: &Value) -> EditScript {
        serde_json::from_value(json!({ "ops": ops })).unwrap()
    }

    fn edit(world: &mut World, ops: &Value) -> Result<Vec<NodeId>, Vec<String>> {
        world
            .edit("model", &script(ops), &EditLimits { max_new: 3, max_children: 5 })
            .map(|a| a.created)
            .map_err(|r| r.iter().map(ToString::to_string).collect())
    }

    fn solve(world: &mut World, node: NodeId) {
        world.apply(&WorldEvent::Started { node }).unwrap();
        let outcome = Outcome {
            candidate: CandidateId("good".into()),
            time: Figure::simulated_us(5.0, "test"),
            gain: Some(2.0),
            applied: None,
            bottleneck: None,
            within_noise: false,
        };
        world.apply(&WorldEvent::Solved { node, outcome }).unwrap();
    }

    #[test]
    fn a_script_can_build_a_chain_by_name() {
        let mut w = World::default();
        let created = edit(
            &mut w,
            &json!([
                {"op": "insert", "parent": "root", "id": "first", "title": "tile", "rating": 7, "difficulty": 2},
                {"op": "insert", "parent": "first", "title": "then double-buffer"},
            ]),
        )
        .unwrap();
        assert_eq!(created, [NodeId(1), NodeId(2)]);
        assert_eq!(w.get(NodeId(2)).unwrap().parent, Some(NodeId(1)));
        assert_eq!(
            w.frontier().map(|n| n.id).collect::<Vec<_>>(),
            [NodeId(1)],
            "a step unlocks when its parent is solved"
        );
        solve(&mut w, NodeId(1));
        assert_eq!(w.frontier().map(|n| n.id).collect::<Vec<_>>(), [NodeId(2)]);
    }

    /// Faults A7 and A8 of the original: retries pile up on a tree that failed its checks.
    #[test]
    fn refusal_names_every_fault_and_changes_nothing() {
        let mut w = World::default();
        edit(&mut w, &json!([{"op": "insert", "parent": "root", "title": "tile"}])).unwrap();
        let before = w.clone();
        let reasons = edit(
            &mut w,
            &json!([
                {"op": "insert", "parent": "root", "title": "good"},
                {"op": "insert", "parent": "root", "title": " Tile "},
                {"op": "insert", "parent": "n9", "title": "x"},
                {"op": "insert", "parent": "root", "title": "", "id": "n7"},
                {"op": "update", "node": "n1", "rating": 11.0, "confidence": -1.0, "flavour": "sweet"},
                {"op": "delete", "node": "root"},
                {"op": "update", "node": "root", "title": "mine"},
                {"op": "split", "node": "n1", "children": []},
            ]),
        )
        .unwrap_err();
        insta::assert_snapshot!(reasons.join("\n"), @"
        operation 1: n1 under n0 already proposes this; update it instead
        operation 2: there is no node `n9`
        operation 3: `n7` cannot name a new node: ids are given by the engine, names must be unique
        operation 3: n4: the title cannot be empty
        operation 4: there is no field `flavour`; remove it
        operation 4: rating 11 is outside 0..10
        operation 4: confidence -1 is outside 0..1
        operation 5: the root cannot be deleted
        operation 6: n0 is not an action, so it has no title, strategy or difficulty
        operation 7: a split of n1 needs at least one child
        ");
        assert_eq!(w, before);
    }

    #[test]
    fn a_script_has_a_bounded_number_of_new_nodes() {
        let mut w = World::default();
        let four: Vec<Value> =
            (0..4).map(|i| json!({"op": "insert", "parent": "root", "title": format!("a{i}")})).collect();
        assert!(edit(&mut w, &json!(four)).unwrap_err()[0].contains("at most 3"));
        edit(&mut w, &json!(four[..3])).unwrap();
        edit(&mut w, &json!([{"op": "split", "node": "n1", "title": "smaller", "children": [{"title": "rest"}]}]))
            .unwrap();
        assert_eq!(w.get(NodeId(1)).unwrap().title(), "smaller");
        assert_eq!(w.get(NodeId(4)).unwrap().parent, Some(NodeId(1)));
        edit(
            &mut w,
            &json!([{"op": "insert", "parent": "root", "title": "b"}, {"op": "insert", "parent": "root", "title": "c"}]),
        )
        .unwrap();
        assert!(
            edit(&mut w, &json!([{"op": "insert", "parent": "root", "title": "d"}])).unwrap_err()[0]
                .contains("5 children")
        );
    }

    /// Fault A9 of the original: a model can forge a result, or erase one.
    #[test]
    fn results_can_be_neither_forged_nor_erased() {
        let mut w = World::default();
        edit(&mut w, &json!([{"op": "insert", "parent": "root", "title": "real", "predicted_gain": 1.5}])).unwrap();
        solve(&mut w, NodeId(1));
        let before = w.clone();
        for forged in [
            json!({"op": "insert", "parent": "root", "title": "fake", "solution_ref": {"solution_id": "x", "eval": {"metrics": {"score": 99}}}}),
            json!({"op": "insert", "parent": "root", "title": "fake", "state": "solved", "time": 1.0}),
            json!({"op": "update", "node": "n1", "solution_ref": null}),
            json!({"op": "update", "node": "n1", "attempts": 0}),
            json!({"op": "update", "node": "n1", "predicted_gain": 2.0}),
            json!({"op": "update", "node": "n1", "title": "other"}),
            json!({"op": "update", "node": "n1", "description": "something else"}),
            json!({"op": "update", "node": "n1", "strategy": "other"}),
            json!({"op": "split", "node": "n1", "children": [{"title": "c", "outcome": {}}]}),
            json!({"op": "delete", "node": "n1"}),
        ] {
            assert!(edit(&mut w, &json!([forged])).is_err(), "{forged}");
            assert_eq!(w, before);
        }
        edit(&mut w, &json!([{"op": "update", "node": "n1", "rating": 3.0, "notes": "it worked because"}])).unwrap();
        assert_eq!(w.best().unwrap().id, NodeId(1));
    }

    /// Fault A7 of the original: generated ids start again in each script and collide.
    #[test]
    fn ids_are_never_used_again() {
        let mut w = World::default();
        edit(&mut w, &json!([{"op": "insert", "parent": "root", "title": "a"}])).unwrap();
        edit(&mut w, &json!([{"op": "delete", "node": "n1", "why": "pointless"}])).unwrap();
        assert_eq!(edit(&mut w, &json!([{"op": "insert", "parent": "root", "title": "a"}])).unwrap(), [NodeId(2)]);
        assert!(
            edit(&mut w, &json!([{"op": "update", "node": "n1", "rating": 1.0}])).unwrap_err()[0].contains("deleted")
        );
        assert_eq!(w.counts().nodes, 1);
    }

    /// Fault A10 of the original: the operation to delete is described and missing from the schema. Here all four read back.
    #[test]
    fn scripts_round_trip_through_json() {
        let s = script(&json!([
            {"op": "insert", "parent": "root", "id": "a", "title": "t", "impacts": {"latency": {"rating": 2.0}}},
            {"op": "update", "node": "n1", "bottleneck": "bandwidth"},
            {"op": "split", "node": "n1", "children": [{"id": "b", "title": "c"}], "difficulty": 1},
            {"op": "delete", "node": "n2", "why": "w"},
        ]));
        let text = serde_json::to_string(&s).unwrap();
        assert_eq!(serde_json::from_str::<EditScript>(&text).unwrap(), s);
    }

    #[test]
    fn an_action_that_becomes_something_else_can_leave_its_strategy() {
        let mut w = World::default();
        edit(&mut w, &json!([{"op": "insert", "parent": "root", "title": "a", "strategy": "tile"}])).unwrap();
        edit(&mut w, &json!([{"op": "update", "node": "n1", "description": "tile, and more", "strategy": ""}]))
            .unwrap();
        assert_eq!(w.get(NodeId(1)).unwrap().strategy(), None);
        edit(&mut w, &json!([{"op": "insert", "parent": "root", "title": "b", "strategy": ""}])).unwrap();
        assert_eq!(w.get(NodeId(2)).unwrap().strategy(), None);
    }

    #[test]
    fn a_failed_action_can_be_made_smaller_and_keeps_its_record() {
        let mut w = World::default();
        edit(&mut w, &json!([{"op": "insert", "parent": "root", "title": "too much"}])).unwrap();
        w.apply(&WorldEvent::Started { node: NodeId(1) }).unwrap();
        assert!(edit(&mut w, &json!([{"op": "delete", "node": "n1"}])).is_err(), "an action in work stays");
        let failure = Failure { status: "compile_error".into(), summary: "no".into(), candidate: None };
        w.apply(&WorldEvent::Failed { node: NodeId(1), failure }).unwrap();
        edit(&mut w, &json!([{"op": "split", "node": "n1", "title": "half", "children": [{"title": "other half"}]}]))
            .unwrap();
        let node = w.get(NodeId(1)).unwrap();
        assert_eq!((node.attempts, node.failures.len(), node.title()), (1, 1, "half"));
    }
}
