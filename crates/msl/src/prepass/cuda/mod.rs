//! CUDA C++ device code into the internal dialect: host code goes, shared memory becomes threadgroup memory, kernels
//! become plain functions with an entry point each. Pointers stay generic, as in CUDA. Knows CUDA's surface; leaves
//! types and expressions to clang.

mod entries;
mod shared;
mod words;

use std::collections::BTreeSet;

use super::scan::{Function, Outline};
use super::unit::Unit;
use super::{Lowered, calls, scan, threadgroup};
use crate::module::{CompileOptions, Language};
use crate::pp::{Preprocessed, Problem};

/// Runs all passes.
pub fn lower(pre: &Preprocessed, options: &CompileOptions) -> Result<Lowered, Problem> {
    let found = words::rewrite(
        &pre.tokens,
        pre.headers.iter().any(|h| h.starts_with("cuda_fp16") || h.starts_with("cuda_bf16")),
    )?;
    let idents = found.tokens.iter().filter_map(|t| t.ident().map(str::to_owned)).collect();
    let mut unit = Unit::new(&found.tokens)?;
    unit.double = true;
    let outline = scan::scan(&unit);
    drop_host(&mut unit, &outline, &found.device);
    let may_recurse = calls::may_recurse(&unit, &outline);
    let dynamic = shared::dynamic(&mut unit, &outline);
    generic_pointers(&mut unit, &outline);
    reinterpret(&mut unit);
    let entries = entries::collect(&mut unit, &outline, &found.bounds, &options.only, dynamic)?;
    let allocations = threadgroup::hoist(&mut unit, &outline, "");
    Ok(Lowered {
        unit,
        outline,
        language: Language::Cuda,
        repaired: BTreeSet::new(),
        may_recurse,
        function_arguments: false,
        entries,
        constants: Vec::new(),
        allocations,
        words: idents,
        uses_metal: false,
    })
}

/// Does the function run on the device?
fn on_device(unit: &Unit, function: &Function, device: &BTreeSet<usize>) -> bool {
    let head = function.start..function.body.map_or(function.end, |(open, _)| open);
    function.kernel
        || device.range(head.clone()).next().is_some()
        || head.clone().any(|i| unit.is_ident(i, "constexpr"))
        // `= default` and the like generate nothing that could not run.
        || (function.record.is_some() && function.body.is_none())
}

/// Removes functions of the host, and instantiations, which entry points replace.
fn drop_host(unit: &mut Unit, outline: &Outline, device: &BTreeSet<usize>) {
    for function in &outline.functions {
        if function.record.is_none() && !on_device(unit, function, device) {
            unit.remove(function.start, function.end);
        }
    }
    for inst in &outline.instantiations {
        unit.remove(inst.range.start, inst.range.end);
    }
    // What host code leaves at namespace scope.
    for global in &outline.globals {
        let range = global.range.clone();
        let host = range.clone().any(|i| {
            unit.ident(i).is_some_and(|w| matches!(w, "cudaStream_t" | "cudaEvent_t" | "FILE" | "string" | "vector"))
        });
        let std_names =
            range.clone().any(|i| unit.is_ident(i, "using")) && range.clone().any(|i| unit.is_ident(i, "std"));
        if host || (std_names && !range.clone().any(|i| unit.is_ident(i, "namespace"))) {
            unit.remove(range.start, range.end);
        }
    }
}

/// Pointer parameters of templates say `__generic`: a type deduced from an argument would otherwise carry the space of
/// the argument, and locals of that type would be refused. References stay: a private object would not match.
fn generic_pointers(unit: &mut Unit, outline: &Outline) {
    for function in outline.functions.iter().filter(|f| f.template.is_some()) {
        let (open, close) = function.params;
        for i in open + 1..close {
            // `(*f)` is no plain pointer.
            if unit.is(i, "*") && !unit.prev(i).is_some_and(|p| unit.is(p, "(")) {
                unit.insert_before(i, " __generic ");
            }
        }
    }
}

/// `reinterpret_cast<T>(x)` may go between memory spaces, which C++ for OpenCL refuses.
fn reinterpret(unit: &mut Unit) {
    for i in 0..unit.len() {
        if !unit.is_ident(i, "reinterpret_cast") {
            continue;
        }
        let open = unit.next(i);
        if let Some(close) = unit.angle(open, unit.len()) {
            unit.replace(i, "__ks_rc");
            unit.insert_after(close, "::f");
        }
    }
}
