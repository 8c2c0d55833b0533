//! The token stream being rewritten: brackets paired, attribute lists set aside, and the edits that the passes ask
//! for. Knows C++ tokens; what an edit means is the passes' business.

use std::collections::HashMap;
use std::rc::Rc;

use super::words;
use crate::pp::Problem;
use crate::source::{Kind, Loc, Token};

/// One attribute, e.g. `buffer(3)`.
#[derive(Clone, Debug)]
pub struct Attr {
    /// Name, without a namespace.
    pub name: String,
    /// Tokens between the parentheses, if there are any.
    pub args: Option<Vec<Token>>,
    /// Where it stands.
    pub loc: Loc,
}

/// Tokens with their brackets paired and the edits to make.
#[derive(Debug, Default)]
pub struct Unit {
    /// The stream; attribute lists are single [`Kind::Attr`] tokens.
    pub toks: Vec<Token>,
    /// For each bracket the index of its partner.
    pair: Vec<usize>,
    /// Attribute lists, by the number in their token.
    pub attrs: Vec<Vec<Attr>>,
    /// Is there a `double`?
    pub double: bool,
    before: HashMap<usize, Vec<String>>,
    after: HashMap<usize, Vec<String>>,
    replaced: HashMap<usize, String>,
}

const NONE: usize = usize::MAX;
/// Brackets inside brackets; deeper than any real source, and shallow enough for every recursive reader after us.
const DEPTH: usize = 200;

impl Unit {
    /// Pairs brackets and sets attribute lists aside.
    pub fn new(toks: &[Token]) -> Result<Self, Problem> {
        let pair = pair_brackets(toks)?;
        let mut unit = Self { attrs: Vec::new(), ..Self::default() };
        let mut i = 0;
        while i < toks.len() {
            let doubled = toks[i].is("[")
                && toks.get(i + 1).is_some_and(|t| t.is("["))
                && pair[i + 1] + 1 == pair[i]
                && pair[i + 1] > i + 2;
            if doubled {
                let list = attribute_list(&toks[i + 2..pair[i + 1]]);
                let mut token = Token::new(Kind::Attr, &unit.attrs.len().to_string(), toks[i].loc);
                token.bol = toks[i].bol;
                unit.attrs.push(list);
                unit.toks.push(token);
                i = pair[i] + 1;
            } else {
                unit.toks.push(toks[i].clone());
                i += 1;
            }
        }
        unit.pair = pair_brackets(&unit.toks)?;
        Ok(unit)
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.toks.len()
    }

    /// The token at `i`.
    pub fn get(&self, i: usize) -> Option<&Token> {
        self.toks.get(i)
    }

    /// Is the token at `i` this operator or bracket?
    pub fn is(&self, i: usize, text: &str) -> bool {
        self.get(i).is_some_and(|t| t.is(text))
    }

    /// Is the token at `i` this identifier?
    pub fn is_ident(&self, i: usize, text: &str) -> bool {
        self.get(i).is_some_and(|t| t.is_ident(text))
    }

    /// The identifier at `i`.
    pub fn ident(&self, i: usize) -> Option<&str> {
        self.get(i).and_then(Token::ident)
    }

    /// Position of the token at `i`, or of the last one.
    pub fn loc(&self, i: usize) -> Loc {
        self.get(i).or_else(|| self.toks.last()).map_or(Loc::default(), |t| t.loc)
    }

    /// Partner of the bracket at `i`.
    pub fn pair(&self, i: usize) -> Option<usize> {
        self.pair.get(i).copied().filter(|p| *p != NONE)
    }

    /// Attributes of the list token at `i`.
    pub fn attr_list(&self, i: usize) -> &[Attr] {
        let index = self.get(i).filter(|t| t.kind == Kind::Attr).and_then(|t| t.text.parse::<usize>().ok());
        index.and_then(|n| self.attrs.get(n)).map_or(&[], Vec::as_slice)
    }

    /// First index at or after `i` whose token takes part in the grammar.
    pub fn skip(&self, mut i: usize) -> usize {
        while self.get(i).is_some_and(|t| !t.significant()) {
            i += 1;
        }
        i
    }

    /// Next significant index after `i`.
    pub fn next(&self, i: usize) -> usize {
        self.skip(i + 1)
    }

    /// Previous significant index before `i`.
    pub fn prev(&self, i: usize) -> Option<usize> {
        (0..i.min(self.len())).rev().find(|n| self.toks[*n].significant())
    }

    /// The `>` that closes the template list opened by the `<` at `i`, if this can be a template list.
    pub fn angle(&self, i: usize, hi: usize) -> Option<usize> {
        let mut depth = 0usize;
        let mut n = i;
        while n < hi {
            let token = self.get(n)?;
            if token.kind == Kind::Punct {
                match &*token.text {
                    "(" | "[" | "{" => n = self.pair(n)?,
                    "<" => depth += 1,
                    ">" => {
                        depth -= 1;
                        if depth == 0 {
                            return Some(n);
                        }
                    }
                    ";" | ")" | "]" | "}" => return None,
                    _ => {}
                }
            }
            n += 1;
        }
        None
    }

    /// Splits `lo..hi` at commas outside brackets and template lists.
    pub fn split(&self, lo: usize, hi: usize) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let mut start = lo;
        let mut i = lo;
        while i < hi {
            if self.is(i, ",") {
                out.push((start, i));
                start = i + 1;
            } else if self.is(i, "<") && i > lo && self.ident(i - 1).is_some() {
                i = self.angle(i, hi).filter(|e| self.plausible_template(i, *e)).unwrap_or(i);
            } else if let Some(p) = self.pair(i).filter(|p| *p > i) {
                i = p;
            }
            i += 1;
        }
        if start < hi || !out.is_empty() {
            out.push((start, hi));
        }
        out
    }

    /// Can `<`..`>` at these indices be a template list inside an expression? It can if something that continues a
    /// template name follows, and nothing inside is an operator that only expressions have.
    pub fn plausible_template(&self, open: usize, close: usize) -> bool {
        let follows = self.get(self.next(close)).is_none_or(|t| {
            t.is("(")
                || t.is("{")
                || t.is("::")
                || t.is(">")
                || t.is(",")
                || t.is(")")
                || t.is(";")
                || t.is("&")
                || t.is("*")
                || t.kind == Kind::Ident
        });
        let name = open.checked_sub(1).and_then(|n| self.ident(n));
        let known = name.is_some_and(words::is_template_name);
        let inside = (open + 1..close).all(|n| {
            let t = &self.toks[n];
            !(t.is("&&") || t.is("||") || t.is("=") || t.is("+=") || t.is("?"))
        });
        follows && (inside || known)
    }

    /// Inserts text before the token at `i`; later insertions stand closer to the token.
    pub fn insert_before(&mut self, i: usize, text: impl Into<String>) {
        if !self.removed(i) {
            self.before.entry(i).or_default().push(text.into());
        }
    }

    /// Inserts text after the token at `i`; later insertions stand closer to the token.
    pub fn insert_after(&mut self, i: usize, text: impl Into<String>) {
        if !self.removed(i) {
            self.after.entry(i).or_default().insert(0, text.into());
        }
    }

    /// Puts text around `start..end`, outside of whatever was inserted there before.
    pub fn wrap_outside(&mut self, start: usize, end: usize, open: &str, close: &str) {
        self.before.entry(start).or_default().insert(0, open.to_owned());
        self.after.entry(end - 1).or_default().push(close.to_owned());
    }

    /// Replaces the token at `i`.
    pub fn replace(&mut self, i: usize, text: impl Into<String>) {
        if !self.removed(i) {
            self.replaced.insert(i, text.into());
        }
    }

    /// Removes the tokens in `lo..hi` and whatever was to be inserted there: no later pass sees them or can print there.
    pub fn remove(&mut self, lo: usize, hi: usize) {
        for i in lo..hi.min(self.toks.len()) {
            let token = &mut self.toks[i];
            token.kind = Kind::Attr;
            token.text = Rc::from("");
            self.replaced.insert(i, String::new());
            self.before.remove(&i);
            self.after.remove(&i);
        }
    }

    /// Was the token removed?
    fn removed(&self, i: usize) -> bool {
        self.get(i).is_some_and(|t| t.kind == Kind::Attr && t.text.is_empty())
    }

    /// Texts to print before, for and after the token at `i`.
    pub fn parts(&self, i: usize) -> (&[String], String, &[String]) {
        let before = self.before.get(&i).map_or(&[][..], Vec::as_slice);
        let after = self.after.get(&i).map_or(&[][..], Vec::as_slice);
        let text = match self.replaced.get(&i) {
            Some(text) => text.clone(),
            None => self.get(i).map_or(String::new(), |t| words::translate(t, self.double).into_owned()),
        };
        (before, text, after)
    }

    /// The tokens of `lo..hi` as they will be printed, on one line.
    pub fn render(&self, lo: usize, hi: usize) -> String {
        let mut out = String::new();
        for i in lo..hi.min(self.len()) {
            if !self.toks[i].significant() {
                continue;
            }
            let (before, text, after) = self.parts(i);
            for part in before.iter().chain(std::iter::once(&text)).chain(after) {
                if !out.is_empty() && !part.is_empty() && (self.toks[i].space || super::emit::would_glue(&out, part)) {
                    out.push(' ');
                }
                out.push_str(part);
            }
        }
        out
    }

    /// The tokens of `lo..hi` as the user wrote them, on one line.
    pub fn spell(&self, lo: usize, hi: usize) -> String {
        let tokens: Vec<Token> =
            self.toks[lo.min(self.len())..hi.min(self.len())].iter().filter(|t| t.significant()).cloned().collect();
        crate::pp::spell(&tokens)
    }
}

fn pair_brackets(toks: &[Token]) -> Result<Vec<usize>, Problem> {
    let mut pair = vec![NONE; toks.len()];
    let mut open: Vec<usize> = Vec::new();
    for (i, token) in toks.iter().enumerate() {
        if token.kind != Kind::Punct {
            continue;
        }
        match &*token.text {
            "(" | "[" | "{" => {
                open.push(i);
                if open.len() > DEPTH {
                    let message = format!("brackets are nested more than {DEPTH} deep");
                    return Err(Problem::at("bracket-nesting", token.loc, message));
                }
            }
            ")" | "]" | "}" => {
                let Some(start) = open.pop() else {
                    return Err(Problem::at(
                        "unbalanced-brackets",
                        token.loc,
                        format!("this `{}` closes nothing", token.text),
                    )
                    .help("remove it, or add the bracket it should close"));
                };
                let wanted = match &*toks[start].text {
                    "(" => ")",
                    "[" => "]",
                    _ => "}",
                };
                if wanted != &*token.text {
                    let at = toks[start].loc;
                    let message = format!(
                        "this `{}` meets the `{}` of line {}, which `{wanted}` should close",
                        token.text, toks[start].text, at.line
                    );
                    return Err(Problem::at("unbalanced-brackets", token.loc, message).help(format!(
                        "add the missing `{wanted}` before it, or remove the bracket that is too many"
                    )));
                }
                pair[i] = start;
                pair[start] = i;
            }
            _ => {}
        }
    }
    if let Some(start) = open.pop() {
        let token = &toks[start];
        return Err(Problem::at("unbalanced-brackets", token.loc, format!("this `{}` is never closed", token.text))
            .help("add the closing bracket where its part of the program ends"));
    }
    Ok(pair)
}

fn attribute_list(toks: &[Token]) -> Vec<Attr> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < toks.len() {
        let Some(mut name) = toks[i].ident() else {
            i += 1;
            continue;
        };
        let loc = toks[i].loc;
        i += 1;
        while toks.get(i).is_some_and(|t| t.is("::"))
            && let Some(next) = toks.get(i + 1).and_then(Token::ident)
        {
            name = next;
            i += 2;
        }
        let mut args = None;
        if toks.get(i).is_some_and(|t| t.is("(")) {
            let mut depth = 0usize;
            let start = i + 1;
            while let Some(t) = toks.get(i) {
                if t.is("(") {
                    depth += 1;
                } else if t.is(")") {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                i += 1;
            }
            args = Some(toks[start.min(i)..i].to_vec());
            i += 1;
        }
        out.push(Attr { name: name.to_owned(), args, loc });
    }
    out
}
