//! Entry points of CUDA kernels: each kernel, or instance of a kernel template that is asked for, with its parameters.
//! Pointers are buffers, everything else is bytes that the launch gives. Knows parameter lists.

use crate::module::ParamKind;
use crate::pp::{Problem, integer_constant};
use crate::prepass::kernels::{Adapter, Entry, EntryParam};
use crate::prepass::scan::{Function, Outline};
use crate::prepass::unit::Unit;
use crate::source::Token;

/// Name of the parameter that stands for the block of shared memory that the launch sizes.
pub const DYNAMIC: &str = "dynamic_shared";

/// Finds the kernels. `bounds` are the launch bounds with where they stood; `only` are the kernels asked for, of
/// templates with their arguments (`k<float, 256>`); with `dynamic` every kernel takes a block of shared memory too.
pub fn collect(
    unit: &mut Unit,
    outline: &Outline,
    bounds: &[(usize, Vec<Token>)],
    only: &[String],
    dynamic: bool,
) -> Result<Vec<Entry>, Problem> {
    let mut out = Vec::new();
    let kernels: Vec<&Function> =
        outline.functions.iter().filter(|f| f.kernel && f.record.is_none() && f.body.is_some()).collect();
    for function in &kernels {
        for wanted in names(function, only) {
            let mut params = Vec::new();
            let (open, close) = function.params;
            for (a, b) in unit.split(open + 1, close) {
                let a = unit.skip(a);
                let empty = a >= b || (unit.is_ident(a, "void") && unit.next(a) >= b);
                if !empty {
                    params.push(parameter(unit, a, b, params.len() as u32)?);
                }
            }
            if dynamic {
                params.push(EntryParam::made(
                    DYNAMIC.to_owned(),
                    ParamKind::Threadgroup { index: 0, reference: false, element: "char".to_owned(), element_bytes: 1 },
                    unit.loc(function.name_at),
                    Adapter::Unpassed,
                ));
            }
            let bound = bounds.iter().find(|(at, _)| (function.start..=function.name_at).contains(at));
            let max_threads = bound
                .and_then(|(_, tokens)| integer_constant(tokens, unit.loc(function.name_at)))
                .and_then(|n| u32::try_from(n).ok());
            let arguments = wanted.find('<').map_or("", |n| &wanted[n..]);
            let mut callee = String::from("::");
            for part in &function.scope {
                callee.push_str(part);
                callee.push_str("::");
            }
            callee.push_str(&unit.render(function.name_at, function.name_at + 1));
            callee.push_str(arguments);
            out.push(Entry::made(wanted, unit.loc(function.name_at), params, max_threads, callee));
        }
    }
    if let Some(missing) = only.iter().find(|o| !out.iter().any(|e: &Entry| e.name == **o)) {
        let known: Vec<&str> = kernels.iter().map(|f| f.name.as_str()).collect();
        return Err(Problem {
            code: "unknown-kernel",
            message: format!("there is no kernel `{missing}`"),
            loc: None,
            help: Some(format!("kernels of this source: {}", known.join(", "))),
        });
    }
    for i in 0..unit.len() {
        if unit.is_ident(i, "kernel") {
            unit.replace(i, "");
        }
    }
    Ok(out)
}

/// Names under which a kernel is wanted.
fn names(function: &Function, only: &[String]) -> Vec<String> {
    if only.is_empty() {
        return if function.template.is_none() { vec![function.name.clone()] } else { Vec::new() };
    }
    let template = function.template.is_some();
    only.iter()
        .filter(|o| {
            let (base, arguments) = o.split_once('<').map_or((o.as_str(), false), |(b, _)| (b, true));
            base.rsplit("::").next().unwrap_or(base).trim() == function.name && (arguments || !template)
        })
        .cloned()
        .collect()
}

fn parameter(unit: &Unit, a: usize, b: usize, index: u32) -> Result<EntryParam, Problem> {
    let end = (a..b).find(|i| unit.is(*i, "=")).unwrap_or(b);
    let name_at = (a..end).rev().find(|i| unit.ident(*i).is_some_and(|w| w != "const"));
    let name = name_at.and_then(|i| unit.ident(i)).unwrap_or_default().to_owned();
    let stars: Vec<usize> = (a..end).filter(|i| unit.is(*i, "*")).collect();
    if (a..end).any(|i| unit.is(i, "&")) || stars.len() > 1 {
        return Err(Problem::at(
            "unsupported-parameter",
            unit.loc(a),
            format!("parameter `{name}` of a kernel is neither a plain pointer nor a value"),
        )
        .help("pass one buffer a parameter, and values by value"));
    }
    let array = name_at.is_some_and(|n| unit.is(unit.next(n), "["));
    let words = |lo: usize, hi: usize| -> String {
        let parts: Vec<&str> =
            (lo..hi).filter_map(|i| unit.ident(i)).filter(|w| !matches!(*w, "const" | "volatile" | "struct")).collect();
        parts.join(" ")
    };
    let loc = unit.loc(name_at.unwrap_or(a));
    let pointer = stars.first().copied().or_else(|| array.then(|| name_at.unwrap_or(end)));
    Ok(if let Some(star) = pointer {
        let read_only = (a..star).any(|i| unit.is_ident(i, "const"));
        let kind = ParamKind::Buffer {
            index,
            constant: false,
            read_only,
            reference: false,
            element: words(a, star),
            element_bytes: 0,
        };
        EntryParam::made(name, kind, loc, Adapter::Pointer)
    } else {
        let kind = ParamKind::Buffer {
            index,
            constant: true,
            read_only: true,
            reference: true,
            element: words(a, name_at.unwrap_or(end)),
            element_bytes: 0,
        };
        EntryParam::made(name, kind, loc, Adapter::Value)
    })
}
