//! The token-level pre-pass: from preprocessed MSL to C++ for OpenCL, with the entry points' signatures on the side.
//! Knows MSL's surface; leaves types and expressions to clang.

mod emit;
mod globals;
mod kernels;
mod records;
mod scan;
mod threadgroup;
mod unit;
mod vectors;
pub mod words;

use std::collections::BTreeSet;

pub use emit::SourceMap;
pub use kernels::Entry;
pub use threadgroup::Allocation;

use crate::module::{CompileOptions, FunctionConstant};
use crate::pp::{Preprocessed, Problem};

/// What the pre-pass leaves.
#[derive(Debug)]
pub struct Lowered {
    /// The text after the library.
    pub text: String,
    /// Where each piece of it was written.
    pub map: SourceMap,
    /// Kernels, in source order.
    pub entries: Vec<Entry>,
    /// Function constants.
    pub constants: Vec<FunctionConstant>,
    /// Threadgroup variables, by the number in the IR.
    pub allocations: Vec<Allocation>,
    /// Every identifier of the source: the library brings only what these can need.
    pub words: BTreeSet<String>,
    /// Does it say `using namespace metal`?
    pub uses_metal: bool,
}

/// Runs all passes.
pub fn lower(pre: &Preprocessed, options: &CompileOptions) -> Result<Lowered, Problem> {
    let words = pre.tokens.iter().filter_map(|t| t.ident().map(str::to_owned)).collect();
    let uses_metal =
        pre.tokens.windows(3).any(|w| w[0].is_ident("using") && w[1].is_ident("namespace") && w[2].is_ident("metal"));
    words::refuse(&pre.tokens)?;
    let mut unit = unit::Unit::new(&pre.tokens)?;
    let outline = scan::scan(&unit);
    let constants = globals::settle(&mut unit, &outline, &options.constants)?;
    records::add_copies(&mut unit, &outline);
    vectors::rewrite(&mut unit, &outline);
    let entries = kernels::collect(&mut unit, &outline)?;
    let allocations = threadgroup::hoist(&mut unit, &outline);
    drop_attributes(&mut unit);
    let mut out = emit::Output::default();
    let start = unit.loc(0);
    out.own_line(
        "#pragma clang attribute push(__attribute__((internal_linkage, always_inline)), apply_to = function)",
        start,
    );
    out.unit(&unit);
    out.own_line("#pragma clang attribute pop", start);
    for (n, entry) in entries.iter().enumerate() {
        out.own_line(&entry.wrapper(n), entry.loc);
    }
    Ok(Lowered { text: out.text, map: out.map, entries, constants, allocations, words, uses_metal })
}

/// `__attribute__((...))` of the user's: inlining is decided here, and the rest means nothing for a kernel; alignment
/// and packing change layouts and stay.
fn drop_attributes(unit: &mut unit::Unit) {
    for i in 0..unit.len() {
        if !unit.is_ident(i, "__attribute__") {
            continue;
        }
        let open = unit.next(i);
        let Some(close) = unit.pair(open) else { continue };
        let kept = (open..close).any(|n| {
            matches!(
                unit.ident(n),
                Some("aligned" | "packed" | "__aligned__" | "__packed__" | "ext_vector_type" | "vector_size")
            )
        });
        if !kept {
            unit.remove(i, close + 1);
        }
    }
}
