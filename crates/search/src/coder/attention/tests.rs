use super::*;
use crate::coder::testing;

#[test]
fn the_empty_plan_is_the_naive_kernel() {
    let candidate = Attention::new().render(&Plan::default(), &testing::facts("attention")).unwrap();
    assert_eq!(candidate.id(), builtin::kernel("kernels/attention/naive.metal").unwrap().id());
}

#[test]
fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
    testing::every_strategy_resolves(&Attention::new());
}
