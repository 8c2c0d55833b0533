//! CUDA text as a syntax tree, and which parts of it could not be read. Knows tree-sitter's CUDA grammar and its gaps;
//! must not know what any construct means.

use ksearch_msl::SourcePos;
use tree_sitter::{Node, Parser, Tree};

use super::lex::{self, Token};

/// Words that the grammar cannot place. They say nothing about the structure of a file, so the tree is built from a
/// view in which they (and their arguments) are blank; tokens still have them.
const UNPLACED: [&str; 12] = [
    "__align__",
    "__builtin_align__",
    "__cluster_dims__",
    "__forceinline__",
    "__grid_constant__",
    "__inline__",
    "__maxnreg__",
    "__noinline__",
    "C10_LAUNCH_BOUNDS_1",
    "C10_LAUNCH_BOUNDS_2",
    "alignas",
    "__attribute__",
];

/// Why a file cannot be analysed at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The grammar and the parser do not fit together: a fault of the build.
    #[error("the CUDA grammar cannot be loaded: {0}")]
    Grammar(String),
    /// Larger than any kernel source should be.
    #[error("{file} has {bytes} bytes; at most {max} are read")]
    TooLarge {
        /// The file.
        file: String,
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
}

/// Largest file that is read.
const MAX_BYTES: usize = 8 << 20;

/// A parsed file.
pub struct Source {
    /// Name for positions.
    pub file: String,
    /// Text as given.
    pub text: String,
    /// All tokens of the text.
    pub tokens: Vec<Token>,
    tree: Tree,
    line_starts: Vec<usize>,
}

impl Source {
    /// Parses `text`. Text that is not CUDA still gives a tree, with errors in it.
    pub fn parse(file: &str, text: &str) -> Result<Self, ReadError> {
        if text.len() > MAX_BYTES {
            return Err(ReadError::TooLarge { file: file.to_owned(), bytes: text.len(), max: MAX_BYTES });
        }
        let tokens = lex::tokens(text);
        let view = blank(text, &tokens);
        let mut parser = Parser::new();
        parser.set_language(&tree_sitter_cuda::LANGUAGE.into()).map_err(|e| ReadError::Grammar(e.to_string()))?;
        let tree = parser.parse(&view, None).ok_or_else(|| ReadError::Grammar("no tree".into()))?;
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Ok(Self { file: file.to_owned(), text: text.to_owned(), tokens, tree, line_starts })
    }

    /// Root of the tree.
    pub fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// Text of a node, as written.
    pub fn text(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    /// Text of a node on one line, with runs of white space made one blank.
    pub fn flat(&self, node: Node<'_>) -> String {
        squeeze(self.text(node))
    }

    /// Position of a byte.
    pub fn pos(&self, byte: usize) -> SourcePos {
        let line = self.line_starts.partition_point(|&s| s <= byte).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(start..byte).map_or(1, |s| s.chars().count() + 1);
        SourcePos { file: self.file.clone(), line: line as u32, column: column as u32 }
    }

    /// Line of a byte, from 1.
    pub fn line(&self, byte: usize) -> u32 {
        self.line_starts.partition_point(|&s| s <= byte).max(1) as u32
    }

    /// Tokens inside a byte range.
    pub fn tokens_in(&self, range: std::ops::Range<usize>) -> &[Token] {
        let from = self.tokens.partition_point(|t| t.range.start < range.start);
        let to = self.tokens.partition_point(|t| t.range.end <= range.end);
        self.tokens.get(from..to.max(from)).unwrap_or(&[])
    }

    /// Line ranges that the grammar could not read, in order, without overlaps.
    pub fn unread(&self) -> Vec<(u32, u32)> {
        let mut lines: Vec<(u32, u32)> = Vec::new();
        each(self.root(), &mut |node| {
            // An unnamed enum lacks a name in the grammar's eyes only.
            if node.is_missing() && node.parent().is_some_and(|p| p.kind() == "enum_specifier") {
                return false;
            }
            if node.is_error() || node.is_missing() {
                lines.push((self.line(node.start_byte()), self.line(node.end_byte().max(node.start_byte() + 1) - 1)));
                return false;
            }
            node.has_error()
        });
        lines.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (from, to) in lines {
            match merged.last_mut() {
                Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        merged
    }
}

/// Visits `node` and its descendants in order, named and unnamed; `visit` says whether to go into a node.
pub fn each<'t>(node: Node<'t>, visit: &mut impl FnMut(Node<'t>) -> bool) {
    let mut cursor = node.walk();
    loop {
        if visit(cursor.node()) && cursor.goto_first_child() {
            continue;
        }
        loop {
            if cursor.node().id() == node.id() {
                return;
            }
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// Named children of a node.
pub fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|n| n.kind() != "comment").collect()
}

/// Runs of white space as one blank, none at the ends.
pub fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn blank(text: &str, tokens: &[Token]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        i += 1;
        // At the start of a statement the grammar wants a declaration after it; what follows may be a call as well.
        let starts = i >= 2 && tokens.get(i - 2).is_some_and(|t| matches!(t.text(text), ";" | "{" | "}"));
        let typename = token.text(text) == "typename" && starts;
        if !typename && !UNPLACED.contains(&token.text(text)) {
            continue;
        }
        let mut end = token.range.end;
        if tokens.get(i).is_some_and(|t| t.text(text) == "(") {
            let mut depth = 0i32;
            while let Some(t) = tokens.get(i) {
                depth += match t.text(text) {
                    "(" => 1,
                    ")" => -1,
                    _ => 0,
                };
                end = t.range.end;
                i += 1;
                if depth == 0 {
                    break;
                }
            }
        }
        for b in bytes.get_mut(token.range.start..end).unwrap_or(&mut []) {
            if *b != b'\n' {
                *b = b' ';
            }
        }
    }
    // Only whole tokens were blanked, so this is still UTF-8; anything else would be this function's own mistake.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unplaced_words_do_not_break_the_tree() {
        let text = "__device__ __forceinline__ float f(float x) { extern __shared__ __align__(16) unsigned char m[]; \
                    enum : unsigned { A, B }; return x; }\n";
        let source = Source::parse("a.cu", text).unwrap();
        assert_eq!(source.unread(), []);
        assert_eq!(source.pos(text.find("return").unwrap()).column, text.find("return").unwrap() as u32 + 1);
    }

    #[test]
    fn a_call_through_a_dependent_type_is_read() {
        let text = "template <typename K> __global__ void k(float* y) { float v; typename K::T w = v;\n\
                    typename K::Scan(y).InclusiveScan(v, w); y[0] = w; }\n";
        let source = Source::parse("a.cu", text).unwrap();
        assert_eq!(source.unread(), []);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let source = Source::parse("a.cu", "int a;\n__global__ void k( { ) ] }\nint b;\n").unwrap();
        assert!(!source.unread().is_empty());
    }
}
