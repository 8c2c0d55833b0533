use super::*;
use crate::coder::testing;
use ksearch_task::builtin;

#[test]
fn the_empty_plan_is_the_naive_kernel() {
    let candidate = Attention::new().render(&Plan::default(), &testing::facts("attention")).unwrap();
    assert_eq!(candidate.id(), builtin::kernel("kernels/attention/naive.metal").unwrap().id());
}

#[test]
fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
    testing::every_strategy_resolves(&Attention::new());
}

#[test]
fn the_naive_kernel_is_right() {
    testing::naive_is_right(&Attention::new());
}

#[test]
fn random_plans_are_right_on_random_workloads() {
    testing::random_plans_are_right(&Attention::new(), 16, |choices| {
        let kv_heads = choices.number(1..=2);
        let queries = choices.number(1..=70);
        let causal = choices.number(0..=1);
        let keys = if causal == 1 { queries + choices.number(0..=50) } else { choices.number(1..=90) };
        vec![
            ("B", choices.number(1..=2).to_string()),
            ("Hkv", kv_heads.to_string()),
            ("Hq", (kv_heads * choices.number(1..=2)).to_string()),
            ("Lq", queries.to_string()),
            ("Lk", keys.to_string()),
            ("D", choices.pick(&[64, 80, 128]).to_string()),
            ("T", choices.pick(&["f16", "f32"]).to_string()),
            ("causal", causal.to_string()),
            ("scale", choices.pick(&["0.125", "0.3", "-0.05"]).to_string()),
        ]
    });
}
