//! The gated RMS norm on processors: vectors along a row, the gated row kept. Must not know what is measured.

use ksearch_task::Language;

use super::{EXP2, THREADS, VECTORS};
use crate::coder::family::{Family, Written};
use crate::coder::recipe::RecipeBuilder;
use crate::coder::{effect, entry};
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const SIMD: &str = "simd-along-rows";
const KEPT: &str = "kept-row";

/// Writes gated RMS norms for processors.
pub(in crate::coder) fn family() -> Family {
    Family {
        task: "gated_rms_norm",
        language: Language::Cpp,
        naive: "kernels/gated_rms_norm/naive.cpp",
        file: "gated_rms_norm.cpp",
        templates: &[("kernel", include_str!("gated_rms_norm.cpp.j2")), VECTORS],
        flags: &[("simd", SIMD), ("kept", KEPT), ("exp2", EXP2)],
        catalogue: catalogue(),
        recipe,
    }
}

/// Expected effects are rough; the search corrects them by what it measures.
fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            tunables: &["ROWS"],
            effect: effect(0.6, 0.6, 0.5, 1.1),
            ..entry(THREADS, "Rows shared out to threads", "Rows are independent; each call takes a few of them.")
        },
        Strategy {
            effect: effect(0.8, 0.4, 0.3, 1.0),
            ..entry(
                SIMD,
                "SIMD along rows",
                "Elements of a row are neighbours: a vector of them at a time, with two sums.",
            )
        },
        Strategy {
            effect: effect(0.8, 0.7, 0.6, 1.0),
            ..entry(
                KEPT,
                "The gated row kept",
                "Gates are computed once; the second pass reads what the first one left in the cache.",
            )
        },
        Strategy {
            requires: &[SIMD],
            effect: effect(1.0, 0.6, 0.3, 1.0),
            ..entry(
                EXP2,
                "Powers of two by a polynomial",
                "Gates are exponentials; a vector of them is a few multiply-adds.",
            )
        },
    ])
}

fn recipe(plan: &Plan) -> Result<Written, PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("HAS_Z", "has_z")?;
    if plan.has(KEPT) {
        // Longer rows would not fit a thread's stack.
        b.define("KEPT", "C <= 16384 ? C : 0")?;
    }
    let grid = if plan.has(THREADS) {
        b.tunable("ROWS", &[1, 2, 4, 8, 16, 32], 4);
        b.define("ALONE", "0")?;
        "ceil_div(R, ROWS)"
    } else {
        b.define("ALONE", "1")?;
        b.define("ROWS", "1")?;
        "1"
    };
    b.recipe.dispatches.push(RecipeBuilder::dispatch("gated_rms_norm", [grid, "1", "1"], ["1", "1", "1"])?);
    Ok((b.recipe, b.tunables))
}
