//! `threadgroup T x[N];` inside a function: C++ for OpenCL refuses it there, so it becomes a reference to memory that
//! the library's `__ks_tg` hands out. The IR pass turns each hand-out into a global of its own.

use std::fmt::Write;

use super::scan::Outline;
use super::unit::Unit;
use crate::source::Loc;

/// One declaration of threadgroup memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Variable's name.
    pub name: String,
    /// Where it is declared.
    pub loc: Loc,
}

/// Rewrites all declarations; the index in the result is the number in the IR. The references that stand for the
/// variables are of this memory space (`__local `), or generic where it is empty.
pub fn hoist(unit: &mut Unit, outline: &Outline, space: &str) -> Vec<Allocation> {
    let mut out = Vec::new();
    let bodies: Vec<(usize, usize)> = outline.functions.iter().filter_map(|f| f.body).collect();
    for (open, close) in bodies {
        let mut i = open + 1;
        while i < close {
            if unit.is_ident(i, "threadgroup")
                && let Some(end) = declaration(unit, i, close, space, &mut out)
            {
                i = end;
            }
            i += 1;
        }
    }
    out
}

/// The declaration whose `threadgroup` is at `at`; returns the index of its `;` when it is one.
fn declaration(u: &mut Unit, at: usize, hi: usize, space: &str, out: &mut Vec<Allocation>) -> Option<usize> {
    let mut start = at;
    while let Some(p) = u.prev(start) {
        if matches!(u.ident(p), Some("static" | "const" | "volatile")) {
            start = p;
        } else if u.is(p, ";") || u.is(p, "{") || u.is(p, "}") || u.is(p, ":") {
            break;
        } else {
            return None;
        }
    }
    // The type: qualifiers, then a name or built-in words.
    let mut i = u.next(at);
    let mut align = None;
    let mut named = false;
    loop {
        let word = u.ident(i)?.to_owned();
        match word.as_str() {
            "const" | "volatile" | "static" | "struct" | "typename" => i = u.next(i),
            "alignas" | "__attribute__" => {
                let close = u.pair(u.next(i))?;
                if word == "alignas" {
                    align = Some((i, close));
                }
                i = u.skip(close + 1);
            }
            "unsigned" | "signed" => {
                named = true;
                i = u.next(i);
            }
            "char" | "short" | "int" | "long" => {
                named = true;
                i = u.next(i);
            }
            _ if named => break,
            _ => {
                named = true;
                i = u.next(i);
                loop {
                    if u.is(i, "<") {
                        i = u.skip(u.angle(i, hi)? + 1);
                    }
                    if !u.is(i, "::") {
                        break;
                    }
                    i = u.next(u.next(i));
                }
            }
        }
        if u.get(i).is_none_or(|t| t.ident().is_none()) {
            return None;
        }
    }
    let align_text = match align {
        Some((a, b)) => {
            let text = u.render(u.next(a) + 1, b);
            u.remove(a, b + 1);
            format!(", {text}")
        }
        None => String::new(),
    };
    let mut references = String::new();
    loop {
        let name = u.ident(i)?.to_owned();
        let n = out.len();
        out.push(Allocation { name, loc: u.loc(i) });
        let printed = u.render(i, i + 1);
        u.replace(i, format!("__ks_tg{n}"));
        let _ = write!(references, " {space}__ks_tg{n} &{printed} = __ks_tg<__ks_tg{n}, {n}{align_text}>();");
        i = u.next(i);
        while u.is(i, "[") || u.is_ident(i, "__attribute__") {
            let open = if u.is(i, "[") { i } else { u.next(i) };
            i = u.skip(u.pair(open)? + 1);
        }
        if u.is(i, "=") || u.is(i, "{") {
            // Apple's compiler takes an initialiser and does nothing with it.
            let start = i;
            while i < hi && !u.is(i, ";") && !u.is(i, ",") {
                i = u.pair(i).filter(|p| *p > i).unwrap_or(i) + 1;
            }
            u.remove(start, i);
        }
        if u.is(i, ";") {
            break;
        }
        if !u.is(i, ",") {
            return None;
        }
        i = u.next(i);
    }
    for n in start..at {
        if u.ident(n).is_some() {
            u.replace(n, "");
        }
    }
    u.replace(at, "typedef");
    u.insert_after(i, references);
    Some(i)
}
