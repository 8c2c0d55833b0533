//! The outline of a source: its functions, records, instantiations, global variables and type names, found by their
//! brackets and keywords alone. Knows the shape of C++ declarations, not what they mean.

use std::ops::Range;

use super::unit::{Attr, Unit};
use super::words;

/// A template parameter.
#[derive(Clone, Debug)]
pub struct TemplateParam {
    /// Its name; empty when unnamed.
    pub name: String,
    /// `typename T` or `class T`.
    pub is_type: bool,
    /// Tokens of its default, if it has one.
    pub default: Option<Range<usize>>,
}

/// A function, defined or declared.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Index of the name's token.
    pub name_at: usize,
    /// Namespaces around it.
    pub scope: Vec<String>,
    /// Where the declaration starts, template head included.
    pub start: usize,
    /// Parentheses of the parameter list.
    pub params: (usize, usize),
    /// Braces of the body.
    pub body: Option<(usize, usize)>,
    /// One past the declaration's last token.
    pub end: usize,
    /// Template parameters, if it is one.
    pub template: Option<Vec<TemplateParam>>,
    /// Name of the record it is a member of; empty for a record without a name.
    pub record: Option<String>,
    /// Is it a friend, defined inside a record but not a member?
    pub friend: bool,
    /// Is it marked as a kernel?
    pub kernel: bool,
}

/// A struct, class or union with a body.
#[derive(Clone, Debug)]
pub struct Record {
    /// `struct`, `class` or `union`.
    pub keyword: String,
    /// Index of the keyword.
    pub keyword_at: usize,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Braces of the body.
    pub body: (usize, usize),
    /// Parameter lists of its constructors.
    pub constructors: Vec<(usize, usize)>,
    /// Has it an assignment operator of its own?
    pub assigns: bool,
    /// Does it stand inside a function?
    pub local: bool,
}

/// `template ... name<args>(params);`
#[derive(Clone, Debug)]
pub struct Instantiation {
    /// The whole statement.
    pub range: Range<usize>,
    /// Name as written, with its namespaces.
    pub path: String,
    /// Its last part.
    pub name: String,
    /// Index of that part.
    pub name_at: usize,
    /// Tokens of the template arguments, without the brackets.
    pub args: Option<Range<usize>>,
    /// Parameter list, when the form has one.
    pub params: Option<(usize, usize)>,
}

/// A variable at namespace scope.
#[derive(Clone, Debug)]
pub struct Global {
    /// The whole statement, `;` included.
    pub range: Range<usize>,
}

/// A name that stands for a type somewhere.
#[derive(Clone, Debug)]
pub struct TypeName {
    /// The name.
    pub name: String,
    /// Tokens among which it means this.
    pub range: Range<usize>,
    /// Tokens of the type it stands for; `None` for a template parameter.
    pub target: Option<Range<usize>>,
}

/// What a source declares.
#[derive(Debug, Default)]
pub struct Outline {
    /// Functions in order.
    pub functions: Vec<Function>,
    /// Records in order.
    pub records: Vec<Record>,
    /// Explicit instantiations.
    pub instantiations: Vec<Instantiation>,
    /// Namespace-scope variables.
    pub globals: Vec<Global>,
    /// Aliases and type parameters.
    pub type_names: Vec<TypeName>,
}

/// Reads the outline of a unit.
pub fn scan(unit: &Unit) -> Outline {
    let mut scanner = Scanner { unit, out: Outline::default() };
    scanner.declarations(0, unit.len(), &Scope::default());
    scanner.local_records();
    scanner.aliases();
    scanner.out
}

#[derive(Clone, Debug, Default)]
struct Scope {
    namespaces: Vec<String>,
    /// Name of the record around, if any.
    record: Option<String>,
    /// Is it inside a function?
    local: bool,
}

struct Scanner<'a> {
    unit: &'a Unit,
    out: Outline,
}

impl Scanner<'_> {
    fn declarations(&mut self, lo: usize, hi: usize, scope: &Scope) {
        let mut i = self.unit.skip(lo);
        while i < hi {
            let next = self.declaration(i, hi, scope).max(i + 1);
            i = self.unit.skip(next);
        }
    }

    /// End of a statement: one past its `;` outside brackets.
    fn statement_end(&self, lo: usize, hi: usize) -> usize {
        let mut i = lo;
        while i < hi {
            if self.unit.is(i, ";") {
                return i + 1;
            }
            i = self.unit.pair(i).filter(|p| *p > i).unwrap_or(i) + 1;
        }
        hi
    }

    fn declaration(&mut self, start: usize, hi: usize, scope: &Scope) -> usize {
        let u = self.unit;
        match u.ident(start) {
            Some("namespace") => return self.namespace(start, hi, scope),
            Some("extern") if u.is(u.next(u.next(start)), "{") => {
                let open = u.next(u.next(start));
                let close = u.pair(open).unwrap_or(hi);
                self.declarations(open + 1, close, scope);
                return close + 1;
            }
            Some("using" | "static_assert") => return self.statement_end(start, hi),
            Some("public" | "private" | "protected") if u.is(u.next(start), ":") => return u.next(start) + 1,
            Some("template") => return self.template(start, hi, scope),
            _ => {}
        }
        if u.is(start, ";") || u.is(start, "}") {
            return start + 1;
        }
        self.plain(start, start, hi, scope, None)
    }

    fn namespace(&mut self, start: usize, hi: usize, scope: &Scope) -> usize {
        let u = self.unit;
        let mut inner = scope.clone();
        let mut i = u.next(start);
        while i < hi {
            if let Some(name) = u.ident(i).filter(|n| *n != "inline") {
                inner.namespaces.push(name.to_owned());
            } else if u.is(i, "{") {
                let close = u.pair(i).unwrap_or(hi);
                self.declarations(i + 1, close, &inner);
                return close + 1;
            } else if !u.is(i, "::") {
                return self.statement_end(i, hi);
            }
            i = u.next(i);
        }
        hi
    }

    fn template(&mut self, start: usize, hi: usize, scope: &Scope) -> usize {
        let u = self.unit;
        let mut i = u.next(start);
        if !u.is(i, "<") {
            return self.instantiation(start, hi);
        }
        let mut params = Vec::new();
        loop {
            let Some(close) = u.angle(i, hi) else { return self.statement_end(start, hi) };
            params.extend(self.template_params(i + 1, close));
            i = u.skip(close + 1);
            if u.is_ident(i, "template") && u.is(u.next(i), "<") {
                i = u.next(i);
            } else {
                break;
            }
        }
        let end = match u.ident(i) {
            Some("using") => self.statement_end(i, hi),
            _ => self.plain(start, i, hi, scope, Some(params.clone())),
        };
        for param in params.into_iter().filter(|p| p.is_type && !p.name.is_empty()) {
            self.out.type_names.push(TypeName { name: param.name, range: start..end, target: None });
        }
        end
    }

    fn template_params(&self, lo: usize, hi: usize) -> Vec<TemplateParam> {
        let u = self.unit;
        let mut out = Vec::new();
        for (a, b) in u.split(lo, hi) {
            let a = u.skip(a);
            let is_type = matches!(u.ident(a), Some("typename" | "class"));
            let equals = (a..b).find(|n| u.is(*n, "="));
            let name_end = equals.unwrap_or(b);
            let name = (a..name_end).rev().find_map(|n| u.ident(n)).unwrap_or("");
            let name = if is_type && matches!(name, "typename" | "class") { "" } else { name };
            let default = equals.map(|e| e + 1..b);
            out.push(TemplateParam { name: name.to_owned(), is_type, default });
        }
        out
    }

    fn instantiation(&mut self, start: usize, hi: usize) -> usize {
        let u = self.unit;
        let end = self.statement_end(start, hi);
        let mut name: Option<(usize, Option<Range<usize>>)> = None;
        let mut params = None;
        let mut path_start = start;
        let mut i = u.next(start);
        while i < end {
            if u.is_ident(i, "decltype") {
                i = u.pair(u.next(i)).unwrap_or(i);
            } else if u.ident(i).is_some() {
                let joined = u.prev(i).is_some_and(|p| u.is(p, "::"));
                if !joined {
                    path_start = i;
                }
                let mut args = None;
                let open = u.next(i);
                let at = i;
                if u.is(open, "<")
                    && let Some(close) = u.angle(open, end)
                {
                    args = Some(open + 1..close);
                    i = close;
                }
                name = Some((at, args));
            } else if u.is(i, "(") {
                params = u.pair(i).map(|p| (i, p));
                break;
            }
            i = u.next(i);
        }
        if let Some((at, args)) = name {
            let path = u.spell(path_start, at + 1).replace(' ', "");
            self.out.instantiations.push(Instantiation {
                range: start..end,
                path,
                name: u.ident(at).unwrap_or("").to_owned(),
                name_at: at,
                args,
                params,
            });
        }
        end
    }

    /// A declaration whose specifiers start at `i` (its template head at `start`).
    fn plain(
        &mut self,
        start: usize,
        first: usize,
        hi: usize,
        scope: &Scope,
        template: Option<Vec<TemplateParam>>,
    ) -> usize {
        let u = self.unit;
        let mut i = first;
        let mut params: Option<(usize, usize, usize)> = None;
        let mut initialised = false;
        while i < hi {
            let Some(token) = u.get(i) else { break };
            if let Some(word) = token.ident() {
                match word {
                    "struct" | "class" | "union" | "enum" if params.is_none() => {
                        if let Some(end) = self.record(i, hi, scope) {
                            i = end;
                            continue;
                        }
                    }
                    "operator" if params.is_none() => {
                        // The parameter list follows the operator's own symbol.
                        let mut n = u.next(i);
                        if u.is(n, "(") && u.pair(n) == Some(u.next(n)) {
                            n = u.next(u.next(n));
                        }
                        while n < hi && !u.is(n, "(") && !u.is(n, ";") {
                            n = u.next(n);
                        }
                        if let Some(close) = u.pair(n) {
                            params = Some((i, n, close));
                            i = u.skip(close + 1);
                            continue;
                        }
                    }
                    "decltype" | "alignas" | "__attribute__" | "__declspec" | "noexcept" => {
                        // `noexcept` alone stands before the body.
                        let open = u.next(i);
                        if u.is(open, "(")
                            && let Some(close) = u.pair(open)
                        {
                            i = u.skip(close + 1);
                            continue;
                        }
                    }
                    _ => {
                        let open = u.next(i);
                        if !initialised
                            && params.is_none()
                            && u.is(open, "<")
                            && let Some(close) = u.angle(open, hi)
                        {
                            let after = u.skip(close + 1);
                            if u.is(after, "(")
                                && let Some(end) = u.pair(after)
                            {
                                params = Some((i, after, end));
                                i = u.skip(end + 1);
                            } else {
                                i = after;
                            }
                            continue;
                        }
                    }
                }
            } else if token.is("(") {
                let Some(close) = u.pair(i) else { break };
                let named = u.prev(i).filter(|p| *p >= first).and_then(|p| u.ident(p).map(|_| p));
                if params.is_none()
                    && !initialised
                    && let Some(at) = named
                {
                    params = Some((at, i, close));
                }
                i = u.skip(close + 1);
                continue;
            } else if token.is("=") {
                let value = u.next(i);
                let function = params.is_some() && (u.is_ident(value, "default") || u.is_ident(value, "delete"));
                initialised = !function;
            } else if token.is(":") && params.is_some() && !initialised {
                // Constructor initialisers: `name(..)` or `name{..}`, then a comma or the body.
                let mut n = u.next(i);
                while n < hi {
                    while n < hi && !u.is(n, "(") && !u.is(n, "{") && !u.is(n, ";") {
                        if u.is(n, "<")
                            && let Some(close) = u.angle(n, hi)
                        {
                            n = close;
                        }
                        n = u.next(n);
                    }
                    let Some(close) = u.pair(n) else { break };
                    n = u.skip(close + 1);
                    if !u.is(n, ",") {
                        break;
                    }
                    n = u.next(n);
                }
                i = n;
                continue;
            } else if token.is("[") {
                i = u.pair(i).unwrap_or(i);
            } else if token.is("{") {
                let close = u.pair(i).unwrap_or(hi);
                if let Some((at, open, end)) = params
                    && !initialised
                {
                    self.function(start, at, (open, end), Some((i, close)), close + 1, scope, template);
                    return close + 1;
                }
                i = u.skip(close + 1);
                continue;
            } else if token.is(";") {
                if let Some((at, open, end)) = params.filter(|_| !initialised) {
                    self.function(start, at, (open, end), None, i + 1, scope, template);
                } else if scope.record.is_none() {
                    self.out.globals.push(Global { range: start..i + 1 });
                }
                return i + 1;
            }
            i = u.next(i);
        }
        hi
    }

    #[allow(clippy::too_many_arguments)]
    fn function(
        &mut self,
        start: usize,
        name_at: usize,
        params: (usize, usize),
        body: Option<(usize, usize)>,
        end: usize,
        scope: &Scope,
        template: Option<Vec<TemplateParam>>,
    ) {
        // Attributes before the first word belong to it.
        let mut start = start;
        while start > 0 && self.unit.get(start - 1).is_some_and(|t| !t.significant()) {
            start -= 1;
        }
        self.out.functions.push(Function {
            name: self.unit.ident(name_at).unwrap_or("").to_owned(),
            name_at,
            scope: scope.namespaces.clone(),
            start,
            params,
            body,
            end,
            template,
            record: scope.record.clone(),
            friend: (start..name_at).any(|i| self.unit.is_ident(i, "friend")),
            kernel: self.marked_kernel(start, name_at),
        });
    }

    fn marked_kernel(&self, lo: usize, hi: usize) -> bool {
        (lo..hi).any(|i| self.unit.is_ident(i, "kernel") || self.unit.attr_list(i).iter().any(|a| a.name == "kernel"))
    }

    /// A record definition at its keyword; returns the index after its closing brace, or `None` when the keyword
    /// only names a type.
    fn record(&mut self, keyword_at: usize, hi: usize, scope: &Scope) -> Option<usize> {
        let u = self.unit;
        let keyword = u.ident(keyword_at)?.to_owned();
        let mut i = u.next(keyword_at);
        let mut name = None;
        while i < hi {
            if u.is(i, "{") {
                break;
            }
            if u.is(i, ";")
                || u.is(i, "(")
                || u.is(i, "=")
                || u.is(i, "*")
                || u.is(i, "&")
                || u.is(i, ",")
                || u.is(i, ")")
                || u.is(i, ">")
            {
                return None;
            }
            if u.is_ident(i, "alignas") || u.is_ident(i, "__attribute__") {
                i = u.pair(u.next(i))?;
            } else if u.is(i, "<") {
                i = u.angle(i, hi)?;
            } else if u.is(i, ":") {
                // Bases (or an enum's type): up to the brace.
                while i < hi && !u.is(i, "{") {
                    if u.is(i, ";") {
                        return None;
                    }
                    i = u.next(i);
                }
                break;
            } else if let Some(word) = u.ident(i) {
                if name.is_some() && !matches!(word, "final" | "class") {
                    return None;
                }
                if name.is_none() && word != "class" && word != "struct" {
                    name = Some(word.to_owned());
                }
            }
            i = u.next(i);
        }
        if !u.is(i, "{") {
            return None;
        }
        let close = u.pair(i)?;
        if keyword == "enum" {
            return Some(close + 1);
        }
        let first_function = self.out.functions.len();
        let inner = Scope { record: Some(name.clone().unwrap_or_default()), ..scope.clone() };
        self.declarations(i + 1, close, &inner);
        let constructors = self.out.functions[first_function..]
            .iter()
            .filter(|f| f.record.is_some() && Some(&f.name) == name.as_ref() && !self.is_nested(f.name_at, i, close))
            .filter(|f| !u.prev(f.name_at).is_some_and(|p| u.is(p, "~")))
            .map(|f| f.params)
            .collect();
        let assigns = self.out.functions[first_function..]
            .iter()
            .any(|f| f.name == "operator" && u.is(u.next(f.name_at), "=") && !self.is_nested(f.name_at, i, close));
        self.out.records.push(Record {
            keyword,
            keyword_at,
            name,
            body: (i, close),
            constructors,
            assigns,
            local: scope.local,
        });
        Some(close + 1)
    }

    /// Does `at` stand inside a further pair of braces between `open` and `close`?
    fn is_nested(&self, at: usize, open: usize, close: usize) -> bool {
        let mut i = open + 1;
        while i < close {
            if self.unit.is(i, "{") {
                let end = self.unit.pair(i).unwrap_or(close);
                if (i..end).contains(&at) {
                    return true;
                }
                i = end;
            }
            i += 1;
        }
        false
    }

    /// Records defined inside function bodies.
    fn local_records(&mut self) {
        let bodies: Vec<(usize, usize)> = self.out.functions.iter().filter_map(|f| f.body).collect();
        for (open, close) in bodies {
            let mut i = open + 1;
            while i < close {
                let keyword = matches!(self.unit.ident(i), Some("struct" | "class" | "union"));
                match keyword.then(|| self.record(i, close, &Scope { local: true, ..Scope::default() })).flatten() {
                    Some(end) => i = end,
                    None => i += 1,
                }
            }
        }
    }

    /// `using A = T;` and `typedef T A;`, wherever they stand. Each holds to the end of the braces around it.
    fn aliases(&mut self) {
        let u = self.unit;
        for i in 0..u.len() {
            match u.ident(i) {
                Some("using") => {
                    let name_at = u.next(i);
                    let Some(name) = u.ident(name_at) else { continue };
                    let equals = u.next(name_at);
                    if u.is(equals, "=") {
                        let end = self.statement_end(i, u.len());
                        let range = i..self.enclosing_end(i);
                        let target = Some(equals + 1..end.saturating_sub(1));
                        self.out.type_names.push(TypeName { name: name.to_owned(), range, target });
                    }
                }
                Some("typedef") => {
                    let end = self.statement_end(i, u.len());
                    let Some(name_at) = u.prev(end.saturating_sub(1)) else { continue };
                    if let Some(name) = u.ident(name_at) {
                        let range = i..self.enclosing_end(i);
                        self.out.type_names.push(TypeName {
                            name: name.to_owned(),
                            range,
                            target: Some(i + 1..name_at),
                        });
                    }
                }
                _ => {}
            }
        }
    }

    fn enclosing_end(&self, at: usize) -> usize {
        let mut i = at;
        let end = self.unit.len();
        while i < end {
            if self.unit.is(i, "}") {
                return i;
            }
            i = self.unit.pair(i).filter(|p| *p > i).unwrap_or(i) + 1;
        }
        end
    }
}

impl Outline {
    /// The type that a name stands for at a token, if it is an alias or a type parameter there.
    pub fn type_name(&self, name: &str, at: usize) -> Option<&TypeName> {
        self.type_names.iter().filter(|t| t.name == name && t.range.contains(&at)).min_by_key(|t| t.range.len())
    }
}

/// Attributes in the token range, flattened.
pub fn attributes(unit: &Unit, lo: usize, hi: usize) -> Vec<&Attr> {
    (lo..hi).flat_map(|i| unit.attr_list(i)).collect()
}

/// Does the type in `lo..hi` name a vector, or something that may turn out to be one?
pub fn may_be_vector(unit: &Unit, outline: &Outline, lo: usize, hi: usize, depth: u8) -> bool {
    let mut i = unit.skip(lo);
    while i < hi {
        let Some(word) = unit.ident(i) else {
            i += 1;
            continue;
        };
        match word {
            "const" | "metal" | "simd" | "typename" | "thread" | "device" | "threadgroup" | "constant" => {}
            "vec" => return true,
            _ if words::vector(word, unit.double).is_some() => return true,
            _ if (lo..hi).any(|n| unit.is_ident(n, "typename")) => return true,
            _ => {
                return depth > 0
                    && !(lo..hi).any(|n| unit.is(n, "*") || unit.is(n, "&"))
                    && outline.type_name(word, i).is_some_and(|t| match &t.target {
                        None => true,
                        Some(r) => may_be_vector(unit, outline, r.start, r.end, depth - 1),
                    });
            }
        }
        i += 1;
    }
    false
}
