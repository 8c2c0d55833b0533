//! No input makes the front end panic or run on: random bytes, random tokens, and real sources with pieces changed.

#![allow(clippy::unwrap_used)] // A test that cannot get its input has failed.

use ksearch_msl::{CompileOptions, SourceFile, entry_points};
use proptest::prelude::*;

const WORDS: &[&str] = &[
    "kernel",
    "void",
    "template",
    "typename",
    "T",
    "<",
    ">",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    ";",
    ",",
    "::",
    "#define",
    "#if",
    "#endif",
    "#include",
    "\n",
    "float4",
    "vec",
    "device",
    "constant",
    "threadgroup",
    "thread",
    "*",
    "&",
    "=",
    "x",
    "f",
    "struct",
    "buffer",
    "0",
    "1.5",
    "\"s\"",
    "host_name",
    "decltype",
    "operator",
    "return",
    "static_cast",
    "(float4)",
    "auto",
    "function_constant",
    "using",
    "namespace",
    "typedef",
    "const",
    "?",
    ":",
    "+",
    "-",
    "==",
    "&&",
    "metal",
    "enum",
    "class",
    "friend",
    "alignas",
    "__attribute__",
    "##",
    "\\\n",
    "/*",
    "*/",
    "//",
    "'",
    "_Pragma",
    "F",
    "defined",
    "coherent",
    "bool",
];

fn corpus() -> Vec<String> {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|p| std::fs::read_to_string(p).unwrap()).collect()
}

fn survives(text: String) {
    let files = [SourceFile::new("a.metal", text), SourceFile::new("b.h", "#define B 1\n")];
    // Either answer is fine.
    let _ = entry_points(&files, &CompileOptions::default());
}

proptest! {

    #[test]
    fn any_text(text in ".{0,400}") {
        survives(text);
    }

    #[test]
    fn any_words(picks in prop::collection::vec(0..WORDS.len(), 0..120)) {
        survives(picks.iter().map(|n| WORDS[*n]).collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn real_sources_with_pieces_changed(
        file in 0usize..64,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, 0..WORDS.len()), 1..6),
    ) {
        let sources = corpus();
        let mut chars: Vec<char> = sources[file % sources.len()].chars().collect();
        for (at, drop, word) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + drop).min(chars.len());
            chars.splice(at..end, WORDS[word].chars());
        }
        survives(chars.into_iter().collect());
    }
}

#[test]
fn deep_nesting_is_refused_or_read() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("{", "}"),
        ("f<", ">"),
        ("#if 1\n", "#endif\n"),
        ("namespace a {", "}"),
        ("(float4)(", ")"),
        ("[[", "]]"),
    ] {
        survives(open.repeat(20_000));
        survives(format!("{}x{}", open.repeat(20_000), close.repeat(20_000)));
        survives(format!("{}x{}", open.repeat(150), close.repeat(150)));
    }
    survives("a<".repeat(3000) + "b" + &">".repeat(3000));
    survives(format!("#if {}1{}\n#endif", "(".repeat(9000), ")".repeat(9000)));
    survives(format!("#if {}1\n#endif", "!".repeat(9000)));
    survives(format!("#if {}1\n#endif", "1?".repeat(9000)));
    survives(format!("#define A B\n#define B A\n{}", "A ".repeat(9000)));
}
