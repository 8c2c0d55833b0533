//! `#if` expressions. Knows integer arithmetic and the queries `defined` and `__has_*`.

use super::{Preprocessor, Problem, predefined};
use crate::source::{Kind, Loc, Token};

/// Parentheses and unary operators inside each other.
const DEPTH: usize = 200;

impl Preprocessor<'_> {
    pub(super) fn evaluate(&mut self, line: &[Token], loc: Loc) -> Result<bool, Problem> {
        let answered = self.answer_queries(line, loc)?;
        let tokens = self.expand_line(&answered)?;
        let mut parser = Parser { tokens: &tokens, next: 0, loc };
        let value = parser.ternary(0)?;
        if parser.next < tokens.len() {
            let stray = &tokens[parser.next];
            return Err(parser.bad(&format!("`{}` is not expected in this condition", stray.text)));
        }
        Ok(value != 0)
    }

    /// Replaces `defined X` and `__has_include(...)` before macros are expanded.
    fn answer_queries(&mut self, line: &[Token], loc: Loc) -> Result<Vec<Token>, Problem> {
        let mut out = Vec::with_capacity(line.len());
        let mut i = 0;
        while let Some(token) = line.get(i) {
            let name = token.ident().unwrap_or("");
            if name == "defined" {
                let (at, next) = match line.get(i + 1) {
                    Some(t) if t.is("(") => (i + 2, i + 4),
                    _ => (i + 1, i + 2),
                };
                let Some(what) = line.get(at).and_then(Token::ident) else {
                    return Err(Problem::at("invalid-conditional", loc, "`defined` needs a name"));
                };
                out.push(number(self.is_defined(what), token));
                i = next;
            } else if predefined::QUERIES.contains(&name) && line.get(i + 1).is_some_and(|t| t.is("(")) {
                let mut depth = 0usize;
                let mut end = i + 1;
                while let Some(t) = line.get(end) {
                    if t.is("(") {
                        depth += 1;
                    } else if t.is(")") {
                        depth -= 1;
                        if depth == 0 {
                            break;
                        }
                    }
                    end += 1;
                }
                let inner: String = line[i + 2..end.min(line.len())].iter().map(|t| &*t.text).collect();
                let yes = match name {
                    "__has_include" => {
                        let wanted = inner.trim_matches(['<', '>', '"']);
                        self.resolve(wanted).is_some()
                            || (predefined::is_apple_header(wanted) && predefined::unsupported_header(wanted).is_none())
                    }
                    "__has_attribute" | "__has_cpp_attribute" => predefined::has_attribute(&inner),
                    _ => false,
                };
                out.push(number(yes, token));
                i = end + 1;
            } else {
                out.push(token.clone());
                i += 1;
            }
        }
        Ok(out)
    }
}

fn number(yes: bool, at: &Token) -> Token {
    Token::new(Kind::Number, if yes { "1" } else { "0" }, at.loc)
}

struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    loc: Loc,
}

fn precedence(op: &str) -> Option<u8> {
    Some(match op {
        "*" | "/" | "%" => 10,
        "+" | "-" => 9,
        "<<" | ">>" => 8,
        "<" | ">" | "<=" | ">=" => 7,
        "==" | "!=" => 6,
        "&" => 5,
        "^" => 4,
        "|" => 3,
        "&&" => 2,
        "||" => 1,
        _ => return None,
    })
}

impl Parser<'_> {
    fn bad(&self, message: &str) -> Problem {
        Problem::at("invalid-conditional", self.loc, message)
    }

    fn operator(&self) -> Option<(&str, usize)> {
        let token = self.tokens.get(self.next).filter(|t| t.kind == Kind::Punct)?;
        let second = self.tokens.get(self.next + 1);
        if token.is(">") && second.is_some_and(|t| t.is(">") && !t.space) {
            return Some((">>", 2));
        }
        Some((&token.text, 1))
    }

    fn ternary(&mut self, depth: usize) -> Result<i64, Problem> {
        let cond = self.binary(1, depth)?;
        if !self.tokens.get(self.next).is_some_and(|t| t.is("?")) {
            return Ok(cond);
        }
        if depth > DEPTH {
            return Err(self.bad("this condition is nested too deeply"));
        }
        self.next += 1;
        let yes = self.ternary(depth + 1)?;
        if !self.tokens.get(self.next).is_some_and(|t| t.is(":")) {
            return Err(self.bad("`?` without `:` in this condition"));
        }
        self.next += 1;
        let no = self.ternary(depth + 1)?;
        Ok(if cond != 0 { yes } else { no })
    }

    fn binary(&mut self, least: u8, depth: usize) -> Result<i64, Problem> {
        let mut left = self.unary(depth)?;
        while let Some((op, width)) = self.operator() {
            let op = op.to_owned();
            let Some(level) = precedence(&op).filter(|l| *l >= least) else { break };
            self.next += width;
            let right = self.binary(level + 1, depth + 1)?;
            left = match op.as_str() {
                "*" => left.wrapping_mul(right),
                "/" | "%" if right == 0 => 0,
                "/" => left.wrapping_div(right),
                "%" => left.wrapping_rem(right),
                "+" => left.wrapping_add(right),
                "-" => left.wrapping_sub(right),
                "<<" => left.wrapping_shl(right as u32),
                ">>" => left.wrapping_shr(right as u32),
                "<" => i64::from(left < right),
                ">" => i64::from(left > right),
                "<=" => i64::from(left <= right),
                ">=" => i64::from(left >= right),
                "==" => i64::from(left == right),
                "!=" => i64::from(left != right),
                "&" => left & right,
                "^" => left ^ right,
                "|" => left | right,
                "&&" => i64::from(left != 0 && right != 0),
                _ => i64::from(left != 0 || right != 0),
            };
        }
        Ok(left)
    }

    fn unary(&mut self, depth: usize) -> Result<i64, Problem> {
        if depth > DEPTH {
            return Err(self.bad("this condition is nested too deeply"));
        }
        let Some(token) = self.tokens.get(self.next) else {
            return Err(self.bad("this condition ends too early"));
        };
        self.next += 1;
        match (token.kind, &*token.text) {
            (Kind::Punct, "!") => Ok(i64::from(self.unary(depth + 1)? == 0)),
            (Kind::Punct, "-") => Ok(self.unary(depth + 1)?.wrapping_neg()),
            (Kind::Punct, "+") => self.unary(depth + 1),
            (Kind::Punct, "~") => Ok(!self.unary(depth + 1)?),
            (Kind::Punct, "(") => {
                let value = self.ternary(depth + 1)?;
                if !self.tokens.get(self.next).is_some_and(|t| t.is(")")) {
                    return Err(self.bad("a `)` is missing in this condition"));
                }
                self.next += 1;
                Ok(value)
            }
            (Kind::Ident, text) => {
                // A name that is no macro counts as 0; what looks like a call of one is a mistake.
                if self.tokens.get(self.next).is_some_and(|t| t.is("(")) {
                    return Err(self.bad(&format!("`{text}` is not a macro, so it cannot be called in a condition")));
                }
                Ok(i64::from(text == "true"))
            }
            (Kind::Number, text) => integer(text).ok_or_else(|| self.bad(&format!("`{text}` is not an integer"))),
            (Kind::Char, text) => Ok(text.chars().nth(1).map_or(0, |c| i64::from(u32::from(c)))),
            (_, text) => Err(self.bad(&format!("`{text}` is not expected in this condition"))),
        }
    }
}

/// Value of an integer literal.
fn integer(text: &str) -> Option<i64> {
    let text: String = text.chars().filter(|c| *c != '\'').collect();
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(['u', 'l', 'z']);
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        u64::from_str_radix(hex, 16)
    } else if let Some(bin) = digits.strip_prefix("0b") {
        u64::from_str_radix(bin, 2)
    } else if digits.len() > 1 && digits.starts_with('0') {
        u64::from_str_radix(&digits[1..], 8)
    } else {
        digits.parse()
    };
    value.ok().map(|v| v as i64)
}

/// Value of an integer constant expression of literals, as attributes and instantiations carry it.
pub fn integer_constant(tokens: &[Token], loc: Loc) -> Option<i64> {
    // A name that is left is no macro; a condition would take it for nought, here it is not known.
    if tokens.iter().any(|t| t.kind == Kind::Ident && !matches!(&*t.text, "true" | "false")) {
        return None;
    }
    let mut parser = Parser { tokens, next: 0, loc };
    let value = parser.ternary(0).ok()?;
    (parser.next == tokens.len()).then_some(value)
}
