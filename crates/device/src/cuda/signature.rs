//! Signatures of CUDA kernels as written: names and types of the parameters, which the compiled code no longer knows.
//! Text only; must not know recipes.

use ksearch_msl::SourcePos;

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name; empty when unnamed.
    pub name: String,
    /// Type as written, without `const` and qualifiers.
    pub ty: String,
    /// Is it a pointer?
    pub pointer: bool,
}

/// A `__global__` function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name without template arguments.
    pub name: String,
    /// Parameters in order.
    pub params: Vec<Parameter>,
    /// Where it stands.
    pub pos: SourcePos,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    text: String,
    line: u32,
}

/// Words between `__global__` and a kernel's name that take arguments in parentheses.
const ATTRIBUTES: &[&str] =
    &["__launch_bounds__", "__cluster_dims__", "__maxnreg__", "__block_size__", "__attribute__"];
/// Words of a parameter's type that say nothing about its bytes.
const QUALIFIERS: &[&str] =
    &["const", "__restrict__", "__restrict", "restrict", "volatile", "__grid_constant__", "struct"];

/// All kernels of a file.
pub fn signatures(file: &str, text: &str) -> Vec<Signature> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.text == "__global__"
            && let Some(signature) = signature(file, tokens.get(at + 1..).unwrap_or_default())
        {
            found.push(signature);
        }
    }
    found
}

fn signature(file: &str, tokens: &[Token]) -> Option<Signature> {
    let mut at = 0;
    loop {
        let token = tokens.get(at)?;
        let opens = tokens.get(at + 1).is_some_and(|t| t.text == "(");
        if opens && ATTRIBUTES.contains(&token.text.as_str()) {
            at = close(tokens, at + 1)? + 1;
        } else if opens && is_name(&token.text) {
            let end = close(tokens, at + 1)?;
            let params = tokens.get(at + 2..end)?;
            let pos = SourcePos { file: file.to_owned(), line: token.line, column: 0 };
            return Some(Signature { name: token.text.clone(), params: parameters(params), pos });
        } else if matches!(token.text.as_str(), ";" | "{" | "}") {
            return None;
        } else {
            at += 1;
        }
    }
}

/// Index of the parenthesis that closes the one at `open`.
fn close(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (n, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" => depth += 1,
            ")" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(n);
                }
            }
            _ => {}
        }
    }
    None
}

fn parameters(tokens: &[Token]) -> Vec<Parameter> {
    let mut params = Vec::new();
    let mut depth = 0i32;
    let mut current: Vec<&str> = Vec::new();
    for token in tokens {
        match token.text.as_str() {
            "(" | "<" | "[" | "{" => depth += 1,
            ")" | ">" | "]" | "}" => depth -= 1,
            "," if depth <= 0 => {
                params.push(parameter(&current));
                current.clear();
                continue;
            }
            _ => {}
        }
        current.push(&token.text);
    }
    if !current.is_empty() && current != ["void"] {
        params.push(parameter(&current));
    }
    params
}

fn parameter(tokens: &[&str]) -> Parameter {
    let declared: Vec<&str> = tokens.iter().take_while(|t| **t != "=").copied().collect();
    let bracket = declared.iter().position(|t| *t == "[");
    let head = declared.get(..bracket.unwrap_or(declared.len())).unwrap_or_default();
    let pointer = bracket.is_some() || head.contains(&"*");
    let words = || head.iter().filter(|t| is_name(t) && !QUALIFIERS.contains(*t));
    // With one word there is a type and no name, unless a pointer's star stands between them.
    let name = if words().count() > 1 { words().next_back().map_or("", |n| n) } else { "" };
    let ty: Vec<&str> =
        head.iter().filter(|t| **t != name && **t != "*" && !QUALIFIERS.contains(*t)).copied().collect();
    Parameter { name: name.to_owned(), ty: ty.join(" "), pointer }
}

fn is_name(text: &str) -> bool {
    text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
}

/// Names, numbers and single other characters; comments, strings and preprocessor lines are left out.
fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut line = 1;
    let mut chars = text.char_indices().peekable();
    let mut fresh = true;
    while let Some((at, c)) = chars.next() {
        let rest = text.get(at..).unwrap_or("");
        if c == '\n' {
            line += 1;
            fresh = true;
            continue;
        }
        if c.is_whitespace() {
            continue;
        }
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |n| n + 2)
        } else if c == '#' && fresh {
            directive(rest)
        } else if c == '"' {
            string(rest)
        } else {
            0
        };
        fresh = false;
        if skip > 0 {
            line += rest.get(..skip).unwrap_or("").matches('\n').count() as u32;
            while chars.peek().is_some_and(|(n, _)| *n < at + skip) {
                chars.next();
            }
            continue;
        }
        let length = if c.is_ascii_alphanumeric() || c == '_' {
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len())
        } else {
            c.len_utf8()
        };
        out.push(Token { text: rest.get(..length).unwrap_or("").to_owned(), line });
        while chars.peek().is_some_and(|(n, _)| *n < at + length) {
            chars.next();
        }
    }
    out
}

/// Length of a preprocessor directive, continued lines included, its newline not.
fn directive(rest: &str) -> usize {
    let mut from = 0;
    loop {
        let Some(end) = rest.get(from..).and_then(|r| r.find('\n')) else { return rest.len() };
        let end = from + end;
        if !rest.get(..end).is_some_and(|r| r.trim_end_matches('\r').ends_with('\\')) {
            return end;
        }
        from = end + 1;
    }
}

/// Length of a string literal.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (n, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' | '\n' => return n + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `#include` lines that would read files other than the candidate's and CUDA's: the first, as line and text.
pub fn foreign_include(text: &str) -> Option<(u32, String)> {
    let joined = text.replace("\\\n", "  ");
    joined.lines().enumerate().find_map(|(n, line)| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        let name = rest.trim_start_matches(['"', '<']);
        let plain = rest.starts_with(['"', '<']);
        (!plain || name.starts_with('/') || name.contains("..")).then(|| (n as u32 + 1, line.trim().to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parameters_are_read_as_written() {
        let text = "// __global__ void no(int a);\n#define X __global__ \\\n void never(int)\ntemplate <int N, typename T>\n\
            __global__ void __launch_bounds__(256, 2)\nscan(const T* __restrict__ u, float out[], unsigned int L, const uint2 *p,\n\
            int n = max(1, 2), const __grid_constant__ Map<int, 3> map) { call(1); }\nextern \"C\" __global__ void none() {}";
        let found = signatures("a.cu", text);
        assert_eq!(found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["scan", "none"]);
        let params: Vec<_> = found[0].params.iter().map(|p| (p.name.as_str(), p.ty.as_str(), p.pointer)).collect();
        assert_eq!(
            params,
            [
                ("u", "T", true),
                ("out", "float", true),
                ("L", "unsigned int", false),
                ("p", "uint2", true),
                ("n", "int", false),
                ("map", "Map < int , 3 >", false)
            ]
        );
        assert_eq!(found[0].pos.line, 6);
        assert!(found[1].params.is_empty());
    }

    #[test]
    fn includes_stay_inside_the_candidate() {
        assert_eq!(foreign_include("#include <cuda_fp16.h>\n#include \"tile.cuh\"\n"), None);
        for bad in ["#include \"/etc/passwd\"", "# include <../x>", "#include NAME"] {
            assert!(foreign_include(bad).is_some(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "\\PC*", words in proptest::collection::vec("__global__|void|\\(|\\)|,|<|\"|/\\*|#|\\\\\n|k|\\*", 0..40)) {
            let _ = signatures("a.cu", &text);
            let _ = signatures("a.cu", &words.join(" "));
            let _ = foreign_include(&text);
        }
    }
}
