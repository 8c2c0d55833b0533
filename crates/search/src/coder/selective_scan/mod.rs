//! Selective-scan kernels from a plan: a thread per channel, lanes over states, or lanes over time. Must not know what
//! is measured.

mod catalogue;

use ksearch_task::candidate::{Dispatch, Recipe};
use ksearch_task::{Candidate, Tunable};

use super::recipe::RecipeBuilder;
use super::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError};

const TEMPLATES: &[(&str, &str)] = &[
    ("channels", include_str!("channels.metal.j2")),
    ("states", include_str!("states.metal.j2")),
    ("time", include_str!("time.metal.j2")),
    ("steps", include_str!("steps.metal.j2")),
    ("arguments", include_str!("arguments.metal.j2")),
];

/// Writes selective-scan kernels.
pub(super) struct SelectiveScan {
    catalogue: Catalogue,
}

impl SelectiveScan {
    pub(super) fn new() -> Self {
        Self { catalogue: catalogue::catalogue() }
    }
}

impl Generator for SelectiveScan {
    fn task(&self) -> &'static str {
        "selective_scan"
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return super::recipe::naive("kernels/selective_scan/naive.metal");
        }
        let features = Features::of(plan);
        let (recipe, tunables) = features.recipe(facts)?;
        let main = match features.family {
            Family::Channels => "channels",
            Family::States => "states",
            Family::Time => "time",
        };
        let mut context = features.context();
        context.text("strategies", strategies(&self.catalogue, plan));
        let text = render(TEMPLATES, main, context)?;
        Ok(super::recipe::candidate("selective_scan.metal", text, recipe, tunables, plan))
    }
}

/// Which template a plan is written with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Channels,
    States,
    Time,
}

/// A plan, and the template it is written with.
struct Features<'a> {
    family: Family,
    plan: &'a Plan,
}

impl<'a> Features<'a> {
    fn of(plan: &'a Plan) -> Self {
        let family = if plan.has(catalogue::CHUNKED_SCAN) {
            Family::Time
        } else if plan.has(catalogue::LANES_STATES) {
            Family::States
        } else {
            Family::Channels
        };
        Self { family, plan }
    }

    fn has(&self, strategy: &str) -> bool {
        self.plan.has(strategy)
    }

    fn context(&self) -> Context {
        let mut c = Context::default();
        for (name, value) in [
            ("exp2", self.has(catalogue::EXP2)),
            ("registers", self.has(catalogue::STATE_REGISTERS)),
            ("vector", self.has(catalogue::VECTOR_STEPS)),
            ("fused", self.has(catalogue::FUSED_STEPS)),
            ("share", self.has(catalogue::SHARE_INPUTS)),
            ("split_states", self.has(catalogue::SPLIT_STATES)),
        ] {
            c.flag(name, value);
        }
        c.text("first_state", if self.has(catalogue::SPLIT_STATES) { "simdgroup" } else { "0" });
        c.text("state_stride", if self.has(catalogue::SPLIT_STATES) { "SIMDGROUPS" } else { "1" });
        c
    }

    fn recipe(&self, facts: &Facts) -> Result<(Recipe, Vec<Tunable>), PlanError> {
        let mut b = RecipeBuilder::default();
        b.define_type("T", "u");
        b.define("STATES", "states")?;
        for (name, flag) in [
            ("DELTA_SOFTPLUS", "delta_softplus"),
            ("HAS_D", "has_D"),
            ("HAS_Z", "has_z"),
            ("HAS_DELTA_BIAS", "has_delta_bias"),
            ("HAS_INITIAL_STATE", "has_initial_state"),
            ("HAS_FINAL_STATE", "has_final_state"),
        ] {
            b.define(name, flag)?;
        }
        b.define("WIDTH", if self.has(catalogue::VECTOR_STEPS) { "L % 4 == 0 ? 4 : 1" } else { "1" })?;
        let dispatch = match self.family {
            Family::Channels => {
                RecipeBuilder::dispatch("selective_scan", ["ceil_div(dim, 32)", "batch", "1"], ["32", "1", "1"])?
            }
            Family::States => {
                b.tunable("STATE_LANES", &[4, 8, 16, 32], 16);
                let grid = ["ceil_div(dim, 32 / STATE_LANES)", "batch", "1"];
                RecipeBuilder::dispatch("selective_scan", grid, ["32", "1", "1"])?
            }
            Family::Time => self.time(&mut b, facts)?,
        };
        b.recipe.dispatches.push(dispatch);
        Ok((b.recipe, b.tunables))
    }

    fn time(&self, b: &mut RecipeBuilder, facts: &Facts) -> Result<Dispatch, PlanError> {
        b.tunable("CHUNK", &[4, 8, 16], 8);
        if self.has(catalogue::SPLIT_STATES) {
            b.tunable("SIMDGROUPS", &[2, 4, 8], 4);
        }
        if self.has(catalogue::SHARE_INPUTS) {
            b.tunable("CHANNELS", &[2, 4], 2);
            // Only channels of one group read the same B and C; and the partial outputs must fit.
            let one_group = "(dim / groups) % CHANNELS == 0";
            if self.has(catalogue::SPLIT_STATES) {
                let memory = facts.chip.threadgroup_memory;
                let fits = format!("4 * SIMDGROUPS * CHANNELS * 32 * CHUNK <= {memory}");
                b.define("SHARE", &format!("{one_group} && {fits} ? CHANNELS : 1"))?;
            } else {
                b.define("SHARE", &format!("{one_group} ? CHANNELS : 1"))?;
            }
        } else {
            b.define("SHARE", "1")?;
        }
        let threads = if self.has(catalogue::SPLIT_STATES) { "32 * SIMDGROUPS" } else { "32" };
        RecipeBuilder::dispatch("selective_scan", ["dim / SHARE", "batch", "1"], [threads, "1", "1"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::testing;
    use ksearch_task::builtin;

    #[test]
    fn the_empty_plan_is_the_naive_kernel() {
        let candidate = SelectiveScan::new().render(&Plan::default(), &testing::facts("selective_scan")).unwrap();
        assert_eq!(candidate.id(), builtin::kernel("kernels/selective_scan/naive.metal").unwrap().id());
    }

    #[test]
    fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
        testing::every_strategy_resolves(&SelectiveScan::new());
    }

    #[test]
    fn the_naive_kernel_is_right() {
        testing::naive_is_right(&SelectiveScan::new());
    }

    #[test]
    fn random_plans_are_right_on_random_workloads() {
        testing::random_plans_are_right(&SelectiveScan::new(), 16, |choices| {
            let groups = choices.number(1..=2);
            let softplus = choices.number(0..=1);
            vec![
                ("batch", choices.number(1..=2).to_string()),
                ("groups", groups.to_string()),
                ("dim", (groups * choices.number(1..=9)).to_string()),
                ("states", choices.pick(&[1, 3, 5, 16, 33]).to_string()),
                ("L", choices.pick(&[1, 4, 31, 64, 100, 131, 260, 513]).to_string()),
                ("T", choices.pick(&["f16", "f32"]).to_string()),
                ("delta_softplus", softplus.to_string()),
                ("has_D", choices.number(0..=1).to_string()),
                ("has_z", choices.number(0..=1).to_string()),
                ("has_delta_bias", choices.number(0..=1).to_string()),
                ("has_initial_state", choices.number(0..=1).to_string()),
                ("has_final_state", choices.number(0..=1).to_string()),
            ]
        });
    }
}
