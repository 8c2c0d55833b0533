//! Kernels of one step of the selective scan for NVIDIA GPUs from a plan: a thread or a team of lanes per channel. Must
//! not know what is measured.

use ksearch_task::Language;

use crate::coder::family::{Family, Written};
use crate::coder::recipe::RecipeBuilder;
use crate::coder::{effect, entry};
use crate::facts::Facts;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] = &[
    ("scan_step", include_str!("scan_step.cu.j2")),
    ("pack", include_str!("../pack.cu.j2")),
    ("softplus", include_str!("../softplus.cu.j2")),
];

const VECTOR_STATES: &str = "vector-states";
const LANES_STATES: &str = "lanes-over-states";
const SHARE_RATES: &str = "share-rates";
const WIDE_BLOCKS: &str = "wide-blocks";

/// Writes kernels of one step of the scan in CUDA C++.
pub(in crate::coder) fn family() -> Family {
    Family {
        task: "scan_step",
        language: Language::Cuda,
        naive: "kernels/scan_step/naive.cu",
        file: "scan_step.cu",
        templates: TEMPLATES,
        flags: &[("lanes", LANES_STATES), ("sequences", SHARE_RATES)],
        catalogue: catalogue(),
        recipe,
    }
}

fn several_sequences(facts: &Facts) -> Result<(), String> {
    if facts.largest("batch").unwrap_or(1) > 1 { Ok(()) } else { Err("every workload has one sequence".into()) }
}

fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            effect: effect(0.5, 0.4, 0.7, 1.0),
            ..entry(
                VECTOR_STATES,
                "Four states per access",
                "The states of a channel are contiguous, so one access moves four of them.",
            )
        },
        Strategy {
            tunables: &["LANES"],
            difficulty: 2,
            effect: effect(0.3, 0.3, 1.0, 1.0),
            ..entry(
                LANES_STATES,
                "A team of lanes over the states",
                "Neighbouring lanes read neighbouring states, so every line is used whole, there are several times as \
                 many threads to hide latency with, and a shuffle butterfly sums the output.",
            )
        },
        Strategy {
            tunables: &["SEQUENCES"],
            difficulty: 2,
            effect: effect(0.8, 1.2, 0.95, 1.0),
            applies: several_sequences,
            ..entry(
                SHARE_RATES,
                "Rates shared by several sequences",
                "The decay rates of a channel are the same for all sequences: loaded once, they serve several.",
            )
        },
        Strategy {
            tunables: &["THREADS"],
            effect: effect(1.0, 0.95, 1.0, 0.95),
            ..entry(
                WIDE_BLOCKS,
                "Larger blocks",
                "Fewer, larger blocks cost less to start and keep more loads under way on a multiprocessor.",
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
        ("HAS_Z", "has_z"),
        ("HAS_DT_BIAS", "has_dt_bias"),
        ("WIDTH", if plan.has(VECTOR_STATES) { "states % 4 == 0 ? 4 : 1" } else { "1" }),
    ] {
        b.define(name, value)?;
    }
    let threads = if plan.has(WIDE_BLOCKS) {
        b.tunable("THREADS", &[64, 128, 256], 128);
        "THREADS"
    } else {
        "32"
    };
    if plan.has(LANES_STATES) {
        b.tunable("LANES", &[2, 4, 8, 16, 32], 4);
    } else {
        b.define("LANES", "1")?;
    }
    if plan.has(SHARE_RATES) {
        b.tunable("SEQUENCES", &[2, 4, 8], 2);
    } else {
        b.define("SEQUENCES", "1")?;
    }
    let channels = format!("ceil_div(dim * LANES, {threads})");
    let grid = [channels.as_str(), "ceil_div(batch, SEQUENCES)", "1"];
    b.recipe.dispatches.push(RecipeBuilder::dispatch("scan_step", grid, [threads, "1", "1"])?);
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
        testing::random_plans_are_right(&family(), 16, testing::workloads::scan_step);
    }
}
