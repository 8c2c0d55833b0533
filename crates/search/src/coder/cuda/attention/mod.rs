//! Attention kernels for NVIDIA GPUs from a plan: the naive kernel, or warpgroup matrix instructions for 16-bit tensors
//! with the naive kernel beside them for the others. Must not know what is measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, DType, FileError, Language, Tunable, builtin};

use crate::coder::recipe::{self, RecipeBuilder};
use crate::coder::template::{Context, comment, render};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Effect, Plan, PlanError, Strategy};

const WARPGROUPS: &str = "warpgroup-products";
const OVERLAP: &str = "overlap-products";

const TEMPLATES: &[(&str, &str)] = &[("warpgroups", include_str!("warpgroups.cu.j2"))];
/// The kernel for what the matrix instructions do not take.
const NAIVE: &str = "kernels/attention/naive.cu";
/// Cards whose instructions these are (compute capability 9.0), by what their names hold.
const HOPPER: &[&str] = &["H100", "H200", "H800", "H20", "GH200"];

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
        let broken = |e: FileError| PlanError::Unrenderable(e.to_string());
        let naive = builtin::kernel(NAIVE).map_err(broken)?;
        if plan.strategies.is_empty() {
            return Ok(naive);
        }
        let whole = naive.files.first().map_or("", |f| f.text.as_str());
        let fallback = whole.split_once("*/\n").map_or(whole, |(_, kernel)| kernel);
        let titles: Vec<_> = self.catalogue.iter().filter(|s| plan.has(s.id)).map(|s| s.title.to_lowercase()).collect();
        let mut context = Context::default();
        context.text("strategies", comment(&format!("Strategies: {}.", titles.join("; "))));
        context.text("fallback", fallback);
        context.flag("overlap", plan.has(OVERLAP));
        let text = render(TEMPLATES, "warpgroups", context)?;
        Ok(recipe::candidate_in(Language::Cuda, "attention.cu", text, recipe()?, plan))
    }
}

fn recipe() -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "q");
    b.define("D", "D")?;
    b.define("WIDTH", "D <= 64 ? 64 : 128")?;
    b.tunable("KEYS", &[64, 128], 128);
    b.tunable("STAGES", &[2, 3], 2);
    b.tunable("CONSUMERS", &[2, 3], 2);
    let grid = ["ceil_div(Lq, 64 * CONSUMERS)", "Hq", "B"];
    let mut products = RecipeBuilder::dispatch("attention", grid, ["128 * (CONSUMERS + 1)", "1", "1"])?;
    let shared = "128 * CONSUMERS * WIDTH + 4 * STAGES * KEYS * WIDTH + 1024";
    RecipeBuilder::shared(&mut products, shared)?;
    let takes = "bytes(T) == 2 && D % 8 == 0 && D <= 128";
    b.recipe.dispatches.push(RecipeBuilder::only_when(products, takes)?);
    let naive = RecipeBuilder::dispatch("attention_naive", ["ceil_div(Lq, 64)", "Hq", "B"], ["64", "1", "1"])?;
    b.recipe.dispatches.push(RecipeBuilder::only_when(naive, &format!("!({takes})"))?);
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

    #[test]
    fn other_cards_are_told_why_not() {
        let mut facts = testing::facts("attention");
        facts.chip.name = "NVIDIA A100".into();
        assert!(catalogue().extend(&Plan::default(), WARPGROUPS, &facts).is_err());
    }
}
