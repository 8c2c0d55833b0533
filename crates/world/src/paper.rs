//! Import and export of the original K-Search's `world_model.json`. What is written is a superset of its schema: our
//! own fields stand in a `ksearch` object per node. Results that come with a file are kept for display and never taken
//! for a measurement made here. Must not know policies or roles.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use crate::node::{Action, Impact, Node, NodeId, Resource};
use crate::tree::World;

/// Why a file could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Not JSON.
    #[error("the world model is not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but not a world model.
    #[error("{0}")]
    Schema(String),
}

/// A tree that was read, and what had to be mended on the way.
#[derive(Debug)]
pub struct Imported {
    /// The tree; every action in it is open.
    pub world: World,
    /// One sentence each.
    pub warnings: Vec<String>,
}

const PAPER_IMPACTS: [(Resource, &str); 3] = [
    (Resource::MemoryBandwidth, "memory_bandwidth"),
    (Resource::RegisterPressure, "register_pressure"),
    (Resource::ComputeIntensityAndHwFit, "compute_intensity_and_hw_fit"),
];

/// Reads a world model in the original's schema or in our superset.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    import_value(&serde_json::from_str(text)?)
}

/// [`import`] of what is parsed already.
pub fn import_value(file: &Value) -> Result<Imported, ImportError> {
    let tree = file.get("decision_tree").and_then(Value::as_object).ok_or_else(|| {
        ImportError::Schema(
            "no `decision_tree` object: this is not a world model (files with `plan_tree` are older than the schema \
             that is read here)"
                .to_owned(),
        )
    })?;
    let nodes = tree
        .get("nodes")
        .and_then(Value::as_array)
        .ok_or_else(|| ImportError::Schema("`decision_tree.nodes` is not a list".to_owned()))?;
    let mut import = Import { world: World::default(), warnings: Vec::new(), ids: HashMap::new() };
    import.world.summary = text_of(file, "kernel_summary");
    import.world.open_questions = file
        .get("open_questions")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |questions| questions.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let root_id = tree.get("root_id").and_then(Value::as_str).map(str::to_owned);
    import.read(nodes, root_id.as_deref());
    Ok(Imported { world: import.world, warnings: import.warnings })
}

struct Import {
    world: World,
    warnings: Vec<String>,
    ids: HashMap<String, NodeId>,
}

impl Import {
    fn read(&mut self, nodes: &[Value], root_id: Option<&str>) {
        let mut waiting: Vec<(String, Option<String>, &Value)> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let Some(id) = node.get("node_id").and_then(Value::as_str) else {
                self.warnings.push(format!("node {index} has no node_id and was left out"));
                continue;
            };
            let parent = node.get("parent_id").and_then(Value::as_str).map(str::to_owned);
            if waiting.iter().any(|(other, ..)| other == id) {
                self.warnings.push(format!("node id `{id}` occurs twice; the second was left out"));
                continue;
            }
            waiting.push((id.to_owned(), parent, node));
        }
        // The root is the one named so, else the first without a parent.
        let root = waiting
            .iter()
            .position(|(id, ..)| Some(id.as_str()) == root_id)
            .or_else(|| waiting.iter().position(|(_, parent, _)| parent.is_none()));
        if let Some(root) = root {
            let (id, _, node) = waiting.remove(root);
            self.ids.insert(id, NodeId::ROOT);
            self.fill(NodeId::ROOT, node, true);
        }
        // Parents may stand after their children.
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut later = Vec::new();
            for (id, parent, node) in waiting {
                match parent.as_ref().and_then(|p| self.ids.get(p)).copied() {
                    Some(parent) => self.add(parent, id, node),
                    None => later.push((id, parent, node)),
                }
            }
            waiting = later;
            if waiting.len() == before {
                let (id, parent, node) = waiting.remove(0);
                let parent = parent.unwrap_or_else(|| "none".to_owned());
                self.warnings.push(format!("node `{id}` hangs on `{parent}`, which is not there; put under the root"));
                self.add(NodeId::ROOT, id, node);
            }
        }
    }

    fn add(&mut self, parent: NodeId, id: String, node: &Value) {
        let new = self.world.push(parent, "import");
        self.ids.insert(id, new);
        self.fill(new, node, false);
    }

    fn fill(&mut self, id: NodeId, from: &Value, root: bool) {
        let name = text_of(from, "node_id");
        let ours = from.get("ksearch");
        let rating = self.number(from, "overall_rating_0_to_10", 0.0, 10.0, &name).unwrap_or(0.0);
        let confidence = self.number(from, "confidence_0_to_1", 0.0, 1.0, &name).unwrap_or(0.0);
        let action = if root { None } else { self.action(from, ours, &name) };
        let impacts = self.impacts(from, ours, &name);
        let mut imported = Map::new();
        imported.insert("node_id".into(), json!(name));
        if let Some(reference) = from.get("solution_ref").filter(|r| r.get("solution_id").is_some_and(Value::is_string))
        {
            imported.insert("solution_ref".into(), reference.clone());
        }
        if let Some(factor) = from.pointer("/action/expected_vs_baseline_factor").filter(|f| f.is_number()) {
            imported.insert("expected_vs_baseline_factor".into(), factor.clone());
        }
        let Some(node) = self.world.node_mut(id) else { return };
        node.rating = rating;
        node.confidence = confidence;
        node.notes = text_of(from, "notes");
        node.action = action;
        node.impacts = impacts;
        if !root && (from.get("decision").is_some_and(Value::is_string) || node.action.is_none()) {
            node.decision = Some((text_of(from, "decision"), text_of(from, "choice")));
        }
        node.predicted_gain = ours.and_then(|o| o.get("predicted_gain")).and_then(Value::as_f64).filter(|g| *g > 0.0);
        node.bottleneck = ours.and_then(|o| o.get("bottleneck")).and_then(|b| serde_json::from_value(b.clone()).ok());
        node.imported = Some(Value::Object(imported));
    }

    fn action(&mut self, from: &Value, ours: Option<&Value>, name: &str) -> Option<Action> {
        let action = from.get("action")?;
        let title = text_of(action, "title");
        if title.trim().is_empty() {
            return None;
        }
        let difficulty = self.number(action, "difficulty_1_to_5", 1.0, 5.0, name).unwrap_or(3.0);
        Some(Action {
            title,
            description: text_of(action, "description"),
            rationale: text_of(action, "rationale"),
            strategy: ours.and_then(|o| o.get("strategy")).and_then(Value::as_str).map(str::to_owned),
            difficulty: difficulty.round() as u8,
            score: self.number(action, "score_0_to_1", 0.0, 1.0, name),
        })
    }

    fn impacts(&mut self, from: &Value, ours: Option<&Value>, name: &str) -> BTreeMap<Resource, Impact> {
        let mut impacts: BTreeMap<Resource, Impact> = ours
            .and_then(|o| o.get("impacts"))
            .and_then(|i| serde_json::from_value(i.clone()).ok())
            .unwrap_or_default();
        for (resource, key) in PAPER_IMPACTS {
            let Some(from) = from.get("impacts").and_then(|i| i.get(key)).filter(|i| i.is_object()) else { continue };
            let impact = Impact {
                rating: self.number(from, "rating", 0.0, 10.0, name).unwrap_or(0.0),
                risk: text_of(from, "risk"),
                notes: text_of(from, "notes"),
                hw_notes: text_of(from, "hw_notes"),
            };
            if impact != Impact::default() {
                impacts.insert(resource, impact);
            }
        }
        impacts
    }

    /// A number, drawn into its range with a warning.
    fn number(&mut self, from: &Value, key: &str, low: f64, high: f64, node: &str) -> Option<f64> {
        let value = from.get(key)?.as_f64()?;
        let clamped = value.clamp(low, high);
        if clamped != value {
            self.warnings.push(format!("node `{node}`: {key} {value} is outside {low}..{high}; taken as {clamped}"));
        }
        Some(clamped)
    }
}

fn text_of(from: &Value, key: &str) -> String {
    from.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Writes the tree in the original's schema with our fields beside it. `baseline` is the time of the best library
/// kernel in the unit of the outcomes, where there is one.
pub fn export(world: &World, baseline: Option<f64>) -> Value {
    let nodes: Vec<Value> = world.nodes().filter(|n| !n.is_deleted()).map(|n| node_out(world, n, baseline)).collect();
    let active = world.best().map_or_else(|| "root".to_owned(), |n| name(n.id));
    let mut signals = Map::new();
    signals.insert("round_index".into(), json!(world.round));
    if let Some(outcome) = world.best().and_then(Node::outcome) {
        let speedup = world.root().time().map(|t| t / outcome.time.value);
        signals.insert(
            "trace".into(),
            json!({"status": "passed", "latency_ms": milliseconds(outcome.time.value, &outcome.time.unit),
                   "reference_latency_ms": baseline.and_then(|b| milliseconds(b, &outcome.time.unit)),
                   "speedup_factor": speedup}),
        );
    }
    json!({
        "kernel_summary": world.summary,
        "open_questions": world.open_questions,
        "decision_tree": {"root_id": "root", "active_leaf_id": active, "nodes": nodes},
        "computed_signals": signals,
    })
}

fn name(id: NodeId) -> String {
    if id == NodeId::ROOT { "root".to_owned() } else { id.to_string() }
}

fn milliseconds(value: f64, unit: &str) -> Option<f64> {
    match unit {
        "us" => Some(value / 1000.0),
        "ms" => Some(value),
        _ => None,
    }
}

fn node_out(world: &World, node: &Node, baseline: Option<f64>) -> Value {
    let impacts: Map<String, Value> = PAPER_IMPACTS
        .iter()
        .map(|(resource, key)| {
            let impact = node.impacts.get(resource).cloned().unwrap_or_default();
            let mut out = json!({"rating": impact.rating, "risk": impact.risk, "notes": impact.notes});
            if *resource == Resource::ComputeIntensityAndHwFit {
                out["hw_notes"] = json!(impact.hw_notes);
            }
            ((*key).to_owned(), out)
        })
        .collect();
    let expected = baseline
        .zip(world.parent_time(node))
        .zip(node.predicted_gain)
        .map(|((baseline, parent), gain)| baseline / (parent / gain));
    let action = node.action.as_ref().map(|a| {
        json!({"title": a.title, "description": a.description, "rationale": a.rationale,
               "difficulty_1_to_5": a.difficulty, "score_0_to_1": a.score.unwrap_or(node.rating / 10.0),
               "expected_vs_baseline_factor": expected})
    });
    let solution = node.outcome().map(|o| {
        let parent = node.parent.and_then(|p| world.get(p)).and_then(Node::outcome).map(|p| p.candidate.0.clone());
        json!({"solution_id": o.candidate.0, "parent_solution_id": parent,
               "eval": {"status": "passed", "latency_ms": milliseconds(o.time.value, &o.time.unit),
                        "mean_vs_baseline_factor": baseline.map(|b| b / o.time.value),
                        "speedup_factor": world.root().time().map(|t| t / o.time.value)}})
    });
    let ours: BTreeMap<&Resource, &Impact> =
        node.impacts.iter().filter(|(r, _)| !PAPER_IMPACTS.iter().any(|(p, _)| p == *r)).collect();
    let mut state = serde_json::to_value(&node.state).unwrap_or(Value::Null);
    if let Some(state) = state.as_object_mut() {
        state.insert("attempts".into(), json!(node.attempts));
        state.insert("failures".into(), json!(node.failures));
    }
    json!({
        "node_id": name(node.id),
        "parent_id": node.parent.map(name),
        "node_type": if node.parent.is_none() { "root" } else { "decision" },
        "decision": node.decision.as_ref().map(|d| d.0.clone()),
        "choice": node.decision.as_ref().map(|d| d.1.clone()),
        "impacts": impacts,
        "overall_rating_0_to_10": node.rating,
        "confidence_0_to_1": node.confidence,
        "action": action,
        "solution_ref": solution,
        "last_updated_round": node.updated_round,
        "notes": node.notes,
        "ksearch": {
            "strategy": node.strategy(), "predicted_gain": node.predicted_gain, "bottleneck": node.bottleneck,
            "impacts": ours, "by": node.by, "measured": state, "imported": node.imported,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::EditLimits;
    use crate::event::WorldEvent;
    use crate::node::Outcome;
    use ksearch_task::{Bottleneck, CandidateId, Figure};

    const ORIGINAL: &str = r#"{
      "kernel_summary": "a scan",
      "open_questions": ["is it bound by latency?", 3],
      "decision_tree": {"root_id": "start", "active_leaf_id": "x", "nodes": [
        {"node_id": "x2", "parent_id": "x", "action": {"title": "then this", "difficulty_1_to_5": 2}},
        {"node_id": "start", "parent_id": null, "notes": "root notes", "decision": null, "choice": null},
        {"node_id": "x", "parent_id": "start", "decision": "layout", "choice": "tiled",
         "overall_rating_0_to_10": 11, "confidence_0_to_1": 0.4,
         "impacts": {"memory_bandwidth": {"rating": 8, "risk": "low", "notes": "n"},
                     "compute_intensity_and_hw_fit": {"rating": 3, "hw_notes": "h"}, "invented": {"rating": 1}},
         "action": {"title": "tile it", "description": "d", "rationale": "r", "difficulty_1_to_5": 9,
                    "score_0_to_1": 0.8, "expected_vs_baseline_factor": 0.7},
         "solution_ref": {"solution_id": "abc", "eval": {"metrics": {"score": 99}}}},
        {"node_id": "lost", "parent_id": "nowhere", "action": {"title": "lost"}},
        {"node_id": "a", "parent_id": "b", "action": {"title": "circle"}},
        {"node_id": "b", "parent_id": "a", "action": {"title": "circle too"}},
        {"node_id": "x", "parent_id": "start", "action": {"title": "again"}}
      ]}
    }"#;

    #[test]
    fn reads_the_original_and_mends_it_aloud() {
        let Imported { world, warnings } = import(ORIGINAL).unwrap();
        assert_eq!(world.summary, "a scan");
        assert_eq!(world.open_questions, ["is it bound by latency?"]);
        assert_eq!(world.root().notes, "root notes");
        let tile = world.nodes().find(|n| n.title() == "tile it").unwrap();
        assert_eq!((tile.rating, tile.confidence, tile.parent), (10.0, 0.4, Some(NodeId::ROOT)));
        assert_eq!(tile.action.as_ref().unwrap().difficulty, 5);
        assert_eq!(tile.impacts[&Resource::MemoryBandwidth].rating, 8.0);
        assert_eq!(tile.impacts[&Resource::ComputeIntensityAndHwFit].hw_notes, "h");
        assert!(tile.is_open(), "a result from elsewhere is not a measurement here");
        assert_eq!(tile.imported.as_ref().unwrap()["solution_ref"]["solution_id"], "abc");
        let then = world.nodes().find(|n| n.title() == "then this").unwrap();
        assert_eq!(then.parent, Some(tile.id), "children may stand before their parents");
        assert_eq!(world.counts().nodes, 5);
        insta::assert_snapshot!(warnings.join("\n"), @"
        node id `x` occurs twice; the second was left out
        node `x`: overall_rating_0_to_10 11 is outside 0..10; taken as 10
        node `x`: difficulty_1_to_5 9 is outside 1..5; taken as 5
        node `lost` hangs on `nowhere`, which is not there; put under the root
        node `a` hangs on `b`, which is not there; put under the root
        ");
    }

    #[test]
    fn says_what_is_wrong_with_other_files() {
        assert!(import("{").unwrap_err().to_string().starts_with("the world model is not valid JSON"));
        assert!(import(r#"{"plan_tree": 1}"#).unwrap_err().to_string().contains("decision_tree"));
        assert!(import(r#"{"decision_tree": {}}"#).unwrap_err().to_string().contains("nodes"));
    }

    /// Fault A12 of the original: root actions vanish when the root has another name. Fault A11: fields are lost on a save.
    #[test]
    fn what_is_written_is_read_back_whole() {
        let mut world = import(ORIGINAL).unwrap().world;
        let script = json!({"ops": [
            {"op": "insert", "parent": "root", "title": "mine", "description": "d", "rationale": "why",
             "strategy": "s", "difficulty": 2, "rating": 6.5, "confidence": 0.25, "predicted_gain": 1.5,
             "bottleneck": "latency", "impacts": {"latency": {"rating": 7.0, "notes": "chains"}}, "notes": "long"}]});
        world.edit("p", &serde_json::from_value(script).unwrap(), &EditLimits::default()).unwrap();
        let time = Figure::simulated_us(200.0, "m1-max");
        let outcome = Outcome {
            candidate: CandidateId("seed".into()),
            time,
            gain: None,
            applied: None,
            bottleneck: None,
            within_noise: false,
        };
        world.apply(&WorldEvent::Seeded { outcome }).unwrap();
        let out = export(&world, Some(100.0));
        assert_eq!(out["computed_signals"]["trace"]["latency_ms"], 0.2);
        let again = import(&out.to_string()).unwrap();
        assert_eq!(again.warnings, Vec::<String>::new());
        assert_eq!(again.world.frontier().count(), world.frontier().count());
        let mine = again.world.nodes().find(|n| n.title() == "mine").unwrap();
        let before = world.nodes().find(|n| n.title() == "mine").unwrap();
        assert_eq!(
            mine.action.as_ref().map(|a| (&a.description, &a.rationale, &a.strategy, a.difficulty)),
            before.action.as_ref().map(|a| (&a.description, &a.rationale, &a.strategy, a.difficulty))
        );
        assert_eq!((mine.rating, mine.confidence, mine.predicted_gain), (6.5, 0.25, Some(1.5)));
        assert_eq!(
            (mine.bottleneck, &mine.impacts, &mine.notes),
            (Some(Bottleneck::Latency), &before.impacts, &before.notes)
        );
        // 200 us / 1.5 expected, against a baseline of 100 us.
        assert_eq!(mine.imported.as_ref().unwrap()["expected_vs_baseline_factor"], 0.75);
    }
}
