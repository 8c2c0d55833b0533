//! Kernels of one step of the selective scan from a plan: a thread or a team of lanes per channel. Must not know what is
//! measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Tunable};

use super::recipe::{self, RecipeBuilder};
use super::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] = &[("scan_step", include_str!("scan_step.metal.j2"))];

const EXP2: &str = "exp2";
const VECTOR_STATES: &str = "vector-states";
const LANES_STATES: &str = "lanes-over-states";
const SHARE_RATES: &str = "share-rates";
const WIDE_GROUPS: &str = "wide-groups";

/// Writes kernels of one step of the scan.
pub(super) struct ScanStep {
    catalogue: Catalogue,
}

impl ScanStep {
    pub(super) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn several_sequences(facts: &Facts) -> Result<(), String> {
    if facts.largest("batch").unwrap_or(1) > 1 { Ok(()) } else { Err("every workload has one sequence".into()) }
}

fn catalogue() -> Catalogue {
    use super::{effect, entry};
    Catalogue::new(vec![
        Strategy {
            effect: effect(1.0, 0.97, 0.9, 1.0),
            ..entry(
                EXP2,
                "Base-2 exponential, factor folded into the step",
                "The hardware computes powers of two; the factor log2(e) is multiplied once for all states.",
            )
        },
        Strategy {
            effect: effect(0.5, 0.4, 0.7, 1.0),
            ..entry(
                VECTOR_STATES,
                "Four states per load",
                "The states of a channel are contiguous, so one instruction can move four of them.",
            )
        },
        Strategy {
            tunables: &["LANES"],
            difficulty: 2,
            effect: effect(0.3, 0.3, 1.0, 1.0),
            ..entry(
                LANES_STATES,
                "A team of lanes over the states",
                "Neighbouring lanes read neighbouring states, so every line is used whole, there are several times as \
                 many threads to hide latency with, and a shuffle butterfly sums the output.",
            )
        },
        Strategy {
            tunables: &["SEQUENCES"],
            difficulty: 2,
            effect: effect(0.8, 1.2, 0.95, 1.0),
            applies: several_sequences,
            ..entry(
                SHARE_RATES,
                "Rates shared by several sequences",
                "The decay rates of a channel are the same for all sequences: loaded once, they serve several.",
            )
        },
        Strategy {
            tunables: &["THREADS"],
            effect: effect(1.0, 0.95, 1.0, 0.95),
            ..entry(
                WIDE_GROUPS,
                "Larger threadgroups",
                "Fewer, larger threadgroups cost less to start and let a core hide more latency.",
            )
        },
    ])
}

impl Generator for ScanStep {
    fn task(&self) -> &'static str {
        "scan_step"
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return recipe::naive("kernels/scan_step/naive.metal");
        }
        let (recipe, tunables) = recipe(plan, facts)?;
        let mut c = Context::default();
        c.flag("exp2", plan.has(EXP2));
        c.flag("vector", plan.has(VECTOR_STATES));
        c.flag("lanes", plan.has(LANES_STATES));
        c.flag("sequences", plan.has(SHARE_RATES));
        c.text("strategies", strategies(&self.catalogue, plan));
        let text = render(TEMPLATES, "scan_step", c)?;
        Ok(recipe::candidate("scan_step.metal", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan, facts: &Facts) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("STATES", "states")?;
    for (name, flag) in
        [("DT_SOFTPLUS", "dt_softplus"), ("HAS_D", "has_D"), ("HAS_Z", "has_z"), ("HAS_DT_BIAS", "has_dt_bias")]
    {
        b.define(name, flag)?;
    }
    b.define("WIDTH", if plan.has(VECTOR_STATES) { "states % 4 == 0 ? 4 : 1" } else { "1" })?;
    let threads = if plan.has(WIDE_GROUPS) {
        let most = i64::from(facts.chip.max_threads);
        let values: Vec<i64> = [64, 128, 256, 512].into_iter().filter(|v| *v <= most).collect();
        b.tunable("THREADS", &values, 128);
        "THREADS"
    } else {
        "32"
    };
    let lanes = if plan.has(LANES_STATES) {
        b.tunable("LANES", &[2, 4, 8, 16, 32], 4);
        "LANES"
    } else {
        "1"
    };
    let sequences = if plan.has(SHARE_RATES) {
        b.tunable("SEQUENCES", &[2, 4, 8], 2);
        "ceil_div(batch, SEQUENCES)"
    } else {
        "batch"
    };
    let channels = format!("ceil_div(dim * {lanes}, {threads})");
    b.recipe.dispatches.push(RecipeBuilder::dispatch("scan_step", [&channels, sequences, "1"], [threads, "1", "1"])?);
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::testing;

    #[test]
    fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
        testing::every_strategy_resolves(&ScanStep::new());
    }

    #[test]
    fn the_naive_kernel_is_right() {
        testing::naive_is_right(&ScanStep::new());
    }

    #[test]
    fn random_plans_are_right_on_random_workloads() {
        testing::random_plans_are_right(&ScanStep::new(), 16, testing::workloads::scan_step);
    }
}
