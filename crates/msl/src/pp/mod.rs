//! The preprocessor: directives, includes among the given files, macros. It leaves one token stream in which every
//! token knows where the user wrote it. Knows C's preprocessing rules and which headers are Apple's; nothing of C++.

mod cuda;
mod eval;
mod expand;
mod predefined;

pub use eval::integer_constant;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use crate::module::Language;
use crate::source::lexer::lex;
use crate::source::{Kind, Loc, SourceFile, Token};

/// A problem found before clang sees anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable identifier.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where, when there is a place.
    pub loc: Option<Loc>,
    /// What to do.
    pub help: Option<String>,
}

impl Problem {
    /// A problem at a place.
    pub fn at(code: &'static str, loc: Loc, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), loc: Some(loc), help: None }
    }

    /// The same, with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// What preprocessing leaves.
#[derive(Debug, Default)]
pub struct Preprocessed {
    /// Tokens, macros expanded, directives gone; pragmas that clang understands stay as [`Kind::Pragma`].
    pub tokens: Vec<Token>,
    /// Apple's headers that were included, as written between the brackets.
    pub headers: BTreeSet<String>,
    /// `#warning`s and the like.
    pub warnings: Vec<Problem>,
}

/// More tokens than any real source has: a macro that doubles itself ends here.
const TOKEN_BUDGET: usize = 6_000_000;
/// Includes inside includes.
const INCLUDE_DEPTH: usize = 64;

#[derive(Debug)]
struct Macro {
    /// Parameter names; `None` for an object-like macro.
    params: Option<Vec<Rc<str>>>,
    /// Is the last parameter `...`?
    variadic: bool,
    body: Vec<Token>,
}

/// Names that a token must not be expanded as again.
#[derive(Debug)]
struct Hide {
    name: Rc<str>,
    next: Option<Rc<Hide>>,
}

/// A token with the names it is hidden from.
#[derive(Clone, Debug)]
struct PTok {
    tok: Token,
    hide: Option<Rc<Hide>>,
}

struct Cond {
    loc: Loc,
    /// Is this branch being read?
    active: bool,
    /// Was a branch of this chain taken?
    taken: bool,
    /// Was `#else` seen?
    ended: bool,
}

struct Frame {
    tokens: Rc<Vec<Token>>,
    next: usize,
    file: u32,
    conds: Vec<Cond>,
}

/// Preprocesses the first file of the set with the given macros defined.
pub fn preprocess(
    files: &[SourceFile],
    language: Language,
    defines: &[(String, String)],
) -> Result<Preprocessed, Problem> {
    let mut pp = Preprocessor {
        files,
        language,
        lexed: HashMap::new(),
        macros: HashMap::new(),
        frames: Vec::new(),
        pending: Vec::new(),
        once: HashSet::new(),
        produced: 0,
        counter: 0,
        out: Preprocessed::default(),
    };
    let shipped = match language {
        Language::Metal => predefined::MACROS,
        Language::Cuda => cuda::MACROS,
    };
    for (name, value) in shipped {
        pp.define_text(name, value)?;
    }
    for (name, value) in defines {
        pp.define_text(name, value)?;
    }
    if files.is_empty() {
        return Err(Problem {
            code: "no-source",
            message: "there is no source file".to_owned(),
            loc: None,
            help: None,
        });
    }
    pp.enter(0, None)?;
    pp.run()?;
    Ok(pp.out)
}

struct Preprocessor<'a> {
    files: &'a [SourceFile],
    language: Language,
    lexed: HashMap<u32, Rc<Vec<Token>>>,
    macros: HashMap<Rc<str>, Rc<Macro>>,
    frames: Vec<Frame>,
    /// Tokens to read before the files go on, last first.
    pending: Vec<PTok>,
    once: HashSet<u32>,
    produced: usize,
    counter: u32,
    out: Preprocessed,
}

impl Preprocessor<'_> {
    fn define_text(&mut self, name: &str, value: &str) -> Result<(), Problem> {
        let head = lex(u32::MAX, name).ok().filter(|t| t.len() == 1 && t[0].kind == Kind::Ident);
        let body = lex(u32::MAX, value).ok();
        match (head, body) {
            (Some(head), Some(body)) => {
                let makro = Macro { params: None, variadic: false, body };
                self.macros.insert(head[0].text.clone(), Rc::new(makro));
                Ok(())
            }
            _ => Err(Problem {
                code: "invalid-define",
                message: format!("`{name}` cannot be defined as `{value}`"),
                loc: None,
                help: Some("give a macro as a plain name and the text it stands for".to_owned()),
            }),
        }
    }

    fn enter(&mut self, file: u32, from: Option<Loc>) -> Result<(), Problem> {
        if self.frames.len() >= INCLUDE_DEPTH {
            return Err(Problem {
                code: "include-depth",
                message: format!("files include each other more than {INCLUDE_DEPTH} levels deep"),
                loc: from,
                help: Some("put `#pragma once` at the top of each header".to_owned()),
            });
        }
        let tokens = if let Some(tokens) = self.lexed.get(&file) {
            Rc::clone(tokens)
        } else {
            let text = self.files.get(file as usize).map_or("", |f| f.text.as_str());
            let tokens = Rc::new(lex(file, text).map_err(|e| Problem::at(e.code, e.loc, e.message))?);
            self.lexed.insert(file, Rc::clone(&tokens));
            tokens
        };
        self.frames.push(Frame { tokens, next: 0, file, conds: Vec::new() });
        Ok(())
    }

    fn run(&mut self) -> Result<(), Problem> {
        let mut feed = expand::Feed::Files;
        while let Some(token) = self.expanded(&mut feed, 0)? {
            let token = token.tok;
            if token.kind == Kind::Other {
                let literal = token.text.starts_with(['"', '\'']);
                return Err(if literal {
                    Problem::at("unterminated-literal", token.loc, "this literal is not closed on its line")
                } else {
                    Problem::at("stray-character", token.loc, format!("`{}` means nothing here", token.text))
                });
            }
            if token.is_ident("_Pragma") {
                self.pragma_operator(&token)?;
                continue;
            }
            self.out.tokens.push(token);
        }
        Ok(())
    }

    /// `_Pragma("text")` is `#pragma text` in place.
    fn pragma_operator(&mut self, at: &Token) -> Result<(), Problem> {
        let mut feed = expand::Feed::Files;
        let bad = || Problem::at("invalid-pragma", at.loc, "`_Pragma` takes one string literal in parentheses");
        let mut parts = Vec::new();
        for _ in 0..3 {
            parts.push(self.expanded(&mut feed, 0)?.ok_or_else(bad)?.tok);
        }
        if !(parts[0].is("(") && parts[1].kind == Kind::Str && parts[2].is(")")) {
            return Err(bad());
        }
        let text = parts[1].text.trim_matches('"').replace("\\\"", "\"").replace("\\\\", "\\");
        let tokens = lex(at.loc.file, &text).unwrap_or_default();
        self.pragma(&tokens, at.loc);
        Ok(())
    }

    /// The next token of the files, directives carried out.
    fn next_of_files(&mut self) -> Result<Option<Token>, Problem> {
        loop {
            let Some(frame) = self.frames.last_mut() else { return Ok(None) };
            let Some(token) = frame.tokens.get(frame.next).cloned() else {
                if let Some(cond) = frame.conds.last() {
                    return Err(Problem::at("unterminated-conditional", cond.loc, "this `#if` has no `#endif`"));
                }
                self.frames.pop();
                continue;
            };
            frame.next += 1;
            if token.bol && token.is("#") {
                let start = frame.next;
                let line_end =
                    frame.tokens[start..].iter().position(|t| t.bol).map_or(frame.tokens.len(), |n| start + n);
                frame.next = line_end;
                let line: Vec<Token> = frame.tokens[start..line_end].to_vec();
                self.directive(&line, token.loc)?;
                continue;
            }
            if frame.conds.iter().all(|c| c.active) {
                self.spend(1, token.loc)?;
                return Ok(Some(token));
            }
        }
    }

    fn spend(&mut self, tokens: usize, loc: Loc) -> Result<(), Problem> {
        self.produced += tokens;
        if self.produced > TOKEN_BUDGET {
            return Err(Problem::at(
                "macro-explosion",
                loc,
                format!("macros expand to more than {TOKEN_BUDGET} tokens"),
            )
            .help("look for a macro that expands to several uses of itself or of another large macro"));
        }
        Ok(())
    }

    fn active(&self) -> bool {
        self.frames.last().is_some_and(|f| f.conds.iter().all(|c| c.active))
    }

    fn directive(&mut self, line: &[Token], hash: Loc) -> Result<(), Problem> {
        let Some(name) = line.first() else { return Ok(()) };
        let rest = &line[1..];
        match &*name.text {
            "if" | "ifdef" | "ifndef" => {
                let active = self.active() && self.condition(&name.text, rest, name.loc)?;
                if let Some(frame) = self.frames.last_mut() {
                    frame.conds.push(Cond { loc: hash, active, taken: active, ended: false });
                }
                return Ok(());
            }
            "elif" | "elifdef" | "elifndef" | "else" => return self.alternative(&name.text, rest, name.loc),
            "endif" => {
                let popped = self.frames.last_mut().and_then(|f| f.conds.pop());
                return match popped {
                    Some(_) => Ok(()),
                    None => Err(Problem::at("stray-endif", name.loc, "this `#endif` has no `#if`")),
                };
            }
            _ => {}
        }
        if !self.active() {
            return Ok(());
        }
        match &*name.text {
            "define" => self.define(rest, name.loc),
            "undef" => {
                if let Some(t) = rest.first() {
                    self.macros.remove(&t.text);
                }
                Ok(())
            }
            "include" | "import" => self.include(rest, name.loc),
            "pragma" => {
                self.pragma(rest, name.loc);
                Ok(())
            }
            "error" => Err(Problem::at("error-directive", name.loc, format!("`#error {}`", spell(rest)))
                .help("the source refuses this configuration: change the macros it tests")),
            "warning" => {
                let problem = Problem::at("warning-directive", name.loc, format!("`#warning {}`", spell(rest)));
                self.out.warnings.push(problem);
                Ok(())
            }
            "line" | "ident" => Ok(()),
            other => Err(Problem::at("unknown-directive", name.loc, format!("there is no directive `#{other}`"))),
        }
    }

    fn alternative(&mut self, kind: &str, rest: &[Token], loc: Loc) -> Result<(), Problem> {
        let stray = || Problem::at("stray-else", loc, format!("this `#{kind}` has no `#if`"));
        let frame = self.frames.last_mut().ok_or_else(stray)?;
        let cond = frame.conds.last_mut().ok_or_else(stray)?;
        if cond.ended {
            return Err(Problem::at("stray-else", loc, format!("`#{kind}` after `#else`")));
        }
        let taken = cond.taken;
        cond.active = false;
        cond.ended = kind == "else";
        let outer = frame.conds.iter().rev().skip(1).all(|c| c.active);
        let active = outer
            && !taken
            && match kind {
                "else" => true,
                "elif" => self.condition("if", rest, loc)?,
                _ => self.condition(&kind[2..], rest, loc)?,
            };
        if let Some(cond) = self.frames.last_mut().and_then(|f| f.conds.last_mut()) {
            cond.active = active;
            cond.taken |= active;
        }
        Ok(())
    }

    fn condition(&mut self, kind: &str, rest: &[Token], loc: Loc) -> Result<bool, Problem> {
        if kind != "if" {
            let Some(name) = rest.first().and_then(Token::ident) else {
                return Err(Problem::at("invalid-conditional", loc, format!("`#{kind}` needs a name")));
            };
            return Ok(self.is_defined(name) == (kind == "ifdef"));
        }
        self.evaluate(rest, loc)
    }

    fn is_defined(&self, name: &str) -> bool {
        self.macros.contains_key(name) || predefined::DYNAMIC.contains(&name) || predefined::QUERIES.contains(&name)
    }

    fn define(&mut self, rest: &[Token], loc: Loc) -> Result<(), Problem> {
        let Some(name) = rest.first().filter(|t| t.kind == Kind::Ident) else {
            return Err(Problem::at("invalid-define", loc, "`#define` needs a name"));
        };
        let mut params = None;
        let mut variadic = false;
        let mut body = 1;
        if rest.get(1).is_some_and(|t| t.is("(") && !t.space) {
            let mut names: Vec<Rc<str>> = Vec::new();
            let mut i = 2;
            loop {
                match rest.get(i) {
                    Some(t) if t.is(")") => break,
                    Some(t) if t.is("...") => {
                        variadic = true;
                        // GNU `args...` names the rest; plain `...` is `__VA_ARGS__`.
                        if !rest.get(i - 1).is_some_and(|p| p.kind == Kind::Ident) {
                            names.push(Rc::from("__VA_ARGS__"));
                        }
                    }
                    Some(t) if t.kind == Kind::Ident => names.push(t.text.clone()),
                    Some(t) if t.is(",") => {}
                    _ => return Err(Problem::at("invalid-define", name.loc, "this macro's parameter list is broken")),
                }
                i += 1;
            }
            params = Some(names);
            body = i + 1;
        }
        let makro = Macro { params, variadic, body: rest[body..].to_vec() };
        self.macros.insert(name.text.clone(), Rc::new(makro));
        Ok(())
    }

    fn include(&mut self, rest: &[Token], loc: Loc) -> Result<(), Problem> {
        let expanded;
        let mut parts = rest;
        if rest.first().is_some_and(|t| t.kind == Kind::Ident) {
            expanded = self.expand_line(rest)?;
            parts = &expanded;
        }
        let (name, angled) = match parts.first() {
            Some(t) if t.kind == Kind::Str => (t.text.trim_matches('"').to_owned(), false),
            Some(t) if t.is("<") => {
                let inner = parts[1..].iter().take_while(|t| !t.is(">"));
                (inner.map(|t| &*t.text).collect(), true)
            }
            _ => return Err(Problem::at("invalid-include", loc, "`#include` takes `<header>` or `\"file\"`")),
        };
        if let Some(file) = self.resolve(&name) {
            if self.once.contains(&file) {
                return Ok(());
            }
            return self.enter(file, Some(loc));
        }
        if self.language == Language::Cuda {
            return self.cuda_header(&name, angled, loc);
        }
        if let Some(what) = predefined::unsupported_header(&name) {
            return Err(Problem::at("unsupported-header", loc, format!("`{name}` is not supported: it brings {what}")));
        }
        if predefined::is_apple_header(&name) {
            self.out.headers.insert(name);
            return Ok(());
        }
        let (open, close) = if angled { ('<', '>') } else { ('"', '"') };
        Err(Problem::at("include-not-found", loc, format!("there is no file {open}{name}{close}")).help(
            "only Apple's own headers (<metal_stdlib>, <metal_*>, <simd/*>) and the source's own files can be included",
        ))
    }

    /// A header that is none of the source's files: CUDA's own and the host's bring nothing that device code needs here.
    fn cuda_header(&mut self, name: &str, angled: bool, loc: Loc) -> Result<(), Problem> {
        if let Some(what) = cuda::unsupported_header(name) {
            return Err(Problem::at("unsupported-header", loc, format!("`{name}` is not supported: it brings {what}"))
                .help("write out what the kernel needs of it"));
        }
        if angled || cuda::is_cuda_header(name) {
            self.out.headers.insert(name.to_owned());
            return Ok(());
        }
        Err(Problem::at("include-not-found", loc, format!("there is no file \"{name}\""))
            .help("give the file that is included along with the source"))
    }

    /// Index of the user's file that an include names: beside the including file, by its whole name, or as the only
    /// file whose name ends so.
    fn resolve(&self, name: &str) -> Option<u32> {
        let from = self.frames.last().and_then(|f| self.files.get(f.file as usize)).map_or("", |f| f.name.as_str());
        let dir = from.rfind('/').map_or("", |n| &from[..=n]);
        let beside = normalise(&format!("{dir}{name}"));
        let whole = normalise(name);
        let find = |wanted: &str| self.files.iter().position(|f| normalise(&f.name) == wanted);
        let by_suffix = || {
            let suffix = format!("/{whole}");
            let mut hits = self.files.iter().enumerate().filter(|(_, f)| f.name.ends_with(&suffix));
            hits.next().filter(|_| hits.next().is_none()).map(|(n, _)| n)
        };
        find(&beside).or_else(|| find(&whole)).or_else(by_suffix).map(|n| n as u32)
    }

    fn pragma(&mut self, rest: &[Token], loc: Loc) {
        let words: Vec<&str> = rest.iter().map(|t| &*t.text).collect();
        match words.as_slice() {
            ["once", ..] => {
                if let Some(frame) = self.frames.last() {
                    self.once.insert(frame.file);
                }
            }
            ["unroll" | "nounroll", ..] | ["clang", "loop" | "fp", ..] => {
                let expanded = self.expand_line(rest).unwrap_or_else(|_| rest.to_vec());
                let mut token = Token::new(Kind::Pragma, &spell(&expanded), loc);
                token.bol = true;
                self.out.tokens.push(token);
            }
            _ => {}
        }
    }
}

/// Tokens as text.
pub fn spell(tokens: &[Token]) -> String {
    let mut out = String::new();
    for (n, token) in tokens.iter().enumerate() {
        if n > 0 && token.space {
            out.push(' ');
        }
        out.push_str(&token.text);
    }
    out
}

fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|p| !p.is_empty() && *p != "..") => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests;
