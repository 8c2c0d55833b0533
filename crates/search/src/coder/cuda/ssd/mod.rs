//! Kernels of Mamba-2's scan for NVIDIA GPUs from a plan: the recurrence with a thread or a team of lanes per position.
//! Must not know what is measured.

use ksearch_task::Language;

use crate::coder::family::{Family, Written};
use crate::coder::recipe::RecipeBuilder;
use crate::coder::{effect, entry};
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] = &[
    ("recurrence", include_str!("recurrence.cu.j2")),
    ("pack", include_str!("../pack.cu.j2")),
    ("softplus", include_str!("../softplus.cu.j2")),
];

const VECTOR_STATES: &str = "vector-states";
const LANES_STATES: &str = "lanes-over-states";
const POSITION_ROWS: &str = "position-rows";
const PREPARED_STEPS: &str = "prepared-steps";

/// Writes kernels of Mamba-2's scan in CUDA C++.
pub(in crate::coder) fn family() -> Family {
    Family {
        task: "ssd",
        language: Language::Cuda,
        naive: "kernels/ssd/naive.cu",
        file: "ssd.cu",
        templates: TEMPLATES,
        flags: &[("lanes", LANES_STATES), ("rows", POSITION_ROWS), ("prepared", PREPARED_STEPS)],
        catalogue: catalogue(),
        recipe,
    }
}

fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            effect: effect(0.6, 0.5, 0.7, 1.0),
            ..entry(
                VECTOR_STATES,
                "Four states per access",
                "Rows of B and C are contiguous along the states, so one access moves four of them.",
            )
        },
        Strategy {
            tunables: &["LANES"],
            difficulty: 2,
            effect: effect(0.4, 0.1, 0.5, 1.0),
            ..entry(
                LANES_STATES,
                "A team of lanes over the states",
                "The states of a position are shared out over lanes and fit in their registers; there are as many more \
                 threads, and a shuffle butterfly sums the output.",
            )
        },
        Strategy {
            requires: &[LANES_STATES],
            tunables: &["ROWS"],
            difficulty: 2,
            effect: effect(0.6, 1.1, 0.7, 1.0),
            ..entry(
                POSITION_ROWS,
                "Several positions per team",
                "B and C are the same for all positions of a head: loaded once, they serve several, whose chains are \
                 independent.",
            )
        },
        Strategy {
            difficulty: 2,
            effect: effect(0.95, 0.7, 0.7, 1.0),
            ..entry(
                PREPARED_STEPS,
                "Step sizes and decays by one lane for all",
                "Softplus and exponential of a step are the same for all lanes: each lane computes those of one step in \
                 32 and hands them round.",
            )
        },
    ])
}

fn recipe(plan: &Plan) -> Result<Written, PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    for (name, value) in [
        ("STATES", "states"),
        ("DT_SOFTPLUS", "dt_softplus"),
        ("HAS_D", "has_D"),
        ("HAS_DT_BIAS", "has_dt_bias"),
        ("HAS_INITIAL_STATE", "has_initial_state"),
        ("HAS_FINAL_STATE", "has_final_state"),
        ("WIDTH", if plan.has(VECTOR_STATES) { "states % 4 == 0 ? 4 : 1" } else { "1" }),
    ] {
        b.define(name, value)?;
    }
    if plan.has(LANES_STATES) {
        b.tunable("LANES", &[4, 8, 16, 32], 16);
    } else {
        b.define("LANES", "1")?;
    }
    if plan.has(POSITION_ROWS) {
        b.tunable("ROWS", &[2, 4, 8], 2);
    } else {
        b.define("ROWS", "1")?;
    }
    let grid = ["ceil_div(P, 32 / LANES * ROWS)", "heads", "batch"];
    b.recipe.dispatches.push(RecipeBuilder::dispatch("ssd", grid, ["32", "1", "1"])?);
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
        testing::random_plans_are_right(&family(), 16, testing::workloads::ssd);
    }
}
