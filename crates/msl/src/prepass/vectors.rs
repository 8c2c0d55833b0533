//! Vector conversions: `float4(a, b)`, `(float4)x`, `static_cast<float4>(x)` and `float4 v(a, b);` become calls of the
//! library's `__ks_make`, because C++ for OpenCL converts vectors only by other means. Arguments that are comparisons
//! are marked, since a comparison of vectors gives -1 for true there and 1 in MSL. Knows token shapes only.

use super::scan::{Outline, may_be_vector};
use super::unit::Unit;
use super::words;
use crate::source::{Kind, Token};

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
            "vec" if u.is(u.next(i), "<") && u.is_ident(u.next(u.next(i)), "bool") => {
                // A vector of bool is a record of its own.
                let open = u.next(i);
                u.replace(i, "__ks_bvec");
                u.remove(u.next(open), u.next(open) + 1);
                let comma = u.next(u.next(open));
                u.remove(comma, comma + 1);
            }
            "auto" => Self::auto(u, i),
            _ => {
                if let Some(end) = self.type_end(u, i) {
                    self.typed(u, i, end);
                }
            }
        }
    }

    /// If a type that may be a vector starts at `i`, the index after it. A qualified name starts at its first part.
    fn type_end(&self, u: &Unit, i: usize) -> Option<usize> {
        let word = u.ident(i)?;
        let before = i.checked_sub(1).and_then(|p| u.get(p));
        if before.is_some_and(|t| t.is(".") || t.is("->") || t.is("~") || t.is("::") || t.is_ident("operator")) {
            return None;
        }
        match word {
            "metal" | "simd" => {
                let colons = u.next(i);
                let name = u.next(colons);
                let inner = u.ident(name)?;
                if !u.is(colons, "::") || !(inner == "vec" || words::vector(inner).is_some()) {
                    return None;
                }
                self.template_end(u, name)
            }
            "typename" => {
                let mut n = u.next(i);
                loop {
                    u.ident(n)?;
                    n = self.template_end(u, n)?;
                    if !u.is(n, "::") {
                        return Some(n);
                    }
                    n = u.next(n);
                }
            }
            "vec" => {
                let end = self.template_end(u, i)?;
                (end > i + 1).then_some(end)
            }
            _ if words::vector(word).is_some() => Some(i + 1),
            _ => {
                may_be_vector(u, self.outline, i, i + 1, 4).then_some(())?;
                let end = self.template_end(u, i)?;
                (!u.is(end, "::")).then_some(end)
            }
        }
    }

    fn template_end(&self, u: &Unit, name: usize) -> Option<usize> {
        let open = u.next(name);
        if u.is(open, "<")
            && u.get(name).is_some_and(|t| {
                t.is_ident("vec") || self.outline.type_name(&t.text, name).is_none_or(|t| t.target.is_some())
            })
        {
            return u.angle(open, u.len()).map(|c| u.skip(c + 1));
        }
        Some(open)
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
        if self.type_end(u, first) != Some(close) {
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
        let Some(end) = self.operand_end(u, operand) else { return };
        self.casts.push(close);
        u.replace(open, "__ks_make<");
        u.replace(close, ">(");
        u.insert_after(end - 1, ")");
        if u.is(operand, "(") && u.pair(operand) == Some(end - 1) && is_comparison(u, operand + 1, end - 1) {
            u.insert_before(operand, "__ks_mask(");
            u.insert_after(end - 1, ")");
        }
    }

    /// One past the cast-expression that starts at `i`.
    fn operand_end(&self, u: &Unit, mut i: usize) -> Option<usize> {
        for _ in 0..64 {
            let token = u.get(i)?;
            if token.kind == Kind::Punct && matches!(&*token.text, "+" | "-" | "!" | "~" | "*" | "&" | "++" | "--") {
                i = u.next(i);
            } else if token.is("(") {
                let close = u.pair(i)?;
                let after = u.skip(close + 1);
                if self.is_cast(u, i, close) && starts_operand(u.get(after)) {
                    i = after;
                } else {
                    return Some(Self::postfix(u, close + 1));
                }
            } else if matches!(token.kind, Kind::Number | Kind::Str | Kind::Char) {
                return Some(Self::postfix(u, i + 1));
            } else if token.kind == Kind::Ident {
                let mut n = i;
                loop {
                    let open = u.next(n);
                    if u.is(open, "<")
                        && let Some(close) = u.angle(open, u.len()).filter(|c| {
                            let after = u.get(u.next(*c));
                            u.plausible_template(open, *c)
                                && after.is_some_and(|t| t.is("(") || t.is("{") || t.is("::"))
                        })
                    {
                        n = close;
                    }
                    if u.is(u.next(n), "::") && u.ident(u.next(u.next(n))).is_some() {
                        n = u.next(u.next(n));
                    } else {
                        break;
                    }
                }
                let mut end = n + 1;
                if u.is(u.skip(end), "{") {
                    end = u.pair(u.skip(end))? + 1;
                }
                return Some(Self::postfix(u, end));
            } else {
                return None;
            }
        }
        None
    }

    fn is_cast(&self, u: &Unit, open: usize, close: usize) -> bool {
        let mut first = u.skip(open + 1);
        let mut qualified = false;
        while matches!(u.ident(first), Some("const" | "device" | "thread" | "threadgroup" | "constant" | "volatile")) {
            first = u.next(first);
            qualified = true;
        }
        let Some(word) = u.ident(first) else { return false };
        let scalar = words::SCALARS.iter().any(|(n, _)| *n == word)
            || matches!(word, "bool" | "unsigned" | "signed" | "bfloat" | "size_t");
        (scalar && (first + 1..close).all(|n| u.is(n, "*") || u.ident(n).is_some()))
            || self.type_end(u, first) == Some(close)
            || qualified
    }

    fn postfix(u: &Unit, mut end: usize) -> usize {
        loop {
            let n = u.skip(end);
            if (u.is(n, "(") || u.is(n, "["))
                && let Some(close) = u.pair(n)
            {
                end = close + 1;
            } else if (u.is(n, ".") || u.is(n, "->")) && u.ident(u.next(n)).is_some() {
                end = u.next(n) + 1;
            } else if u.is(n, "++") || u.is(n, "--") {
                end = n + 1;
            } else {
                return end;
            }
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
            end = u.pair(end).filter(|p| *p > end).unwrap_or(end) + 1;
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

fn starts_operand(token: Option<&Token>) -> bool {
    token.is_some_and(|t| match t.kind {
        Kind::Ident => true,
        Kind::Number | Kind::Str | Kind::Char => true,
        Kind::Punct => matches!(&*t.text, "(" | "-" | "+" | "!" | "~" | "*" | "&"),
        _ => false,
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
                "<" => {
                    let named = i > lo && u.ident(i - 1).is_some();
                    match named.then(|| u.angle(i, hi)).flatten().filter(|c| {
                        u.plausible_template(i, *c)
                            && u.get(u.next(*c)).is_some_and(|t| t.is("(") || t.is("::") || t.is("{"))
                    }) {
                        Some(close) => i = close,
                        None => found = true,
                    }
                }
                _ => {}
            }
        }
        i = u.pair(i).filter(|p| *p > i).unwrap_or(i) + 1;
    }
    found
}
