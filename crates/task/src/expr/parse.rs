//! Text to tree: a lexer and a precedence-climbing parser with columns. Knows no values of names.

use super::{ExprError, Value};

/// Nesting and length allowed before an expression is refused, so that no input can exhaust the stack: parsing
/// recurses with nesting, evaluation with the height of the tree, which the number of tokens bounds.
const MAX_DEPTH: usize = 100;
const MAX_TOKENS: usize = 1000;

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Or,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl Op {
    pub(super) const fn symbol(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
        }
    }

    const fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Eq | Self::Ne => 3,
            Self::Lt | Self::Le | Self::Gt | Self::Ge => 4,
            Self::Add | Self::Sub => 5,
            Self::Mul | Self::Div | Self::Rem => 6,
        }
    }
}

/// Functions, with how many arguments they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Min,
    Max,
    CeilDiv,
    RoundUp,
    Pow,
    Sqrt,
    Log2,
    Exp,
    Abs,
    Floor,
    Ceil,
    Bytes,
}

impl Function {
    pub(super) const ALL: [Self; 12] = [
        Self::Min,
        Self::Max,
        Self::CeilDiv,
        Self::RoundUp,
        Self::Pow,
        Self::Sqrt,
        Self::Log2,
        Self::Exp,
        Self::Abs,
        Self::Floor,
        Self::Ceil,
        Self::Bytes,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::CeilDiv => "ceil_div",
            Self::RoundUp => "round_up",
            Self::Pow => "pow",
            Self::Sqrt => "sqrt",
            Self::Log2 => "log2",
            Self::Exp => "exp",
            Self::Abs => "abs",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Bytes => "bytes",
        }
    }

    /// Fewest and most arguments.
    const fn arity(self) -> (usize, usize) {
        match self {
            Self::Min | Self::Max => (1, usize::MAX),
            Self::CeilDiv | Self::RoundUp | Self::Pow => (2, 2),
            _ => (1, 1),
        }
    }
}

/// A node with the 1-based column of its operator, name or number.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) column: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Literal(Value),
    Name(String),
    Negate(Box<Node>),
    Not(Box<Node>),
    Binary(Op, Box<Node>, Box<Node>),
    Choose(Box<Node>, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

impl Node {
    pub(super) fn literal(value: Value) -> Self {
        Self { kind: Kind::Literal(value), column: 1 }
    }

    pub(super) fn visit_names<'a>(&'a self, visit: &mut dyn FnMut(&'a str, usize)) {
        match &self.kind {
            Kind::Literal(_) => {}
            Kind::Name(name) => visit(name, self.column),
            Kind::Negate(a) | Kind::Not(a) => a.visit_names(visit),
            Kind::Binary(_, a, b) => {
                a.visit_names(visit);
                b.visit_names(visit);
            }
            Kind::Choose(a, b, c) => {
                a.visit_names(visit);
                b.visit_names(visit);
                c.visit_names(visit);
            }
            Kind::Call(_, args) => args.iter().for_each(|a| a.visit_names(visit)),
        }
    }

    /// Fully parenthesised text without spaces.
    pub(super) fn write(&self, out: &mut String) {
        match &self.kind {
            Kind::Literal(value) => out.push_str(&value.to_string()),
            Kind::Name(name) => out.push_str(name),
            Kind::Negate(a) => {
                out.push_str("(-");
                a.write(out);
                out.push(')');
            }
            Kind::Not(a) => {
                out.push_str("(!");
                a.write(out);
                out.push(')');
            }
            Kind::Binary(op, a, b) => {
                out.push('(');
                a.write(out);
                out.push_str(op.symbol());
                b.write(out);
                out.push(')');
            }
            Kind::Choose(a, b, c) => {
                out.push('(');
                a.write(out);
                out.push('?');
                b.write(out);
                out.push(':');
                c.write(out);
                out.push(')');
            }
            Kind::Call(function, args) => {
                out.push_str(function.name());
                out.push('(');
                for (i, arg) in args.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    arg.write(out);
                }
                out.push(')');
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(Value),
    Word(String),
    Op(Op),
    Not,
    Question,
    Colon,
    Open,
    Close,
    Comma,
    End,
}

impl Token {
    fn describe(&self) -> String {
        match self {
            Self::Number(v) => format!("`{v}`"),
            Self::Word(w) => format!("`{w}`"),
            Self::Op(op) => format!("`{}`", op.symbol()),
            Self::Not => "`!`".into(),
            Self::Question => "`?`".into(),
            Self::Colon => "`:`".into(),
            Self::Open => "`(`".into(),
            Self::Close => "`)`".into(),
            Self::Comma => "`,`".into(),
            Self::End => "the end".into(),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Node, ExprError> {
    let tokens = lex(text)?;
    if let Some((_, column)) = tokens.get(MAX_TOKENS) {
        return Err(error(text, *column, format!("longer than {MAX_TOKENS} tokens; split the expression")));
    }
    let mut parser = Parser { text, tokens, next: 0, depth: 0 };
    let node = parser.expression()?;
    match parser.peek() {
        (Token::End, _) => Ok(node),
        (other, column) => {
            let message = format!("expected an operator or the end, found {}", other.describe());
            Err(error(text, column, message))
        }
    }
}

fn error(text: &str, column: usize, message: impl Into<String>) -> ExprError {
    ExprError { message: message.into(), text: text.to_owned(), column }
}

fn lex(text: &str) -> Result<Vec<(Token, usize)>, ExprError> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let (c, column) = (at(i), i + 1);
        let two = |second: char| at(i + 1) == second;
        let (token, length) = match c {
            ' ' | '\t' | '\n' | '\r' => {
                i += 1;
                continue;
            }
            '0'..='9' | '.' => number(text, &chars, i)?,
            'a'..='z' | 'A'..='Z' | '_' => {
                let word: String =
                    chars.iter().skip(i).take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
                let length = word.len();
                (Token::Word(word), length)
            }
            '|' if two('|') => (Token::Op(Op::Or), 2),
            '&' if two('&') => (Token::Op(Op::And), 2),
            '=' if two('=') => (Token::Op(Op::Eq), 2),
            '!' if two('=') => (Token::Op(Op::Ne), 2),
            '<' if two('=') => (Token::Op(Op::Le), 2),
            '>' if two('=') => (Token::Op(Op::Ge), 2),
            '<' => (Token::Op(Op::Lt), 1),
            '>' => (Token::Op(Op::Gt), 1),
            '+' => (Token::Op(Op::Add), 1),
            '-' => (Token::Op(Op::Sub), 1),
            '*' => (Token::Op(Op::Mul), 1),
            '/' => (Token::Op(Op::Div), 1),
            '%' => (Token::Op(Op::Rem), 1),
            '!' => (Token::Not, 1),
            '?' => (Token::Question, 1),
            ':' => (Token::Colon, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '=' => return Err(error(text, column, "`=` is not an operator; write `==` to compare")),
            '&' | '|' => return Err(error(text, column, format!("`{c}` is not an operator; write `{c}{c}`"))),
            _ => return Err(error(text, column, format!("unexpected character `{}`", c.escape_default()))),
        };
        tokens.push((token, column));
        i += length;
    }
    tokens.push((Token::End, chars.len() + 1));
    Ok(tokens)
}

fn number(text: &str, chars: &[char], start: usize) -> Result<(Token, usize), ExprError> {
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let mut end = start;
    let mut real = false;
    while at(end).is_ascii_digit() || at(end) == '.' {
        real |= at(end) == '.';
        end += 1;
    }
    if matches!(at(end), 'e' | 'E') {
        let sign = usize::from(matches!(at(end + 1), '+' | '-'));
        if at(end + 1 + sign).is_ascii_digit() {
            real = true;
            end += 1 + sign;
            while at(end).is_ascii_digit() {
                end += 1;
            }
        }
    }
    let word: String = chars.iter().skip(start).take(end - start).collect();
    let follows = at(end);
    if follows.is_ascii_alphanumeric() || follows == '_' {
        return Err(error(text, start + 1, format!("`{word}{follows}…` is neither a number nor a name")));
    }
    let value = if real {
        word.parse().ok().filter(|r: &f64| r.is_finite()).map(Value::Real)
    } else {
        word.parse().ok().map(Value::Int)
    };
    match value {
        Some(value) => Ok((Token::Number(value), end - start)),
        None => Err(error(text, start + 1, format!("`{word}` is not a number that fits in 64 bits"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize)>,
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> (Token, usize) {
        self.tokens.get(self.next).or(self.tokens.last()).cloned().unwrap_or((Token::End, 1))
    }

    fn bump(&mut self) -> (Token, usize) {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn expect(&mut self, token: &Token) -> Result<(), ExprError> {
        let (found, column) = self.bump();
        if found == *token {
            return Ok(());
        }
        Err(error(self.text, column, format!("expected {}, found {}", token.describe(), found.describe())))
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, ExprError>) -> Result<T, ExprError> {
        if self.depth >= MAX_DEPTH {
            let column = self.peek().1;
            return Err(error(self.text, column, format!("nested more than {MAX_DEPTH} deep; split the expression")));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn expression(&mut self) -> Result<Node, ExprError> {
        self.deeper(|p| {
            let condition = p.binary(1)?;
            let (token, column) = p.peek();
            if token != Token::Question {
                return Ok(condition);
            }
            p.bump();
            let yes = p.expression()?;
            p.expect(&Token::Colon)?;
            let no = p.expression()?;
            Ok(Node { kind: Kind::Choose(Box::new(condition), Box::new(yes), Box::new(no)), column })
        })
    }

    fn binary(&mut self, least: u8) -> Result<Node, ExprError> {
        let mut left = self.unary()?;
        while let (Token::Op(op), column) = self.peek() {
            if op.precedence() < least {
                break;
            }
            self.bump();
            let right = self.deeper(|p| p.binary(op.precedence() + 1))?;
            left = Node { kind: Kind::Binary(op, Box::new(left), Box::new(right)), column };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Node, ExprError> {
        let (token, column) = self.bump();
        match token {
            Token::Number(value) => Ok(Node { kind: Kind::Literal(value), column }),
            Token::Word(name) if self.peek().0 == Token::Open => self.call(&name, column),
            Token::Word(name) => Ok(Node { kind: Kind::Name(name), column }),
            Token::Op(Op::Sub) => {
                let inner = self.deeper(Self::unary)?;
                Ok(Node { kind: Kind::Negate(Box::new(inner)), column })
            }
            Token::Not => {
                let inner = self.deeper(Self::unary)?;
                Ok(Node { kind: Kind::Not(Box::new(inner)), column })
            }
            Token::Open => {
                let inner = self.expression()?;
                self.expect(&Token::Close)?;
                Ok(inner)
            }
            other => {
                let message = format!("expected a number, a name or `(`, found {}", other.describe());
                Err(error(self.text, column, message))
            }
        }
    }

    fn call(&mut self, name: &str, column: usize) -> Result<Node, ExprError> {
        let Some(function) = Function::ALL.into_iter().find(|f| f.name() == name) else {
            let known: Vec<_> = Function::ALL.iter().map(|f| f.name()).collect();
            let message = format!("unknown function `{name}`; known: {}", known.join(", "));
            return Err(error(self.text, column, message));
        };
        self.expect(&Token::Open)?;
        let mut args = Vec::new();
        if self.peek().0 == Token::Close {
            self.bump();
        } else {
            loop {
                args.push(self.expression()?);
                let (token, column) = self.bump();
                match token {
                    Token::Comma => {}
                    Token::Close => break,
                    other => {
                        let message = format!("expected `,` or `)`, found {}", other.describe());
                        return Err(error(self.text, column, message));
                    }
                }
            }
        }
        let (fewest, most) = function.arity();
        if args.len() < fewest || args.len() > most {
            let wanted = if most == fewest { format!("{fewest}") } else { format!("at least {fewest}") };
            let plural = if wanted == "1" { "" } else { "s" };
            let message = format!("`{name}` takes {wanted} argument{plural}, found {}", args.len());
            return Err(error(self.text, column, message));
        }
        Ok(Node { kind: Kind::Call(function, args), column })
    }
}
