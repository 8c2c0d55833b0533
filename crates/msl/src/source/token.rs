//! Tokens and their positions. Knows nothing about how they are made or used.

use std::rc::Rc;

/// Where a token stands in the user's files. A token that came out of a macro stands where the macro was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Loc {
    /// Index of the file in the source set.
    pub file: u32,
    /// 1-based line.
    pub line: u32,
    /// 1-based column in characters.
    pub col: u32,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Identifier or keyword.
    Ident,
    /// Preprocessing number.
    Number,
    /// String literal, quotes included.
    Str,
    /// Character literal, quotes included.
    Char,
    /// Operator or bracket. `>` always stands alone, so that `>>` closes two template lists; see [`Token::space`].
    Punct,
    /// A pragma that clang understands; the text is what follows `#pragma`.
    Pragma,
    /// An attribute list `[[...]]`; the text is the decimal index of the list in the pre-pass's table.
    Attr,
    /// A byte that starts no token.
    Other,
}

/// One token.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its spelling.
    pub text: Rc<str>,
    /// Where it stands.
    pub loc: Loc,
    /// Is there white space (or a boundary that must read like it) before it?
    pub space: bool,
    /// Is it the first of its line?
    pub bol: bool,
}

impl Token {
    /// A token that stands at `loc`, with a space before it.
    pub fn new(kind: Kind, text: &str, loc: Loc) -> Self {
        Self { kind, text: Rc::from(text), loc, space: true, bol: false }
    }

    /// Is it this operator or bracket?
    pub fn is(&self, text: &str) -> bool {
        self.kind == Kind::Punct && &*self.text == text
    }

    /// Is it this identifier?
    pub fn is_ident(&self, text: &str) -> bool {
        self.kind == Kind::Ident && &*self.text == text
    }

    /// Is it any identifier?
    pub fn ident(&self) -> Option<&str> {
        (self.kind == Kind::Ident).then_some(&*self.text)
    }

    /// Does it take part in the grammar (neither pragma nor attribute)?
    pub fn significant(&self) -> bool {
        !matches!(self.kind, Kind::Pragma | Kind::Attr)
    }
}
