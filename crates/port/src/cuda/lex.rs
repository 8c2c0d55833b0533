//! Tokens of C++ text with their byte ranges; comments and white space are dropped. Must not know CUDA.

use std::ops::Range;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Identifier or keyword.
    Ident,
    /// Number literal.
    Number,
    /// String literal, with its quotes.
    Str,
    /// Character literal.
    Char,
    /// Operator or bracket, longest match.
    Punct,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind.
    pub kind: Kind,
    /// Bytes in the text.
    pub range: Range<usize>,
}

impl Token {
    /// Its text.
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.range.clone()).unwrap_or("")
    }
}

const PUNCTUATION: [&str; 29] = [
    "<<<", ">>>", "...", "<<=", ">>=", "->*", "::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
    "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", ".*", "\\\n",
];

/// All tokens of `text`. Never fails: a stray byte is a token of its own, an open string or comment ends with the text.
pub fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut out = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let c = at(i);
        let start = i;
        let kind = match c {
            b' ' | b'\t' | b'\r' | b'\n' => {
                i += 1;
                continue;
            }
            b'/' if at(i + 1) == b'/' => {
                i = find(text, i, "\n");
                continue;
            }
            b'/' if at(i + 1) == b'*' => {
                i = (find(text, i + 2, "*/") + 2).min(bytes.len());
                continue;
            }
            b'R' if at(i + 1) == b'"' => {
                let open = find(text, i, "(");
                let tag = text.get(i + 2..open).unwrap_or("");
                let close = format!("){tag}\"");
                i = (find(text, open, &close) + close.len()).min(bytes.len());
                Kind::Str
            }
            b'"' | b'\'' => {
                i += 1;
                while i < bytes.len() && at(i) != c && at(i) != b'\n' {
                    i += if at(i) == b'\\' { 2 } else { 1 };
                }
                i = (i + 1).min(bytes.len());
                if c == b'"' { Kind::Str } else { Kind::Char }
            }
            b'0'..=b'9' => {
                i = number_end(bytes, i);
                Kind::Number
            }
            b'.' if at(i + 1).is_ascii_digit() => {
                i = number_end(bytes, i);
                Kind::Number
            }
            _ if c == b'_' || c.is_ascii_alphabetic() || c >= 0x80 => {
                while i < bytes.len() && (at(i) == b'_' || at(i).is_ascii_alphanumeric() || at(i) >= 0x80) {
                    i += 1;
                }
                Kind::Ident
            }
            _ => {
                let rest = text.get(i..).unwrap_or("");
                i += PUNCTUATION.iter().find(|p| rest.starts_with(**p)).map_or(1, |p| p.len());
                if text.get(start..i) == Some("\\\n") {
                    continue;
                }
                Kind::Punct
            }
        };
        out.push(Token { kind, range: start..i });
    }
    out
}

fn find(text: &str, from: usize, what: &str) -> usize {
    text.get(from..).and_then(|rest| rest.find(what)).map_or(text.len(), |n| from + n)
}

fn number_end(bytes: &[u8], mut i: usize) -> usize {
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let hex = at(i) == b'0' && matches!(at(i + 1), b'x' | b'X');
    while i < bytes.len() {
        let c = at(i);
        let exponent = matches!(c, b'e' | b'E') && !hex || matches!(c, b'p' | b'P') && hex;
        if exponent && matches!(at(i + 1), b'+' | b'-') {
            i += 2;
        } else if c.is_ascii_alphanumeric() || c == b'.' || c == b'\'' && at(i + 1).is_ascii_alphanumeric() || c == b'_'
        {
            i += 1;
        } else {
            break;
        }
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(s: &str) -> Vec<&str> {
        tokens(s).iter().map(|t| t.text(s)).collect()
    }

    #[test]
    fn splits_as_a_compiler_would() {
        assert_eq!(
            texts("a<<<1,2>>>(x); /* no */ b->c += 1.5e-3f*0xFFull; // end\n\"s\\\"t\" 'c'"),
            [
                "a",
                "<<<",
                "1",
                ",",
                "2",
                ">>>",
                "(",
                "x",
                ")",
                ";",
                "b",
                "->",
                "c",
                "+=",
                "1.5e-3f",
                "*",
                "0xFFull",
                ";",
                "\"s\\\"t\"",
                "'c'"
            ]
        );
        assert_eq!(texts("R\"x(a)\" )x\" 1'000 .5"), ["R\"x(a)\" )x\"", "1'000", ".5"]);
    }

    proptest! {
        #[test]
        fn ranges_are_in_order_and_on_character_boundaries(s in "\\PC{0,200}") {
            let mut last = 0;
            for t in tokens(&s) {
                prop_assert!(t.range.start >= last && t.range.end > t.range.start);
                prop_assert!(s.get(t.range.clone()).is_some());
                last = t.range.end;
            }
        }
    }
}
