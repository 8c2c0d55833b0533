//! Normal form of a candidate and its content address. Knows comments, spacing and strings of C-like languages.

use super::{Binding, Candidate, CandidateId, DefineValue, Language};

/// Text without comments and with the least spacing that keeps its tokens apart. Preprocessor lines stay lines.
pub(super) fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut directive = false;
    let mut space = false;
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => {
                // A line comment ends before its newline, unless that is escaped.
                while let Some(&next) = chars.peek() {
                    if next == '\n' {
                        break;
                    }
                    chars.next();
                    if next == '\\' && chars.peek() == Some(&'\n') {
                        chars.next();
                    }
                }
                space = true;
            }
            '/' if chars.peek() == Some(&'*') => {
                chars.next();
                let mut star = false;
                for next in chars.by_ref() {
                    if star && next == '/' {
                        break;
                    }
                    star = next == '*';
                }
                space = true;
            }
            '\\' if chars.peek() == Some(&'\n') => {
                chars.next();
                space = true;
            }
            '\n' if directive => {
                out.push('\n');
                (directive, space) = (false, false);
            }
            c if c.is_whitespace() => space = true,
            '"' | '\'' => {
                separate(&mut out, &mut space, c, directive);
                out.push(c);
                while let Some(next) = chars.next() {
                    out.push(next);
                    if next == '\\' {
                        out.extend(chars.next());
                    } else if next == c || next == '\n' {
                        break;
                    }
                }
            }
            c => {
                // Outside directives C-like languages have no other use for `#`.
                if c == '#' && !directive {
                    if !out.is_empty() && !out.ends_with('\n') {
                        out.push('\n');
                    }
                    (directive, space) = (true, false);
                }
                separate(&mut out, &mut space, c, directive);
                out.push(c);
            }
        }
    }
    out
}

/// Keeps one space between tokens that would otherwise merge. In a directive every space counts:
/// `#define F (x)` is not `#define F(x)`.
fn separate(out: &mut String, space: &mut bool, next: char, directive: bool) {
    if !std::mem::take(space) {
        return;
    }
    let Some(last) = out.chars().next_back() else { return };
    let loose = |c: char| matches!(c, '{' | '}' | '(' | ')' | '[' | ']' | ';' | ',' | '\n');
    if directive || !(loose(last) || loose(next)) {
        out.push(' ');
    }
}

/// Feeds length-prefixed parts, so that no two different candidates feed the same bytes.
struct Feed(blake3::Hasher);

impl Feed {
    fn text(&mut self, part: &str) {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part.as_bytes());
    }

    fn texts(&mut self, parts: &[&str]) {
        self.count(parts.len());
        for part in parts {
            self.text(part);
        }
    }

    fn count(&mut self, n: usize) {
        self.0.update(&(n as u64).to_le_bytes());
    }
}

pub(super) fn id(candidate: &Candidate) -> CandidateId {
    let mut feed = Feed(blake3::Hasher::new());
    feed.text(match candidate.language {
        Language::Msl => "msl",
        Language::Cuda => "cuda",
        Language::Cpp => "cpp",
    });
    feed.count(candidate.files.len());
    for (i, file) in candidate.files.iter().enumerate() {
        // Nothing includes the main file, so its name means nothing.
        feed.text(if i == 0 { "" } else { &file.path });
        feed.text(&normalise(&file.text));
    }
    let recipe = &candidate.recipe;
    feed.count(recipe.defines.len());
    for define in &recipe.defines {
        match &define.value {
            DefineValue::Expr(e) => feed.texts(&[&define.name, "expr", &e.canonical()]),
            DefineValue::TypeOf(tensor) => feed.texts(&[&define.name, "type", tensor]),
            DefineValue::Text(text) => feed.texts(&[&define.name, "text", text]),
        }
    }
    feed.count(recipe.scratch.len());
    for scratch in &recipe.scratch {
        feed.texts(&[&scratch.name, &scratch.bytes.canonical()]);
    }
    feed.count(recipe.dispatches.len());
    for dispatch in &recipe.dispatches {
        feed.text(&dispatch.kernel);
        for extent in dispatch.grid.iter().chain(&dispatch.threadgroup) {
            feed.text(&extent.canonical());
        }
        feed.count(dispatch.args.len());
        for arg in &dispatch.args {
            match &arg.binding {
                Binding::Tensor(name) => feed.texts(&[&arg.param, "tensor", name]),
                Binding::Scratch(name) => feed.texts(&[&arg.param, "scratch", name]),
                Binding::Scalar(e) => feed.texts(&[&arg.param, "scalar", &e.canonical()]),
                Binding::Threadgroup(e) => feed.texts(&[&arg.param, "threadgroup", &e.canonical()]),
                Binding::Struct(fields) => {
                    feed.texts(&[&arg.param, "struct"]);
                    feed.count(fields.len());
                    for (ty, e) in fields {
                        feed.texts(&[ty, &e.canonical()]);
                    }
                }
            }
        }
        feed.count(dispatch.constants.len());
        for (name, value) in &dispatch.constants {
            feed.texts(&[name, &value.canonical()]);
        }
        for optional in [&dispatch.when, &dispatch.repeat] {
            feed.text(&optional.as_ref().map(crate::expr::Expr::canonical).unwrap_or_default());
        }
        // Only where there is one: ids of recipes from before clusters stay what they were.
        if let Some(cluster) = &dispatch.cluster {
            feed.text("cluster");
            for extent in cluster {
                feed.text(&extent.canonical());
            }
        }
    }
    // Requirements do not change what is computed, but where a candidate may run is part of what it is.
    feed.count(recipe.requires.len());
    for requirement in &recipe.requires {
        feed.text(&requirement.expr.canonical());
    }
    feed.count(candidate.tunables.len());
    for tunable in &candidate.tunables {
        feed.text(&tunable.name);
        feed.text(&candidate.value_of(tunable).to_string());
    }
    let hash = feed.0.finalize();
    let hex: String = hash.to_hex().chars().take(32).collect();
    CandidateId(hex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_and_spacing_go_tokens_stay() {
        assert_eq!(normalise("int  a = 1 ; // x\n/* y */ int b;"), "int a = 1;int b;");
        assert_eq!(normalise("a + +b"), "a + +b");
        assert_eq!(normalise("int/**/x"), "int x");
        assert_eq!(normalise("#define F (x)\n#define F(x)\nint a;"), "#define F (x)\n#define F(x)\nint a;");
        assert_eq!(normalise("#define A \\\n  1\nb"), "#define A 1\nb");
        assert_eq!(normalise("\"a  // b\" 'c'"), "\"a  // b\" 'c'");
        assert_eq!(normalise("x; // c \\\n still comment\ny"), "x;y");
        assert_eq!(normalise("a;\n  #if 1\nb\n#endif\n"), "a;\n#if 1\nb\n#endif\n");
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(parts in proptest::collection::vec(prop::sample::select(vec![
            "a", "b", "/", "*", "/*", "*/", "//", "\"", "'", "\\\n", "#", "#define F", "+", " ", "\n", "(", ")", "{", ";"]), 0..30)) {
            let once = normalise(&parts.concat());
            prop_assert_eq!(normalise(&once), once);
        }
    }
}
