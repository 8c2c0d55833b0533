//! A position in the token stream with the small questions that every production asks. Knows types, no instructions.

use std::sync::Arc;

use super::ReadError;
use super::ir::Type;
use super::lexer::{Lexed, Tok};

/// Types and constants may nest this deep.
pub const MAX_DEPTH: u32 = 64;

/// What attributes of a parameter say that matters.
pub struct Attributes {
    /// Pointee of a `byval` argument.
    pub byval: Option<Type>,
    /// Alignment of a pointer, 1 when not given.
    pub align: u32,
}

/// The token stream.
pub struct Cursor<'a> {
    lexed: &'a Lexed<'a>,
    pos: usize,
}

impl<'a> Cursor<'a> {
    /// Starts at the first token.
    pub fn new(lexed: &'a Lexed<'a>) -> Self {
        Self { lexed, pos: 0 }
    }

    /// The token here.
    pub fn peek(&self) -> Option<Tok<'a>> {
        self.lexed.toks.get(self.pos).copied()
    }

    /// The token `n` further on.
    pub fn peek_at(&self, n: usize) -> Option<Tok<'a>> {
        self.lexed.toks.get(self.pos + n).copied()
    }

    /// Line of the token here.
    pub fn line(&self) -> u32 {
        let l = &self.lexed.lines;
        l.get(self.pos).or(l.last()).copied().unwrap_or(1)
    }

    /// An error here.
    pub fn err<T>(&self, message: impl Into<String>) -> Result<T, ReadError> {
        Err(ReadError::new(self.line(), message))
    }

    /// Takes the token here.
    pub fn next(&mut self) -> Result<Tok<'a>, ReadError> {
        match self.peek() {
            Some(t) => {
                self.pos += 1;
                Ok(t)
            }
            None => self.err("unexpected end of text"),
        }
    }

    /// Steps over one token.
    pub fn skip(&mut self) {
        self.pos += 1;
    }

    /// Takes `t` if it is here.
    pub fn eat(&mut self, t: Tok<'_>) -> bool {
        let hit = self.peek() == Some(t);
        self.pos += usize::from(hit);
        hit
    }

    /// Takes the punctuation `c` if it is here.
    pub fn eat_punct(&mut self, c: u8) -> bool {
        self.eat(Tok::Punct(c))
    }

    /// Takes the word `w` if it is here.
    pub fn eat_word(&mut self, w: &str) -> bool {
        self.eat(Tok::Word(w))
    }

    /// Takes the punctuation `c`.
    pub fn expect(&mut self, c: u8) -> Result<(), ReadError> {
        if self.eat_punct(c) { Ok(()) } else { self.err(format!("expected `{}`, found {:?}", c as char, self.peek())) }
    }

    /// Takes a non-negative integer.
    pub fn uint(&mut self) -> Result<u64, ReadError> {
        match self.next()? {
            Tok::Int(s) => s.parse().or_else(|_| self.err(format!("`{s}` is out of range"))),
            t => self.err(format!("expected an integer, found {t:?}")),
        }
    }

    /// Steps over a bracketed group that opens here.
    pub fn skip_group(&mut self) -> Result<(), ReadError> {
        let mut depth = 0u32;
        loop {
            match self.next()? {
                Tok::Punct(b'(' | b'[' | b'{') => depth += 1,
                Tok::Punct(b')' | b']' | b'}') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
    }

    /// Does a type start here?
    pub fn at_type(&self) -> bool {
        match self.peek() {
            Some(Tok::Word(w)) => simple_type(w).is_some() || w == "target",
            Some(Tok::Local(_) | Tok::Punct(b'<' | b'[' | b'{')) => true,
            _ => false,
        }
    }

    /// A type.
    pub fn ty(&mut self) -> Result<Type, ReadError> {
        self.ty_at(0)
    }

    fn ty_at(&mut self, depth: u32) -> Result<Type, ReadError> {
        if depth > MAX_DEPTH {
            return self.err("types nest too deep");
        }
        let t = match self.next()? {
            Tok::Word("ptr") => Type::Ptr(self.addrspace()?),
            Tok::Word("target") => {
                self.skip_group()?;
                Type::Opaque
            }
            Tok::Word(w) => match simple_type(w) {
                Some(t) => t,
                None => return self.err(format!("`{w}` is not a type")),
            },
            Tok::Local(n) => Type::Named(Arc::from(n)),
            Tok::Punct(b'[') => {
                let n = self.uint()?;
                self.separator()?;
                let e = self.ty_at(depth + 1)?;
                self.expect(b']')?;
                Type::Array(n, Arc::new(e))
            }
            Tok::Punct(b'<') if self.peek() == Some(Tok::Punct(b'{')) => {
                self.skip();
                let fields = self.fields(depth)?;
                self.expect(b'>')?;
                Type::Struct { packed: true, fields }
            }
            Tok::Punct(b'<') => {
                if self.eat_word("vscale") {
                    return self.err("scalable vectors are not supported");
                }
                let n = self.uint()?;
                self.separator()?;
                let e = self.ty_at(depth + 1)?;
                self.expect(b'>')?;
                if n == 0 || n > 4096 {
                    return self.err("vector length out of range");
                }
                Type::Vector(n as u32, Arc::new(e))
            }
            Tok::Punct(b'{') => Type::Struct { packed: false, fields: self.fields(depth)? },
            t => return self.err(format!("expected a type, found {t:?}")),
        };
        if self.peek() == Some(Tok::Punct(b'*')) {
            return self.err("typed pointers are not supported: compile with opaque pointers");
        }
        Ok(t)
    }

    /// The `x` between a length and an element type.
    fn separator(&mut self) -> Result<(), ReadError> {
        if self.eat_word("x") { Ok(()) } else { self.err("expected `x`") }
    }

    fn fields(&mut self, depth: u32) -> Result<Arc<[Type]>, ReadError> {
        let mut v = Vec::new();
        if !self.eat_punct(b'}') {
            loop {
                v.push(self.ty_at(depth + 1)?);
                if !self.eat_punct(b',') {
                    break;
                }
            }
            self.expect(b'}')?;
        }
        Ok(v.into())
    }

    /// `addrspace(n)` if it is here, else 0.
    pub fn addrspace(&mut self) -> Result<u32, ReadError> {
        if !self.eat_word("addrspace") {
            return Ok(0);
        }
        self.expect(b'(')?;
        let n = match self.next()? {
            Tok::Int(s) => s.parse().unwrap_or(u32::MAX),
            _ => u32::MAX,
        };
        self.expect(b')')?;
        Ok(n)
    }

    /// Steps over attributes after a call's arguments, which end with the line: the next line is an instruction.
    pub fn call_attributes(&mut self) -> Result<(), ReadError> {
        let line = self.last_line();
        while self.line() == line && matches!(self.peek(), Some(Tok::Word(_) | Tok::Hash(_) | Tok::Str(_))) {
            self.skip();
            match self.peek() {
                Some(Tok::Punct(b'(')) => self.skip_group()?,
                Some(Tok::Punct(b'=')) => {
                    self.skip();
                    self.skip();
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Line of the token taken last.
    fn last_line(&self) -> u32 {
        self.pos.checked_sub(1).and_then(|p| self.lexed.lines.get(p)).copied().unwrap_or(1)
    }

    /// Steps over attributes of a parameter, a result or a function: words with optional arguments, strings, groups.
    /// Stops where a type or a value starts.
    pub fn attributes(&mut self) -> Result<Attributes, ReadError> {
        let mut out = Attributes { byval: None, align: 1 };
        loop {
            match self.peek() {
                Some(Tok::Word("byval")) => {
                    self.skip();
                    self.expect(b'(')?;
                    out.byval = Some(self.ty()?);
                    self.expect(b')')?;
                }
                Some(Tok::Word("align")) => {
                    self.skip();
                    if matches!(self.peek(), Some(Tok::Int(_))) {
                        out.align = self.uint()?.clamp(1, 1 << 20) as u32;
                    } else {
                        self.skip_group()?;
                    }
                }
                Some(Tok::Word(w)) if !self.at_type() && !is_value_word(w) => {
                    self.skip();
                    match self.peek() {
                        Some(Tok::Punct(b'(')) => self.skip_group()?,
                        Some(Tok::Punct(b'=')) => {
                            self.skip();
                            self.skip();
                        }
                        _ => {}
                    }
                }
                Some(Tok::Str(_)) => {
                    self.skip();
                    if self.eat_punct(b'=') {
                        self.skip();
                    }
                }
                Some(Tok::Hash(_)) => self.skip(),
                _ => return Ok(out),
            }
        }
    }
}

fn simple_type(w: &str) -> Option<Type> {
    Some(match w {
        "void" => Type::Void,
        "half" => Type::Half,
        "bfloat" => Type::BFloat,
        "float" => Type::Float,
        "double" => Type::Double,
        "ptr" => Type::Ptr(0),
        "metadata" | "token" | "label" | "x86_fp80" | "fp128" | "ppc_fp128" | "x86_amx" | "opaque" => Type::Opaque,
        _ => {
            let bits: u32 = w.strip_prefix('i')?.parse().ok()?;
            if bits == 0 || bits > 1 << 16 {
                return None;
            }
            Type::Int(bits)
        }
    })
}

/// Words that begin a constant.
pub fn is_value_word(w: &str) -> bool {
    matches!(
        w,
        "true"
            | "false"
            | "null"
            | "undef"
            | "poison"
            | "none"
            | "zeroinitializer"
            | "splat"
            | "asm"
            | "blockaddress"
            | "dso_local_equivalent"
            | "no_cfi"
            | "getelementptr"
            | "inf"
            | "nan"
            | "-inf"
            | "+inf"
            | "-nan"
            | "+nan"
    ) || super::parse_const::cast_op(w).is_some()
        || super::parse_const::bin_op(w).is_some()
}
