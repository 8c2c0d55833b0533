//! Kernels of the gated RMS norm for NVIDIA GPUs from a plan: a thread, a warp or a block per row. Must not know what is
//! measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Language, Tunable};

use crate::coder::recipe::{self, RecipeBuilder};
use crate::coder::template::{Context, render, strategies};
use crate::coder::{effect, entry};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] =
    &[("gated_rms_norm", include_str!("gated_rms_norm.cu.j2")), ("pack", include_str!("../pack.cu.j2"))];

const VECTOR_LOADS: &str = "vector-loads";
const WARP_ROWS: &str = "warp-rows";
const BLOCK_ROWS: &str = "block-rows";
const ROW_REGISTERS: &str = "row-registers";

/// Writes kernels of the gated RMS norm in CUDA C++.
pub(in crate::coder) struct GatedRmsNorm {
    catalogue: Catalogue,
}

impl GatedRmsNorm {
    pub(in crate::coder) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            effect: effect(0.5, 0.5, 0.7, 1.0),
            ..entry(
                VECTOR_LOADS,
                "Sixteen bytes per access",
                "Rows are contiguous, so one access moves eight elements of 16 bits or four of 32.",
            )
        },
        Strategy {
            tunables: &["WARPS"],
            difficulty: 2,
            effect: effect(0.2, 0.1, 0.6, 1.0),
            ..entry(
                WARP_ROWS,
                "A warp per row",
                "Neighbouring lanes read neighbouring elements, so every line is used whole, and a row's chain is 32 times \
                 shorter; lanes meet in one sum.",
            )
        },
        Strategy {
            requires: &[WARP_ROWS],
            difficulty: 2,
            effect: effect(0.9, 0.4, 1.0, 1.5),
            ..entry(
                BLOCK_ROWS,
                "A block per row",
                "Where rows are few or long, all warps of a block share one and meet in shared memory.",
            )
        },
        Strategy {
            requires: &[WARP_ROWS],
            difficulty: 2,
            effect: effect(0.6, 0.7, 0.6, 1.0),
            ..entry(
                ROW_REGISTERS,
                "The gated row in registers",
                "A row that is shared out over lanes fits in their registers: it is read once, its loads are under way \
                 together, and gates are computed once.",
            )
        },
    ])
}

impl Generator for GatedRmsNorm {
    fn task(&self) -> &'static str {
        "gated_rms_norm"
    }

    fn language(&self) -> Language {
        Language::Cuda
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, _facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return recipe::naive("kernels/gated_rms_norm/naive.cu");
        }
        let (recipe, tunables) = recipe(plan)?;
        let mut c = Context::default();
        c.flag("warp", plan.has(WARP_ROWS));
        c.flag("block", plan.has(BLOCK_ROWS));
        c.flag("registers", plan.has(ROW_REGISTERS));
        c.text("strategies", strategies(&self.catalogue, plan));
        let text = render(TEMPLATES, "gated_rms_norm", c)?;
        Ok(recipe::candidate("gated_rms_norm.cu", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("C", "C")?;
    b.define("HAS_Z", "has_z")?;
    let vector = "C % (16 / bytes(T)) == 0 ? 16 / bytes(T) : 1";
    b.define("WIDTH", if plan.has(VECTOR_LOADS) { vector } else { "1" })?;
    let dispatch = if plan.has(WARP_ROWS) {
        b.tunable("WARPS", &[1, 2, 4, 8, 16], 4);
        let rows = if plan.has(BLOCK_ROWS) { "R" } else { "ceil_div(R, WARPS)" };
        RecipeBuilder::dispatch("gated_rms_norm", [rows, "1", "1"], ["32 * WARPS", "1", "1"])?
    } else {
        RecipeBuilder::dispatch("gated_rms_norm", ["ceil_div(R, 32)", "1", "1"], ["32", "1", "1"])?
    };
    b.recipe.dispatches.push(dispatch);
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{cuda, testing};

    #[test]
    fn every_strategy_resolves_and_its_kernels_are_found() {
        cuda::testing::every_strategy_resolves(&GatedRmsNorm::new());
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
