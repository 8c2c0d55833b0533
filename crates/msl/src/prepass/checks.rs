//! What Apple's compiler refuses and clang alone would not: each check names the construct at the place where Apple's
//! compiler points. Knows MSL's rules about declarations.

use super::scan::{Function, Outline, attributes};
use super::unit::Unit;
use super::words;
use crate::pp::Problem;
use crate::source::Kind;

/// Runs all checks.
pub fn check(u: &Unit, outline: &Outline) -> Result<(), Problem> {
    for function in &outline.functions {
        attributes_after(u, function)?;
        if function.kernel {
            same_dimensions(u, function)?;
        }
    }
    globals(u, outline)?;
    lambdas(u)?;
    unsupported_types(u)
}

/// `[[max_total_threads_per_threadgroup(n)]]` belongs before the function.
fn attributes_after(u: &Unit, f: &Function) -> Result<(), Problem> {
    let end = f.body.map_or(f.end, |(open, _)| open);
    for attr in attributes(u, f.params.1, end) {
        if matches!(attr.name.as_str(), "max_total_threads_per_threadgroup" | "kernel" | "host_name") {
            let message = format!("`[[{}]]` cannot stand after the parameter list", attr.name);
            return Err(Problem::at("misplaced-attribute", attr.loc, message)
                .help("write it before the function: `[[...]] kernel void ...`"));
        }
    }
    Ok(())
}

const POSITIONS: [&str; 7] = [
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
    "dispatch_threads_per_threadgroup",
    "threadgroups_per_grid",
];

/// Positions and sizes of one kernel are all scalars, or all vectors of one width.
fn same_dimensions(u: &Unit, f: &Function) -> Result<(), Problem> {
    let (open, close) = f.params;
    let mut first: Option<(String, u8)> = None;
    for (a, b) in u.split(open + 1, close) {
        let Some(attr) = attributes(u, a, b).into_iter().find(|t| POSITIONS.contains(&t.name.as_str())).cloned() else {
            continue;
        };
        let width = (a..b).find_map(|i| u.ident(i).and_then(|w| words::vector(w, u.double))).map_or(1, |(_, n)| n);
        match &first {
            None => first = Some((attr.name, width)),
            Some((name, other)) if *other != width => {
                let message = format!(
                    "`{name}` has {other} dimension{} and `{}` has {width}: positions and sizes of one kernel must all be scalars or all be vectors of the same width",
                    if *other == 1 { "" } else { "s" },
                    attr.name
                );
                return Err(Problem::at("mixed-dimensions", u.loc(f.name_at), message)
                    .help("declare them all as `uint`, all as `uint2` or all as `uint3`"));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Variables outside functions live in `constant` memory.
fn globals(u: &Unit, outline: &Outline) -> Result<(), Problem> {
    for global in &outline.globals {
        let (lo, hi) = (global.range.start, global.range.end);
        let first = u.skip(lo);
        let declares = u
            .ident(first)
            .is_some_and(|w| !matches!(w, "struct" | "class" | "union" | "enum" | "using" | "typedef" | "template"))
            && !(lo..hi).any(|i| u.is_ident(i, "constant") || u.is_ident(i, "sampler") || u.is_ident(i, "operator"));
        let template = u.is_ident(first, "template") && (lo..hi).any(|i| u.is(i, "="));
        if !(declares
            || template
                && !(lo..hi)
                    .any(|i| u.is_ident(i, "constant") || matches!(u.ident(i), Some("struct" | "class" | "using"))))
        {
            continue;
        }
        let end = (lo..hi).find(|i| u.is(*i, "=") || u.is(*i, "[") || u.is(*i, "{") || u.is(*i, ";")).unwrap_or(hi);
        let Some(name) = u.prev(end).filter(|i| *i > first && u.ident(*i).is_some()) else { continue };
        let message = format!(
            "`{}` is declared outside of functions and must be in `constant` memory",
            u.ident(name).unwrap_or("")
        );
        return Err(
            Problem::at("program-scope-variable", u.loc(name), message).help("write `constant` before its type")
        );
    }
    Ok(())
}

/// `[captures](...) {...}`
fn lambdas(u: &Unit) -> Result<(), Problem> {
    for i in 0..u.len() {
        if !u.is(i, "[") {
            continue;
        }
        let operand = u.prev(i).is_some_and(|p| {
            let t = &u.toks[p];
            (t.kind == Kind::Ident && !matches!(&*t.text, "return" | "else" | "do"))
                || t.is(")")
                || t.is("]")
                || t.is(">")
        });
        let Some(close) = u.pair(i).filter(|_| !operand) else { continue };
        let next = u.skip(close + 1);
        if u.is(next, "(") || u.is(next, "{") {
            return Err(Problem::at("lambda", u.loc(i), "lambda expressions do not exist in MSL")
                .help("write a function or a functor"));
        }
    }
    Ok(())
}

/// Types that need hardware that nothing here models.
fn unsupported_types(u: &Unit) -> Result<(), Problem> {
    for i in 0..u.len() {
        let Some(word) = u.ident(i) else { continue };
        let Some(what) = words::unsupported_type(word) else { continue };
        // Only where it is used as a type: with template arguments, or before a name.
        let next = u.next(i);
        let is_type =
            u.is(next, "<") || (u.ident(next).is_some() && u.prev(i).is_none_or(|p| !u.is(p, ".") && !u.is(p, "->")));
        if is_type && !u.prev(i).is_some_and(|p| matches!(u.ident(p), Some("struct" | "class" | "using"))) {
            return Err(Problem::at(
                "unsupported-type",
                u.loc(i),
                format!("`{word}` is not supported: it belongs to {what}"),
            )
            .help("kernels here take buffers, threadgroup memory and positions"));
        }
    }
    Ok(())
}
