//! Memory spaces of members and of references. In MSL a member function without a qualifier works on a `thread`
//! object, constructors may be written once for each space, and a `const thread` reference takes a temporary; C++ for
//! OpenCL sees all three differently.

use super::scan::{Function, Outline, Record};
use super::unit::Unit;

const SPACES: [&str; 4] = ["thread", "device", "threadgroup", "constant"];

/// Asks for the edits.
pub fn qualify(u: &mut Unit, outline: &Outline) {
    for record in &outline.records {
        constructors(u, outline, record);
    }
    for function in &outline.functions {
        if is_conversion(u, function) {
            // The result of a call has no space in C++ for OpenCL, and would not convert: any object may.
            if let Some(thread) = qualifiers(u, function).find(|i| u.is_ident(*i, "thread")) {
                u.replace(thread, "");
            }
        } else if is_unqualified_member(u, outline, function) {
            u.insert_after(function.params.1, " __private");
        }
        if !function.kernel {
            const_references(u, function);
        }
    }
}

/// Index one past the qualifiers that follow a parameter list.
fn qualifiers(u: &Unit, function: &Function) -> std::ops::Range<usize> {
    let start = u.next(function.params.1);
    let mut end = start;
    while u.ident(end).is_some_and(|w| w == "const" || w == "volatile" || SPACES.contains(&w)) {
        end = u.next(end);
    }
    start..end
}

/// `operator TYPE()`.
fn is_conversion(u: &Unit, f: &Function) -> bool {
    let operator = (f.start..f.params.0).rev().find(|i| u.is_ident(*i, "operator"));
    operator.is_some_and(|i| u.ident(u.next(i)).is_some_and(|w| w != "new" && w != "delete"))
}

fn is_unqualified_member(u: &Unit, outline: &Outline, f: &Function) -> bool {
    let Some(owner) = f.record.clone().or_else(|| outside_owner(u, outline, f)) else { return false };
    if f.friend || f.name == owner || u.prev(f.name_at).is_some_and(|p| u.is(p, "~")) {
        return false;
    }
    let is_static = |g: &Function| (g.start..g.name_at).any(|i| u.is_ident(i, "static"));
    if is_static(f)
        || outline
            .functions
            .iter()
            .any(|g| g.record.as_ref() == Some(&owner) && g.name == f.name && f.record.is_none() && is_static(g))
    {
        return false;
    }
    !qualifiers(u, f).any(|i| u.ident(i).is_some_and(|w| SPACES.contains(&w)))
}

/// The record of a member defined outside: `Owner::name(..)` or `Owner<T>::name(..)`.
fn outside_owner(u: &Unit, outline: &Outline, f: &Function) -> Option<String> {
    let colons = u.prev(f.name_at).filter(|p| u.is(*p, "::"))?;
    let is_record = |w: &str| outline.records.iter().any(|r| r.name.as_deref() == Some(w));
    let nearest = (colons.saturating_sub(64)..colons).rev().find(|i| u.ident(*i).is_some_and(is_record))?;
    u.ident(nearest).map(str::to_owned)
}

/// Of constructors that differ only in their space, all but `constant` are one: it may work on any object.
fn constructors(u: &mut Unit, outline: &Outline, record: &Record) {
    let mut seen: Vec<String> = Vec::new();
    for params in &record.constructors {
        let Some(f) = outline.functions.iter().find(|f| f.params == *params) else { continue };
        let words = qualifiers(u, f);
        let space = words.clone().find(|i| u.ident(*i).is_some_and(|w| SPACES.contains(&w)));
        if space.is_some_and(|i| u.is_ident(i, "constant")) {
            continue;
        }
        let signature = u.spell(params.0, params.1);
        if seen.contains(&signature) {
            u.remove(f.start, f.end);
        } else {
            seen.push(signature);
            if let Some(i) = space {
                u.replace(i, "");
            }
        }
    }
}

/// `const thread T& x` as a parameter becomes `const T x`: it takes temporaries, and `T` is deduced without a space.
/// Where the function returns a reference, the parameter may be what it returns, and stays.
fn const_references(u: &mut Unit, f: &Function) {
    if (f.start..f.name_at).any(|i| u.is(i, "&")) {
        return;
    }
    let (open, close) = f.params;
    for (a, b) in u.split(open + 1, close) {
        let end = (a..b).find(|i| u.is(*i, "=")).unwrap_or(b);
        let top: Vec<usize> = top_level(u, a, end);
        let has = |w: &str| top.iter().find(|i| u.is_ident(**i, w)).copied();
        let ampersands: Vec<usize> = top.iter().filter(|i| u.is(**i, "&")).copied().collect();
        let pointers = top.iter().any(|i| u.is(*i, "*") || u.is(*i, "(") || u.is(*i, "["));
        if let (Some(_), Some(thread), [ampersand], false) =
            (has("const"), has("thread"), ampersands.as_slice(), pointers)
        {
            u.replace(thread, "");
            u.replace(*ampersand, " ");
        }
    }
}

/// Indices of `a..b` outside template lists.
fn top_level(u: &Unit, a: usize, b: usize) -> Vec<usize> {
    let mut out = Vec::new();
    let mut i = a;
    while i < b {
        if u.is(i, "<")
            && let Some(close) = u.angle(i, b)
        {
            i = close;
        } else {
            out.push(i);
        }
        i += 1;
    }
    out
}
