//! Mamba-2's scan on processors: a state of a head in the first cache, vectors over states or over positions. Must not
//! know what is measured.

use ksearch_task::Language;

use super::{THREADS, VECTORS};
use crate::coder::family::{Family, Written};
use crate::coder::recipe::RecipeBuilder;
use crate::coder::{effect, entry};
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const SIMD_STATES: &str = "simd-over-states";
const SIMD_POSITIONS: &str = "simd-over-positions";

/// Writes Mamba-2's scan for processors.
pub(in crate::coder) fn family() -> Family {
    Family {
        task: "ssd",
        language: Language::Cpp,
        naive: "kernels/ssd/naive.cpp",
        file: "ssd.cpp",
        templates: &[("kernel", include_str!("ssd.cpp.j2")), VECTORS],
        flags: &[("states", SIMD_STATES), ("positions", SIMD_POSITIONS)],
        catalogue: catalogue(),
        recipe,
    }
}

/// Expected effects are rough; the search corrects them by what it measures.
fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            tunables: &["POSITIONS"],
            effect: effect(0.6, 0.6, 0.5, 1.1),
            ..entry(
                THREADS,
                "Heads and positions shared out to threads",
                "Positions of a head share nothing but B, C and the steps; each call takes a block of them.",
            )
        },
        Strategy {
            conflicts: &[SIMD_POSITIONS],
            effect: effect(0.8, 0.4, 0.25, 1.0),
            ..entry(
                SIMD_STATES,
                "SIMD over states",
                "The states of a position are neighbours and advance together, with one sum across lanes a step.",
            )
        },
        Strategy {
            conflicts: &[SIMD_STATES],
            difficulty: 2,
            effect: effect(0.8, 0.3, 0.2, 1.0),
            ..entry(
                SIMD_POSITIONS,
                "SIMD over positions",
                "A vector holds one state of several positions: no sums across lanes, B and C are broadcast.",
            )
        },
    ])
}

fn recipe(plan: &Plan) -> Result<Written, PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("STATES", "states")?;
    for (name, flag) in [
        ("DT_SOFTPLUS", "dt_softplus"),
        ("HAS_D", "has_D"),
        ("HAS_DT_BIAS", "has_dt_bias"),
        ("HAS_INITIAL_STATE", "has_initial_state"),
        ("HAS_FINAL_STATE", "has_final_state"),
    ] {
        b.define(name, flag)?;
    }
    let grid = if plan.has(THREADS) {
        b.tunable("POSITIONS", &[16, 32, 64, 128], 64);
        b.define("ALONE", "0")?;
        ["ceil_div(P, POSITIONS)", "heads", "batch"]
    } else {
        b.define("ALONE", "1")?;
        b.define("POSITIONS", "64")?;
        ["1", "1", "1"]
    };
    b.recipe.dispatches.push(RecipeBuilder::dispatch("ssd", grid, ["1", "1", "1"])?);
    Ok((b.recipe, b.tunables))
}
