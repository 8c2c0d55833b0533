//! One step of the selective scan on processors: vectors over the states of a channel. Must not know what is measured.

use ksearch_task::Language;

use super::{EXP2, THREADS, VECTORS};
use crate::coder::family::{Family, Written};
use crate::coder::recipe::RecipeBuilder;
use crate::coder::{effect, entry};
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const SIMD: &str = "simd-over-states";

/// Writes decode steps for processors.
pub(in crate::coder) fn family() -> Family {
    Family {
        task: "scan_step",
        language: Language::Cpp,
        naive: "kernels/scan_step/naive.cpp",
        file: "scan_step.cpp",
        templates: &[("kernel", include_str!("scan_step.cpp.j2")), VECTORS],
        flags: &[("simd", SIMD), ("exp2", EXP2)],
        catalogue: catalogue(),
        recipe,
    }
}

/// Expected effects are rough; the search corrects them by what it measures.
fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            tunables: &["CHANNELS"],
            effect: effect(0.6, 0.6, 0.5, 1.2),
            ..entry(
                THREADS,
                "Channels shared out to threads",
                "Channels are independent; each call takes a block of them.",
            )
        },
        Strategy {
            effect: effect(0.7, 0.4, 0.3, 1.0),
            ..entry(
                SIMD,
                "SIMD over states",
                "The states of a channel are neighbours in memory and advance together, with one sum across lanes.",
            )
        },
        Strategy {
            requires: &[SIMD],
            effect: effect(1.0, 0.6, 0.3, 1.0),
            ..entry(
                EXP2,
                "Powers of two by a polynomial",
                "Decays are exponentials; a vector of them is a few multiply-adds.",
            )
        },
    ])
}

fn recipe(plan: &Plan) -> Result<Written, PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("STATES", "states")?;
    for (name, flag) in
        [("DT_SOFTPLUS", "dt_softplus"), ("HAS_D", "has_D"), ("HAS_Z", "has_z"), ("HAS_DT_BIAS", "has_dt_bias")]
    {
        b.define(name, flag)?;
    }
    let grid = if plan.has(THREADS) {
        b.tunable("CHANNELS", &[32, 64, 128, 256, 512], 128);
        b.define("ALONE", "0")?;
        ["ceil_div(dim, CHANNELS)", "batch", "1"]
    } else {
        b.define("ALONE", "1")?;
        b.define("CHANNELS", "1")?;
        ["1", "1", "1"]
    };
    b.recipe.dispatches.push(RecipeBuilder::dispatch("scan_step", grid, ["1", "1", "1"])?);
    Ok((b.recipe, b.tunables))
}
