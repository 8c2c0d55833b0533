//! The extent of expressions and types in a token stream, found by brackets and operators alone. Knows C++'s grammar of
//! operators; nothing of what they mean.

use super::scan::{Outline, may_be_vector};
use super::unit::Unit;
use super::words;
use crate::source::{Kind, Token};

/// If a type that may be a vector starts at `i`, the index after it. A qualified name starts at its first part.
pub fn type_end(u: &Unit, outline: &Outline, i: usize) -> Option<usize> {
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
            if !u.is(colons, "::") || !(inner == "vec" || words::vector(inner, u.double).is_some()) {
                return None;
            }
            template_end(u, outline, name)
        }
        "typename" => {
            let mut n = u.next(i);
            loop {
                u.ident(n)?;
                n = template_end(u, outline, n)?;
                if !u.is(n, "::") {
                    return Some(n);
                }
                n = u.next(n);
            }
        }
        "vec" => {
            let end = template_end(u, outline, i)?;
            (end > i + 1).then_some(end)
        }
        _ if words::vector(word, u.double).is_some() => Some(i + 1),
        _ => {
            may_be_vector(u, outline, i, i + 1, 4).then_some(())?;
            let end = template_end(u, outline, i)?;
            (!u.is(end, "::")).then_some(end)
        }
    }
}

fn template_end(u: &Unit, outline: &Outline, name: usize) -> Option<usize> {
    let open = u.next(name);
    if u.is(open, "<")
        && u.get(name)
            .is_some_and(|t| t.is_ident("vec") || outline.type_name(&t.text, name).is_none_or(|t| t.target.is_some()))
    {
        return u.angle(open, u.len()).map(|c| u.skip(c + 1));
    }
    Some(open)
}

/// One past the cast-expression that starts at `i`.
pub fn operand_end(u: &Unit, outline: &Outline, mut i: usize) -> Option<usize> {
    for _ in 0..64 {
        let token = u.get(i)?;
        if token.kind == Kind::Punct && matches!(&*token.text, "+" | "-" | "!" | "~" | "*" | "&" | "++" | "--") {
            i = u.next(i);
        } else if token.is("(") {
            let close = u.pair(i)?;
            let after = u.skip(close + 1);
            if is_cast(u, outline, i, close) && starts_operand(u.get(after)) {
                i = after;
            } else {
                return Some(postfix(u, close + 1));
            }
        } else if matches!(token.kind, Kind::Number | Kind::Str | Kind::Char) {
            return Some(postfix(u, i + 1));
        } else if token.kind == Kind::Ident {
            let mut n = i;
            loop {
                let open = u.next(n);
                if u.is(open, "<")
                    && let Some(close) = u.angle(open, u.len()).filter(|c| {
                        let after = u.get(u.next(*c));
                        u.plausible_template(open, *c) && after.is_some_and(|t| t.is("(") || t.is("{") || t.is("::"))
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
            return Some(postfix(u, end));
        } else {
            return None;
        }
    }
    None
}

fn is_cast(u: &Unit, outline: &Outline, open: usize, close: usize) -> bool {
    let mut first = u.skip(open + 1);
    let mut qualified = false;
    while matches!(u.ident(first), Some("const" | "device" | "thread" | "threadgroup" | "constant" | "volatile")) {
        first = u.next(first);
        qualified = true;
    }
    let Some(word) = u.ident(first) else { return false };
    let scalar = words::SCALARS.iter().any(|(n, _)| *n == word)
        || matches!(word, "bool" | "unsigned" | "signed" | "bfloat" | "size_t" | "double");
    (scalar && (first + 1..close).all(|n| u.is(n, "*") || u.ident(n).is_some()))
        || type_end(u, outline, first) == Some(close)
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

fn starts_operand(token: Option<&Token>) -> bool {
    token.is_some_and(|t| match t.kind {
        Kind::Ident => true,
        Kind::Number | Kind::Str | Kind::Char => true,
        Kind::Punct => matches!(&*t.text, "(" | "-" | "+" | "!" | "~" | "*" | "&"),
        _ => false,
    })
}

/// Is this an operator between two operands, by what stands before it?
fn is_binary(u: &Unit, i: usize) -> bool {
    u.prev(i).is_some_and(|p| {
        let t = &u.toks[p];
        match t.kind {
            Kind::Ident => !matches!(&*t.text, "return" | "case" | "else" | "do"),
            Kind::Number | Kind::Str | Kind::Char => true,
            _ => t.is(")") || t.is("]") || t.is("}"),
        }
    })
}

/// One past the right operand of the binary or assignment operator at `i`.
pub fn right_end(u: &Unit, outline: &Outline, i: usize) -> Option<usize> {
    let op = u.get(i)?.text.clone();
    if op.ends_with('=') {
        return Some(assignment_end(u, u.next(i)));
    }
    let mut end = operand_end(u, outline, u.next(i))?;
    while matches!(&*op, "+" | "-") && ["*", "/", "%"].iter().any(|o| u.is(u.skip(end), o)) {
        end = operand_end(u, outline, u.next(u.skip(end)))?;
    }
    Some(end)
}

/// Start of the left operand of the binary operator at `i`.
pub fn left_start(u: &Unit, i: usize) -> Option<usize> {
    let multiplies = u.is(i, "*") || u.is(i, "/") || u.is(i, "%");
    let mut start = i;
    while let Some(p) = u.prev(start) {
        let t = &u.toks[p];
        if t.kind == Kind::Punct {
            match &*t.text {
                ")" | "]" | "}" => {
                    start = u.pair(p)?;
                    continue;
                }
                "." | "->" | "::" | "!" | "~" | "++" | "--" | "*" | "/" | "%" => {}
                "+" | "-" if !multiplies || !is_binary(u, p) => {}
                _ => break,
            }
        } else if matches!(u.ident(p), Some("return" | "case" | "else" | "do")) {
            break;
        }
        start = p;
    }
    (start < i).then_some(start)
}

/// One past the assignment-expression that starts at `i`.
pub fn assignment_end(u: &Unit, i: usize) -> usize {
    let mut n = i;
    let mut questions = 0usize;
    while let Some(t) = u.get(n) {
        if t.kind == Kind::Punct {
            match &*t.text {
                "," | ";" | ")" | "]" | "}" => break,
                "?" => questions += 1,
                ":" if questions == 0 => break,
                ":" => questions -= 1,
                _ => {}
            }
        }
        n = u.pair(n).filter(|p| *p > n).unwrap_or(n) + 1;
    }
    n
}

/// The `:` that belongs to the `?` at `i`.
pub fn colon_of(u: &Unit, i: usize) -> Option<usize> {
    let mut n = u.next(i);
    let mut questions = 0usize;
    while let Some(t) = u.get(n) {
        if t.is("?") {
            questions += 1;
        } else if t.is(":") {
            if questions == 0 {
                return Some(n);
            }
            questions -= 1;
        } else if t.is(";") || t.is(")") || t.is("}") {
            return None;
        }
        n = u.pair(n).filter(|p| *p > n).unwrap_or(n) + 1;
    }
    None
}
