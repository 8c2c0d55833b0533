//! The parameters of a C++ kernel, read from its declaration in the source. Knows just enough of C++ to find one function;
//! the compiler checks everything else. Must not know recipes.

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type as written, without `const` and qualifiers that do not matter.
    pub type_name: String,
    /// Is it a pointer?
    pub pointer: bool,
    /// Is it a reference?
    pub reference: bool,
}

/// A function as the source defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// 1-based line of its name.
    pub line: u32,
    /// 1-based line on which its parameters end.
    pub last_line: u32,
    /// In order.
    pub parameters: Vec<Parameter>,
}

/// `text` with comments, preprocessor lines, strings and characters blanked out, so that lines stay where they are.
fn blanked(text: &str) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    let mut i = 0;
    let blank = |out: &mut [u8], from: usize, to: usize| {
        out.iter_mut().take(to).skip(from).filter(|c| **c != b'\n').for_each(|c| *c = b' ');
    };
    let mut fresh_line = true;
    while i < out.len() {
        let rest = &out[i..];
        let end = |pattern: &[u8], from: usize| {
            rest.windows(pattern.len()).skip(from).position(|w| w == pattern).map_or(rest.len(), |p| p + from)
        };
        let length = if rest.starts_with(b"//") {
            end(b"\n", 2)
        } else if rest.starts_with(b"/*") {
            (end(b"*/", 2) + 2).min(rest.len())
        } else if rest[0] == b'#' && fresh_line {
            // A directive, with its continued lines.
            let mut stop = end(b"\n", 0);
            while stop < rest.len() && rest[..stop].trim_ascii_end().ends_with(b"\\") {
                stop = end(b"\n", stop + 1);
            }
            stop
        } else if rest[0] == b'"' || rest[0] == b'\'' {
            let mut stop = 1;
            while stop < rest.len() && rest[stop] != rest[0] && rest[stop] != b'\n' {
                stop += if rest[stop] == b'\\' { 2 } else { 1 };
            }
            // A separator of digits is no character.
            if rest[0] == b'\'' && i > 0 && out[i - 1].is_ascii_hexdigit() { 1 } else { (stop + 1).min(rest.len()) }
        } else {
            fresh_line = rest[0] == b'\n' || (fresh_line && rest[0].is_ascii_whitespace());
            i += 1;
            continue;
        };
        blank(&mut out, i, i + length);
        i += length.max(1);
    }
    out
}

fn is_word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

/// Finds the definition `… name(parameters) {` in `text`; `None` where there is none.
pub fn find(text: &str, name: &str) -> Option<Signature> {
    let code = blanked(text);
    let mut from = 0;
    while let Some(at) = code.get(from..)?.windows(name.len().max(1)).position(|w| w == name.as_bytes()) {
        let start = from + at;
        from = start + name.len();
        let whole = start.checked_sub(1).and_then(|i| code.get(i)).is_none_or(|c| !is_word(*c))
            && code.get(from).is_none_or(|c| !is_word(*c));
        if !whole {
            continue;
        }
        let Some(open) = code.iter().skip(from).position(|c| !c.is_ascii_whitespace()).map(|p| p + from) else { break };
        if code.get(open) != Some(&b'(') {
            continue;
        }
        let Some(close) = matching(&code, open) else { continue };
        let mut after = code.get(close + 1..).unwrap_or_default().trim_ascii_start();
        if let Some(rest) = after.strip_prefix(b"noexcept") {
            after = rest.trim_ascii_start();
        }
        if after.first() != Some(&b'{') {
            continue;
        }
        let line = |to: usize| 1 + code.iter().take(to).filter(|c| **c == b'\n').count() as u32;
        let inner = String::from_utf8_lossy(code.get(open + 1..close).unwrap_or_default()).into_owned();
        let parameters = split(&inner).iter().filter_map(|p| parameter(p)).collect();
        return Some(Signature { line: line(start), last_line: line(close), parameters });
    }
    None
}

/// The bracket that closes the one at `open`.
fn matching(code: &[u8], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (i, c) in code.iter().enumerate().skip(open) {
        match c {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits at commas outside brackets.
fn split(list: &str) -> Vec<String> {
    let mut depth = 0_i32;
    let mut parts = vec![String::new()];
    for c in list.chars() {
        match c {
            '(' | '[' | '<' | '{' => depth += 1,
            ')' | ']' | '>' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

fn parameter(text: &str) -> Option<Parameter> {
    let text = text.split('=').next().unwrap_or(text).trim();
    if text.is_empty() || text == "void" {
        return None;
    }
    // `float x[]` is a pointer.
    let (text, array) = match text.split_once('[') {
        Some((before, _)) => (before.trim_end(), true),
        None => (text, false),
    };
    let name: String = {
        let reversed: String = text.chars().rev().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        reversed.chars().rev().collect()
    };
    let before = text.get(..text.len() - name.len()).unwrap_or(text);
    let pointer = array || before.contains('*');
    let reference = before.contains('&');
    let dropped = ["const", "volatile", "restrict", "__restrict", "__restrict__"];
    let words: Vec<&str> = before
        .split(|c: char| c.is_whitespace() || c == '*' || c == '&')
        .filter(|w| !w.is_empty() && !dropped.contains(w))
        .collect();
    let type_name = words.join(" ");
    Some(Parameter {
        name,
        type_name: type_name.strip_prefix("std::").unwrap_or(&type_name).to_owned(),
        pointer,
        reference,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_are_read_as_written() {
        let text = "// void k(int wrong) {}\n#define K(x) void k(x) {\\\n }\nvoid k(int only_declared);\nint use = k (1);\n\
                    extern \"C\" void k(const T* __restrict q, T *out, unsigned int L, const float& scale,\n  \
                    std::uint32_t n, float x[], const Pair<int, 3>& p) noexcept {\n}\n";
        let found = find(text, "k").unwrap();
        let names: Vec<_> = found.parameters.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["q", "out", "L", "scale", "n", "x", "p"]);
        let types: Vec<_> = found.parameters.iter().map(|p| p.type_name.as_str()).collect();
        assert_eq!(types, ["T", "T", "unsigned int", "float", "uint32_t", "float", "Pair<int, 3>"]);
        let pointers: Vec<_> = found.parameters.iter().map(|p| p.pointer).collect();
        assert_eq!(pointers, [true, true, false, false, false, true, false]);
        assert!(found.parameters[3].reference);
        assert_eq!((found.line, found.last_line), (6, 7));
    }

    #[test]
    fn only_definitions_of_that_name_count() {
        assert_eq!(find("void kernel_k(int a) {}", "k"), None);
        assert_eq!(find("void k(int a);", "k"), None);
        assert_eq!(find("auto s = \"void k(int a) {\";", "k"), None);
        assert_eq!(find("void k() {}", "k").unwrap().parameters, []);
        assert_eq!(find("void k(void) {}", "k").unwrap().parameters, []);
        assert_eq!(find("int a = 1'000; void k(char c) {}", "k").unwrap().parameters.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[ -~\n]{0,80}", name in "[a-z]{0,3}") {
            let _ = find(&text, &name);
            let _ = find(&format!("{text} void k({text}) {{"), "k");
        }
    }
}
