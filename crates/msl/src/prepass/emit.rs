//! Prints the rewritten tokens as the text clang reads, and remembers where each piece came from. Knows nothing about
//! what the text means.

use super::unit::Unit;
use crate::source::{Kind, Loc};

/// Positions of the generated text in the user's files.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// For each generated line (0-based): column (1-based) and what stands there, in order of column.
    lines: Vec<Vec<Piece>>,
}

impl SourceMap {
    /// Where the piece at this 1-based line and column of the generated text was written: the last piece that starts
    /// at or before the column, else the first of the line, else the end of an earlier line.
    pub fn find(&self, line: u32, col: u32) -> Option<Loc> {
        let index = (line as usize).checked_sub(1)?;
        let here = self.lines.get(index).map_or(&[][..], Vec::as_slice);
        let n = here.partition_point(|p| p.col <= col.max(1));
        if let Some(piece) = n.checked_sub(1).and_then(|n| here.get(n)).or_else(|| here.first()) {
            return Some(piece.loc);
        }
        self.lines.iter().take(index).rev().find_map(|l| l.last()).map(|p| p.loc)
    }

    /// The token that starts at this place of the generated text, or the next one after what was inserted there.
    pub fn token(&self, line: u32, col: u32) -> Option<usize> {
        let here = self.lines.get((line as usize).checked_sub(1)?)?;
        let n = here.partition_point(|p| p.col <= col.max(1)).checked_sub(1)?;
        here[n..].iter().find_map(|p| p.token)
    }
}

/// A piece of generated text.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// 1-based column where it starts.
    col: u32,
    /// What it stands for.
    loc: Loc,
    /// Index of its token, when it is one.
    token: Option<usize>,
}

/// Text under construction with its map.
#[derive(Debug, Default)]
pub struct Output {
    /// The text so far.
    pub text: String,
    /// Its map.
    pub map: SourceMap,
    line: u32,
    col: u32,
}

impl Output {
    fn newline(&mut self) {
        self.text.push('\n');
        self.line += 1;
        self.col = 0;
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        let lines = text.matches('\n').count();
        self.line += lines as u32;
        if lines == 0 {
            self.col += text.len() as u32;
        } else {
            self.col = text.rsplit('\n').next().map_or(0, str::len) as u32;
        }
    }

    /// Appends text that stands for what the user wrote at `loc`.
    pub fn piece(&mut self, text: &str, loc: Loc, token: Option<usize>) {
        let line = self.line as usize;
        if self.map.lines.len() <= line {
            self.map.lines.resize(line + 1, Vec::new());
        }
        self.map.lines[line].push(Piece { col: self.col + 1, loc, token });
        self.push(text);
    }

    /// Appends a line of our own, mapped to `loc`.
    pub fn own_line(&mut self, text: &str, loc: Loc) {
        if self.col > 0 {
            self.newline();
        }
        self.piece(text, loc, None);
        self.newline();
    }

    /// Appends the unit with its edits.
    pub fn unit(&mut self, unit: &Unit) {
        for i in 0..unit.len() {
            let Some(token) = unit.get(i) else { continue };
            if token.kind == Kind::Pragma {
                self.own_line(&format!("#pragma {}", token.text), token.loc);
                continue;
            }
            if token.bol && self.col > 0 {
                self.newline();
            }
            let (before, text, after) = unit.parts(i);
            let mut space = token.space;
            for (n, part) in before.iter().chain(std::iter::once(&text)).chain(after).enumerate() {
                if part.is_empty() {
                    continue;
                }
                if self.col > 0 && (space || would_glue(&self.text, part)) {
                    self.push(" ");
                }
                space = false;
                self.piece(part, token.loc, (n == before.len()).then_some(i));
            }
        }
        if self.col > 0 {
            self.newline();
        }
    }
}

/// Would the two texts read as one token if they touched? Angle brackets are left as the source had them.
pub fn would_glue(left: &str, right: &str) -> bool {
    let (Some(a), Some(b)) = (left.chars().last(), right.chars().next()) else { return false };
    let word = |c: char| c == '_' || c == '$' || c == '.' || c.is_alphanumeric();
    if word(a) && word(b) {
        // `a.b` and `f(x).y`: only a dot beside a digit could become part of a number.
        return !(a == '.' || b == '.') || (a.is_ascii_digit() || b.is_ascii_digit());
    }
    if matches!(a, '"' | '\'') && word(b) || word(a) && matches!(b, '"' | '\'') {
        return true;
    }
    let operator = |c: char| "+-*/%<=&|^!:.#?".contains(c);
    operator(a) && (operator(b) || b == '>')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pp::preprocess;
    use crate::source::SourceFile;

    fn emit(text: &str) -> Output {
        let pre = preprocess(&[SourceFile::new("m", text)], crate::module::Language::Metal, &[]).unwrap();
        let mut out = Output::default();
        out.unit(&Unit::new(&pre.tokens).unwrap());
        out
    }

    #[test]
    fn text_reads_the_same_and_maps_back() {
        let out = emit("#define NEG -\nint a = - NEG x;\n  b >> c; p->q.x; [[kernel]] y");
        assert_eq!(out.text, "int a = - - x;\nb >> c; p->q.x; y\n");
        let loc = out.map.find(2, 6).unwrap();
        assert_eq!((loc.line, loc.col), (3, 8));
        assert_eq!(out.map.find(1, 11).map(|l| (l.line, l.col)), Some((2, 11)));
        assert_eq!(out.map.find(9, 1).map(|l| l.line), Some(3));
    }

    #[test]
    fn gluing() {
        for (a, b, glues) in [
            ("-", "-", true),
            ("a", "b", true),
            ("a", "(", false),
            ("1", ".", true),
            ("x", ".", false),
            (">", ">", false),
            ("-", ">", true),
            ("a", "\"s\"", true),
        ] {
            assert_eq!(would_glue(a, b), glues, "{a} {b}");
        }
    }
}
