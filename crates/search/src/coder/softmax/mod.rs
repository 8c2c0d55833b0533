//! Softmax kernels from a plan: a thread, a simdgroup or a threadgroup per row. Must not know what is measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Tunable};

use super::recipe::{RecipeBuilder, candidate, naive};
use super::template::{Context, render, strategies};
use super::{effect, entry};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const TEMPLATES: &[(&str, &str)] = &[("softmax", include_str!("softmax.metal.j2"))];

const ONLINE: &str = "online-softmax";
const EXP2: &str = "exp2";
const VECTOR_LOADS: &str = "vector-loads";
const SIMDGROUP_ROWS: &str = "simdgroup-rows";
const THREADGROUP_ROWS: &str = "threadgroup-rows";
const ROW_REGISTERS: &str = "row-registers";

/// Writes softmax kernels.
pub(super) struct Softmax {
    catalogue: Catalogue,
}

impl Softmax {
    pub(super) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            effect: effect(0.7, 0.7, 0.8, 1.0),
            ..entry(
                ONLINE,
                "Maximum and sum in one pass",
                "Keeps the sum relative to the largest logit so far and rescales it when that grows, which saves a pass over \
                 the row.",
            )
        },
        Strategy {
            effect: effect(1.0, 0.97, 0.95, 1.0),
            ..entry(
                EXP2,
                "Base-2 exponential, scale folded in",
                "The hardware computes powers of two; multiplying the scale by log2(e) beforehand saves a multiplication per \
                 exponential.",
            )
        },
        Strategy {
            effect: effect(0.6, 0.5, 0.8, 1.0),
            ..entry(
                VECTOR_LOADS,
                "Four elements per load",
                "Rows are contiguous, so one instruction can move four elements.",
            )
        },
        Strategy {
            tunables: &["SIMDGROUPS"],
            difficulty: 2,
            effect: effect(0.2, 0.1, 1.0, 1.0),
            ..entry(
                SIMDGROUP_ROWS,
                "A simdgroup per row",
                "Neighbouring lanes read neighbouring elements, so every line is used whole, and a row's chains are 32 times \
                 shorter; lanes meet in a reduction at the end.",
            )
        },
        Strategy {
            requires: &[SIMDGROUP_ROWS],
            difficulty: 2,
            effect: effect(0.9, 0.5, 1.0, 1.5),
            ..entry(
                THREADGROUP_ROWS,
                "A threadgroup per row",
                "Where rows are few and long, all simdgroups of a threadgroup share one and meet in threadgroup memory.",
            )
        },
        Strategy {
            requires: &[SIMDGROUP_ROWS],
            conflicts: &[ONLINE],
            difficulty: 2,
            effect: effect(0.5, 0.7, 0.7, 1.0),
            ..entry(
                ROW_REGISTERS,
                "The row in registers",
                "A row that is shared out over lanes fits in their registers: it is read once, and exponentials are \
                 computed once.",
            )
        },
    ])
}

impl Generator for Softmax {
    fn task(&self) -> &'static str {
        "softmax"
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return naive("kernels/softmax/naive.metal");
        }
        let (recipe, tunables) = recipe(plan, facts)?;
        let text = render(TEMPLATES, "softmax", context(plan, &self.catalogue))?;
        Ok(candidate("softmax.metal", text, recipe, tunables, plan))
    }
}

fn context(plan: &Plan, catalogue: &Catalogue) -> Context {
    let mut c = Context::default();
    let (simd, group) = (plan.has(SIMDGROUP_ROWS), plan.has(THREADGROUP_ROWS));
    c.flag("simd", simd);
    c.flag("group", group);
    c.flag("online", plan.has(ONLINE));
    c.flag("vector", plan.has(VECTOR_LOADS));
    c.flag("registers", plan.has(ROW_REGISTERS));
    c.flag("exp2", plan.has(EXP2));
    c.text("exp", if plan.has(EXP2) { "exp2" } else { "exp" });
    c.text("reduce_max", reduction("largest", "max", 0, simd, group));
    c.text("reduce_sum", reduction("sum", "sum", 1, simd, group));
    c.text("strategies", strategies(catalogue, plan));
    c
}

/// Lines that bring `variable` together over the threads of a row. `slot` keeps the two exchanges of a threadgroup in
/// different places, so that one barrier between writing and reading is enough.
fn reduction(variable: &str, operation: &str, slot: usize, simd: bool, group: bool) -> String {
    if !simd {
        return String::new();
    }
    let mut lines = vec![format!("    {variable} = simd_{operation}({variable});")];
    if group {
        let place = if slot == 0 { String::new() } else { "SIMDGROUPS + ".to_owned() };
        lines.extend([
            "    if (lane == 0) {".to_owned(),
            format!("        shared[{place}simdgroup] = {variable};"),
            "    }".to_owned(),
            "    threadgroup_barrier(mem_flags::mem_threadgroup);".to_owned(),
            format!("    {variable} = simd_{operation}(shared[{place}lane % SIMDGROUPS]);"),
        ]);
        if operation == "sum" {
            lines.push("    // Every simdgroup's part was added 32 / SIMDGROUPS times.".to_owned());
            lines.push(format!("    {variable} *= SIMDGROUPS / 32.0f;"));
        }
    }
    lines.join("\n")
}

fn recipe(plan: &Plan, facts: &Facts) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "x");
    b.define("C", "C")?;
    b.define("WIDTH", if plan.has(VECTOR_LOADS) { "C % 4 == 0 ? 4 : 1" } else { "1" })?;
    let dispatch = if plan.has(SIMDGROUP_ROWS) {
        let most = i64::from(facts.chip.max_threads / 32);
        let values: Vec<i64> = [1, 2, 4, 8, 16].into_iter().filter(|v| *v <= most).collect();
        b.tunable("SIMDGROUPS", &values, most.min(4));
        let rows = if plan.has(THREADGROUP_ROWS) { "R" } else { "ceil_div(R, SIMDGROUPS)" };
        RecipeBuilder::dispatch("softmax", [rows, "1", "1"], ["32 * SIMDGROUPS", "1", "1"])?
    } else {
        RecipeBuilder::dispatch("softmax", ["ceil_div(R, 64)", "1", "1"], ["64", "1", "1"])?
    };
    b.recipe.dispatches.push(dispatch);
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::testing;

    #[test]
    fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
        testing::every_strategy_resolves(&Softmax::new());
    }

    #[test]
    fn the_naive_kernel_is_right() {
        testing::naive_is_right(&Softmax::new());
    }

    #[test]
    fn random_plans_are_right_on_random_workloads() {
        testing::random_plans_are_right(&Softmax::new(), 16, |choices| {
            vec![
                ("R", choices.number(1..=20).to_string()),
                ("C", choices.pick(&[1, 4, 7, 31, 32, 130, 516, 1001]).to_string()),
                ("T", choices.pick(&["f16", "f32"]).to_string()),
                ("scale", choices.pick(&["1", "0.3", "2.5", "-0.7"]).to_string()),
            ]
        });
    }
}
