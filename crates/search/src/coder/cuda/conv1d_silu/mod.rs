//! Kernels of the causal convolution for NVIDIA GPUs from a plan: a thread per piece of the channels and stretch of
//! time. Must not know what is measured.

use ksearch_task::Language;

use crate::coder::family::{Family, Written};
use crate::coder::recipe::RecipeBuilder;
use crate::coder::{effect, entry};
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] =
    &[("conv1d_silu", include_str!("conv1d_silu.cu.j2")), ("pack", include_str!("../pack.cu.j2"))];

const VECTOR_CHANNELS: &str = "vector-channels";
const WINDOW: &str = "register-window";
const WIDE_BLOCKS: &str = "wide-blocks";
const TALL_BLOCKS: &str = "tall-blocks";

/// Writes kernels of the convolution in CUDA C++.
pub(in crate::coder) fn family() -> Family {
    Family {
        task: "conv1d_silu",
        language: Language::Cuda,
        naive: "kernels/conv1d_silu/naive.cu",
        file: "conv1d_silu.cu",
        templates: TEMPLATES,
        flags: &[("window", WINDOW)],
        catalogue: catalogue(),
        recipe,
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

fn recipe(plan: &Plan) -> Result<Written, PlanError> {
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
        cuda::testing::every_strategy_resolves(&family());
    }

    #[test]
    fn the_naive_kernel_is_right() {
        testing::naive_is_right(&family());
    }

    #[test]
    fn random_plans_are_right_on_random_workloads() {
        testing::random_plans_are_right(&family(), 16, testing::workloads::conv1d_silu);
    }
}
