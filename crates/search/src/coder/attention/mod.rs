//! Attention kernels from a plan: two passes, one pass with lanes on rows, or one pass on 8x8 matrices. Must not know
//! what is measured.

mod catalogue;

use ksearch_task::candidate::{Dispatch, Recipe};
use ksearch_task::{Candidate, Tunable};

use super::recipe::{self, RecipeBuilder};
use super::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError};

const TEMPLATES: &[(&str, &str)] = &[
    ("two_pass", include_str!("two_pass.metal.j2")),
    ("rows", include_str!("rows.metal.j2")),
    ("rows_step", include_str!("rows_step.metal.j2")),
    ("matrix", include_str!("matrix.metal.j2")),
    ("wide", include_str!("wide.metal.j2")),
    ("stage", include_str!("stage.metal.j2")),
    ("combine", include_str!("combine.metal.j2")),
];

/// Registers of a thread, of 128, that rows may take for as long as the kernel runs.
const HELD_REGISTERS: u32 = 96;

/// Writes attention kernels.
pub(super) struct Attention {
    catalogue: Catalogue,
}

impl Attention {
    pub(super) fn new() -> Self {
        Self { catalogue: catalogue::catalogue() }
    }
}

impl Generator for Attention {
    fn task(&self) -> &'static str {
        "attention"
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return recipe::naive("kernels/attention/naive.metal");
        }
        let features = Features::of(plan);
        let (recipe, tunables) = features.recipe(facts)?;
        let main = match features.family {
            Family::TwoPass => "two_pass",
            Family::Rows => "rows",
            Family::Matrix => "matrix",
        };
        let mut context = features.context();
        context.text("strategies", strategies(&self.catalogue, plan));
        let text = render(TEMPLATES, main, context)?;
        Ok(recipe::candidate("attention.metal", text, recipe, tunables, plan))
    }
}

/// Which template a plan is written with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    TwoPass,
    Rows,
    Matrix,
}

/// A plan, and the template it is written with.
struct Features<'a> {
    family: Family,
    plan: &'a Plan,
}

impl<'a> Features<'a> {
    fn of(plan: &'a Plan) -> Self {
        let family = match (plan.has(catalogue::ONLINE_SOFTMAX), plan.has(catalogue::MATRIX)) {
            (false, _) => Family::TwoPass,
            (true, false) => Family::Rows,
            (true, true) => Family::Matrix,
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
            ("vector", self.has(catalogue::VECTOR_LOADS)),
            ("query_registers", self.has(catalogue::QUERY_REGISTERS)),
            ("team", self.has(catalogue::SIMD_ROWS)),
            ("tile", self.has(catalogue::TILE_KV)),
            ("double_buffer", self.has(catalogue::DOUBLE_BUFFER)),
            ("causal_skip", self.has(catalogue::CAUSAL_SKIP)),
            ("split", self.has(catalogue::SPLIT_KEYS)),
            ("transpose", self.has(catalogue::TRANSPOSE_K)),
            ("edge_masks", self.has(catalogue::EDGE_MASKS)),
        ] {
            c.flag(name, value);
        }
        c.text("exp", if self.has(catalogue::EXP2) { "exp2" } else { "exp" });
        c.text("width", if self.has(catalogue::VECTOR_LOADS) { "4" } else { "1" });
        c.text("stages", if self.has(catalogue::DOUBLE_BUFFER) { "2" } else { "1" });
        c.text("stage_keys", if self.has(catalogue::TRANSPOSE_K) { "stage_transposed" } else { "stage" });
        c.text("operand", if self.has(catalogue::HALF_STORAGE) { "T" } else { "float" });
        c.text(
            "query",
            match (self.family, self.has(catalogue::QUERY_REGISTERS)) {
                (Family::TwoPass, true) => "query[c]",
                (Family::TwoPass, false) => "load(query_row + c * WIDTH)",
                (Family::Rows, true) => "query[r][c]",
                (Family::Rows, false) => "load(queries + row[r] * D + (c * LANES + part) * WIDTH)",
                (Family::Matrix, true) => "query[f][d]",
                (Family::Matrix, false) => {
                    "Operand2(*(device const vec<T, 2>*)(queries + row[f] * D + d * 8 + tile_column))"
                }
            },
        );
        let products = if self.family == Family::Rows { "total(products[r])" } else { "total(products)" };
        c.text(
            "logit",
            if self.has(catalogue::QUERY_REGISTERS) { products.to_owned() } else { format!("factor * {products}") },
        );
        c
    }

    fn recipe(&self, facts: &Facts) -> Result<(Recipe, Vec<Tunable>), PlanError> {
        let mut b = RecipeBuilder::default();
        b.define_type("T", "q");
        b.define("D", "D")?;
        b.define("CAUSAL", "causal")?;
        let dispatch = if self.family == Family::TwoPass {
            RecipeBuilder::dispatch("attention", ["ceil_div(Lq, 64)", "Hq", "B"], ["64", "1", "1"])?
        } else {
            self.one_pass(&mut b, facts)?
        };
        if self.has(catalogue::SPLIT_KEYS) {
            // What a threadgroup writes for its share of the keys.
            b.scratch("partial_sums", "4 * B * Hq * Lq * SPLITS * D")?;
            b.scratch("partial_scales", "8 * B * Hq * Lq * SPLITS")?;
        }
        b.recipe.dispatches.push(dispatch);
        if self.has(catalogue::SPLIT_KEYS) {
            let combine = RecipeBuilder::dispatch("combine", ["B * Hq * Lq", "1", "1"], ["D", "1", "1"])?;
            b.recipe.dispatches.push(combine);
        }
        b.require("D % 16 == 0", "rows are divided into chunks of up to sixteen elements")?;
        Ok((b.recipe, b.tunables))
    }

    fn one_pass(&self, b: &mut RecipeBuilder, facts: &Facts) -> Result<Dispatch, PlanError> {
        let matrix = self.family == Family::Matrix;
        if self.has(catalogue::SPLIT_KEYS) {
            b.tunable("SPLITS", &[2, 4, 8, 16, 32], 4);
        }
        if self.has(catalogue::SIMD_ROWS) || self.has(catalogue::TILE_KV) || matrix {
            let most = i64::from(facts.chip.max_threads / 32).min(8);
            let values: Vec<i64> = [1, 2, 4, 8].into_iter().filter(|v| *v <= most).collect();
            b.tunable("SIMDGROUPS", &values, most.min(4));
        } else {
            b.define("SIMDGROUPS", "2")?;
        }
        b.define("THREADS", "32 * SIMDGROUPS")?;
        if self.has(catalogue::ROW_BLOCKING) {
            b.tunable("ROWS", &[2, 4], 2);
        } else if !matrix {
            b.define("ROWS", "1")?;
        }
        if self.has(catalogue::HALF_STORAGE) {
            b.define_type("TILE", "q");
        } else if self.has(catalogue::TILE_KV) {
            b.define_text("TILE", "float");
        }
        // Sixteen bytes, and whatever the matrix family reads in pairs stays aligned.
        let tile_bytes = if self.has(catalogue::HALF_STORAGE) { "bytes(T)" } else { "4" };
        let padded =
            |n: &str| if self.has(catalogue::PAD_TILES) { format!("({n} + 16 / {tile_bytes})") } else { n.to_owned() };
        if self.has(catalogue::TILE_KV) || matrix {
            b.tunable(
                "KEYS_PER_TILE",
                if matrix { &[8, 16, 32, 64] } else { &[8, 16, 32] },
                if matrix { 32 } else { 16 },
            );
        }
        if self.has(catalogue::TILE_KV) {
            // The wanted number of keys, halved until both tiles fit.
            let buffers = if self.has(catalogue::DOUBLE_BUFFER) { 4 } else { 2 };
            let memory = facts.chip.threadgroup_memory;
            let fits = |n: &str| format!("{} * {} * {tile_bytes} * {buffers} <= {memory}", padded(n), padded("D"));
            let (whole, half, quarter) = ("KEYS_PER_TILE", "KEYS_PER_TILE / 2", "KEYS_PER_TILE / 4");
            b.define(
                "BLOCK_K",
                &format!(
                    "max(8, {} ? {whole} : {} ? {half} : {} ? {quarter} : 8)",
                    fits(whole),
                    fits(half),
                    fits(quarter)
                ),
            )?;
            b.define("STRIDE", &padded("D"))?;
        } else if matrix {
            b.define("BLOCK_K", "KEYS_PER_TILE")?;
        }
        if matrix {
            b.define("FRAGMENTS", &self.fragments())?;
            if self.has(catalogue::TILE_KV) && self.has(catalogue::TRANSPOSE_K) {
                b.define("KEY_STRIDE", &padded("BLOCK_K"))?;
                b.define("KEY_TILE", "D * KEY_STRIDE")?;
            } else if self.has(catalogue::TILE_KV) {
                b.define("KEY_TILE", "BLOCK_K * STRIDE")?;
            }
            b.define("ROWS_PER_GROUP", "SIMDGROUPS * FRAGMENTS * 8")?;
            return self.dispatch();
        }
        if self.has(catalogue::KEY_BLOCKING) {
            b.tunable("KEYS", &[2, 4, 8], 4);
        } else {
            b.define("KEYS", "1")?;
        }
        if self.has(catalogue::SPLIT_KEYS) && !self.has(catalogue::TILE_KV) {
            b.define("BLOCK_K", "KEYS")?;
        }
        if self.has(catalogue::SIMD_ROWS) {
            b.tunable("TEAM", &[2, 4, 8, 16, 32], 4);
            // The wanted number of lanes, halved until the chunks divide a row.
            let width = if self.has(catalogue::VECTOR_LOADS) { 4 } else { 1 };
            let divides = |n: &str| format!("D % ({n} * {width}) == 0");
            let (whole, half, quarter) = ("TEAM", "TEAM / 2", "TEAM / 4");
            b.define(
                "LANES",
                &format!(
                    "{} ? {whole} : {} ? {half} : {} ? {quarter} : 4",
                    divides(whole),
                    divides(half),
                    divides(quarter)
                ),
            )?;
        } else {
            b.define("LANES", "1")?;
        }
        b.define("ROWS_PER_GROUP", "THREADS / LANES * ROWS")?;
        self.dispatch()
    }

    /// Tiles of eight query rows that a simdgroup holds: the wanted number, halved until what a lane keeps of them, weighted
    /// values and queries, leaves registers for the rest.
    fn fragments(&self) -> String {
        if !self.has(catalogue::ROW_BLOCKING) {
            return "1".into();
        }
        // A lane holds D / 4 elements of a tile's rows.
        let query = match (self.has(catalogue::QUERY_REGISTERS), self.has(catalogue::HALF_STORAGE)) {
            (false, _) => "0",
            (true, false) => "4",
            (true, true) => "bytes(T)",
        };
        let fits = |n: &str| format!("{n} * D * (4 + {query}) / 16 <= {HELD_REGISTERS}");
        format!("{} ? ROWS : {} ? ROWS / 2 : 1", fits("ROWS"), fits("ROWS / 2"))
    }

    fn dispatch(&self) -> Result<Dispatch, PlanError> {
        let blocks = if self.has(catalogue::SPLIT_KEYS) {
            "ceil_div(Lq, ROWS_PER_GROUP) * SPLITS"
        } else {
            "ceil_div(Lq, ROWS_PER_GROUP)"
        };
        RecipeBuilder::dispatch("attention", [blocks, "Hq", "B"], ["THREADS", "1", "1"])
    }
}

#[cfg(test)]
mod tests;
