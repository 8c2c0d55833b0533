//! What a kernel uses of the file around it: macros, constants, structures, enumerations, aliases. Knows declarations
//! at namespace scope.

use tree_sitter::Node;

use super::Context;
use super::body::{words_in, words_of};
use super::edits::Edits;
use crate::cuda::syntax::named;
use crate::cuda::unit::innermost;

/// One declaration that can be carried over.
struct Item<'t> {
    names: Vec<String>,
    node: Node<'t>,
    kind: Kind,
}

enum Kind {
    Macro,
    Constant,
    Type,
}

/// Texts of the items that `text` needs, directly or through each other, with where they stood.
pub fn used(c: &mut Context<'_, '_>, text: &str) -> Vec<(usize, String)> {
    let source = c.unit.source;
    let mut items = Vec::new();
    collect(c, source.root(), &mut items);
    let mut taken = vec![false; items.len()];
    let mut words: Vec<String> = words_of(text).into_iter().map(str::to_owned).collect();
    let mut out = Vec::new();
    loop {
        let next = items.iter().enumerate().position(|(n, item)| {
            !taken[n] && item.names.iter().any(|name| !c.macros.contains(name) && words.iter().any(|w| w == name))
        });
        let Some(n) = next else { break };
        taken[n] = true;
        let item = &items[n];
        let rendered = render(c, item);
        words.extend(words_of(&rendered).into_iter().map(str::to_owned));
        out.push((item.node.start_byte(), rendered));
    }
    out
}

fn collect<'t>(c: &Context<'_, 't>, node: Node<'t>, out: &mut Vec<Item<'t>>) {
    let source = c.unit.source;
    for child in named(node) {
        let name_of = |n: Node<'_>| n.child_by_field_name("name").map(|n| source.text(n).to_owned());
        match child.kind() {
            "preproc_def" | "preproc_function_def" => {
                out.push(Item { names: name_of(child).into_iter().collect(), node: child, kind: Kind::Macro });
            }
            "preproc_if"
            | "preproc_ifdef"
            | "preproc_else"
            | "preproc_elif"
            | "namespace_definition"
            | "linkage_specification"
            | "declaration_list" => collect(c, child, out),
            "struct_specifier" | "class_specifier" | "union_specifier" => {
                out.push(Item { names: name_of(child).into_iter().collect(), node: child, kind: Kind::Type });
            }
            "enum_specifier" => {
                let mut names: Vec<String> = name_of(child).into_iter().collect();
                if let Some(body) = child.child_by_field_name("body") {
                    names.extend(named(body).into_iter().filter_map(name_of));
                }
                out.push(Item { names, node: child, kind: Kind::Type });
            }
            "type_definition" | "alias_declaration" => {
                let name = child.child_by_field_name("declarator").or_else(|| child.child_by_field_name("name"));
                let names = name.map(|n| source.text(innermost(n)).to_owned()).into_iter().collect();
                out.push(Item { names, node: child, kind: Kind::Type });
            }
            "template_declaration" => {
                let inner = named(child).into_iter().find(|n| {
                    matches!(n.kind(), "struct_specifier" | "class_specifier" | "union_specifier" | "alias_declaration")
                });
                if let Some(inner) = inner {
                    out.push(Item { names: name_of(inner).into_iter().collect(), node: child, kind: Kind::Type });
                }
            }
            "declaration" => {
                let mut cursor = child.walk();
                let declarators: Vec<Node<'_>> = child.children_by_field_name("declarator", &mut cursor).collect();
                // `enum { A } x;` and the like declare both.
                if let Some(ty) = child.child_by_field_name("type")
                    && ty.child_by_field_name("body").is_some()
                    && declarators.is_empty()
                {
                    collect(c, child, out);
                    continue;
                }
                if declarators.iter().all(|d| d.child_by_field_name("value").is_some()) && !declarators.is_empty() {
                    let names = declarators.iter().map(|d| source.text(innermost(*d)).to_owned()).collect();
                    out.push(Item { names, node: child, kind: Kind::Constant });
                }
            }
            _ => {}
        }
    }
}

fn render(c: &mut Context<'_, '_>, item: &Item<'_>) -> String {
    let source = c.unit.source;
    let range = item.node.byte_range();
    let mut edits = Edits::default();
    words_in(c, None, range.clone(), &mut edits);
    match item.kind {
        Kind::Macro => edits.apply(&source.text, range).trim_end().to_owned(),
        Kind::Type => {
            let text = edits.apply(&source.text, range);
            if text.trim_end().ends_with(';') { text } else { format!("{text};") }
        }
        Kind::Constant => {
            let mut local = Edits::default();
            words_in(c, None, range.clone(), &mut local);
            for token in source.tokens_in(range.clone()) {
                if matches!(
                    token.text(&source.text),
                    "const" | "constexpr" | "static" | "inline" | "__constant__" | "__device__"
                ) {
                    let end = source.text[token.range.end..].find(|ch: char| !ch.is_whitespace()).unwrap_or(0);
                    local.remove(token.range.start..token.range.end + end);
                }
            }
            let text = local.apply(&source.text, range);
            let constexpr = if text.contains('{') { "" } else { "constexpr " };
            format!("constant {constexpr}{text}")
        }
    }
}
