//! The token-level pre-pass: from preprocessed MSL or CUDA to C++ for OpenCL, with the entry points' signatures on the side.
//! Knows the languages' surface; leaves types and expressions to clang.

mod calls;
mod checks;
mod cuda;
mod emit;
mod expr;
mod globals;
mod kernels;
mod members;
mod records;
mod repair;
mod scan;
mod threadgroup;
mod unit;
mod vectors;
pub mod words;

use std::collections::BTreeSet;

pub use emit::SourceMap;
pub use kernels::Entry;
pub use threadgroup::Allocation;

use crate::clang::Target;
use crate::module::{CompileOptions, FunctionConstant, Language};
use crate::pp::{Preprocessed, Problem};

/// What the pre-pass leaves.
#[derive(Debug)]
pub struct Lowered {
    unit: unit::Unit,
    outline: scan::Outline,
    /// What the source was written in.
    language: Language,
    repaired: BTreeSet<usize>,
    /// May functions call each other in a circle, by their names?
    pub may_recurse: bool,
    /// Does it pass functions as template arguments?
    function_arguments: bool,
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
    if options.language == Language::Cuda {
        return cuda::lower(pre, options);
    }
    let words = pre.tokens.iter().filter_map(|t| t.ident().map(str::to_owned)).collect();
    let uses_metal =
        pre.tokens.windows(3).any(|w| w[0].is_ident("using") && w[1].is_ident("namespace") && w[2].is_ident("metal"));
    words::refuse(&pre.tokens, options.double)?;
    let mut unit = unit::Unit::new(&pre.tokens)?;
    unit.double = options.double;
    drop_coherent(&mut unit);
    let outline = scan::scan(&unit);
    checks::check(&unit, &outline)?;
    let may_recurse = calls::may_recurse(&unit, &outline);
    let constants = globals::settle(&mut unit, &outline, &options.constants)?;
    records::add_copies(&mut unit, &outline);
    members::qualify(&mut unit, &outline);
    constant_is_const(&mut unit);
    vectors::rewrite(&mut unit, &outline);
    let entries = kernels::collect(&mut unit, &outline, &options.only)?;
    let allocations = threadgroup::hoist(&mut unit, &outline, "__local ");
    let function_arguments = function_references(&mut unit, &outline);
    drop_attributes(&mut unit);
    drop_intrinsics(&mut unit, &outline);
    Ok(Lowered {
        unit,
        outline,
        language: Language::Metal,
        repaired: BTreeSet::new(),
        may_recurse,
        function_arguments,
        entries,
        constants,
        allocations,
        words,
        uses_metal,
    })
}

impl Lowered {
    /// The text to put after the library, and where each piece of it was written.
    pub fn emit(&self, target: Target) -> (String, SourceMap) {
        let mut out = emit::Output::default();
        let start = self.unit.loc(0);
        if self.function_arguments {
            out.own_line("#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable", start);
        }
        out.own_line(
            "#pragma clang attribute push(__attribute__((internal_linkage, always_inline)), apply_to = function)",
            start,
        );
        out.unit(&self.unit);
        out.own_line("#pragma clang attribute pop", start);
        for (n, entry) in self.entries.iter().enumerate() {
            let text = match target {
                Target::Machine => entry.wrapper(n),
                Target::Nvidia => entry.kernel(n),
            };
            out.own_line(&text, entry.loc);
        }
        (out.text, out.map)
    }

    /// Mends what clang complained about at places of the text that had this map; returns whether anything changed.
    pub fn repair(&mut self, map: &SourceMap, complaints: &[(u32, u32, &str)]) -> bool {
        if self.language == Language::Cuda {
            return false;
        }
        let found: Vec<repair::Complaint<'_>> = complaints
            .iter()
            .filter_map(|(line, col, message)| Some(repair::Complaint { token: map.token(*line, *col)?, message }))
            .collect();
        repair::repair(&mut self.unit, &self.outline, &found, &mut self.repaired)
    }
}

/// A function as a template argument: here a reference, since pointers to functions do not exist in C++ for OpenCL.
fn function_references(unit: &mut unit::Unit, outline: &scan::Outline) -> bool {
    let mut found = false;
    // `using F = void (*)(..)`, for a template parameter of that type.
    for name in &outline.type_names {
        let Some(target) = &name.target else { continue };
        for i in target.clone() {
            let star = unit.next(i);
            if unit.is(i, "(")
                && unit.is(star, "*")
                && unit.is(unit.next(star), ")")
                && unit.is(unit.next(unit.next(star)), "(")
            {
                unit.replace(star, "&");
                found = true;
            }
        }
    }
    for function in outline.functions.iter().filter(|f| f.template.is_some()) {
        let Some(open) = (function.start..function.name_at).find(|i| unit.is(*i, "<")) else { continue };
        let Some(close) = unit.angle(open, function.name_at) else { continue };
        for i in open..close {
            let star = unit.next(i);
            if unit.is(i, "(") && unit.is(star, "*") && unit.pair(i).is_some_and(|p| unit.is(unit.next(p), "(")) {
                unit.replace(star, "&");
                found = true;
            }
        }
    }
    found
}

/// Data in `constant` memory cannot be written, so a pointer to it need not say `const`: here it always does. After a
/// parameter list the word qualifies the function's object instead.
fn constant_is_const(unit: &mut unit::Unit) {
    for i in 0..unit.len() {
        if !unit.is_ident(i, "constant") {
            continue;
        }
        let mut before = unit.prev(i);
        while before.is_some_and(|p| matches!(unit.ident(p), Some("const" | "volatile"))) {
            before = before.and_then(|p| unit.prev(p));
        }
        if !before.is_some_and(|p| unit.is(p, ")")) {
            unit.replace(i, "const __constant");
        }
    }
}

/// `coherent(device)` and its kin order accesses that here are in order anyway.
fn drop_coherent(unit: &mut unit::Unit) {
    for i in 0..unit.len() {
        if !unit.is_ident(i, "coherent") {
            continue;
        }
        let next = unit.next(i);
        if unit.is(next, "(")
            && let Some(close) = unit.pair(next)
            && unit.ident(unit.next(next)).is_some_and(|w| matches!(w, "system" | "device" | "threadgroup"))
        {
            unit.remove(i, close + 1);
        } else if matches!(unit.ident(next), Some("device" | "volatile" | "const")) {
            unit.remove(i, i + 1);
        }
    }
}

/// Declarations of Apple's intrinsics (`__asm("air...")`): the library has its own.
fn drop_intrinsics(unit: &mut unit::Unit, outline: &scan::Outline) {
    for function in outline.functions.iter().filter(|f| f.body.is_none()) {
        let label = unit.next(function.params.1);
        if unit.ident(label).is_some_and(words::is_asm) {
            unit.remove(function.start, function.end);
        }
    }
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
