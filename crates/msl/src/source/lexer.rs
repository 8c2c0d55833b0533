//! Text to tokens: comments, line splices, literals. Knows C++'s lexical rules and nothing else.

use std::rc::Rc;

use super::token::{Kind, Loc, Token};

/// A text that cannot be split into tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexError {
    /// Stable identifier of the problem.
    pub code: &'static str,
    /// What is wrong.
    pub message: &'static str,
    /// Where.
    pub loc: Loc,
}

/// Operators of more than one character, longest first. Those that start with `>` are absent except `>=`: template
/// lists close one `>` at a time.
const OPERATORS: &[&str] = &[
    "<<=", "...", "->*", "<=>", "::", "->", "++", "--", "<<", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=",
    "/=", "%=", "^=", "&=", "|=", "##", ".*",
];

struct Cursor<'a> {
    chars: std::str::Chars<'a>,
    line: u32,
    col: u32,
}

impl Cursor<'_> {
    fn peek(&mut self) -> Option<char> {
        self.splice();
        self.chars.clone().next()
    }

    fn peek_second(&mut self) -> Option<char> {
        self.splice();
        let mut rest = self.chars.clone();
        rest.next();
        rest.next()
    }

    /// Skips backslash-newline pairs.
    fn splice(&mut self) {
        loop {
            let rest = self.chars.as_str();
            let skip = if rest.starts_with("\\\n") {
                2
            } else if rest.starts_with("\\\r\n") {
                3
            } else {
                return;
            };
            self.chars = rest[skip..].chars();
            self.line += 1;
            self.col = 1;
        }
    }

    fn bump(&mut self) -> Option<char> {
        self.splice();
        let c = self.chars.next()?;
        if c == '\n' {
            self.line += 1;
            self.col = 1;
        } else {
            self.col += 1;
        }
        Some(c)
    }
}

fn starts_ident(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

fn continues_ident(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

/// Splits a file into tokens.
pub fn lex(file: u32, text: &str) -> Result<Vec<Token>, LexError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut cur = Cursor { chars: text.chars(), line: 1, col: 1 };
    let mut out = Vec::with_capacity(text.len() / 4);
    let mut space = false;
    let mut bol = true;
    while let Some(c) = cur.peek() {
        let loc = Loc { file, line: cur.line, col: cur.col };
        if c == '\n' {
            cur.bump();
            bol = true;
            space = true;
            continue;
        }
        if c.is_whitespace() || c == '\0' {
            cur.bump();
            space = true;
            continue;
        }
        if c == '/' {
            match cur.peek_second() {
                Some('/') => {
                    while cur.peek().is_some_and(|c| c != '\n') {
                        cur.bump();
                    }
                    space = true;
                    continue;
                }
                Some('*') => {
                    block_comment(&mut cur, loc)?;
                    space = true;
                    continue;
                }
                _ => {}
            }
        }
        let (kind, text) = token(&mut cur, c);
        out.push(Token { kind, text: Rc::from(text.as_str()), loc, space, bol });
        space = false;
        bol = false;
    }
    Ok(out)
}

fn block_comment(cur: &mut Cursor<'_>, loc: Loc) -> Result<(), LexError> {
    cur.bump();
    cur.bump();
    loop {
        match cur.bump() {
            Some('*') if cur.peek() == Some('/') => {
                cur.bump();
                return Ok(());
            }
            Some(_) => {}
            None => {
                return Err(LexError { code: "unterminated-comment", message: "this comment is never closed", loc });
            }
        }
    }
}

fn token(cur: &mut Cursor<'_>, c: char) -> (Kind, String) {
    let mut text = String::new();
    if c.is_ascii_digit() || (c == '.' && cur.peek_second().is_some_and(|d| d.is_ascii_digit())) {
        let mut last = c;
        while let Some(d) = cur.peek() {
            let exponent_sign = matches!(d, '+' | '-')
                && (matches!(last, 'p' | 'P') || (matches!(last, 'e' | 'E') && !text.starts_with("0x")));
            let separator = d == '\'' && cur.peek_second().is_some_and(|n| n.is_ascii_hexdigit());
            if !(continues_ident(d) || d == '.' || exponent_sign || separator) {
                break;
            }
            last = d;
            text.push(d);
            cur.bump();
        }
        return (Kind::Number, text);
    }
    if starts_ident(c) {
        while let Some(d) = cur.peek().filter(|d| continues_ident(*d)) {
            text.push(d);
            cur.bump();
        }
        return (Kind::Ident, text);
    }
    if c == '"' || c == '\'' {
        text.push(c);
        cur.bump();
        loop {
            match cur.peek() {
                // An apostrophe in skipped text is no fault; whoever lets such a token through reports it.
                Some('\n') | None => return (Kind::Other, text),
                Some('\\') => {
                    text.push('\\');
                    cur.bump();
                    if let Some(d) = cur.peek().filter(|d| *d != '\n') {
                        text.push(d);
                        cur.bump();
                    }
                }
                Some(d) => {
                    text.push(d);
                    cur.bump();
                    if d == c {
                        break;
                    }
                }
            }
        }
        return (if c == '"' { Kind::Str } else { Kind::Char }, text);
    }
    let rest = cur.chars.as_str();
    if let Some(op) = OPERATORS.iter().find(|op| rest.starts_with(**op)) {
        for _ in 0..op.len() {
            cur.bump();
        }
        return (Kind::Punct, (*op).to_owned());
    }
    cur.bump();
    text.push(c);
    let punct = "{}()[]<>;:,.?+-*/%^&|~!=#".contains(c);
    (if punct { Kind::Punct } else { Kind::Other }, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        lex(0, source).unwrap().iter().map(|t| t.text.to_string()).collect()
    }

    #[test]
    fn closing_angles_stand_alone_and_remember_that_they_touch() {
        let tokens = lex(0, "a<b<c>> d >> e").unwrap();
        assert_eq!(texts("a<b<c>>"), ["a", "<", "b", "<", "c", ">", ">"]);
        assert!(!tokens[6].space, "the second `>` touches the first");
        assert!(tokens[8].space && !tokens[9].space);
    }

    #[test]
    fn numbers_keep_signs_of_exponents() {
        assert_eq!(texts("1e-5f 0x1p+3 0xE+1 .5h 1'000"), ["1e-5f", "0x1p+3", "0xE", "+", "1", ".5h", "1'000"]);
    }

    #[test]
    fn positions_survive_splices_and_comments() {
        let tokens = lex(3, "/* a\n b */ x \\\n  y // z\n w").unwrap();
        let at: Vec<_> = tokens.iter().map(|t| (&*t.text, t.loc.line, t.loc.col, t.bol)).collect();
        assert_eq!(at, [("x", 2, 7, true), ("y", 3, 3, false), ("w", 4, 2, true)]);
        assert_eq!(tokens[0].loc.file, 3);
    }

    #[test]
    fn unclosed_things_are_seen() {
        assert_eq!(lex(0, "a /* b").unwrap_err().code, "unterminated-comment");
        let tokens = lex(0, "\"abc\nx").unwrap();
        assert_eq!((tokens[0].kind, &*tokens[0].text, tokens[1].loc.line), (Kind::Other, "\"abc", 2));
    }
}
