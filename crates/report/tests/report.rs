//! A report says what the journal holds, and names what it does not.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;

use ksearch_report::{Loaded, Plot, formats, page};
use ksearch_search::Journal;

#[path = "support/synthetic.rs"]
mod synthetic;

fn run(candidates: u32, finish: bool) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(&folder.path().join("journal.db")).unwrap();
    synthetic::Synthetic::new(synthetic::Texts::default()).write(&mut journal, candidates, finish);
    Loaded::fold("synthetic-1", Path::new("synthetic-1"), &journal.events().unwrap()).unwrap()
}

#[test]
fn the_report_agrees_with_the_state() {
    let run = run(80, true);
    let report = run.report();
    let summary = run.view.summary();
    let best = report.headline.best.known().unwrap();
    assert_eq!(report.trials.len(), 80);
    assert_eq!(report.trials.len() as u32, summary.evaluations);
    assert_eq!(best.time.value, summary.best.as_ref().unwrap().time.value);
    assert_eq!(report.headline.heldout.known(), Some(&(3, 3)));
    assert_eq!(best.speedup.as_ref().unwrap().value, 400.0 / best.time.value);
    // The interval of a ratio follows from both of its figures.
    let [low, high] = best.speedup.as_ref().unwrap().ci.unwrap();
    assert!(low < 400.0 / best.time.value && 400.0 / best.time.value < high);
    // Each step's gain times all before it gives the whole.
    let product: f64 = report.steps.iter().filter_map(|s| s.gain).product();
    assert!((product - best.speedup.as_ref().unwrap().value).abs() < 1e-9 * product);
    assert_eq!(report.steps.last().unwrap().node, best.node);
    assert!(report.trials.iter().any(|t| t.status == "fault" && t.time.is_none()));
    assert_eq!(report.proof.known().unwrap().sets.len(), 3);
}

#[test]
fn what_is_missing_is_named() {
    let report = run(12, false).report();
    assert_eq!(report.headline.heldout.why(), Some("judged once, when the run is concluded"));
    assert!(report.ablation.why().is_some());
    let open = &report.proof.known().unwrap().open;
    assert!(open.iter().any(|o| o.contains("held-out")) && open.iter().any(|o| o.contains("No real GPU")), "{open:?}");
    let html = page::stand_alone(&run(12, false));
    assert!(html.contains("Not shown: no ablation was run"));
    assert!(Plot::Ablation.stand_alone(&report).is_err());
}

#[test]
fn a_file_needs_nothing_from_elsewhere() {
    let html = page::stand_alone(&run(30, true));
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!html.replace("http://www.w3.org/2000/svg", "").contains(outside), "{outside}");
    }
    assert!(html.contains("Content-Security-Policy") && html.contains("default-src 'none'"));
}

#[test]
fn every_node_is_in_the_file_while_it_is_small_and_the_file_never_grows_large() {
    let small = page::stand_alone(&run(30, true));
    assert!(small.contains("\"left_out\":0"));
    let large = page::stand_alone(&run(3_000, true));
    assert!(large.len() < 2_000_000, "{}", large.len());
    assert!(!large.contains("\"left_out\":0,"));
}

#[test]
fn details_hold_prediction_result_difference_and_answer() {
    let run = run(60, true);
    let node = run.node(ksearch_world::NodeId(1)).unwrap();
    assert_eq!(node.predicted, Some(1.2));
    assert!(node.diff.known().unwrap().contains("+constant uint VARIANT = 1;"));
    assert_eq!(node.exchanges.len(), 1);
    assert_eq!(node.exchanges[0].answer, "Here is the kernel.");
    assert!(run.node(ksearch_world::NodeId(100_000)).is_none());
}

#[test]
fn json_has_the_figures_as_objects() {
    let value: serde_json::Value = serde_json::from_str(&formats::json(&run(20, true)).unwrap()).unwrap();
    assert_eq!(value["schema"], 1);
    assert_eq!(value["headline"]["best"]["time"]["kind"], "simulated");
    assert_eq!(value["trials"].as_array().unwrap().len(), 20);
    assert_eq!(value["details"].as_array().unwrap().len(), value["tree"].as_array().unwrap().len());
    assert!(value["ablation"]["missing"].is_string());
}

#[test]
fn a_followed_run_is_the_same_as_one_read_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.db");
    let mut journal = Journal::create(&path).unwrap();
    synthetic::Synthetic::new(synthetic::Texts::default()).write(&mut journal, 40, true);
    let events = journal.events().unwrap();
    let mut followed = Loaded::fold("r-1", folder.path(), &events[..100]).unwrap();
    assert!(followed.refresh().unwrap());
    assert!(!followed.refresh().unwrap());
    let at_once = Loaded::fold("r-1", folder.path(), &events).unwrap();
    assert_eq!(followed.report(), at_once.report());
}
