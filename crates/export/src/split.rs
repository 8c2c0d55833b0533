//! Takes a kernel's definition apart in its source text: where it begins, its parameters, its body. Knows the shape of a
//! C function and nothing of MSL's meaning; the text has been compiled before.

use std::ops::Range;

/// One kernel in a text, as byte ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// From its first word or attribute to its closing brace.
    pub whole: Range<usize>,
    /// Each parameter, without the commas.
    pub params: Vec<Range<usize>>,
    /// Between the braces.
    pub body: Range<usize>,
    /// Is it a template?
    pub template: bool,
}

/// The text with comments, literals and preprocessor lines blanked, byte for byte.
pub fn mask(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut i = 0;
    let mut line_start = true;
    while i < bytes.len() {
        let begin = i;
        match (at(i), at(i + 1)) {
            (b'/', b'/') => {
                while i < bytes.len() && at(i) != b'\n' {
                    i += 1;
                }
            }
            (b'/', b'*') => {
                i += 2;
                while i < bytes.len() && !(at(i) == b'*' && at(i + 1) == b'/') {
                    i += 1;
                }
                i = (i + 2).min(bytes.len());
            }
            (quote @ (b'"' | b'\''), _) => {
                i += 1;
                while i < bytes.len() && at(i) != quote && at(i) != b'\n' {
                    i += if at(i) == b'\\' { 2 } else { 1 };
                }
                i = (i + 1).min(bytes.len());
            }
            (b'#', _) if line_start => {
                while i < bytes.len() && (at(i) != b'\n' || at(i.wrapping_sub(1)) == b'\\') {
                    i += 1;
                }
            }
            (c, _) => {
                line_start = c == b'\n' || (line_start && c.is_ascii_whitespace());
                i += 1;
                continue;
            }
        }
        for b in out.get_mut(begin..i).unwrap_or_default() {
            if *b != b'\n' {
                *b = b' ';
            }
        }
    }
    out
}

/// The kernel whose name stands on `line` (from 1) of `text`.
pub fn definition(text: &str, masked: &[u8], name: &str, line: u32) -> Option<Definition> {
    let at = |i: usize| masked.get(i).copied().unwrap_or(0);
    let start = text.split_inclusive('\n').take(line.saturating_sub(1) as usize).map(str::len).sum::<usize>();
    let found = (start..masked.len()).find(|&i| {
        masked.get(i..i + name.len()) == Some(name.as_bytes())
            && !is_word(at(i.wrapping_sub(1)))
            && !is_word(at(i + name.len()))
    })?;
    let open = (found + name.len()..masked.len()).find(|&i| !at(i).is_ascii_whitespace())?;
    let close = matching(masked, open, b'(', b')')?;
    let brace = (close + 1..masked.len()).find(|&i| at(i) == b'{' || at(i) == b';')?;
    let end = matching(masked, brace, b'{', b'}')?;
    let before = (0..found).rev().find(|&i| matches!(at(i), b';' | b'}')).map_or(0, |i| i + 1);
    let first = (before..found).find(|&i| !at(i).is_ascii_whitespace())?;
    let mut params = Vec::new();
    let (mut depth, mut from) = (0usize, open + 1);
    for i in open + 1..=close {
        match at(i) {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' if i == close => params.push(from..i),
            b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                params.push(from..i);
                from = i + 1;
            }
            _ => {}
        }
    }
    params.retain(|r| masked.get(r.clone()).is_some_and(|t| t.iter().any(|b| !b.is_ascii_whitespace())));
    let template = masked.get(first..found)?.starts_with(b"template");
    Some(Definition { whole: first..end + 1, params, body: brace + 1..end, template })
}

/// Declared type of a parameter: its text without attributes and without its name.
pub fn declared_type(masked_param: &str, name: &str) -> String {
    let bare = masked_param.split("[[").next().unwrap_or("").trim();
    bare.strip_suffix(name).unwrap_or(bare).trim().to_owned()
}

/// `text` with every identifier `from` replaced by `to`, comments and literals left alone.
pub fn rename(text: &str, from: &str, to: &str) -> String {
    let masked = mask(text);
    let at = |i: usize| masked.get(i).copied().unwrap_or(0);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let mut i = 0;
    while i < masked.len() {
        let here = masked.get(i..i + from.len()) == Some(from.as_bytes())
            && !is_word(at(i.wrapping_sub(1)))
            && at(i.wrapping_sub(1)) != b'.'
            && !is_word(at(i + from.len()));
        if here {
            out.push_str(text.get(done..i).unwrap_or_default());
            out.push_str(to);
            i += from.len();
            done = i;
        } else {
            i += 1;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

const fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

fn matching(masked: &[u8], open: usize, left: u8, right: u8) -> Option<usize> {
    if masked.get(open) != Some(&left) {
        return None;
    }
    let mut depth = 0usize;
    for (i, &b) in masked.iter().enumerate().skip(open) {
        if b == left {
            depth += 1;
        } else if b == right {
            depth -= 1;
            if depth == 0 {
                return Some(i);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#define X {\nint f() { return 1; } // kernel void k(\n[[max_total_threads_per_threadgroup(64)]] kernel void k(\n    device const float* x [[buffer(0)]], // a, b\n    constant array<int, 2>& n [[buffer(1)]],\n    uint3 at [[thread_position_in_grid]])\n{\n    x[0]; /* } */ char c = '}';\n}\nint after;\n";

    #[test]
    fn a_kernel_is_found_with_its_parts() {
        let masked = mask(TEXT);
        assert_eq!(masked.len(), TEXT.len());
        let d = definition(TEXT, &masked, "k", 3).unwrap();
        assert!(TEXT[d.whole.clone()].starts_with("[[max_total"), "{}", &TEXT[d.whole.clone()]);
        assert!(TEXT[d.whole.clone()].ends_with("'}';\n}") && !d.template);
        let masked = String::from_utf8(masked).unwrap();
        let types: Vec<_> =
            d.params.iter().zip(["x", "n", "at"]).map(|(p, n)| declared_type(&masked[p.clone()], n)).collect();
        assert_eq!(types, ["device const float*", "constant array<int, 2>&", "uint3"]);
        assert!(TEXT[d.body].contains("/* } */"));
    }

    #[test]
    fn only_whole_identifiers_are_renamed() {
        assert_eq!(rename("at + a.at + that; // at\n\"at\" at", "at", "b"), "b + a.at + that; // at\n\"at\" b");
    }

    #[test]
    fn what_is_no_definition_is_none() {
        for text in ["", "kernel void k", "kernel void k(", "kernel void k();", "kernel void k() {"] {
            assert_eq!(definition(text, &mask(text), "k", 1), None, "{text}");
        }
    }
}
