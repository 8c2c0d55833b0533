//! Kernels of the causal convolution for NVIDIA GPUs from a plan: a thread per piece of the channels and stretch of
//! time. Must not know what is measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Language, Tunable};

use crate::coder::recipe::{self, RecipeBuilder};
use crate::coder::template::{Context, render, strategies};
use crate::coder::{effect, entry};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] =
    &[("conv1d_silu", include_str!("conv1d_silu.cu.j2")), ("pack", include_str!("../pack.cu.j2"))];

const VECTOR_CHANNELS: &str = "vector-channels";
const WINDOW: &str = "register-window";
const WIDE_BLOCKS: &str = "wide-blocks";
const TALL_BLOCKS: &str = "tall-blocks";

/// Writes kernels of the convolution in CUDA C++.
pub(in crate::coder) struct Conv1dSilu {
    catalogue: Catalogue,
}

impl Conv1dSilu {
    pub(in crate::coder) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            effect: effect(0.4, 0.5, 0.5, 1.0),
            ..entry(
                VECTOR_CHANNELS,
                "Sixteen bytes of channels per thread",
                "Channels are contiguous, so one access moves eight of 16 bits or four of 32, with that much less address \
                 arithmetic.",
            )
        },
        Strategy {
            tunables: &["STEPS"],
            difficulty: 2,
            effect: effect(0.5, 0.6, 0.6, 0.8),
            ..entry(
                WINDOW,
                "A stretch of time per thread, its window in registers",
                "Each input is loaded once and not once per tap, taps are loaded once, and the loads of all steps are \
                 under way together.",
            )
        },
        Strategy {
            tunables: &["THREADS"],
            effect: effect(0.8, 0.9, 1.0, 0.9),
            ..entry(
                WIDE_BLOCKS,
                "Larger blocks over channels",
                "Blocks of one warp fill a multiprocessor's block slots before its warps; larger ones keep more loads \
                 under way.",
            )
        },
        Strategy {
            tunables: &["TALL"],
            effect: effect(0.8, 0.9, 1.0, 0.9),
            ..entry(
                TALL_BLOCKS,
                "Blocks over channels and time",
                "Threads of one block at neighbouring times read the same lines, which the first cache then holds.",
            )
        },
    ])
}

impl Generator for Conv1dSilu {
    fn task(&self) -> &'static str {
        "conv1d_silu"
    }

    fn language(&self) -> Language {
        Language::Cuda
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, _facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return recipe::naive("kernels/conv1d_silu/naive.cu");
        }
        let (recipe, tunables) = recipe(plan)?;
        let mut c = Context::default();
        c.flag("window", plan.has(WINDOW));
        c.text("strategies", strategies(&self.catalogue, plan));
        let text = render(TEMPLATES, "conv1d_silu", c)?;
        Ok(recipe::candidate("conv1d_silu.cu", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    let vector = "dim % (16 / bytes(T)) == 0 ? 16 / bytes(T) : 1";
    for (name, value) in [
        ("K", "K"),
        ("SILU", "silu"),
        ("HAS_BIAS", "has_bias"),
        ("HAS_INITIAL_STATE", "has_initial_state"),
        ("HAS_FINAL_STATE", "has_final_state"),
        ("WIDTH", if plan.has(VECTOR_CHANNELS) { vector } else { "1" }),
    ] {
        b.define(name, value)?;
    }
    if plan.has(WINDOW) {
        b.tunable("STEPS", &[2, 4, 8, 16], 8);
    } else {
        b.define("STEPS", "1")?;
    }
    let threads = if plan.has(WIDE_BLOCKS) {
        b.tunable("THREADS", &[64, 128, 256], 128);
        "THREADS"
    } else {
        "32"
    };
    let tall = if plan.has(TALL_BLOCKS) {
        b.tunable("TALL", &[2, 4], 2);
        "TALL"
    } else {
        "1"
    };
    let channels = format!("ceil_div(ceil_div(dim, WIDTH), {threads})");
    let times = format!("ceil_div(ceil_div(L, STEPS), {tall})");
    b.recipe.dispatches.push(RecipeBuilder::dispatch(
        "conv1d_silu",
        [&channels, &times, "batch"],
        [threads, tall, "1"],
    )?);
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::{cuda, testing};

    #[test]
    fn every_strategy_resolves_and_its_kernels_are_found() {
        cuda::testing::every_strategy_resolves(&Conv1dSilu::new());
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
