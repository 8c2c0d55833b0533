//! Attention on processors: rows of queries against all keys, or tiles of both in registers. Must not know what is
//! measured.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Language, Tunable};

use super::{EXP2, THREADS, VECTORS};
use crate::coder::recipe::{RecipeBuilder, candidate, naive};
use crate::coder::template::{Context, render, strategies};
use crate::coder::{effect, entry};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

const ONLINE_SOFTMAX: &str = "online-softmax";
const SIMD_HEAD: &str = "simd-over-head";
const PACKED_KEYS: &str = "packed-keys";
const REGISTER_ROWS: &str = "register-rows";
const KEY_BLOCKS: &str = "key-blocks";
const CAUSAL_SKIP: &str = "causal-skip";

const TEMPLATES: &[(&str, &str)] =
    &[("rows", include_str!("attention_rows.cpp.j2")), ("tiles", include_str!("attention_tiles.cpp.j2"))];

/// Writes attention kernels for processors.
pub(in crate::coder) struct Attention {
    catalogue: Catalogue,
}

impl Attention {
    pub(in crate::coder) fn new() -> Self {
        Self { catalogue: catalogue() }
    }
}

fn has_causal(facts: &Facts) -> Result<(), String> {
    if facts.largest("causal") == Some(1) { Ok(()) } else { Err("no workload is causal".into()) }
}

/// Expected effects are rough, from published work on processors (oneDNN, the tiling of `FlashAttention`, BLIS's register
/// blocking); the search corrects them by what it measures.
fn catalogue() -> Catalogue {
    Catalogue::new(vec![
        Strategy {
            tunables: &["BLOCK_Q"],
            effect: effect(0.6, 0.5, 0.5, 1.0),
            ..entry(
                THREADS,
                "Blocks of rows shared out to threads",
                "Heads and blocks of query rows are independent; a grid over them lets every core take the next one.",
            )
        },
        Strategy {
            difficulty: 2,
            effect: effect(0.7, 0.6, 0.6, 1.0),
            ..entry(
                ONLINE_SOFTMAX,
                "One pass with a running maximum",
                "Keeps the sum and the weighted values relative to the largest logit so far, so that every logit is computed \
                 once.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            conflicts: &[PACKED_KEYS],
            difficulty: 2,
            effect: effect(0.6, 0.3, 0.25, 1.0),
            ..entry(
                SIMD_HEAD,
                "SIMD over the head dimension",
                "Rows are contiguous along the head dimension: both products take a vector of it at once.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            conflicts: &[SIMD_HEAD],
            tunables: &["BLOCK_Q"],
            difficulty: 4,
            effect: effect(0.5, 0.2, 0.2, 1.0),
            ..entry(
                PACKED_KEYS,
                "Keys transposed once, SIMD over keys",
                "A kernel of its own transposes the keys into blocks, so that the first product runs along keys without sums \
                 across lanes, and softmax works on whole vectors of logits.",
            )
        },
        Strategy {
            requires: &[PACKED_KEYS],
            tunables: &["ROWS"],
            difficulty: 3,
            effect: effect(0.3, 0.4, 0.35, 1.0),
            ..entry(
                REGISTER_ROWS,
                "Several rows in registers",
                "A tile of rows by vectors stays in registers through both products: every vector that is loaded serves all \
                 rows of the tile.",
            )
        },
        Strategy {
            requires: &[PACKED_KEYS],
            tunables: &["BLOCK_K"],
            effect: effect(0.85, 0.85, 0.9, 1.0),
            ..entry(
                KEY_BLOCKS,
                "Larger blocks of keys",
                "The accumulators are loaded, rescaled and stored once for a block of keys; a larger one saves that as long as \
                 its logits stay in the cache.",
            )
        },
        Strategy {
            requires: &[ONLINE_SOFTMAX],
            effect: effect(1.0, 0.8, 0.75, 1.0),
            ..entry(
                EXP2,
                "Powers of two by a polynomial",
                "A vector of exponentials is a rounding, five multiply-adds and an exponent's addition; the library's function \
                 takes one number at a time.",
            )
        },
        Strategy {
            requires: &[PACKED_KEYS],
            effect: effect(0.85, 0.85, 0.8, 1.0),
            applies: has_causal,
            ..entry(
                CAUSAL_SKIP,
                "Only keys that are seen",
                "Under a causal mask a block of rows ends at the last key that any of its rows sees.",
            )
        },
    ])
}

impl Generator for Attention {
    fn task(&self) -> &'static str {
        "attention"
    }

    fn language(&self) -> Language {
        Language::Cpp
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, _facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return naive("kernels/attention/naive.cpp");
        }
        let tiles = plan.has(PACKED_KEYS);
        let (recipe, tunables) = recipe(plan)?;
        let mut c = Context::default();
        for (name, value) in [
            ("online", plan.has(ONLINE_SOFTMAX)),
            ("exp2", plan.has(EXP2)),
            ("simd", plan.has(SIMD_HEAD)),
            ("causal_skip", plan.has(CAUSAL_SKIP)),
            ("transpose", tiles),
        ] {
            c.flag(name, value);
        }
        c.text("strategies", strategies(&self.catalogue, plan));
        let templates: Vec<_> = TEMPLATES.iter().copied().chain([VECTORS]).collect();
        let text = render(&templates, if tiles { "tiles" } else { "rows" }, c)?;
        Ok(candidate("attention.cpp", text, recipe, tunables, plan))
    }
}

fn recipe(plan: &Plan) -> Result<(Recipe, Vec<Tunable>), PlanError> {
    let mut b = RecipeBuilder::default();
    b.define_type("T", "q");
    b.define("D", "D")?;
    b.define("CAUSAL", "causal")?;
    let tiles = plan.has(PACKED_KEYS);
    // Rows a call takes, in multiples of the rows of a tile.
    if plan.has(THREADS) || tiles {
        b.tunable("BLOCK_Q", &[8, 16, 32, 64, 96], if tiles { 32 } else { 16 });
    }
    if tiles {
        if plan.has(REGISTER_ROWS) {
            b.tunable("ROWS", &[2, 4, 6, 8], 6);
        } else {
            b.define("ROWS", "1")?;
        }
        if plan.has(KEY_BLOCKS) {
            b.tunable("BLOCK_K", &[64, 128, 256, 512, 1024], 256);
        } else {
            b.define("BLOCK_K", "64")?;
        }
        b.define("BLOCK_ROWS", "ceil_div(BLOCK_Q, ROWS) * ROWS")?;
        b.scratch("packed", "4 * B * Hkv * ceil_div(Lk, 64) * 64 * D")?;
        b.recipe.dispatches.push(RecipeBuilder::dispatch(
            "pack_keys",
            ["ceil_div(Lk, 64)", "Hkv", "B"],
            ["1", "1", "1"],
        )?);
    } else if plan.has(THREADS) {
        b.define("BLOCK_ROWS", "BLOCK_Q")?;
    } else {
        b.define("BLOCK_ROWS", "Lq")?;
    }
    // Without threads one call does everything.
    let grid = if plan.has(THREADS) { ["ceil_div(Lq, BLOCK_ROWS)", "Hq", "B"] } else { ["1", "1", "1"] };
    b.define("ALONE", if plan.has(THREADS) { "0" } else { "1" })?;
    b.recipe.dispatches.push(RecipeBuilder::dispatch("attention", grid, ["1", "1", "1"])?);
    b.require("D % 16 == 0", "rows are divided into vectors of up to sixteen elements")?;
    Ok((b.recipe, b.tunables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder::testing;

    #[test]
    fn every_strategy_can_be_reached_and_resolves_on_every_workload() {
        testing::every_strategy_resolves(&Attention::new());
    }
}
