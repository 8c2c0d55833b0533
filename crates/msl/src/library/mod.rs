//! The library a source is compiled with: pieces of C++ for OpenCL, chosen by the words the source uses. Knows which
//! piece provides what; nothing about compiling.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A piece of the library.
struct Piece {
    text: &'static str,
    /// Is it needed by a source with these words?
    wanted: fn(&BTreeSet<String>) -> bool,
}

/// Pieces in order.
static PIECES: &[Piece] = &[
    Piece { text: include_str!("core.h"), wanted: |_| true },
    Piece { text: include_str!("bfloat.h"), wanted: |_| true },
    Piece { text: include_str!("limits.h"), wanted: |_| true },
    Piece { text: include_str!("math.h"), wanted: |_| true },
    Piece { text: include_str!("simd.h"), wanted: |_| true },
    Piece { text: include_str!("atomic.h"), wanted: |w| starts(w, &["atomic"]) },
    Piece { text: include_str!("packed.h"), wanted: |w| starts(w, &["packed_"]) },
    Piece {
        text: include_str!("matrix.h"),
        wanted: |w| starts(w, &["matrix", "float2x", "float3x", "float4x", "half2x", "half3x", "half4x"]),
    },
    Piece {
        text: include_str!("simdgroup_matrix.h"),
        wanted: |w| starts(w, &["simdgroup_", "make_filled_simdgroup", "__metal_simdgroup"]),
    },
    Piece { text: include_str!("internal.h"), wanted: |w| starts(w, &["__metal_"]) },
];

fn starts(words: &BTreeSet<String>, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|p| words.range((*p).to_owned()..).next().is_some_and(|w| w.starts_with(p)))
}

/// Names of all macros of the library: they are gone before the user's text starts.
static MACROS: LazyLock<String> = LazyLock::new(|| {
    let mut names = BTreeSet::new();
    for text in PIECES.iter().map(|p| p.text).chain([PTX, CUDA]) {
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("#define ") {
                let name: String = rest.chars().take_while(|c| *c == '_' || c.is_alphanumeric()).collect();
                names.insert(name);
            }
        }
    }
    names.iter().fold(String::new(), |mut out, name| {
        out.push_str("#undef ");
        out.push_str(name);
        out.push('\n');
        out
    })
});

/// The whole library, macros gone at its end.
pub fn whole() -> &'static str {
    &WHOLE
}

static WHOLE: LazyLock<String> = LazyLock::new(|| {
    let mut out = HEAD.to_owned();
    for piece in PIECES {
        out.push_str(piece.text);
        out.push('\n');
    }
    out + &MACROS
});

/// The library's name in debug information and messages.
const HEAD: &str = "# 1 \"ks_lib\"\n";

/// The whole library with its functions defined for NVIDIA GPUs.
pub fn nvidia() -> &'static str {
    &NVIDIA
}

static NVIDIA: LazyLock<String> = LazyLock::new(|| {
    let mut out = HEAD.to_owned();
    for text in PIECES.iter().map(|p| p.text).chain([PTX]) {
        out.push_str(text);
        out.push('\n');
    }
    out + &MACROS
});

const PTX: &str = include_str!("ptx.h");

/// What CUDA device code is compiled with, macros gone at its end.
pub fn cuda() -> &'static str {
    &CUDA_WHOLE
}

static CUDA_WHOLE: LazyLock<String> = LazyLock::new(|| HEAD.to_owned() + CUDA + "\n" + &MACROS);

const CUDA: &str = include_str!("cuda.h");

/// The library's text for a source that uses these words.
pub fn text(words: &BTreeSet<String>) -> String {
    let mut out = HEAD.to_owned();
    for piece in PIECES.iter().filter(|p| (p.wanted)(words)) {
        out.push_str(piece.text);
        out.push('\n');
    }
    out.push_str(&MACROS);
    out
}

/// Every word of the library: a name that stands here but is not found in a source was not brought into its scope.
static WORDS: LazyLock<BTreeSet<&'static str>> = LazyLock::new(|| {
    let split = |c: char| c != '_' && !c.is_alphanumeric();
    // The functions that references alone have are none of MSL's.
    let lines = PIECES.iter().flat_map(|p| p.text.lines()).filter(|l| !l.starts_with("#define KS_EXTRA"));
    lines.flat_map(|l| l.split(split)).filter(|w| w.len() > 1).collect()
});

/// Does the library have something of this name?
pub fn provides(name: &str) -> bool {
    WORDS.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// clang 16 cannot mangle a builtin trait in the head of a template.
    #[test]
    fn heads_of_templates_name_their_traits() {
        let mut heads = 0;
        for line in whole().lines().filter_map(|l| l.trim_start().strip_prefix("template <")) {
            let mut depth = 1;
            let end = line.find(|c| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0
            });
            let head = line.get(..end.unwrap_or(line.len())).unwrap_or(line);
            assert!(!head.contains("__is_"), "{line}");
            heads += 1;
        }
        assert!(heads > 100, "{heads}");
    }
}
