//! The context pack is a document within its budget, most relevant first.

#![allow(clippy::unwrap_used)] // A failure here is a failed test.

use ksearch_apple::Chips;
use ksearch_port::Knowledge;
use ksearch_port::context::{class_of, pack};
use ksearch_task::builtin;

fn attention(budget: usize) -> ksearch_port::context::Pack {
    let chip = Chips::embedded().unwrap().get("m3-max").unwrap();
    let task = builtin::task("attention").unwrap();
    let strategies = ["exp2", "simdgroup-matrix", "pad-tiles"].map(str::to_owned);
    pack(&Knowledge::embedded().unwrap(), &task, &chip, class_of(&task.name), &strategies, budget)
}

#[test]
fn packs_keep_to_their_budget_and_order() {
    for budget in [400, 1500, 6000] {
        let pack = attention(budget);
        assert!(pack.tokens <= budget, "{} of {budget}", pack.tokens);
    }
    let pack = attention(6000);
    let at = |id: &str| pack.entries.iter().position(|e| e == id).unwrap_or(usize::MAX);
    assert!(at("base-2-exponential") < at("shared-static"), "{:?}", pack.entries);
    assert!(at("simdgroup-matrix-layout") < at("mlx-body-only"));
}
