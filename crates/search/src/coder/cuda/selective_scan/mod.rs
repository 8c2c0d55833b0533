//! Selective-scan kernels for NVIDIA GPUs from a plan: a thread per channel, lanes over time, or a relay of
//! warps over time.

mod catalogue;

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Language, Tunable};

use crate::coder::recipe::{self, RecipeBuilder};
use crate::coder::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError};

const TEMPLATES: &[(&str, &str)] = &[
    ("channels", include_str!("channels.cu.j2")),
    ("chunks", include_str!("chunks.cu.j2")),
    ("relay", include_str!("relay.cu.j2")),
    ("exp2", include_str!("exp2.cu.j2")),
];

/// Writes selective-scan kernels in CUDA C++.
pub(in crate::coder) struct SelectiveScan {
    catalogue: Catalogue,
}

impl SelectiveScan {
    pub(in crate::coder) fn new() -> Self {
        Self { catalogue: catalogue::catalogue() }
    }
}

impl Generator for SelectiveScan {
    fn task(&self) -> &'static str {
        "selective_scan"
    }

    fn language(&self) -> Language {
        Language::Cuda
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, _: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return recipe::naive("kernels/selective_scan/naive.cu");
        }
        let mut context = Context::default();
        context.text("strategies", strategies(&self.catalogue, plan));
        context.flag("exp2", plan.has(catalogue::EXP2));
        context.flag("registers", plan.has(catalogue::STATE_REGISTERS));
        context.flag("polynomial", plan.has(catalogue::POLYNOMIAL));
        context.flag("unrolled", plan.has(catalogue::UNROLL_STATES));
        let main = if plan.has(catalogue::WARP_RELAY) {
            "relay"
        } else if plan.has(catalogue::CHUNKED_SCAN) {
            "chunks"
        } else {
            "channels"
        };
        let text = render(TEMPLATES, main, context)?;
        let (recipe, tunables) = recipe(plan)?;
        Ok(recipe::candidate("selective_scan.cu", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "u");
    b.define("STATES", "states")?;
    b.define("L", "L")?;
    for (name, flag) in [
        ("DELTA_SOFTPLUS", "delta_softplus"),
        ("HAS_D", "has_D"),
        ("HAS_Z", "has_z"),
        ("HAS_DELTA_BIAS", "has_delta_bias"),
        ("HAS_INITIAL_STATE", "has_initial_state"),
        ("HAS_FINAL_STATE", "has_final_state"),
    ] {
        b.define(name, flag)?;
    }
    if plan.has(catalogue::POLYNOMIAL) {
        b.tunable("POLYNOMIAL", &[1, 2, 3, 4], 2);
    }
    // Vector accesses need rows that begin at multiples of 16 bytes.
    let aligned = "L * bytes(T) % 16 == 0";
    if plan.has(catalogue::WARP_RELAY) {
        b.tunable("STEPS", &[16, 32], 16);
        b.tunable("WARPS", &[8, 12, 16], 12);
        b.define("ALIGNED_ROWS", aligned)?;
        // A pair of states for the two halves of a warp.
        b.define("PAIRED", "2 * ceil_div(states, 2)")?;
        let blocks = "groups * ceil_div(dim / groups, 16)";
        let mut dispatch = RecipeBuilder::dispatch("selective_scan", [blocks, "batch", "1"], ["32 * WARPS", "1", "1"])?;
        let shared = "8 * WARPS * PAIRED * STEPS + 128 * WARPS * (STEPS + 4) + 128 * PAIRED + 4 * WARPS * PAIRED";
        RecipeBuilder::shared(&mut dispatch, &format!("ceil_div({shared}, 16) * 16"))?;
        b.recipe.dispatches.push(dispatch);
        return Ok((b.recipe, b.tunables));
    }
    if !plan.has(catalogue::CHUNKED_SCAN) {
        let grid = ["ceil_div(dim, 32)", "batch", "1"];
        b.recipe.dispatches.push(RecipeBuilder::dispatch("selective_scan", grid, ["32", "1", "1"])?);
        return Ok((b.recipe, b.tunables));
    }
    b.tunable("STEPS", &[4, 8, 16], 8);
    b.tunable("WARPS", &[4, 8, 16], 8);
    b.tunable("RESIDENT", &[1, 2, 3, 4], 2);
    if plan.has(catalogue::SHARE_INPUTS) {
        b.tunable("CHANNELS", &[2, 4], 2);
    } else {
        b.define("CHANNELS", "1")?;
    }
    b.tunable("PART", &[2, 4, 8, 16], 4);
    b.define("ALIGNED_ROWS", aligned)?;
    let blocks = "groups * ceil_div(dim / groups, WARPS * CHANNELS)";
    let mut dispatch = RecipeBuilder::dispatch("selective_scan", [blocks, "batch", "1"], ["32 * WARPS", "1", "1"])?;
    let shared = "8 * PART * 32 * (STEPS + 4) + 2 * PART * 32 * STEPS * bytes(T) + 8 * WARPS * CHANNELS * states";
    RecipeBuilder::shared(&mut dispatch, &format!("ceil_div({shared}, 16) * 16"))?;
    b.recipe.dispatches.push(dispatch);
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::cuda::testing;

    #[test]
    fn every_strategy_resolves_and_its_kernels_are_found() {
        testing::every_strategy_resolves(&SelectiveScan::new());
    }
}
