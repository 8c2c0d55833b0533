//! Kernels of the gated RMS norm for NVIDIA GPUs from a plan: a thread, a warp or a block per row. Must not know what is
//! measured.

use ksearch_task::Language;

use crate::coder::family::{Family, Written};
use crate::coder::recipe::RecipeBuilder;
use crate::coder::{effect, entry};
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] =
    &[("gated_rms_norm", include_str!("gated_rms_norm.cu.j2")), ("pack", include_str!("../pack.cu.j2"))];

const VECTOR_LOADS: &str = "vector-loads";
const WARP_ROWS: &str = "warp-rows";
const BLOCK_ROWS: &str = "block-rows";
const ROW_REGISTERS: &str = "row-registers";

/// Writes kernels of the gated RMS norm in CUDA C++.
pub(in crate::coder) fn family() -> Family {
    Family {
        task: "gated_rms_norm",
        language: Language::Cuda,
        naive: "kernels/gated_rms_norm/naive.cu",
        file: "gated_rms_norm.cu",
        templates: TEMPLATES,
        flags: &[("warp", WARP_ROWS), ("block", BLOCK_ROWS), ("registers", ROW_REGISTERS)],
        catalogue: catalogue(),
        recipe,
    }
}

fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            effect: effect(0.5, 0.5, 0.7, 1.0),
            ..entry(
                VECTOR_LOADS,
                "Sixteen bytes per access",
                "Rows are contiguous, so one access moves eight elements of 16 bits or four of 32.",
            )
        },
        Strategy {
            tunables: &["WARPS"],
            difficulty: 2,
            effect: effect(0.2, 0.1, 0.6, 1.0),
            ..entry(
                WARP_ROWS,
                "A warp per row",
                "Neighbouring lanes read neighbouring elements, so every line is used whole, and a row's chain is 32 times \
                 shorter; lanes meet in one sum.",
            )
        },
        Strategy {
            requires: &[WARP_ROWS],
            difficulty: 2,
            effect: effect(0.9, 0.4, 1.0, 1.5),
            ..entry(
                BLOCK_ROWS,
                "A block per row",
                "Where rows are few or long, all warps of a block share one and meet in shared memory.",
            )
        },
        Strategy {
            requires: &[WARP_ROWS],
            difficulty: 2,
            effect: effect(0.6, 0.7, 0.6, 1.0),
            ..entry(
                ROW_REGISTERS,
                "The gated row in registers",
                "A row that is shared out over lanes fits in their registers: it is read once, its loads are under way \
                 together, and gates are computed once.",
            )
        },
    ])
}

fn recipe(plan: &Plan) -> Result<Written, PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("C", "C")?;
    b.define("HAS_Z", "has_z")?;
    let vector = "C % (16 / bytes(T)) == 0 ? 16 / bytes(T) : 1";
    b.define("WIDTH", if plan.has(VECTOR_LOADS) { vector } else { "1" })?;
    let dispatch = if plan.has(WARP_ROWS) {
        b.tunable("WARPS", &[1, 2, 4, 8, 16], 4);
        let rows = if plan.has(BLOCK_ROWS) { "R" } else { "ceil_div(R, WARPS)" };
        RecipeBuilder::dispatch("gated_rms_norm", [rows, "1", "1"], ["32 * WARPS", "1", "1"])?
    } else {
        RecipeBuilder::dispatch("gated_rms_norm", ["ceil_div(R, 32)", "1", "1"], ["32", "1", "1"])?
    };
    b.recipe.dispatches.push(dispatch);
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
        testing::random_plans_are_right(&family(), 16, testing::workloads::gated_rms_norm);
    }
}
