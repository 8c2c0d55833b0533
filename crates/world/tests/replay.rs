//! The tree is a pure fold over its events: whatever happens, replaying the log gives the same tree, a refused event
//! changes nothing, and the invariants hold.

use std::collections::HashSet;

use ksearch_task::{CandidateId, Figure};
use ksearch_world::{
    EditLimits, EditScript, Failure, NodeId, Outcome, PolicyConfig, PolicyKind, State, World, WorldEvent, policy,
};
use proptest::prelude::*;
use serde_json::json;

fn script() -> impl Strategy<Value = EditScript> {
    let name = prop_oneof![Just("root".to_owned()), (0..12u32).prop_map(|i| format!("n{i}")), Just("new".to_owned())];
    let op = (name, 0..6usize, 0..5u32, -1.0..12.0f64).prop_map(|(node, kind, title, rating)| match kind {
        0 | 1 => json!({"op": "insert", "parent": node, "title": format!("t{title}"), "strategy": format!("s{title}"),
                        "rating": rating, "predicted_gain": 1.0 + rating.abs() / 10.0, "confidence": 0.5}),
        2 => json!({"op": "update", "node": node, "rating": rating, "notes": "n"}),
        3 => json!({"op": "split", "node": node, "title": format!("u{title}"), "children": [{"id": "new", "title": "c"}]}),
        4 => json!({"op": "delete", "node": node}),
        _ => json!({"op": "update", "node": node, "solution_ref": {"solution_id": "forged"}}),
    });
    prop::collection::vec(op, 0..4).prop_map(|ops| serde_json::from_value(json!({ "ops": ops })).expect("a script"))
}

fn measured(time: f64) -> Outcome {
    Outcome {
        candidate: CandidateId(format!("c{time}")),
        time: Figure::simulated_us(time, "test"),
        gain: Some(10.0 / time),
        applied: None,
        bottleneck: None,
        within_noise: false,
    }
}

fn event() -> impl Strategy<Value = WorldEvent> {
    let node = (0..12u32).prop_map(NodeId);
    prop_oneof![
        4 => script().prop_map(|script| WorldEvent::Edited { by: "p".into(), script, limits: EditLimits::default() }),
        4 => node.clone().prop_map(|node| WorldEvent::Started { node }),
        3 => (node.clone(), 1.0..20.0f64).prop_map(|(node, t)| WorldEvent::Solved { node, outcome: measured(t) }),
        2 => node.clone().prop_map(|node| WorldEvent::Failed {
            node,
            failure: Failure { status: "fault".into(), summary: "s".into(), candidate: None },
        }),
        1 => node.clone().prop_map(|node| WorldEvent::Returned { node }),
        1 => node.prop_map(|node| WorldEvent::Abandoned { node, why: "w".into() }),
        1 => (1.0..20.0f64).prop_map(|t| WorldEvent::Seeded { outcome: measured(t) }),
    ]
}

proptest! {
    #[test]
    fn the_same_log_gives_the_same_tree(events in prop::collection::vec(event(), 0..60)) {
        let mut world = World::default();
        let mut log = Vec::new();
        for event in events {
            let before = world.clone();
            if world.apply(&event).is_ok() {
                log.push(event);
            } else {
                prop_assert_eq!(&world, &before, "a refused event changed the tree");
            }
            // Solved nodes stay solved with the same candidate, whatever planners write; only the engine re-seeds the root.
            for node in before.nodes().skip(1) {
                if let State::Solved(was) = &node.state {
                    let now = world.get(node.id).unwrap();
                    prop_assert_eq!(now.outcome(), Some(was));
                    prop_assert_eq!(now.strategy(), node.strategy());
                }
            }
        }
        // Through JSON, as a journal keeps it.
        let text: Vec<String> = log.iter().map(|e| serde_json::to_string(e).unwrap()).collect();
        let mut again = World::default();
        for line in &text {
            again.apply(&serde_json::from_str(line).unwrap()).unwrap();
        }
        prop_assert_eq!(&again, &world);

        let ids: HashSet<NodeId> = world.nodes().map(|n| n.id).collect();
        prop_assert_eq!(ids.len(), world.nodes().count());
        for node in world.nodes().skip(1) {
            let parent = world.get(node.parent.unwrap()).unwrap();
            prop_assert!(parent.children.contains(&node.id));
            prop_assert_eq!(world.path(node.id)[0].id, NodeId::ROOT);
        }
        for kind in [PolicyKind::Default, PolicyKind::Paper, PolicyKind::Random] {
            let config = PolicyConfig { kind, ..PolicyConfig::default() };
            let chosen = policy::select(&world, &config, 0x1234_5678_9abc_def0);
            prop_assert_eq!(chosen.is_some(), world.frontier().next().is_some());
            if let Some(chosen) = chosen {
                prop_assert!(world.on_frontier(world.get(chosen.node).unwrap()));
                prop_assert!(chosen.score.is_finite());
            }
        }
    }
}
