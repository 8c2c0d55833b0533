//! The causal convolution on processors: vectors over channels, a window of inputs in registers. Must not know what is
//! measured.

use ksearch_task::Language;

use super::{EXP2, THREADS, VECTORS};
use crate::coder::family::{Family, Written};
use crate::coder::recipe::RecipeBuilder;
use crate::coder::{effect, entry};
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const SIMD: &str = "simd-over-channels";
const WINDOW: &str = "sliding-window";

/// Writes convolutions for processors.
pub(in crate::coder) fn family() -> Family {
    Family {
        task: "conv1d_silu",
        language: Language::Cpp,
        naive: "kernels/conv1d_silu/naive.cpp",
        file: "conv1d_silu.cpp",
        templates: &[("kernel", include_str!("conv1d_silu.cpp.j2")), VECTORS],
        flags: &[("simd", SIMD), ("window", WINDOW), ("exp2", EXP2)],
        catalogue: catalogue(),
        recipe,
    }
}

/// Expected effects are rough; the search corrects them by what it measures.
fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            tunables: &["TIME"],
            effect: effect(0.6, 0.6, 0.5, 1.1),
            ..entry(
                THREADS,
                "Blocks of time shared out to threads",
                "Outputs are independent; a block of time reads the few inputs before it.",
            )
        },
        Strategy {
            effect: effect(0.7, 0.3, 0.2, 1.0),
            ..entry(
                SIMD,
                "SIMD over channels",
                "Channels are neighbours in memory: a vector of them takes every tap at once.",
            )
        },
        Strategy {
            requires: &[SIMD],
            effect: effect(0.8, 0.8, 0.9, 1.0),
            ..entry(
                WINDOW,
                "A window of inputs in registers",
                "Walking through time, each input is loaded once and moves from tap to tap.",
            )
        },
        Strategy {
            requires: &[SIMD],
            effect: effect(1.0, 0.6, 0.3, 1.0),
            ..entry(
                EXP2,
                "Powers of two by a polynomial",
                "SiLU is an exponential; a vector of them is a few multiply-adds.",
            )
        },
    ])
}

fn recipe(plan: &Plan) -> Result<Written, PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("K", "K")?;
    for (name, flag) in [
        ("SILU", "silu"),
        ("HAS_BIAS", "has_bias"),
        ("HAS_INITIAL_STATE", "has_initial_state"),
        ("HAS_FINAL_STATE", "has_final_state"),
    ] {
        b.define(name, flag)?;
    }
    let grid = if plan.has(THREADS) {
        b.tunable("TIME", &[16, 32, 64, 128, 256], 64);
        b.define("ALONE", "0")?;
        ["ceil_div(L, TIME)", "batch", "1"]
    } else {
        b.define("ALONE", "1")?;
        b.define("TIME", "1")?;
        ["1", "1", "1"]
    };
    b.recipe.dispatches.push(RecipeBuilder::dispatch("conv1d_silu", grid, ["1", "1", "1"])?);
    Ok((b.recipe, b.tunables))
}
