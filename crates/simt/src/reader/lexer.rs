//! Splits the text of an LLVM IR module into tokens. Knows no grammar beyond that of tokens, and sets lines that hold
//! metadata or attribute groups aside.

use super::ReadError;

/// A token; text borrows from the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tok<'a> {
    /// `%name` or `%0`.
    Local(&'a str),
    /// `@name`.
    Global(&'a str),
    /// Keyword, type name or flag.
    Word(&'a str),
    /// Decimal integer, maybe negative, or `u0x…`/`s0x…`.
    Int(&'a str),
    /// Floating-point literal.
    Float(&'a str),
    /// Contents of a quoted string, escapes kept.
    Str(&'a str),
    /// `c"…"`, escapes kept.
    Bytes(&'a str),
    /// `!name`, `!12` or a bare `!`.
    Meta(&'a str),
    /// `#12` or `#dbg_value`.
    Hash(&'a str),
    /// `$name`.
    Comdat(&'a str),
    /// `name:` at the start of a block.
    Label(&'a str),
    /// `...`
    Ellipsis,
    /// Any other single character.
    Punct(u8),
}

/// Tokens with the lines they stand on, and the metadata lines.
#[derive(Debug, Default)]
pub struct Lexed<'a> {
    /// Tokens.
    pub toks: Vec<Tok<'a>>,
    /// Line of each token, 1-based.
    pub lines: Vec<u32>,
    /// `!N = …` lines: the number and what follows the equals sign.
    pub metadata: Vec<(u32, &'a str)>,
}

fn is_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'$' | b'.' | b'_' | b'-')
}

/// Splits `text`.
pub fn lex(text: &str) -> Result<Lexed<'_>, ReadError> {
    let b = text.as_bytes();
    let mut out = Lexed::default();
    let mut i = 0;
    let mut line = 1u32;
    let mut at_line_start = true;
    while let Some(&c) = b.get(i) {
        if c == b'\n' {
            line += 1;
            i += 1;
            at_line_start = true;
            continue;
        }
        if c.is_ascii_whitespace() {
            i += 1;
            continue;
        }
        let start_of_line = at_line_start;
        at_line_start = false;
        if c == b';' {
            i = end_of_line(b, i);
            continue;
        }
        if start_of_line && c == b'!' {
            let end = end_of_line(b, i);
            if let Some((n, rest)) = text.get(i + 1..end).and_then(|s| s.split_once('='))
                && let Ok(n) = n.trim().parse()
            {
                out.metadata.push((n, rest.trim()));
            }
            i = end;
            continue;
        }
        if start_of_line && text.get(i..).is_some_and(|r| r.starts_with("attributes #")) {
            i = end_of_line(b, i);
            continue;
        }
        let (tok, end) = token(text, i).ok_or_else(|| ReadError::new(line, "unterminated string"))?;
        line += text.get(i..end).map_or(0, |s| s.bytes().filter(|&c| c == b'\n').count() as u32);
        out.toks.push(tok);
        out.lines.push(line);
        i = end;
    }
    Ok(out)
}

fn end_of_line(b: &[u8], i: usize) -> usize {
    b.iter().skip(i).position(|&c| c == b'\n').map_or(b.len(), |n| i + n)
}

fn scan(b: &[u8], from: usize, ok: impl Fn(u8) -> bool) -> usize {
    from + b.iter().skip(from).take_while(|&&c| ok(c)).count()
}

/// End of a quoted string that opens at `i`: the index of the closing quote.
fn close_quote(b: &[u8], i: usize) -> Option<usize> {
    b.iter().skip(i + 1).position(|&c| c == b'"').map(|n| i + 1 + n)
}

/// A name after a sigil at `i`: quoted or plain.
fn sigil_name(text: &str, i: usize) -> Option<(&str, usize)> {
    let b = text.as_bytes();
    if b.get(i + 1) == Some(&b'"') {
        let e = close_quote(b, i + 1)?;
        Some((text.get(i + 2..e)?, e + 1))
    } else {
        let e = scan(b, i + 1, is_name);
        Some((text.get(i + 1..e)?, e))
    }
}

fn token(text: &str, i: usize) -> Option<(Tok<'_>, usize)> {
    let b = text.as_bytes();
    let c = *b.get(i)?;
    let next = b.get(i + 1).copied().unwrap_or(0);
    match c {
        b'%' => sigil_name(text, i).map(|(n, e)| (Tok::Local(n), e)),
        b'@' => sigil_name(text, i).map(|(n, e)| (Tok::Global(n), e)),
        b'$' => sigil_name(text, i).map(|(n, e)| (Tok::Comdat(n), e)),
        b'!' => {
            if next == b'"' {
                let e = close_quote(b, i + 1)?;
                return Some((Tok::Meta(text.get(i + 2..e)?), e + 1));
            }
            let e = scan(b, i + 1, |c| is_name(c) || c == b'\\');
            Some((Tok::Meta(text.get(i + 1..e)?), e))
        }
        b'#' => {
            let e = scan(b, i + 1, is_name);
            Some((Tok::Hash(text.get(i + 1..e)?), e))
        }
        b'"' => {
            let e = close_quote(b, i)?;
            let s = text.get(i + 1..e)?;
            if b.get(e + 1) == Some(&b':') { Some((Tok::Label(s), e + 2)) } else { Some((Tok::Str(s), e + 1)) }
        }
        b'c' if next == b'"' => {
            let e = close_quote(b, i + 1)?;
            Some((Tok::Bytes(text.get(i + 2..e)?), e + 1))
        }
        b'.' if text.get(i..i + 3) == Some("...") => Some((Tok::Ellipsis, i + 3)),
        b'-' | b'+' | b'0'..=b'9' => Some(number(text, i)),
        _ if is_name(c) => {
            let e = scan(b, i, is_name);
            let w = text.get(i..e)?;
            if b.get(e) == Some(&b':') {
                return Some((Tok::Label(w), e + 1));
            }
            let hex = w.len() > 3 && (w.starts_with("u0x") || w.starts_with("s0x"));
            Some((if hex { Tok::Int(w) } else { Tok::Word(w) }, e))
        }
        _ => {
            // Step over a whole character so that slices stay on boundaries.
            let n = text.get(i..).and_then(|s| s.chars().next()).map_or(1, char::len_utf8);
            Some((Tok::Punct(c), i + n))
        }
    }
}

fn number(text: &str, i: usize) -> (Tok<'_>, usize) {
    let b = text.as_bytes();
    let mut e = i + 1;
    let mut float = false;
    if b.get(i) == Some(&b'0') && b.get(e) == Some(&b'x') {
        e = scan(b, e + 1, |c| c.is_ascii_alphanumeric());
        return (Tok::Float(text.get(i..e).unwrap_or("")), e);
    }
    while let Some(&c) = b.get(e) {
        match c {
            b'0'..=b'9' => {}
            b'.' => float = true,
            b'e' | b'E' if float => {
                if matches!(b.get(e + 1), Some(b'+' | b'-')) {
                    e += 1;
                }
            }
            _ => break,
        }
        e += 1;
    }
    let s = text.get(i..e).unwrap_or("");
    if !float && b.get(e) == Some(&b':') {
        return (Tok::Label(s), e + 1);
    }
    // Names may begin with digits or a dash ("-inf", "12abc"): hand the whole of it over as a word.
    if b.get(e).is_some_and(|&c| is_name(c)) {
        let e = scan(b, e, is_name);
        return (Tok::Word(text.get(i..e).unwrap_or("")), e);
    }
    (if float { Tok::Float(s) } else { Tok::Int(s) }, e)
}

/// Undoes `\xx` escapes.
pub fn unescape(s: &str) -> Vec<u8> {
    let b = s.as_bytes();
    let mut out = Vec::with_capacity(b.len());
    let mut i = 0;
    while let Some(&c) = b.get(i) {
        if c == b'\\' {
            if b.get(i + 1) == Some(&b'\\') {
                out.push(b'\\');
                i += 2;
                continue;
            }
            if let Some(v) = s.get(i + 1..i + 3).and_then(|h| u8::from_str_radix(h, 16).ok()) {
                out.push(v);
                i += 3;
                continue;
            }
        }
        out.push(c);
        i += 1;
    }
    out
}
