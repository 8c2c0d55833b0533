//! `extern __shared__ T x[];`: memory that the launch sizes. Every such name is a pointer to the same block. Knows the
//! declaration's form only.

use crate::prepass::scan::Outline;
use crate::prepass::unit::Unit;

/// Rewrites the declarations; returns whether there was one.
pub fn dynamic(unit: &mut Unit, outline: &Outline) -> bool {
    let mut found = false;
    let bodies: Vec<(usize, usize)> = outline.functions.iter().filter_map(|f| f.body).collect();
    for i in 0..unit.len() {
        if !unit.is_ident(i, "extern") {
            continue;
        }
        let Some(d) = declaration(unit, i) else { continue };
        found = true;
        let ty = unit.render(d.ty.0, d.ty.1);
        let name = unit.render(d.name, d.name + 1);
        let pointer = format!("({ty}*)(__local {ty}*)__ks_dynamic()");
        let inside = bodies.iter().any(|(open, close)| *open < i && i < *close);
        if inside {
            // The declaration's own semicolon ends the new one.
            unit.remove(i, d.end);
            unit.insert_before(d.end, format!("{ty}* {name} = {pointer}"));
        } else {
            let plain = unit.ident(d.name).unwrap_or_default().to_owned();
            unit.remove(i, d.end + 1);
            for (open, close) in &bodies {
                for n in *open..*close {
                    if unit.is_ident(n, &plain) && !unit.prev(n).is_some_and(|p| unit.is(p, ".") || unit.is(p, "->")) {
                        unit.replace(n, format!("({pointer})"));
                    }
                }
            }
        }
    }
    found
}

struct Declaration {
    /// Tokens of the type.
    ty: (usize, usize),
    name: usize,
    /// Index of the `;`.
    end: usize,
}

fn declaration(unit: &Unit, at: usize) -> Option<Declaration> {
    let mut i = unit.next(at);
    let mut shared = false;
    let mut first = None;
    loop {
        match unit.ident(i) {
            Some("threadgroup") => shared = true,
            Some("alignas" | "__attribute__") => i = unit.pair(unit.next(i))?,
            Some("volatile") => {}
            Some(_) => {
                let open = unit.next(i);
                if unit.is(open, "[") && unit.is(unit.next(open), "]") {
                    let end = unit.next(unit.next(open));
                    return (shared && unit.is(end, ";")).then_some(first).flatten().map(|start| Declaration {
                        ty: (start, i),
                        name: i,
                        end,
                    });
                }
                first.get_or_insert(i);
            }
            None if unit.is(i, "::") => {}
            None if unit.is(i, "<") => i = unit.angle(i, unit.len())?,
            None => return None,
        }
        i = unit.next(i);
    }
}
