//! Attention kernels for NVIDIA GPUs from a plan: the naive kernel, or beside it warpgroup matrix instructions for 16-bit
//! tensors and split products on the tensor cores for 32-bit ones. Must not know what is measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, DType, Language, Tunable};

use crate::coder::recipe::{self, RecipeBuilder};
use crate::coder::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Effect, Plan, PlanError, Strategy};

const WARPGROUPS: &str = "warpgroup-products";
const OVERLAP: &str = "overlap-products";
const SPLIT: &str = "split-products";

const TEMPLATES: &[(&str, &str)] = &[
    ("attention", include_str!("attention.cu.j2")),
    ("warpgroups", include_str!("warpgroups.cu.j2")),
    ("split", include_str!("split.cu.j2")),
];
/// The kernel for what the matrix instructions do not take.
const NAIVE: &str = "kernels/attention/naive.cu";
/// Cards whose instructions these are (compute capability 9.0), by what their names hold.
const HOPPER: &[&str] = &["H100", "H200", "H800", "H20", "GH200"];
/// Others whose tensor cores know TF32 (compute capability 8.0 and later).
const TF32: &[&str] = &["A100", "A800", "A30", "A40", "A10", "L40", "B200"];

/// Writes attention kernels in CUDA C++.
pub(in crate::coder) struct Attention {
    catalogue: Catalogue,
}

impl Attention {
    pub(in crate::coder) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn hopper(facts: &Facts) -> Result<(), String> {
    if !facts.dtypes.contains(&DType::F16) {
        return Err("no workload has 16-bit tensors".into());
    }
    if !HOPPER.iter().any(|name| facts.chip.name.contains(name)) {
        return Err(format!("{} has no warpgroup instructions (compute capability 9.0)", facts.chip.name));
    }
    Ok(())
}

fn tf32(facts: &Facts) -> Result<(), String> {
    if !facts.dtypes.contains(&DType::F32) {
        return Err("no workload has 32-bit tensors".into());
    }
    if !HOPPER.iter().chain(TF32).any(|name| facts.chip.name.contains(name)) {
        return Err(format!("{} is not known to have TF32 (compute capability 8.0)", facts.chip.name));
    }
    Ok(())
}

fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            id: WARPGROUPS,
            title: "Warpgroup matrix instructions, copies by a warpgroup of their own",
            why: "Both products run on the tensor cores from swizzled shared memory; one warpgroup keeps the next keys and \
                  values coming while the others compute, and logits and weights never leave the registers.",
            requires: &[],
            conflicts: &[],
            tunables: &["KEYS", "STAGES", "CONSUMERS"],
            difficulty: 5,
            effect: Effect { bandwidth: 0.1, latency: 0.02, compute: 0.02, synchronization: 1.0 },
            applies: hopper,
        },
        Strategy {
            id: OVERLAP,
            title: "Softmax under the products",
            why: "The next logits are begun before the last weights are summed, so that the exponentials of one block run \
                  beside the products of another.",
            requires: &[WARPGROUPS],
            conflicts: &[],
            tunables: &[],
            difficulty: 2,
            effect: Effect { bandwidth: 1.0, latency: 0.85, compute: 0.9, synchronization: 1.0 },
            applies: hopper,
        },
        Strategy {
            id: SPLIT,
            title: "Products of 32 bits as three of TF32",
            why: "TF32 keeps 11 of the 24 bits of a factor. Each factor is split into that part and the rest, and all products \
                  but rest times rest are summed in f32: the answer is not TF32's but differs from f32's by some 2^-21, and the \
                  tensor cores do it several times as fast as the ordinary pipes do one product.",
            requires: &[],
            conflicts: &[],
            tunables: &["SPLIT_KEYS", "SPLIT_WARPS", "SPLIT_TILES"],
            difficulty: 4,
            effect: Effect { bandwidth: 0.1, latency: 0.05, compute: 0.2, synchronization: 1.0 },
            applies: tf32,
        },
    ])
}

impl Generator for Attention {
    fn task(&self) -> &'static str {
        "attention"
    }

    fn language(&self) -> Language {
        Language::Cuda
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, _: &Facts) -> Result<Candidate, PlanError> {
        let naive = recipe::naive(NAIVE)?;
        if plan.strategies.is_empty() {
            return Ok(naive);
        }
        let whole = naive.files.first().map_or("", |f| f.text.as_str());
        let fallback = whole.split_once("*/\n").map_or(whole, |(_, kernel)| kernel);
        let mut context = Context::default();
        context.text("strategies", strategies(&self.catalogue, plan));
        context.text("fallback", fallback);
        context.flag("warpgroups", plan.has(WARPGROUPS));
        context.flag("overlap", plan.has(OVERLAP));
        context.flag("split", plan.has(SPLIT));
        let text = render(TEMPLATES, "attention", context)?;
        let (recipe, tunables) = recipe(plan)?;
        Ok(recipe::candidate("attention.cu", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "q");
    b.define("D", "D")?;
    let mut taken = Vec::new();
    if plan.has(WARPGROUPS) {
        b.define("WIDTH", "D <= 64 ? 64 : 128")?;
        b.tunable("KEYS", &[64, 128], 128);
        b.tunable("STAGES", &[2, 3], 2);
        b.tunable("CONSUMERS", &[2, 3], 2);
        let grid = ["Hq", "ceil_div(Lq, 64 * CONSUMERS)", "B"];
        let mut products = RecipeBuilder::dispatch("attention", grid, ["128 * (CONSUMERS + 1)", "1", "1"])?;
        let shared = "128 * CONSUMERS * WIDTH + 4 * STAGES * KEYS * WIDTH + 1024";
        RecipeBuilder::shared(&mut products, shared)?;
        let takes = "bytes(T) == 2 && D % 8 == 0 && D <= 128";
        b.recipe.dispatches.push(RecipeBuilder::only_when(products, takes)?);
        taken.push(takes);
    }
    if plan.has(SPLIT) {
        b.tunable("SPLIT_KEYS", &[16, 32, 64], 32);
        b.tunable("SPLIT_WARPS", &[4, 8], 8);
        b.tunable("SPLIT_TILES", &[1, 2], 1);
        let grid = ["Hq", "ceil_div(Lq, 16 * SPLIT_TILES * SPLIT_WARPS)", "B"];
        let mut products = RecipeBuilder::dispatch("attention_split", grid, ["32 * SPLIT_WARPS", "1", "1"])?;
        // Rows of queries and keys, and of values, as the kernel pads them.
        let (row, value) = ("(D + (40 - D % 32) % 32)", "(D + (20 - D % 16) % 16)");
        let shared = format!("4 * ((16 * SPLIT_TILES * SPLIT_WARPS + SPLIT_KEYS) * {row} + SPLIT_KEYS * {value})");
        RecipeBuilder::shared(&mut products, &shared)?;
        let takes = "bytes(T) == 4 && D % 8 == 0 && D <= 128";
        b.recipe.dispatches.push(RecipeBuilder::only_when(products, takes)?);
        taken.push(takes);
    }
    let naive = RecipeBuilder::dispatch("attention_naive", ["ceil_div(Lq, 64)", "Hq", "B"], ["64", "1", "1"])?;
    let rest: Vec<_> = taken.iter().map(|takes| format!("!({takes})")).collect();
    b.recipe.dispatches.push(RecipeBuilder::only_when(naive, &rest.join(" && "))?);
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::cuda::testing;

    #[test]
    fn every_strategy_resolves_and_its_kernels_are_found() {
        testing::every_strategy_resolves(&Attention::new());
    }

    /// Tunables are macros: where both kernels are in one file, neither may give the name of the other's to a constant.
    #[test]
    fn kernels_side_by_side_leave_each_others_macros_alone() {
        let facts = testing::facts("attention");
        let plan = [WARPGROUPS, OVERLAP, SPLIT]
            .iter()
            .fold(Plan::default(), |plan, id| catalogue().extend(&plan, id, &facts).unwrap());
        let candidate = Attention::new().render(&plan, &facts).unwrap();
        let text = &candidate.files[0].text;
        for name in candidate.tunables.iter().map(|t| t.name.as_str()).chain(["T", "D", "WIDTH"]) {
            assert!(!text.contains(&format!("constexpr int {name} =")), "{name}");
        }
    }

    #[test]
    fn other_cards_are_told_why_not() {
        let mut facts = testing::facts("attention");
        facts.chip.name = "NVIDIA A100".into();
        assert!(catalogue().extend(&Plan::default(), WARPGROUPS, &facts).is_err());
        assert!(catalogue().extend(&Plan::default(), SPLIT, &facts).is_ok());
        facts.chip.name = "Tesla V100".into();
        assert!(catalogue().extend(&Plan::default(), SPLIT, &facts).is_err());
    }
}
