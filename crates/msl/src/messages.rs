//! Clang's messages in the user's terms: their own positions, MSL's words, a stable code, and advice. Knows what clang
//! says; nothing about how it was run.

use crate::diag::{Diagnostic, Severity, SourcePos};
use crate::ir::debug::SOURCE;

const TYPE_AS_NAME: &str = "type-as-name";

/// One line of clang's report.
#[derive(Debug)]
struct Raw<'a> {
    severity: Severity,
    /// Line and column in the generated text; `None` for the library's own lines.
    place: Option<(u32, u32)>,
    message: &'a str,
}

/// What the translation needs to know about the source.
pub trait Places {
    /// The user's place for a place of the generated text.
    fn find(&self, line: u32, column: u32) -> Option<SourcePos>;
    /// Text of the user's line from the column on.
    fn rest_of_line(&self, pos: &SourcePos) -> &str;
    /// Does the source bring Apple's library into scope (`#include <metal_stdlib>`, `using namespace metal`)?
    fn imports(&self) -> (bool, bool);
}

/// Reads clang's standard error.
pub fn read(stderr: &str, places: &dyn Places) -> Vec<Diagnostic> {
    let raws: Vec<Raw<'_>> = stderr.lines().filter_map(parse).collect();
    let mut out: Vec<Diagnostic> = Vec::new();
    let mut i = 0;
    while let Some(raw) = raws.get(i) {
        i += 1;
        if raw.severity == Severity::Note {
            continue;
        }
        let notes_end = raws[i..].iter().position(|r| r.severity != Severity::Note).map_or(raws.len(), |n| i + n);
        let notes = &raws[i..notes_end];
        i = notes_end;
        let diagnostic = translate(raw, notes, places);
        if !out.contains(&diagnostic) {
            out.push(diagnostic);
        }
    }
    // Once a type's name is taken for a variable's, the grammar of the rest is not the user's.
    if let Some(first) = out.iter().find(|d| d.code == TYPE_AS_NAME).and_then(|d| d.pos.clone()) {
        let follows = |d: &Diagnostic| {
            d.code == "syntax" && d.pos.as_ref().is_some_and(|p| p.file == first.file && p.line >= first.line)
        };
        out.retain(|d| !follows(d));
    }
    // An error of the library's own that no line of the user's leads to only repeats one that has a place.
    if out.iter().any(|d| d.pos.is_some()) {
        out.retain(|d| d.pos.is_some());
    }
    out
}

/// Line, column and message of each error in the generated text.
pub fn complaints(stderr: &str) -> Vec<(u32, u32, &str)> {
    let errors = stderr.lines().filter_map(parse).filter(|r| r.severity == Severity::Error);
    errors.filter_map(|r| r.place.map(|(line, col)| (line, col, r.message))).collect()
}

fn parse(line: &str) -> Option<Raw<'_>> {
    let (file, rest) = line.split_once(':')?;
    let (line_no, rest) = rest.split_once(':')?;
    let (column, rest) = rest.split_once(':')?;
    let (line_no, column) = (line_no.parse().ok()?, column.parse().ok()?);
    let rest = rest.trim_start();
    let (severity, message) =
        if let Some(m) = rest.strip_prefix("error: ").or_else(|| rest.strip_prefix("fatal error: ")) {
            (Severity::Error, m)
        } else if let Some(m) = rest.strip_prefix("warning: ") {
            (Severity::Warning, m)
        } else {
            (Severity::Note, rest.strip_prefix("note: ")?)
        };
    let place = (file == SOURCE).then_some((line_no, column));
    Some(Raw { severity, place, message })
}

fn translate(raw: &Raw<'_>, notes: &[Raw<'_>], places: &dyn Places) -> Diagnostic {
    // An error inside the library belongs to the line that called it.
    let caller = || notes.iter().find(|n| n.message.contains("requested here")).and_then(|n| n.place);
    let place = raw.place.or_else(caller).or_else(|| notes.iter().find_map(|n| n.place));
    let pos = place.and_then(|(l, c)| places.find(l, c));
    let message = plain(raw.message);
    let mut pos = pos;
    // Versions differ on whether a member's fault stands at the dot or at the name.
    if let Some(p) = pos.as_mut().filter(|_| message.starts_with("illegal vector component"))
        && places.rest_of_line(p).starts_with('.')
    {
        p.column += 1;
    }
    let (code, message, help) = reword(&message, notes, pos.as_ref(), places);
    let help = help.or_else(|| {
        let mut inside = notes.iter().filter(|n| raw.place.is_some() && n.message.starts_with("in instantiation of"));
        let (line, column) = inside.next_back()?.place?;
        let at = places.find(line, column)?;
        Some(format!("it is reached from {}:{}", at.file, at.line))
    });
    Diagnostic { severity: raw.severity, code: code.to_owned(), message, pos, help }
}

/// Text between the first pair of single quotes after `from`.
fn quoted(text: &str, from: usize) -> Option<&str> {
    let start = text[from..].find('\'')? + from + 1;
    let end = text[start..].find('\'')? + start;
    Some(&text[start..end])
}

fn all_quoted(text: &str) -> Vec<&str> {
    text.split('\'').skip(1).step_by(2).collect()
}

fn did_you_mean(message: &str) -> Option<String> {
    let at = message.find("did you mean")?;
    quoted(message, at).map(|name| format!("did you mean `{name}`?"))
}

/// The memory a pointer or reference type points to.
fn space_of(ty: &str) -> Option<&'static str> {
    if !(ty.contains('*') || ty.contains('&')) {
        return None;
    }
    ["device", "threadgroup", "constant", "thread"]
        .into_iter()
        .find(|s| ty.split([' ', '(', '*', '&']).any(|w| w == *s))
}

#[allow(clippy::too_many_lines)]
fn reword(
    m: &str,
    notes: &[Raw<'_>],
    pos: Option<&SourcePos>,
    places: &dyn Places,
) -> (&'static str, String, Option<String>) {
    let first = quoted(m, 0).unwrap_or("");
    if m.starts_with("use of undeclared identifier") || m.starts_with("no member named") && m.contains("namespace") {
        let call = pos.is_some_and(|p| {
            let rest = places.rest_of_line(p);
            rest.strip_prefix(first).is_some_and(|r| r.trim_start().starts_with('('))
        });
        let (code, message) = if call {
            ("unknown-function", format!("there is no function `{first}`"))
        } else {
            ("unknown-name", format!("`{first}` is not declared here"))
        };
        return (code, message, missing_import(first, places).or_else(|| did_you_mean(m)));
    }
    if m.starts_with("unknown type name") || m.starts_with("no type named") {
        let help = missing_import(first, places).or_else(|| did_you_mean(m));
        return ("unknown-type", format!("there is no type `{first}`"), help);
    }
    if m.starts_with("no template named") || m.starts_with("use of undeclared template") {
        let help = missing_import(first, places).or_else(|| did_you_mean(m));
        return ("unknown-name", format!("there is no template `{first}`"), help);
    }
    if m.starts_with("cannot combine with previous") {
        let rest = pos.map_or("", |p| places.rest_of_line(p));
        let word = &rest[..rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())];
        return (
            TYPE_AS_NAME,
            format!("`{word}` is the name of a type, and follows another type"),
            Some("choose another name for the variable".to_owned()),
        );
    }
    if m.starts_with("expected ';'") {
        return (
            "missing-semicolon",
            "a `;` is missing here".to_owned(),
            Some("end the statement with `;`".to_owned()),
        );
    }
    if m.starts_with("no member named") {
        let parts = all_quoted(m);
        let owner = parts.get(1).copied().unwrap_or("this type");
        return ("unknown-member", format!("`{owner}` has no member `{first}`"), did_you_mean(m));
    }
    if m.starts_with("illegal vector component name") {
        return (
            "unknown-member",
            format!("a vector has no component `{first}`"),
            Some("components are x y z w or r g b a, up to the vector's width".to_owned()),
        );
    }
    if m.starts_with("no matching function for call to") || m.starts_with("no matching member function") {
        let why = notes.iter().find(|n| n.message.starts_with("candidate")).map(|n| plain(n.message));
        let help =
            why.and_then(|w| w.split_once("not viable: ").map(|(_, r)| format!("the nearest one does not fit: {r}")));
        return ("no-matching-function", format!("no `{first}` takes these arguments"), help);
    }
    if m.starts_with("call to") && m.ends_with("is ambiguous") {
        return (
            "ambiguous-call",
            format!("several `{first}` fit these arguments equally well"),
            Some("convert the arguments to one type, e.g. `float(x)`".to_owned()),
        );
    }
    let types = all_quoted(m);
    let pair = match types.as_slice() {
        [.., a, b]
            if m.contains("address space")
                || m.starts_with("cannot initialize")
                || m.contains("incompatible")
                || m.contains("cannot bind")
                || m.contains("cast from")
                || m.contains("converting")
                || m.contains("no known conversion") =>
        {
            Some((space_of(a), space_of(b)))
        }
        _ => None,
    };
    if let Some((Some(a), Some(b))) = pair
        && a != b
    {
        return (
            "address-space",
            format!("memory spaces do not match: `{a}` here, `{b}` there ({m})"),
            Some("a pointer keeps the address space of what it points to: declare both with the same one".to_owned()),
        );
    }
    if m.contains("address space") {
        return (
            "address-space",
            m.to_owned(),
            Some("pointers and references keep the address space of what they point to".to_owned()),
        );
    }
    if m.starts_with("cannot initialize")
        || m.contains("incompatible type")
        || m.starts_with("no viable conversion")
        || m.contains("invalid operands")
        || m.contains("cannot convert")
        || m.contains("not implicitly")
        || m.contains("implicit conversion")
    {
        return ("type-mismatch", m.to_owned(), None);
    }
    if m.ends_with("has internal linkage but is not defined") {
        return (
            "undefined-function",
            format!("`{first}` is declared but never defined"),
            Some("define it in one of the source's files".to_owned()),
        );
    }
    if m.starts_with("redefinition of") {
        return ("redefinition", format!("`{first}` is defined twice"), None);
    }
    if m.starts_with("cannot assign to") || m.contains("read-only") || m.contains("const-qualified") {
        return (
            "read-only",
            m.to_owned(),
            Some("buffers in `constant` memory and `const` data cannot be written".to_owned()),
        );
    }
    if m.starts_with("expected") || m.starts_with("extraneous") || m.contains("expected expression") {
        return ("syntax", m.to_owned(), None);
    }
    if m.contains("pointers to functions are not allowed") {
        return (
            "function-pointer",
            "pointers to functions do not exist in MSL kernels".to_owned(),
            Some("use templates or a switch".to_owned()),
        );
    }
    if let Some((_, why)) = m.split_once("static assertion failed") {
        let why = why.split_once("': ").map_or(why, |(_, text)| text);
        let why = why.trim_start_matches([' ', ':', '\'', '"']).trim_end_matches(['"', '\'']);
        return (
            "static-assertion",
            format!("static assertion failed: {}", if why.is_empty() { "its condition is false" } else { why }),
            None,
        );
    }
    ("compile-error", m.to_owned(), did_you_mean(m))
}

fn missing_import(name: &str, places: &dyn Places) -> Option<String> {
    let library = crate::library::provides(name);
    match places.imports() {
        (false, _) if library => Some("add `#include <metal_stdlib>` and `using namespace metal;`".to_owned()),
        (true, false) if library => Some(format!("write `metal::{name}`, or add `using namespace metal;`")),
        _ => None,
    }
}

/// Clang's words for C++ for OpenCL as MSL's words.
fn plain(message: &str) -> String {
    let mut out = message.to_owned();
    for (from, to) in [
        ("__global", "device"),
        ("__local", "threadgroup"),
        ("__private", "thread"),
        ("__constant", "constant"),
        ("__generic ", ""),
        (crate::prepass::words::RENAMED, ""),
        ("(anonymous namespace)::", ""),
    ] {
        out = out.replace(from, to);
    }
    // `T __attribute__((ext_vector_type(4)))` is `T4`.
    while let Some(at) = out.find(" __attribute__((ext_vector_type(") {
        let number = at + " __attribute__((ext_vector_type(".len();
        let Some(close) = out[number..].find(")))") else { break };
        let width = out[number..number + close].to_owned();
        // The element's name may be followed by its memory space.
        let mut head = out[..at].to_owned();
        for space in [" thread", " device", " threadgroup", " constant"] {
            if let Some(stripped) = head.strip_suffix(space) {
                head = stripped.to_owned();
            }
        }
        out = format!("{head}{width}{}", &out[number + close + 3..]);
    }
    while let Some(at) = out.find(" (vector of ") {
        let Some(close) = out[at..].find(')') else { break };
        out.replace_range(at..=at + close, "");
    }
    while let Some(at) = out.find("__ks_make<") {
        // A conversion is what the user wrote.
        out.replace_range(at..at + "__ks_make<".len(), "conversion<");
    }
    out.replace("__ks_bvec<", "bool<")
}
