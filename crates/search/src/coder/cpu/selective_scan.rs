//! The selective scan on processors: a channel at a time, or lanes over channels. Must not know what is measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Language, Tunable};

use super::{EXP2, THREADS, VECTORS};
use crate::coder::recipe::{RecipeBuilder, candidate, naive};
use crate::coder::template::{Context, render, strategies};
use crate::coder::{effect, entry};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const PACKED_INPUTS: &str = "packed-inputs";
const SIMD_STATES: &str = "simd-over-states";
const SIMD_CHANNELS: &str = "simd-over-channels";
const TRANSPOSE: &str = "vector-transposes";

const TEMPLATES: &[(&str, &str)] = &[
    ("states", include_str!("scan_states.cpp.j2")),
    ("channels", include_str!("scan_channels.cpp.j2")),
    ("shared", include_str!("scan_shared.cpp.j2")),
];

/// Writes selective-scan kernels for processors.
pub(in crate::coder) struct SelectiveScan {
    catalogue: Catalogue,
}

impl SelectiveScan {
    pub(in crate::coder) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn several_channels(facts: &Facts) -> Result<(), String> {
    match facts.largest("dim") {
        Some(dim) if dim < 8 => Err(format!("there are only {dim} channels")),
        _ => Ok(()),
    }
}

/// Expected effects are rough; the search corrects them by what it measures.
fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            effect: effect(0.6, 0.5, 0.5, 1.0),
            ..entry(
                THREADS,
                "Channels shared out to threads",
                "Channels are independent; a grid over them lets every core take the next one.",
            )
        },
        Strategy {
            effect: effect(0.6, 0.9, 0.9, 1.0),
            ..entry(
                PACKED_INPUTS,
                "B and C by time step",
                "A kernel of its own turns B and C so that the states of a step are neighbours: every channel of a group then \
                 reads them in order.",
            )
        },
        Strategy {
            requires: &[PACKED_INPUTS],
            conflicts: &[SIMD_CHANNELS],
            difficulty: 2,
            effect: effect(0.9, 0.4, 0.3, 1.0),
            ..entry(
                SIMD_STATES,
                "SIMD over states",
                "The states of a channel advance together, a vector at a time, with a sum across lanes per step.",
            )
        },
        Strategy {
            requires: &[PACKED_INPUTS],
            conflicts: &[SIMD_STATES],
            tunables: &["CHUNK"],
            difficulty: 4,
            effect: effect(0.7, 0.25, 0.2, 1.0),
            applies: several_channels,
            ..entry(
                SIMD_CHANNELS,
                "SIMD over channels",
                "A vector holds one state of several channels: no sums across lanes, any number of states, and B and C are \
                 broadcast. Chunks of time are turned to columns in the cache, where softplus and gate are vectors too.",
            )
        },
        Strategy {
            effect: effect(1.0, 0.6, 0.4, 1.0),
            ..entry(
                EXP2,
                "Powers of two by a polynomial",
                "Nearly all the work is exponentials; a vector of them is a rounding, five multiply-adds and an exponent's \
                 addition.",
            )
        },
        Strategy {
            requires: &[SIMD_CHANNELS],
            effect: effect(0.8, 0.85, 0.85, 1.0),
            ..entry(
                TRANSPOSE,
                "Transposes in registers",
                "Rows of time become columns of channels by pairwise exchanges of vectors instead of single numbers.",
            )
        },
    ])
}

impl Generator for SelectiveScan {
    fn task(&self) -> &'static str {
        "selective_scan"
    }

    fn language(&self) -> Language {
        Language::Cpp
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, _facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return naive("kernels/selective_scan/naive.cpp");
        }
        let (recipe, tunables) = recipe(plan)?;
        let mut c = Context::default();
        for (name, value) in [
            ("exp2", plan.has(EXP2)),
            ("packed", plan.has(PACKED_INPUTS)),
            ("simd", plan.has(SIMD_STATES)),
            ("transpose", plan.has(TRANSPOSE)),
        ] {
            c.flag(name, value);
        }
        c.text("strategies", strategies(&self.catalogue, plan));
        let templates: Vec<_> = TEMPLATES.iter().copied().chain([VECTORS]).collect();
        let text = render(&templates, if plan.has(SIMD_CHANNELS) { "channels" } else { "states" }, c)?;
        Ok(candidate("selective_scan.cpp", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "u");
    b.define("STATES", "states")?;
    // A row of packed states, whole vectors of any width.
    b.define("ROW", "ceil_div(states, 16) * 16")?;
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
    if plan.has(PACKED_INPUTS) {
        b.scratch("packed", "4 * batch * groups * L * 2 * ROW")?;
        b.recipe.dispatches.push(RecipeBuilder::dispatch(
            "pack_inputs",
            ["ceil_div(L, 256)", "groups", "batch"],
            ["1", "1", "1"],
        )?);
    }
    b.define("ALONE", if plan.has(THREADS) { "0" } else { "1" })?;
    if plan.has(SIMD_CHANNELS) {
        b.tunable("CHUNK", &[32, 64, 128, 256], 64);
        // Blocks are counted for the narrowest vectors; with wider ones the last calls have nothing left to do.
        let grid = if plan.has(THREADS) { ["ceil_div(dim / groups, 4)", "groups", "batch"] } else { ["1", "1", "1"] };
        b.recipe.dispatches.push(RecipeBuilder::dispatch("selective_scan", grid, ["1", "1", "1"])?);
    } else {
        let grid = if plan.has(THREADS) { ["dim", "batch", "1"] } else { ["1", "1", "1"] };
        b.recipe.dispatches.push(RecipeBuilder::dispatch("selective_scan", grid, ["1", "1", "1"])?);
    }
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::testing;

    #[test]
    fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
        testing::every_strategy_resolves(&SelectiveScan::new());
    }
}
