//! Integer expressions of CUDA text: parsed with macros, constants and small functions put in, then evaluated as far as
//! they are known. Must not guess: what is not certain has no value.

use super::lex::{self, Kind, Token};

/// What names and types stand for.
pub trait Names {
    /// Parameters and body of a macro; `None` parameters for an object-like one. Its body is put in as text.
    fn macro_body(&self, name: &str) -> Option<(Option<Vec<String>>, String)>;
    /// Text of the value of a constant: a `constexpr` initialiser, a template argument. Put in as a value.
    fn value(&self, name: &str) -> Option<String>;
    /// Parameters and returned expression of a function that only returns.
    fn function(&self, name: &str) -> Option<(Vec<String>, String)>;
    /// Size in bytes of a type the file defines (structures).
    fn size_of(&self, ty: &str) -> Option<i64>;
}

/// Names with no meaning.
pub struct Nothing;

impl Names for Nothing {
    fn macro_body(&self, _: &str) -> Option<(Option<Vec<String>>, String)> {
        None
    }

    fn value(&self, _: &str) -> Option<String> {
        None
    }

    fn function(&self, _: &str) -> Option<(Vec<String>, String)> {
        None
    }

    fn size_of(&self, _: &str) -> Option<i64> {
        None
    }
}

/// An integer expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A known number.
    Int(i64),
    /// A name that stands for nothing known, members included: `n`, `blockDim.x`.
    Name(String),
    /// `-a`, `~a`, `!a`.
    Unary(char, Box<Expr>),
    /// `a op b`.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `c ? a : b`.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `min` or `max` of two.
    MinMax(bool, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Its value, if every part is known.
    pub fn value(&self) -> Option<i64> {
        match self {
            Self::Int(v) => Some(*v),
            Self::Name(_) => None,
            Self::Unary(op, a) => {
                let a = a.value()?;
                match op {
                    '-' => a.checked_neg(),
                    '~' => Some(!a),
                    _ => Some(i64::from(a == 0)),
                }
            }
            Self::Binary(op, a, b) => apply(op, a.value()?, b.value()?),
            Self::Select(c, a, b) => {
                if c.value()? != 0 {
                    a.value()
                } else {
                    b.value()
                }
            }
            Self::MinMax(max, a, b) => {
                let (a, b) = (a.value()?, b.value()?);
                Some(if *max { a.max(b) } else { a.min(b) })
            }
        }
    }

    /// Names that it depends on.
    pub fn names(&self, out: &mut Vec<String>) {
        match self {
            Self::Int(_) => {}
            Self::Name(n) => {
                if !out.contains(n) {
                    out.push(n.clone());
                }
            }
            Self::Unary(_, a) => a.names(out),
            Self::Binary(_, a, b) | Self::MinMax(_, a, b) => {
                a.names(out);
                b.names(out);
            }
            Self::Select(c, a, b) => {
                c.names(out);
                a.names(out);
                b.names(out);
            }
        }
    }
}

/// Expansions inside one another at most.
const MAX_DEPTH: u32 = 24;
/// Tokens an expansion may have.
const MAX_TOKENS: usize = 4096;
/// Brackets inside one another at most.
const MAX_NESTING: u32 = 100;

/// Value of `text`, if every part of it is known.
pub fn eval(text: &str, names: &dyn Names) -> Option<i64> {
    parse(text, names)?.value()
}

/// `text` as an expression; `None` where it is more than integer arithmetic over names.
pub fn parse(text: &str, names: &dyn Names) -> Option<Expr> {
    at_depth(text, names, 0)
}

fn at_depth(text: &str, names: &dyn Names, depth: u32) -> Option<Expr> {
    if depth > MAX_DEPTH {
        return None;
    }
    let text = expand_macros(text, names)?;
    let tokens = lex::tokens(&text);
    let mut p = Parser { text: &text, tokens: &tokens, at: 0, names, depth, nesting: 0 };
    let value = p.ternary()?;
    (p.at == tokens.len()).then_some(value)
}

/// `text` with every macro replaced by its body, as the preprocessor does; `None` when that does not end.
pub fn expand_macros(text: &str, names: &dyn Names) -> Option<String> {
    let mut text = text.to_owned();
    for _ in 0..MAX_DEPTH {
        let tokens = lex::tokens(&text);
        if tokens.len() > MAX_TOKENS {
            return None;
        }
        let Some((range, replacement)) = first_macro(&text, &tokens, names) else { return Some(text) };
        text.replace_range(range, &replacement);
    }
    None
}

fn first_macro(text: &str, tokens: &[Token], names: &dyn Names) -> Option<(std::ops::Range<usize>, String)> {
    for (i, token) in tokens.iter().enumerate() {
        let member = i > 0 && tokens.get(i - 1).is_some_and(|t| matches!(t.text(text), "." | "->" | "::"));
        if token.kind != Kind::Ident || member {
            continue;
        }
        match names.macro_body(token.text(text)) {
            Some((None, body)) => return Some((token.range.clone(), format!(" {body} "))),
            Some((Some(params), body)) => {
                let Some((args, end)) = arguments(text, tokens, i + 1) else { continue };
                if args.len() == params.len() {
                    return Some((token.range.start..end, format!(" {} ", substitute(&body, &params, &args, false))));
                }
            }
            None => {}
        }
    }
    None
}

/// Texts of the arguments of a call whose `(` is token `at`, and the byte after its `)`.
pub fn arguments(text: &str, tokens: &[Token], at: usize) -> Option<(Vec<String>, usize)> {
    if tokens.get(at)?.text(text) != "(" {
        return None;
    }
    let mut depth = 0i32;
    let mut from = tokens.get(at)?.range.end;
    let mut args = Vec::new();
    for t in tokens.get(at..)? {
        match t.text(text) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 1 => {
                args.push(text.get(from..t.range.start)?.trim().to_owned());
                from = t.range.end;
            }
            _ => {}
        }
        if depth == 0 {
            let last = text.get(from..t.range.start)?.trim();
            if !last.is_empty() || !args.is_empty() {
                args.push(last.to_owned());
            }
            return Some((args, t.range.end));
        }
    }
    None
}

fn substitute(body: &str, params: &[String], args: &[String], as_values: bool) -> String {
    let mut out = String::new();
    let mut last = 0;
    for t in lex::tokens(body) {
        if let Some(arg) = params.iter().position(|p| p == t.text(body)).and_then(|i| args.get(i)) {
            out += body.get(last..t.range.start).unwrap_or("");
            let (open, close) = if as_values { ("(", ")") } else { ("", "") };
            out.extend([open, arg, close]);
            last = t.range.end;
        }
    }
    out + body.get(last..).unwrap_or("")
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    names: &'a dyn Names,
    depth: u32,
    nesting: u32,
}

/// Binary operators by precedence, loosest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |t| t.text(self.text))
    }

    fn take(&mut self, what: &str) -> Option<()> {
        (self.peek() == what).then(|| self.at += 1)
    }

    fn deeper(&mut self) -> Option<()> {
        self.nesting += 1;
        (self.nesting <= MAX_NESTING).then_some(())
    }

    fn ternary(&mut self) -> Option<Expr> {
        self.deeper()?;
        let condition = self.binary(0)?;
        let value = if self.take("?").is_some() {
            let yes = self.ternary()?;
            self.take(":")?;
            let no = self.ternary()?;
            Expr::Select(Box::new(condition), Box::new(yes), Box::new(no))
        } else {
            condition
        };
        self.nesting -= 1;
        Some(value)
    }

    fn binary(&mut self, level: usize) -> Option<Expr> {
        let Some(ops) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(op) = ops.iter().find(|op| **op == self.peek()) {
            self.at += 1;
            let right = self.binary(level + 1)?;
            left = Expr::Binary(op, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr> {
        let op = self.peek();
        if !matches!(op, "-" | "+" | "~" | "!") {
            return self.primary();
        }
        self.deeper()?;
        self.at += 1;
        let v = self.unary()?;
        self.nesting -= 1;
        Some(match op.chars().next() {
            Some(op @ ('-' | '~' | '!')) => Expr::Unary(op, Box::new(v)),
            _ => v,
        })
    }

    fn primary(&mut self) -> Option<Expr> {
        let token = self.tokens.get(self.at)?;
        let text = token.text(self.text);
        match token.kind {
            Kind::Number => {
                self.at += 1;
                number(text).map(Expr::Int)
            }
            Kind::Punct if text == "(" => {
                // A cast to an integer type, or a parenthesis.
                if let Some(after) = self.cast_end() {
                    self.at = after;
                    return self.unary();
                }
                self.at += 1;
                let v = self.ternary()?;
                self.take(")")?;
                Some(v)
            }
            Kind::Ident => self.name(text),
            _ => None,
        }
    }

    /// Position after `(type)` when the parenthesis holds an integer type.
    fn cast_end(&self) -> Option<usize> {
        let mut i = self.at + 1;
        let mut any = false;
        while let Some(t) = self.tokens.get(i) {
            let text = t.text(self.text);
            i += 1;
            if text == ")" {
                return any.then_some(i);
            }
            if !is_integer_word(text) && !matches!(text, "std" | "::" | "const") {
                return None;
            }
            any = true;
        }
        None
    }

    fn name(&mut self, text: &'a str) -> Option<Expr> {
        self.at += 1;
        match text {
            "true" => return Some(Expr::Int(1)),
            "false" => return Some(Expr::Int(0)),
            "sizeof" => {
                let (args, end) = arguments(self.text, self.tokens, self.at)?;
                self.skip_to(end);
                return self.size_of(args.first()?, 0).map(Expr::Int);
            }
            "static_cast" => {
                self.take("<")?;
                while self.take(">").is_none() {
                    let word = self.peek();
                    if !is_integer_word(word) && !matches!(word, "std" | "::" | "const") {
                        return None;
                    }
                    self.at += 1;
                }
                self.take("(")?;
                let v = self.ternary()?;
                self.take(")")?;
                return Some(v);
            }
            "std" if self.take("::").is_some() => {
                let word = self.peek();
                return self.name(word);
            }
            _ if self.peek() == "(" => return self.call(text),
            _ => {}
        }
        if matches!(self.peek(), "->" | "::" | "[" | "{") {
            return None;
        }
        if self.take(".").is_some() {
            let member = self.peek();
            self.at += 1;
            let whole = matches!(member, "x" | "y" | "z") && self.peek() != "(";
            let name = format!("{text}.{member}");
            return match self.names.value(&name) {
                Some(body) if whole => at_depth(&body, self.names, self.depth + 1),
                _ => whole.then_some(Expr::Name(name)),
            };
        }
        match self.names.value(text) {
            Some(body) if body.trim() != text => at_depth(&body, self.names, self.depth + 1),
            _ => Some(Expr::Name(text.to_owned())),
        }
    }

    fn call(&mut self, name: &str) -> Option<Expr> {
        let (args, end) = arguments(self.text, self.tokens, self.at)?;
        self.skip_to(end);
        let arg = |i: usize| at_depth(args.get(i)?, self.names, self.depth + 1);
        if let Some((params, body)) = self.names.function(name) {
            if params.len() != args.len() {
                return None;
            }
            return at_depth(&substitute(&body, &params, &args, true), self.names, self.depth + 1);
        }
        match (name, args.len()) {
            ("min" | "max", 2) => Some(Expr::MinMax(name == "max", Box::new(arg(0)?), Box::new(arg(1)?))),
            (word, 1) if is_integer_word(word) => arg(0),
            _ => None,
        }
    }

    fn skip_to(&mut self, byte: usize) {
        while self.tokens.get(self.at).is_some_and(|t| t.range.start < byte) {
            self.at += 1;
        }
    }

    fn size_of(&self, ty: &str, depth: u32) -> Option<i64> {
        if let Some(size) = type_size(ty).or_else(|| self.names.size_of(ty)) {
            return Some(size);
        }
        let body = self.names.value(ty)?;
        if depth > MAX_DEPTH || body == ty { None } else { self.size_of(&body, depth + 1) }
    }
}

fn apply(op: &str, a: i64, b: i64) -> Option<i64> {
    let flag = |b: bool| Some(i64::from(b));
    match op {
        "||" => flag(a != 0 || b != 0),
        "&&" => flag(a != 0 && b != 0),
        "|" => Some(a | b),
        "^" => Some(a ^ b),
        "&" => Some(a & b),
        "==" => flag(a == b),
        "!=" => flag(a != b),
        "<" => flag(a < b),
        ">" => flag(a > b),
        "<=" => flag(a <= b),
        ">=" => flag(a >= b),
        "<<" => u32::try_from(b).ok().filter(|b| *b < 63).and_then(|b| a.checked_mul(1 << b)),
        ">>" => u32::try_from(b).ok().filter(|b| *b < 64).map(|b| a >> b),
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" => a.checked_div(b),
        _ => a.checked_rem(b),
    }
}

fn is_integer_word(word: &str) -> bool {
    matches!(
        word,
        "int"
            | "unsigned"
            | "long"
            | "short"
            | "signed"
            | "size_t"
            | "int32_t"
            | "uint32_t"
            | "int64_t"
            | "uint64_t"
            | "uint"
    )
}

/// Value of an integer literal, 64-bit patterns wrapped to `i64`.
pub fn number(text: &str) -> Option<i64> {
    let clean: String = text.chars().filter(|c| *c != '\'').collect();
    let body = clean.trim_end_matches(['u', 'U', 'l', 'L']);
    let value = if let Some(hex) = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        u64::from_str_radix(hex, 16).ok()?
    } else if let Some(bin) = body.strip_prefix("0b").or_else(|| body.strip_prefix("0B")) {
        u64::from_str_radix(bin, 2).ok()?
    } else if body.len() > 1 && body.starts_with('0') {
        u64::from_str_radix(body.get(1..)?, 8).ok()?
    } else {
        body.parse().ok()?
    };
    Some(value as i64)
}

/// Size in bytes of a type that CUDA itself defines.
pub fn type_size(ty: &str) -> Option<i64> {
    let words: Vec<&str> = ty
        .split(|c: char| c.is_whitespace())
        .filter(|w| !matches!(*w, "" | "const" | "volatile" | "struct" | "signed" | "typename"))
        .collect();
    let name = words.join(" ");
    if name.ends_with('*') {
        return Some(8);
    }
    let scalar = |n: &str| -> Option<i64> {
        Some(match n {
            "char" | "unsigned char" | "uchar" | "int8_t" | "uint8_t" | "bool" | "std::byte" | "__nv_fp8_e4m3"
            | "__nv_fp8_e5m2" => 1,
            "short" | "unsigned short" | "short int" | "ushort" | "int16_t" | "uint16_t" | "half" | "__half"
            | "bf16" | "__nv_bfloat16" | "nv_bfloat16" | "at::Half" | "at::BFloat16" | "c10::Half"
            | "c10::BFloat16" => 2,
            "int" | "unsigned" | "unsigned int" | "uint" | "int32_t" | "uint32_t" | "float" | "half2" | "__half2"
            | "__nv_bfloat162" | "nv_bfloat162" => 4,
            "long"
            | "unsigned long"
            | "long long"
            | "unsigned long long"
            | "long long int"
            | "int64_t"
            | "uint64_t"
            | "size_t"
            | "ptrdiff_t"
            | "double"
            | "unsigned long long int" => 8,
            _ => return None,
        })
    };
    if let Some(size) = scalar(&name) {
        return Some(size);
    }
    let (base, n) = name.split_at_checked(name.len().checked_sub(1)?)?;
    let n: i64 = n.parse().ok().filter(|n| (1..=4).contains(n))?;
    let element = match base {
        "char" | "uchar" => 1,
        "short" | "ushort" => 2,
        "int" | "uint" | "float" => 4,
        "longlong" | "ulonglong" | "double" | "long" | "ulong" => 8,
        _ => return None,
    };
    Some(n * element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Map {
        macros: Vec<(&'static str, &'static str)>,
        values: Vec<(&'static str, &'static str)>,
    }

    impl Names for Map {
        fn macro_body(&self, name: &str) -> Option<(Option<Vec<String>>, String)> {
            if name == "CDIV" {
                return Some((Some(vec!["a".into(), "b".into()]), "(((a) + (b) - 1) / (b))".into()));
            }
            self.macros.iter().find(|(n, _)| *n == name).map(|(_, v)| (None, (*v).to_owned()))
        }

        fn value(&self, name: &str) -> Option<String> {
            self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned())
        }

        fn function(&self, name: &str) -> Option<(Vec<String>, String)> {
            (name == "cdiv").then(|| (vec!["a".into(), "b".into()], "(a + b - 1) / b".into()))
        }

        fn size_of(&self, ty: &str) -> Option<i64> {
            (ty == "Best").then_some(8)
        }
    }

    #[test]
    fn what_is_certain_has_a_value() {
        let names = Map {
            macros: vec![("RAW", "1 + 1"), ("A", "B"), ("B", "A")],
            values: vec![("T", "float"), ("N", "(TILE + 1)"), ("TILE", "1 << 5")],
        };
        let v = |s: &str| eval(s, &names);
        assert_eq!(v("2 * N * TILE * sizeof(T)"), Some(2 * 33 * 32 * 4));
        assert_eq!(v("RAW * 2"), Some(3), "a macro is text, not a value");
        assert_eq!(v("CDIV(65, 32) + cdiv(1 + 64, 32)"), Some(6));
        assert_eq!(v("sizeof(Best) * 4"), Some(32));
        assert_eq!(v("(100 + 31) / 32 > 3 ? min(7, 9) : -1"), Some(7));
        assert_eq!(v("static_cast<int>(0xffu) & ~3"), Some(252));
        assert_eq!(v("(size_t)4 * (int)(3)"), Some(12));
        assert_eq!(v("!0 && 010 == 8"), Some(1));
    }

    #[test]
    fn what_is_not_certain_has_none() {
        let names = Map { macros: vec![("A", "B"), ("B", "A"), ("X", "blockDim.x")], values: vec![] };
        for s in ["n", "A", "X * 2", "f(3)", "1 / 0", "a.b", "Traits::N", "1 +", "", "ceil_div(8, 4)", "sizeof(Foo)"] {
            assert_eq!(eval(s, &names), None, "{s}");
        }
        let Some(Expr::Binary("*", left, _)) = parse("X * 2", &names) else { panic!("parses") };
        assert_eq!(*left, Expr::Name("blockDim.x".into()));
    }

    #[test]
    fn sizes_of_types() {
        for (ty, size) in
            [("float4", 16), ("const half2", 4), ("unsigned long long", 8), ("float *", 8), ("uchar", 1), ("int3", 12)]
        {
            assert_eq!(type_size(ty), Some(size), "{ty}");
        }
        assert_eq!(type_size("float5"), None);
        assert_eq!(type_size("é4"), None);
    }

    proptest! {
        #[test]
        fn never_panics(s in "[-+*/%()0-9a-zA-Z<>&|!?:, ]{0,80}") {
            let names = Map { macros: vec![("c", "3 + a")], values: vec![("a", "b+b"), ("b", "a*a")] };
            let _ = eval(&s, &names);
        }
    }
}
