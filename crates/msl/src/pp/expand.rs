//! Macro expansion with hide sets (Prosser's algorithm). Knows tokens and macros only.

use std::rc::Rc;

use super::{Hide, Macro, PTok, Preprocessor, Problem, spell};
use crate::source::lexer::lex;
use crate::source::{Kind, Loc, Token};

/// Where expansion reads from.
pub(super) enum Feed {
    /// The files, with what was put back before them.
    Files,
    /// A list of its own, last token first.
    List(Vec<PTok>),
}

/// Macro calls inside the arguments of macro calls; deeper than any real source.
const ARGUMENT_DEPTH: usize = 100;

fn hidden(name: &str, mut hide: Option<&Rc<Hide>>) -> bool {
    while let Some(h) = hide {
        if &*h.name == name {
            return true;
        }
        hide = h.next.as_ref();
    }
    false
}

impl Preprocessor<'_> {
    fn read(&mut self, feed: &mut Feed) -> Result<Option<PTok>, Problem> {
        match feed {
            Feed::List(list) => Ok(list.pop()),
            Feed::Files => {
                if let Some(token) = self.pending.pop() {
                    return Ok(Some(token));
                }
                Ok(self.next_of_files()?.map(|tok| PTok { tok, hide: None }))
            }
        }
    }

    fn put_back(&mut self, feed: &mut Feed, token: PTok) {
        match feed {
            Feed::List(list) => list.push(token),
            Feed::Files => self.pending.push(token),
        }
    }

    /// The next token after expansion.
    pub(super) fn expanded(&mut self, feed: &mut Feed, depth: usize) -> Result<Option<PTok>, Problem> {
        loop {
            let Some(token) = self.read(feed)? else { return Ok(None) };
            if token.tok.kind != Kind::Ident {
                return Ok(Some(token));
            }
            if let Some(tok) = self.dynamic(&token.tok) {
                return Ok(Some(PTok { tok, hide: None }));
            }
            let Some(makro) = self.macros.get(&token.tok.text).cloned() else { return Ok(Some(token)) };
            if hidden(&token.tok.text, token.hide.as_ref()) {
                return Ok(Some(token));
            }
            let args = if let Some(params) = &makro.params {
                match self.arguments(feed, &token, params, makro.variadic)? {
                    Some(args) => args,
                    None => return Ok(Some(token)),
                }
            } else {
                Vec::new()
            };
            let body = self.substitute(&token, &makro, &args, depth)?;
            self.spend(body.len(), token.tok.loc)?;
            for token in body.into_iter().rev() {
                self.put_back(feed, token);
            }
        }
    }

    fn dynamic(&mut self, token: &Token) -> Option<Token> {
        let text = match &*token.text {
            "__LINE__" => token.loc.line.to_string(),
            "__FILE__" => {
                let name = self.files.get(token.loc.file as usize).map_or("", |f| f.name.as_str());
                return Some(Token { kind: Kind::Str, text: Rc::from(quote(name)), ..token.clone() });
            }
            "__COUNTER__" => {
                self.counter += 1;
                (self.counter - 1).to_string()
            }
            _ => return None,
        };
        Some(Token { kind: Kind::Number, text: Rc::from(text), ..token.clone() })
    }

    /// Reads the arguments of a call; `None` when no `(` follows.
    fn arguments(
        &mut self,
        feed: &mut Feed,
        name: &PTok,
        params: &[Rc<str>],
        variadic: bool,
    ) -> Result<Option<Vec<Vec<PTok>>>, Problem> {
        let Some(open) = self.read(feed)? else { return Ok(None) };
        if !open.tok.is("(") {
            self.put_back(feed, open);
            return Ok(None);
        }
        let mut args: Vec<Vec<PTok>> = vec![Vec::new()];
        let mut nesting = 0usize;
        loop {
            let Some(token) = self.read(feed)? else {
                let message = format!("the call of macro `{}` is never closed", name.tok.text);
                return Err(Problem::at("unterminated-macro-call", name.tok.loc, message));
            };
            if token.tok.is("(") {
                nesting += 1;
            } else if token.tok.is(")") {
                if nesting == 0 {
                    break;
                }
                nesting -= 1;
            } else if token.tok.is(",") && nesting == 0 && !(variadic && args.len() >= params.len()) {
                args.push(Vec::new());
                continue;
            }
            if let Some(arg) = args.last_mut() {
                arg.push(token);
            }
        }
        if params.is_empty() && args.len() == 1 && args[0].is_empty() {
            args.clear();
        }
        if variadic && args.len() + 1 == params.len() {
            args.push(Vec::new());
        }
        if args.len() != params.len() {
            let message =
                format!("macro `{}` takes {} arguments, here are {}", name.tok.text, params.len(), args.len());
            return Err(Problem::at("macro-arguments", name.tok.loc, message));
        }
        Ok(Some(args))
    }

    fn substitute(
        &mut self,
        name: &PTok,
        makro: &Macro,
        args: &[Vec<PTok>],
        depth: usize,
    ) -> Result<Vec<PTok>, Problem> {
        let site = name.tok.loc;
        let hide = Some(Rc::new(Hide { name: name.tok.text.clone(), next: name.hide.clone() }));
        let param = |token: &Token| {
            let params = makro.params.as_ref()?;
            (token.kind == Kind::Ident).then(|| params.iter().position(|p| *p == token.text))?
        };
        let body = &makro.body;
        let mut full: Vec<Option<Vec<PTok>>> = vec![None; args.len()];
        let mut out: Vec<PTok> = Vec::with_capacity(body.len());
        let mut i = 0;
        while let Some(token) = body.get(i) {
            let pasted = body.get(i + 1).is_some_and(|t| t.is("##"));
            if token.is("#")
                && makro.params.is_some()
                && let Some(p) = body.get(i + 1).and_then(param)
            {
                let inner: Vec<Token> = args[p].iter().map(|t| t.tok.clone()).collect();
                let tok = Token { kind: Kind::Str, text: Rc::from(quote(&spell(&inner))), ..token.clone() };
                out.push(self.placed(tok, site, hide.clone()));
                i += 2;
            } else if token.is("##") && i > 0 && i + 1 < body.len() {
                let next = &body[i + 1];
                let mut right = match param(next) {
                    Some(p) => args[p].clone(),
                    None => vec![self.placed(next.clone(), site, hide.clone())],
                };
                // GNU: `, ## __VA_ARGS__` drops the comma when there are none.
                let comma = out.last().is_some_and(|t| t.tok.is(","));
                let rest = makro.variadic && param(next) == makro.params.as_ref().map(|p| p.len() - 1);
                if comma && rest {
                    if right.is_empty() {
                        out.pop();
                    }
                    out.append(&mut right);
                } else if right.is_empty() {
                    // Pasting nothing.
                } else if let Some(left) = out.pop() {
                    let first = right.remove(0);
                    out.push(paste(left, &first, site)?);
                    out.append(&mut right);
                } else {
                    out.append(&mut right);
                }
                i += 2;
            } else if let Some(p) = param(token) {
                let start = out.len();
                if pasted {
                    out.extend(args[p].iter().cloned());
                    if args[p].is_empty() {
                        // An empty left side: the right side stands alone.
                        i = self.lone_right_side(body, i, &param, args, site, hide.as_ref(), &mut out);
                        continue;
                    }
                } else {
                    if full[p].is_none() {
                        full[p] = Some(self.expand_argument(&args[p], depth, site)?);
                    }
                    out.extend(full[p].iter().flatten().cloned());
                }
                if let Some(first) = out.get_mut(start) {
                    first.tok.space = true;
                }
                i += 1;
            } else if token.is_ident("__VA_OPT__") && makro.variadic && body.get(i + 1).is_some_and(|t| t.is("(")) {
                let close = closing(body, i + 1);
                let given = args.last().is_some_and(|a| !a.is_empty());
                if given {
                    let inner = Macro {
                        params: makro.params.clone(),
                        variadic: makro.variadic,
                        body: body[i + 2..close.min(body.len())].to_vec(),
                    };
                    self.deepen(depth, site)?;
                    out.append(&mut self.substitute(name, &inner, args, depth + 1)?);
                }
                i = close + 1;
            } else {
                let after_param = i > 0 && param(&body[i - 1]).is_some();
                let mut placed = self.placed(token.clone(), site, hide.clone());
                placed.tok.space |= after_param;
                out.push(placed);
                i += 1;
            }
        }
        for (n, token) in out.iter_mut().enumerate() {
            if n == 0 {
                token.tok.space = true;
                token.tok.bol = name.tok.bol;
            } else {
                token.tok.bol = false;
            }
            if !hidden(&name.tok.text, token.hide.as_ref()) {
                // Tokens of arguments are hidden from this macro as well once they are part of its result.
                token.hide = Some(Rc::new(Hide { name: name.tok.text.clone(), next: token.hide.take() }));
            }
        }
        Ok(out)
    }

    #[allow(clippy::too_many_arguments, clippy::unused_self)]
    fn lone_right_side(
        &self,
        body: &[Token],
        at: usize,
        param: &impl Fn(&Token) -> Option<usize>,
        args: &[Vec<PTok>],
        site: Loc,
        hide: Option<&Rc<Hide>>,
        out: &mut Vec<PTok>,
    ) -> usize {
        if let Some(next) = body.get(at + 2) {
            match param(next) {
                Some(p) => out.extend(args[p].iter().cloned()),
                None => out.push(PTok { tok: Token { loc: site, ..next.clone() }, hide: hide.cloned() }),
            }
        }
        at + 3
    }

    #[allow(clippy::unused_self)]
    fn placed(&self, mut tok: Token, site: Loc, hide: Option<Rc<Hide>>) -> PTok {
        tok.loc = site;
        PTok { tok, hide }
    }

    #[allow(clippy::unused_self)]
    fn deepen(&self, depth: usize, loc: Loc) -> Result<(), Problem> {
        if depth >= ARGUMENT_DEPTH {
            let message = format!("macro calls are nested more than {ARGUMENT_DEPTH} deep");
            return Err(Problem::at("macro-nesting", loc, message));
        }
        Ok(())
    }

    fn expand_argument(&mut self, arg: &[PTok], depth: usize, site: Loc) -> Result<Vec<PTok>, Problem> {
        self.deepen(depth, site)?;
        let mut feed = Feed::List(arg.iter().rev().cloned().collect());
        let mut out = Vec::new();
        while let Some(token) = self.expanded(&mut feed, depth + 1)? {
            out.push(token);
        }
        Ok(out)
    }

    /// Expands the tokens of a directive's line.
    pub(super) fn expand_line(&mut self, line: &[Token]) -> Result<Vec<Token>, Problem> {
        let list = line.iter().rev().map(|t| PTok { tok: t.clone(), hide: None }).collect();
        let mut feed = Feed::List(list);
        let mut out = Vec::new();
        while let Some(token) = self.expanded(&mut feed, 0)? {
            out.push(token.tok);
        }
        Ok(out)
    }
}

fn closing(body: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (n, token) in body.iter().enumerate().skip(open) {
        if token.is("(") {
            depth += 1;
        } else if token.is(")") {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return n;
            }
        }
    }
    body.len()
}

fn paste(left: PTok, right: &PTok, site: Loc) -> Result<PTok, Problem> {
    let text = format!("{}{}", left.tok.text, right.tok.text);
    let tokens = lex(site.file, &text).unwrap_or_default();
    match tokens.as_slice() {
        [one] => {
            let tok = Token { kind: one.kind, text: one.text.clone(), loc: site, space: left.tok.space, bol: false };
            Ok(PTok { tok, hide: left.hide })
        }
        _ => Err(Problem::at("invalid-paste", site, format!("`##` makes `{text}`, which is not one token"))),
    }
}

fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        if c == '"' || c == '\\' {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}
