//! Vector conversions: `float4(a, b)`, `(float4)x`, `static_cast<float4>(x)` and `float4 v(a, b);` become calls of the
//! library's `__ks_make`, because C++ for OpenCL converts vectors only by other means. Arguments that are comparisons
//! are marked, since a comparison of vectors gives -1 for true there and 1 in MSL. Knows token shapes only.

use super::expr::{operand_end, type_end};
use super::scan::{Outline, may_be_vector};
use super::unit::Unit;
use crate::source::Kind;

/// Asks for all vector edits.
pub fn rewrite(unit: &mut Unit, outline: &Outline) {
    let mut pass = Pass { outline, casts: Vec::new() };
    let mut i = 0;
    while i < unit.len() {
        pass.visit(unit, i);
        i += 1;
    }
}

struct Pass<'a> {
    outline: &'a Outline,
    /// Closing parentheses of casts already found.
    casts: Vec<usize>,
}

impl Pass<'_> {
    fn visit(&mut self, u: &mut Unit, i: usize) {
        let Some(token) = u.get(i) else { return };
        if token.is("(") {
            self.c_cast(u, i);
            return;
        }
        let Some(word) = token.ident() else { return };
        let vec = word == "vec";
        match word {
            "static_cast" => {
                let open = u.next(i);
                let Some(close) = u.is(open, "<").then(|| u.angle(open, u.len())).flatten() else { return };
                let plain = !(open..close).any(|n| u.is(n, "*") || u.is(n, "&"));
                if plain && may_be_vector(u, self.outline, open + 1, close, 4) {
                    u.replace(i, "__ks_make");
                    Self::mark_comparisons(u, u.skip(close + 1));
                }
            }
            "auto" => Self::auto(u, i),
            _ => {
                if let Some(end) = type_end(u, self.outline, i) {
                    self.typed(u, i, end);
                }
                if vec {
                    self.vec(u, i);
                }
            }
        }
    }

    /// `vec<T, N>`: outside of what template arguments are deduced from, a form that takes any element type. A vector
    /// of 64 is the storage of an 8x8 matrix, of which each lane has two elements.
    fn vec(&self, u: &mut Unit, i: usize) {
        let open = u.next(i);
        let Some(close) = u.is(open, "<").then(|| u.angle(open, u.len())).flatten() else { return };
        if let Some(last) = u.prev(close).filter(|p| u.get(*p).is_some_and(|t| &*t.text == "64")) {
            u.replace(last, "2");
        }
        let deduced = self
            .outline
            .functions
            .iter()
            .any(|f| f.template.is_some() && !f.kernel && f.params.0 < i && i < f.params.1);
        // An alias template may be what something is deduced from.
        let alias = self.outline.type_names.iter().any(|t| {
            t.target.as_ref().is_some_and(|r| r.contains(&i)) && u.prev(t.range.start).is_some_and(|p| u.is(p, ">"))
        });
        let specialised = self.outline.records.iter().any(|r| r.keyword_at < i && i < r.body.0);
        if !deduced && !specialised && !alias {
            u.replace(i, "__ks_vec_t");
        }
    }

    /// A vector type at `i..end`: a conversion if `(` follows, a declaration with arguments if a name and `(` do.
    fn typed(&mut self, u: &mut Unit, i: usize, end: usize) {
        if u.is(end, "(") {
            let inner = u.next(end);
            let declarator = u.is(inner, "&") || u.is(inner, "*");
            if declarator {
                let close = u.pair(end).map_or(end, |p| u.skip(p + 1));
                if u.is(close, "[") || (u.is(close, "(") && u.prev(i).is_none_or(|p| !u.is(p, "="))) {
                    return;
                }
            }
            u.insert_before(i, "__ks_make<");
            u.insert_after(end - 1, ">");
            Self::mark_comparisons(u, end);
        } else if u.ident(end).is_some() && u.is(u.next(end), "(") {
            // `float4 v(a, b);` inside a function.
            let open = u.next(end);
            let Some(close) = u.pair(open) else { return };
            let after = u.skip(close + 1);
            let first = u.skip(open + 1);
            let inside = self.outline.functions.iter().any(|f| f.body.is_some_and(|(a, b)| a < i && i < b));
            if inside && first < close && (u.is(after, ";") || u.is(after, ",")) && Self::plain_expression(u, first) {
                let ty = u.spell(i, end);
                u.insert_after(end, format!(" = __ks_make<{ty}>"));
                Self::mark_comparisons(u, open);
            }
        }
    }

    /// Does an expression start here, rather than a parameter declaration?
    fn plain_expression(u: &Unit, i: usize) -> bool {
        let Some(token) = u.get(i) else { return false };
        if matches!(token.kind, Kind::Number) || token.kind == Kind::Punct {
            return true;
        }
        !u.get(u.next(i)).is_some_and(|t| t.kind == Kind::Ident)
    }

    fn c_cast(&mut self, u: &mut Unit, open: usize) {
        let Some(close) = u.pair(open) else { return };
        let mut first = u.skip(open + 1);
        if u.is_ident(first, "const") {
            first = u.next(first);
        }
        if type_end(u, self.outline, first) != Some(close) {
            return;
        }
        if let Some(p) = u.prev(open) {
            let t = &u.toks[p];
            let blocks = match t.kind {
                Kind::Ident => !matches!(&*t.text, "return" | "case" | "else" | "do" | "in" | "co_return"),
                Kind::Number | Kind::Str | Kind::Char => true,
                _ => t.is("]") || (t.is(")") && !self.casts.contains(&p) && !ends_condition(u, p)),
            };
            if blocks {
                return;
            }
        }
        let operand = u.skip(close + 1);
        let Some(end) = operand_end(u, self.outline, operand) else { return };
        self.casts.push(close);
        u.replace(open, "__ks_make<");
        u.replace(close, ">(");
        u.insert_after(end - 1, ")");
        if u.is(operand, "(") && u.pair(operand) == Some(end - 1) && is_comparison(u, operand + 1, end - 1) {
            u.insert_before(operand, "__ks_mask(");
            u.insert_after(end - 1, ")");
        }
    }

    /// Wraps the arguments of the call at `open` that are comparisons.
    fn mark_comparisons(u: &mut Unit, open: usize) {
        let Some(close) = u.pair(open) else { return };
        for (a, b) in u.split(open + 1, close) {
            let a = u.skip(a);
            if a < b && is_comparison(u, a, b) {
                u.insert_before(a, "__ks_mask(");
                u.insert_after(b - 1, ")");
            }
        }
    }

    /// `auto m = a < b;`
    fn auto(u: &mut Unit, i: usize) {
        let name = u.next(i);
        let equals = u.next(name);
        if u.ident(name).is_none() || !u.is(equals, "=") {
            return;
        }
        let first = u.next(equals);
        let mut end = first;
        while end < u.len() && !u.is(end, ";") && !u.is(end, ",") && !u.is(end, ")") {
            end = arguments_end(u, end, u.len()).or_else(|| u.pair(end).filter(|p| *p > end)).unwrap_or(end) + 1;
        }
        if first < end && is_comparison(u, first, end) {
            u.insert_before(first, "__ks_mask(");
            u.insert_after(end - 1, ")");
        }
    }
}

/// Does the `)` close the head of an `if`, `while` or `for`?
fn ends_condition(u: &Unit, close: usize) -> bool {
    let word = u.pair(close).and_then(|open| u.prev(open)).and_then(|p| u.ident(p));
    matches!(word, Some("if" | "while" | "for" | "switch"))
}

/// The `>` of template arguments of something that is called or named, if a `<` at `i` opens such.
fn arguments_end(u: &Unit, i: usize, hi: usize) -> Option<usize> {
    let named = u.is(i, "<") && i > 0 && u.ident(i - 1).is_some();
    named.then(|| u.angle(i, hi)).flatten().filter(|c| {
        u.plausible_template(i, *c) && u.get(u.next(*c)).is_some_and(|t| t.is("(") || t.is("::") || t.is("{"))
    })
}

/// Is the outermost operator of the expression a comparison or a logical one?
fn is_comparison(u: &Unit, lo: usize, hi: usize) -> bool {
    let mut found = u.is(u.skip(lo), "!");
    let mut i = lo;
    while i < hi {
        let Some(token) = u.get(i) else { break };
        if token.kind == Kind::Punct {
            match &*token.text {
                "?" => return false,
                "==" | "!=" | "<=" | ">=" | "&&" | "||" | ">" => found = true,
                "<" => match (i > lo).then(|| arguments_end(u, i, hi)).flatten() {
                    Some(close) => i = close,
                    None => found = true,
                },
                _ => {}
            }
        }
        i = u.pair(i).filter(|p| *p > i).unwrap_or(i) + 1;
    }
    found
}
