//! Kernels of the gated RMS norm from a plan: a thread, a simdgroup or a threadgroup per row. Must not know what is
//! measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Tunable};

use super::recipe::{self, RecipeBuilder};
use super::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] = &[("gated_rms_norm", include_str!("gated_rms_norm.metal.j2"))];

const EXP2: &str = "exp2";
const VECTOR_LOADS: &str = "vector-loads";
const SIMDGROUP_ROWS: &str = "simdgroup-rows";
const THREADGROUP_ROWS: &str = "threadgroup-rows";
const ROW_REGISTERS: &str = "row-registers";

/// Writes kernels of the gated RMS norm.
pub(super) struct GatedRmsNorm {
    catalogue: Catalogue,
}

impl GatedRmsNorm {
    pub(super) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn catalogue() -> Catalogue {
    use super::{effect, entry};
    Catalogue::new(vec![
        Strategy {
            effect: effect(1.0, 0.97, 0.9, 1.0),
            ..entry(
                EXP2,
                "Base-2 exponential in the gate",
                "The hardware computes powers of two, so the natural exponential is one of them and a multiplication.",
            )
        },
        Strategy {
            effect: effect(0.6, 0.5, 0.7, 1.0),
            ..entry(
                VECTOR_LOADS,
                "Four elements per load",
                "Rows are contiguous, so one instruction can move four elements.",
            )
        },
        Strategy {
            tunables: &["SIMDGROUPS"],
            difficulty: 2,
            effect: effect(0.2, 0.1, 1.0, 1.0),
            ..entry(
                SIMDGROUP_ROWS,
                "A simdgroup per row",
                "Neighbouring lanes read neighbouring elements, so every line is used whole, and a row's chain is 32 \
                 times shorter; lanes meet in one sum.",
            )
        },
        Strategy {
            requires: &[SIMDGROUP_ROWS],
            difficulty: 2,
            effect: effect(0.9, 0.4, 1.0, 1.5),
            ..entry(
                THREADGROUP_ROWS,
                "A threadgroup per row",
                "Where rows are few and long, all simdgroups of a threadgroup share one and meet in threadgroup memory.",
            )
        },
        Strategy {
            requires: &[SIMDGROUP_ROWS],
            difficulty: 2,
            effect: effect(0.6, 0.7, 0.6, 1.0),
            ..entry(
                ROW_REGISTERS,
                "The gated row in registers",
                "A row that is shared out over lanes fits in their registers: it is read once, and gates are computed \
                 once.",
            )
        },
    ])
}

impl Generator for GatedRmsNorm {
    fn task(&self) -> &'static str {
        "gated_rms_norm"
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return recipe::naive("kernels/gated_rms_norm/naive.metal");
        }
        let (recipe, tunables) = recipe(plan, facts)?;
        let mut c = Context::default();
        c.flag("simd", plan.has(SIMDGROUP_ROWS));
        c.flag("group", plan.has(THREADGROUP_ROWS));
        c.flag("vector", plan.has(VECTOR_LOADS));
        c.flag("registers", plan.has(ROW_REGISTERS));
        c.flag("exp2", plan.has(EXP2));
        c.text("strategies", strategies(&self.catalogue, plan));
        let text = render(TEMPLATES, "gated_rms_norm", c)?;
        Ok(recipe::candidate("gated_rms_norm.metal", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan, facts: &Facts) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("C", "C")?;
    b.define("HAS_Z", "has_z")?;
    b.define("WIDTH", if plan.has(VECTOR_LOADS) { "C % 4 == 0 ? 4 : 1" } else { "1" })?;
    let dispatch = if plan.has(SIMDGROUP_ROWS) {
        let most = i64::from(facts.chip.max_threads / 32);
        let values: Vec<i64> = [1, 2, 4, 8, 16].into_iter().filter(|v| *v <= most).collect();
        b.tunable("SIMDGROUPS", &values, most.min(4));
        let rows = if plan.has(THREADGROUP_ROWS) { "R" } else { "ceil_div(R, SIMDGROUPS)" };
        RecipeBuilder::dispatch("gated_rms_norm", [rows, "1", "1"], ["32 * SIMDGROUPS", "1", "1"])?
    } else {
        RecipeBuilder::dispatch("gated_rms_norm", ["ceil_div(R, 32)", "1", "1"], ["32", "1", "1"])?
    };
    b.recipe.dispatches.push(dispatch);
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::testing;

    #[test]
    fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
        testing::every_strategy_resolves(&GatedRmsNorm::new());
    }

    #[test]
    fn the_naive_kernel_is_right() {
        testing::naive_is_right(&GatedRmsNorm::new());
    }

    #[test]
    fn random_plans_are_right_on_random_workloads() {
        testing::random_plans_are_right(&GatedRmsNorm::new(), 16, testing::workloads::gated_rms_norm);
    }
}
