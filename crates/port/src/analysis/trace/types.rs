//! What expressions are: floats or not, the same in all threads or not, and which allocation they lead to. Knows
//! declared types only.

use tree_sitter::Node;

use super::math::{is_float_type, math_flops};
use super::{Base, Space, Tracer, Variable};
use crate::cuda::constant::{self, Names};
use crate::cuda::syntax::{each, named};
use crate::cuda::unit::Function;

impl<'t> Tracer<'_, 't> {
    pub(super) fn resolved_type(&self, ty: &str) -> String {
        let mut ty = ty.trim().to_owned();
        for _ in 0..8 {
            let next = self.names.last().and_then(|n| n.value(&ty)).or_else(|| self.unit.value(&ty));
            match next {
                Some(next) if next != ty => ty = next,
                _ => break,
            }
        }
        ty
    }

    pub(super) fn variable(&self, ty: &str, space: Space, origin: &str, array: bool, by_thread: bool) -> Variable {
        let resolved = self.resolved_type(ty);
        let bytes = constant::type_size(&resolved).or_else(|| self.unit.size_of(&resolved));
        Variable {
            space,
            origin: origin.to_owned(),
            view: origin.to_owned(),
            bytes,
            float: is_float_type(&resolved) || self.is_type_parameter(ty),
            array,
            volatile: false,
            by_thread,
            loaded: false,
            depth: self.loops,
            fixed: None,
        }
    }

    /// Types that stay open are taken to be floating: that is what kernels are templated over.
    pub(super) fn is_type_parameter(&self, ty: &str) -> bool {
        self.stack.last().is_some_and(|f| {
            self.unit.functions.iter().any(|g| g.name == *f && g.template.iter().any(|p| p.is_type && p.name == ty))
        })
    }

    /// Does the text hold something that differs between the threads of a block?
    pub(super) fn differs(&self, text: &str) -> bool {
        let tokens = crate::cuda::lex::tokens(text);
        tokens.iter().enumerate().any(|(i, t)| {
            let word = t.text(text);
            let member = i > 0 && tokens.get(i - 1).is_some_and(|p| matches!(p.text(text), "." | "->"));
            !member
                && (matches!(word, "threadIdx" | "thread_rank" | "__lane_id" | "laneid")
                    || self.lookup(word).is_some_and(|v| v.by_thread))
        })
    }

    /// Does the expression read memory other than local?
    pub(super) fn holds_load(&self, node: Node<'t>) -> bool {
        let mut found = false;
        each(node, &mut |n| {
            if n.kind() == "subscript_expression" || (n.kind() == "pointer_expression" && self.text(n).starts_with('*'))
            {
                found |=
                    self.base(n).is_some_and(|b| matches!(b.space, Space::Global | Space::Shared | Space::Unknown));
            }
            if n.kind() == "call_expression" {
                let callee = n.child_by_field_name("function").map_or("", |f| self.text(f));
                found |= callee.starts_with("__ld") || callee.starts_with("atomic");
            }
            !found
        });
        found
    }

    pub(super) fn mentions_loaded(&self, node: Node<'t>) -> bool {
        let mut found = false;
        each(node, &mut |n| {
            found |= n.kind() == "identifier" && self.lookup(self.text(n)).is_some_and(|v| v.loaded);
            !found
        });
        found
    }

    /// The array that a pointer expression or subscript leads to, its space and element size.
    pub(super) fn base(&self, node: Node<'t>) -> Option<Base> {
        match node.kind() {
            "identifier" => {
                let v = self.lookup(self.text(node))?;
                let (origin, view) = (v.origin.clone(), v.view.clone());
                let base = || Base { origin, view, space: v.space, bytes: v.bytes, volatile: v.volatile };
                (v.array || v.space == Space::Shared).then(base)
            }
            "subscript_expression" | "pointer_expression" => self.base(node.child_by_field_name("argument")?),
            "parenthesized_expression" => self.base(named(node).into_iter().next()?),
            "cast_expression" => {
                let base = self.base(node.child_by_field_name("value")?)?;
                let bytes = self.pointee(node.child_by_field_name("type")?);
                Some(Base { bytes: bytes.or(base.bytes), ..base })
            }
            "binary_expression" => {
                self.base(node.child_by_field_name("left")?).or_else(|| self.base(node.child_by_field_name("right")?))
            }
            "conditional_expression" => node.child_by_field_name("consequence").and_then(|n| self.base(n)),
            "field_expression" => None,
            "call_expression" => {
                let callee = node.child_by_field_name("function")?;
                let arg = named(node.child_by_field_name("arguments")?).into_iter().next()?;
                let name = self.text(callee);
                if !name.contains("_cast<") {
                    return None;
                }
                let base = self.base(arg)?;
                let ty = callee.child_by_field_name("arguments").and_then(|a| named(a).into_iter().next());
                Some(Base { bytes: ty.and_then(|t| self.pointee(t)).or(base.bytes), ..base })
            }
            _ => None,
        }
    }

    pub(super) fn pointee(&self, ty: Node<'t>) -> Option<i64> {
        let text = self.flat(ty);
        let element = text.trim_end().strip_suffix('*')?.trim().replace("const ", "").replace("volatile ", "");
        let resolved = self.resolved_type(&element);
        constant::type_size(&resolved).or_else(|| self.unit.size_of(&resolved))
    }

    pub(super) fn is_float(&self, node: Node<'t>) -> bool {
        match node.kind() {
            "number_literal" => {
                let t = self.text(node);
                !t.starts_with("0x") && (t.contains('.') || t.ends_with(['f', 'F']) || t.contains(['e', 'E']))
            }
            // The name of an array or pointer is an address; its elements are what may be floats.
            "identifier" => self.lookup(self.text(node)).is_some_and(|v| v.float && !v.array),
            "subscript_expression" | "pointer_expression" | "field_expression" => {
                let address = node.kind() == "pointer_expression" && self.text(node).starts_with('&');
                !address && node.child_by_field_name("argument").is_some_and(|a| self.elements_float(a))
            }
            "cast_expression" => {
                node.child_by_field_name("type").is_some_and(|t| is_float_type(&self.resolved_type(&self.flat(t))))
            }
            "call_expression" => {
                let callee = node.child_by_field_name("function").map_or("", |f| self.text(f));
                let cast = callee.split_once("_cast<").map(|(_, ty)| ty.trim_end_matches('>'));
                match cast {
                    Some(ty) => is_float_type(&self.resolved_type(ty.trim_end_matches(['*', ' ']))),
                    None => {
                        is_float_type(callee)
                            || math_flops(callee) > 0
                            || node
                                .child_by_field_name("arguments")
                                .is_some_and(|a| named(a).into_iter().any(|a| self.is_float(a)))
                    }
                }
            }
            "parenthesized_expression"
            | "binary_expression"
            | "unary_expression"
            | "conditional_expression"
            | "condition_clause"
            | "comma_expression"
            | "update_expression" => {
                // A comparison of floats is arithmetic on floats, though its value is not.
                named(node).into_iter().any(|c| self.is_float(c))
            }
            _ => false,
        }
    }

    /// Are the elements that a pointer expression leads to floats?
    pub(super) fn elements_float(&self, node: Node<'t>) -> bool {
        match node.kind() {
            "identifier" => self.lookup(self.text(node)).is_some_and(|v| v.float),
            "subscript_expression" | "pointer_expression" | "field_expression" => {
                node.child_by_field_name("argument").is_some_and(|a| self.elements_float(a))
            }
            "parenthesized_expression" => named(node).into_iter().any(|c| self.elements_float(c)),
            "binary_expression" => {
                let side = |f: &str| node.child_by_field_name(f).is_some_and(|c| self.elements_float(c));
                side("left") || side("right")
            }
            _ => self.is_float(node),
        }
    }

    pub(super) fn base_name(&self, node: Node<'t>) -> Option<String> {
        let mut at = node;
        loop {
            match at.kind() {
                "identifier" => return Some(self.text(at).to_owned()),
                _ => at = at.child_by_field_name("argument")?,
            }
        }
    }

    pub(super) fn argument(&self, node: Node<'t>) -> Variable {
        let text = self.flat(node);
        let base = self.base(node);
        let array = base.is_some();
        let whole = is_whole(node);
        let none =
            Base { origin: String::new(), view: String::new(), space: Space::Unknown, bytes: None, volatile: false };
        let base = base.unwrap_or(none);
        Variable {
            space: base.space,
            origin: base.origin,
            view: if whole { base.view } else { text.clone() },
            bytes: base.bytes,
            volatile: base.volatile,
            float: self.is_float(node),
            array,
            by_thread: self.differs(&text),
            loaded: self.mentions_loaded(node) || self.holds_load(node),
            depth: self.loops,
            fixed: None,
        }
    }

    /// Template arguments of a call, resolved where it stands.
    pub(super) fn template_values(&self, f: &Function<'_>, callee: Node<'t>) -> Vec<(String, String)> {
        let given = callee
            .child_by_field_name("arguments")
            .filter(|_| callee.kind() == "template_function")
            .map(|a| crate::cuda::unit::template_arguments(self.unit.source, a))
            .unwrap_or_default();
        f.template
            .iter()
            .enumerate()
            .filter_map(|(i, p)| {
                let text = given.get(i).cloned().or_else(|| p.default.clone())?;
                let resolved = if p.is_type {
                    self.resolved_type(&text)
                } else {
                    self.number(&text).map_or(text, |n| n.to_string())
                };
                Some((p.name.clone(), resolved))
            })
            .collect()
    }
}

/// Is it the array itself, not a place inside it?
pub(super) fn is_whole(node: Node<'_>) -> bool {
    match node.kind() {
        "identifier" => true,
        "cast_expression" => node.child_by_field_name("value").is_some_and(is_whole),
        "call_expression" => {
            let arg = node.child_by_field_name("arguments").and_then(|a| named(a).into_iter().next());
            arg.is_some_and(is_whole)
        }
        _ => false,
    }
}
