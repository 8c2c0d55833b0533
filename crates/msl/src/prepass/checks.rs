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
            returns_nothing(u, function)?;
            same_dimensions(u, function)?;
        }
        attributes_inside(u, function)?;
    }
    pointer_spaces(u)?;
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

/// A kernel returns nothing.
fn returns_nothing(u: &Unit, f: &Function) -> Result<(), Problem> {
    let Some(ty) = u.prev(f.name_at).filter(|p| *p >= f.start && u.ident(*p).is_some()) else { return Ok(()) };
    let word = u.ident(ty).unwrap_or("");
    if word == "void" || word == "kernel" || !is_value_type(word) {
        return Ok(());
    }
    Err(Problem::at("kernel-result", u.loc(f.name_at), format!("kernel `{}` returns a `{word}`", f.name))
        .help("a kernel returns `void`: write results to a buffer"))
}

/// Indices and positions belong to parameters, not to variables.
fn attributes_inside(u: &Unit, f: &Function) -> Result<(), Problem> {
    let Some((open, close)) = f.body else { return Ok(()) };
    for attr in attributes(u, open, close) {
        let name = attr.name.as_str();
        if POSITIONS.contains(&name)
            || matches!(name, "buffer" | "threadgroup" | "thread_index_in_threadgroup" | "thread_index_in_simdgroup")
        {
            let message = format!("`[[{name}]]` belongs to a kernel's parameter, not to a variable");
            return Err(Problem::at("misplaced-attribute", attr.loc, message)
                .help("add a parameter with this attribute to the kernel"));
        }
    }
    Ok(())
}

const SPACES: [&str; 4] = ["device", "constant", "threadgroup", "thread"];

fn is_value_type(word: &str) -> bool {
    words::vector(word, true).is_some()
        || words::SCALARS.iter().any(|(n, _)| *n == word)
        || matches!(word, "bool" | "bfloat" | "unsigned" | "size_t")
}

/// A pointer or reference says where what it points to lives.
fn pointer_spaces(u: &Unit) -> Result<(), Problem> {
    for i in 0..u.len() {
        if !u.ident(i).is_some_and(is_value_type) {
            continue;
        }
        let mut end = u.next(i);
        let mut named = false;
        while let Some(word) = u
            .ident(end)
            .filter(|w| is_value_type(w) || SPACES.contains(w) || matches!(*w, "const" | "volatile" | "int" | "long"))
        {
            named |= SPACES.contains(&word);
            end = u.next(end);
        }
        let inside = u.next(end);
        let direct = (u.is(end, "*") || u.is(end, "&")) && {
            let t = u.get(inside);
            t.is_some_and(|t| t.kind == Kind::Ident || t.is(")") || t.is(">") || t.is(","))
        };
        let wrapped = u.is(end, "(")
            && (u.is(inside, "*") || u.is(inside, "&"))
            && u.ident(u.next(inside)).is_some()
            && u.pair(end).is_some_and(|p| u.is(u.next(p), "["));
        if !(direct || wrapped) {
            continue;
        }
        let mut before = u.prev(i);
        while let Some(word) = before.and_then(|p| u.ident(p)) {
            named |= SPACES.contains(&word);
            if !(SPACES.contains(&word)
                || is_value_type(word)
                || matches!(word, "const" | "volatile" | "static" | "constexpr" | "inline"))
            {
                break;
            }
            before = before.and_then(|p| u.prev(p));
        }
        // `sizeof(float*)` and the like need no place.
        let measured = before.is_some_and(|p| {
            u.is(p, "(") && u.prev(p).is_some_and(|q| matches!(u.ident(q), Some("sizeof" | "alignof" | "decltype")))
        });
        let qualified = before.is_some_and(|p| u.is(p, "::") || u.is(p, ".") || u.is(p, "->"));
        if !named && !measured && !qualified {
            let star = if direct { end } else { inside };
            let what = if u.is(star, "*") { "pointer" } else { "reference" };
            return Err(Problem::at(
                "address-space",
                u.loc(i),
                format!("this {what} does not say which memory it points to"),
            )
            .help("write `device`, `constant`, `threadgroup` or `thread` before the type"));
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
