//! CUDA's words in the token stream: qualifiers go or become those of the internal dialect, index variables become
//! calls. Knows CUDA's vocabulary; nothing of declarations.

use std::collections::BTreeSet;

use crate::pp::Problem;
use crate::prepass::words::RENAMED;
use crate::source::{Kind, Token};

/// The stream after the words, with what the qualifiers said. Positions are indices of [`Words::tokens`].
#[derive(Debug, Default)]
pub struct Words {
    /// The tokens.
    pub tokens: Vec<Token>,
    /// Where `__device__` stood.
    pub device: BTreeSet<usize>,
    /// Where `__launch_bounds__` stood, with its first argument.
    pub bounds: Vec<(usize, Vec<Token>)>,
}

/// Words that mean memory, kernels or types in the internal dialect and nothing in CUDA.
const TAKEN: &[&str] = &["device", "constant", "threadgroup", "thread", "kernel", "vertex", "fragment", "bfloat"];

/// Rewrites the words of `tokens`; without CUDA's header of halves (`has_half`) that word is a name like any other.
pub fn rewrite(tokens: &[Token], has_half: bool) -> Result<Words, Problem> {
    let mut out = Words::default();
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        i += 1;
        if token.kind == Kind::Number {
            out.tokens.push(Token { text: number(&token.text).into(), ..token.clone() });
            continue;
        }
        let Some(word) = token.ident() else {
            out.tokens.push(token.clone());
            continue;
        };
        let named = |text: &str| Token { text: text.into(), ..token.clone() };
        let punct =
            |text: &str| Token { kind: Kind::Punct, text: text.into(), space: false, bol: false, ..token.clone() };
        match word {
            "__global__" => out.tokens.push(named("kernel")),
            "__device__" => {
                // Of a lambda it says nothing that matters here.
                if !out.tokens.last().is_some_and(|t| t.is("]")) {
                    out.device.insert(out.tokens.len());
                    out.tokens.push(named("inline"));
                }
            }
            "__shared__" => out.tokens.push(named("threadgroup")),
            "__host__" | "__forceinline__" | "__inline__" | "__noinline__" | "__restrict__" | "__restrict"
            | "restrict" | "__grid_constant__" => {}
            "__align__" => out.tokens.push(named("alignas")),
            "__launch_bounds__" | "__maxnreg__" => {
                let Some(close) = closing(tokens, i) else { continue };
                if word == "__launch_bounds__" {
                    out.bounds.push((out.tokens.len(), first_argument(&tokens[i + 1..close])));
                }
                i = close + 1;
            }
            "__constant__" => {
                if !initialised(&tokens[i..]) {
                    return Err(Problem::at(
                        "host-constant",
                        token.loc,
                        "the host fills this `__constant__` variable, which a kernel alone does not show",
                    )
                    .help("pass the values as a `const T*` parameter"));
                }
                out.tokens.push(named("constant"));
            }
            "__managed__" | "__cluster_dims__" => {
                return Err(Problem::at("unsupported-cuda", token.loc, format!("`{word}` is not supported"))
                    .help("use plain device memory and launches without clusters"));
            }
            "asm" | "__asm__" | "__asm" => {
                return Err(Problem::at("inline-assembly", token.loc, "inline PTX cannot be run")
                    .help("write it as CUDA C++, or use the intrinsic that stands for it"));
            }
            "texture" | "surface" | "cudaTextureObject_t" | "cudaSurfaceObject_t" => {
                return Err(Problem::at("unsupported-cuda", token.loc, "textures and surfaces are not supported")
                    .help("read a plain buffer"));
            }
            "threadIdx" | "blockIdx" | "blockDim" | "gridDim" => {
                let call = match word {
                    "threadIdx" => "__ks_thread_index",
                    "blockIdx" => "__ks_block_index",
                    "blockDim" => "__ks_block_size",
                    _ => "__ks_grid_size",
                };
                out.tokens.extend([named(call), punct("("), punct(")")]);
            }
            "warpSize" => out.tokens.push(Token { kind: Kind::Number, text: "32".into(), ..token.clone() }),
            // `long long` is `long`, which has 64 bits here.
            "long" if out.tokens.last().is_some_and(|t| t.is_ident("long")) => {}
            "half" if !has_half => out.tokens.push(named(&format!("{RENAMED}{word}"))),
            _ if TAKEN.contains(&word) => out.tokens.push(named(&format!("{RENAMED}{word}"))),
            _ if word.starts_with("__ks_") => {
                return Err(Problem::at("forbidden-word", token.loc, "names that start with `__ks_` are reserved")
                    .help("choose another name"));
            }
            _ => out.tokens.push(token.clone()),
        }
    }
    Ok(out)
}

/// `1ull` has the type that `1ul` has here.
fn number(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let integer = !lower.contains(['.', 'p']) && (lower.starts_with("0x") || !lower.contains('e'));
    match lower.strip_suffix("ll").or_else(|| lower.strip_suffix("llu")) {
        Some(rest) if integer => {
            let unsigned = rest.ends_with('u') || lower.ends_with('u');
            format!("{}{}", rest.trim_end_matches('u'), if unsigned { "ul" } else { "l" })
        }
        _ => text.to_owned(),
    }
}

/// The `)` of the parenthesis that opens at `open`.
fn closing(tokens: &[Token], open: usize) -> Option<usize> {
    if !tokens.get(open)?.is("(") {
        return None;
    }
    let mut depth = 0usize;
    for (n, token) in tokens.iter().enumerate().skip(open) {
        if token.is("(") {
            depth += 1;
        } else if token.is(")") {
            depth -= 1;
            if depth == 0 {
                return Some(n);
            }
        }
    }
    None
}

fn first_argument(tokens: &[Token]) -> Vec<Token> {
    let mut depth = 0usize;
    let end = tokens.iter().position(|t| {
        if t.is("(") {
            depth += 1;
        } else if t.is(")") {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && t.is(",")
    });
    tokens[..end.unwrap_or(tokens.len())].to_vec()
}

/// Does the declaration that goes on with these tokens have a value?
fn initialised(rest: &[Token]) -> bool {
    rest.iter().take_while(|t| !t.is(";")).any(|t| t.is("=") || t.is("{"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lexer::lex;

    fn words(text: &str) -> String {
        let tokens = lex(0, text).unwrap();
        let out = rewrite(&tokens, true).unwrap();
        out.tokens.iter().map(|t| &*t.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn qualifiers_and_indices() {
        assert_eq!(
            words("__global__ void __launch_bounds__(N, 2) k(const float* __restrict__ x) { int t = threadIdx.x; }"),
            "kernel void k ( const float * x ) { int t = __ks_thread_index ( ) . x ; }"
        );
        assert_eq!(words("__host__ __device__ __forceinline__ int f();"), "inline int f ( ) ;");
        assert_eq!(
            words("unsigned long long m = 0xffull, thread = 1LLU;"),
            "unsigned long m = 0xfful , ks_user_thread = 1ul ;"
        );
        assert_eq!(words("float a = 1e10f; double b = 2.5;"), "float a = 1e10f ; double b = 2.5 ;");
    }

    #[test]
    fn what_cannot_run_is_refused_where_it_stands() {
        for (text, code) in [
            ("__constant__ float c[4];", "host-constant"),
            ("void f() { asm volatile(\"nop;\"); }", "inline-assembly"),
            ("int __ks_x;", "forbidden-word"),
        ] {
            assert_eq!(rewrite(&lex(0, text).unwrap(), true).unwrap_err().code, code, "{text}");
        }
        assert!(rewrite(&lex(0, "__constant__ float c[2] = {1, 2};").unwrap(), true).is_ok());
    }
}
