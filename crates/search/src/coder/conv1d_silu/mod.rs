//! Kernels of the causal convolution from a plan: one thread per output, or one per stretch of time. Must not know what
//! is measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Tunable};

use super::recipe::{self, RecipeBuilder};
use super::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] = &[("conv1d_silu", include_str!("conv1d_silu.metal.j2"))];

const EXP2: &str = "exp2";
const VECTOR_CHANNELS: &str = "vector-channels";
const WINDOW: &str = "register-window";
const TALL_GROUPS: &str = "tall-groups";

/// Writes kernels of the convolution.
pub(super) struct Conv1dSilu {
    catalogue: Catalogue,
}

impl Conv1dSilu {
    pub(super) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn catalogue() -> Catalogue {
    use super::{effect, entry};
    Catalogue::new(vec![
        Strategy {
            effect: effect(1.0, 0.97, 0.93, 1.0),
            ..entry(
                EXP2,
                "Base-2 exponential in the activation",
                "The hardware computes powers of two, so the natural exponential is one of them and a multiplication.",
            )
        },
        Strategy {
            effect: effect(0.5, 0.6, 0.6, 1.0),
            ..entry(
                VECTOR_CHANNELS,
                "Four channels per thread",
                "Channels are contiguous, so one instruction can move four of them, with a quarter of the address \
                 arithmetic.",
            )
        },
        Strategy {
            tunables: &["STEPS"],
            difficulty: 2,
            effect: effect(0.4, 0.9, 0.6, 0.8),
            ..entry(
                WINDOW,
                "A stretch of time per thread, its window in registers",
                "A thread that walks through time keeps the inputs that the filter still sees, and its taps, in \
                 registers: each input is loaded once and not once per tap.",
            )
        },
        Strategy {
            tunables: &["ROWS"],
            effect: effect(0.8, 0.9, 1.0, 0.9),
            ..entry(
                TALL_GROUPS,
                "Threadgroups over channels and time",
                "Threads of one threadgroup at neighbouring times read the same lines, which the first cache then holds; \
                 fewer threadgroups are started.",
            )
        },
    ])
}

impl Generator for Conv1dSilu {
    fn task(&self) -> &'static str {
        "conv1d_silu"
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, _facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return recipe::naive("kernels/conv1d_silu/naive.metal");
        }
        let (recipe, tunables) = recipe(plan)?;
        let mut c = Context::default();
        c.flag("exp2", plan.has(EXP2));
        c.flag("vector", plan.has(VECTOR_CHANNELS));
        c.flag("window", plan.has(WINDOW));
        c.flag("tall", plan.has(TALL_GROUPS));
        c.text("strategies", strategies(&self.catalogue, plan));
        let text = render(TEMPLATES, "conv1d_silu", c)?;
        Ok(recipe::candidate("conv1d_silu.metal", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    for (name, value) in [
        ("K", "K"),
        ("SILU", "silu"),
        ("HAS_BIAS", "has_bias"),
        ("HAS_INITIAL_STATE", "has_initial_state"),
        ("HAS_FINAL_STATE", "has_final_state"),
        ("WIDTH", if plan.has(VECTOR_CHANNELS) { "dim % 4 == 0 ? 4 : 1" } else { "1" }),
    ] {
        b.define(name, value)?;
    }
    let steps = if plan.has(WINDOW) {
        b.tunable("STEPS", &[2, 4, 8, 16], 4);
        "STEPS"
    } else {
        "1"
    };
    let rows = if plan.has(TALL_GROUPS) {
        b.tunable("ROWS", &[2, 4, 8, 16], 4);
        "ROWS"
    } else {
        "1"
    };
    let times = format!("ceil_div(ceil_div(L, {steps}), {rows})");
    let grid = ["ceil_div(ceil_div(dim, WIDTH), 32)", &times, "batch"];
    b.recipe.dispatches.push(RecipeBuilder::dispatch("conv1d_silu", grid, ["32", rows, "1"])?);
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::testing;

    #[test]
    fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
        testing::every_strategy_resolves(&Conv1dSilu::new());
    }

    #[test]
    fn the_naive_kernel_is_right() {
        testing::naive_is_right(&Conv1dSilu::new());
    }

    #[test]
    fn random_plans_are_right_on_random_workloads() {
        testing::random_plans_are_right(&Conv1dSilu::new(), 16, testing::workloads::conv1d_silu);
    }
}
