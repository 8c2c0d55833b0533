//! Statements of a traced kernel: blocks, loops with their trip counts, branches, declarations.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::types::is_whole;
use super::{A_FEW, Item, Space, Tracer, Trip};
use crate::cuda::syntax::{each, named};
use crate::cuda::unit::innermost;

impl<'t> Tracer<'_, 't> {
    pub(super) fn block_of(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        self.scopes.push(HashMap::new());
        if node.kind() == "compound_statement" {
            for s in named(node) {
                self.statement_of(s, out);
            }
        } else {
            self.statement_of(node, out);
        }
        self.scopes.pop();
    }

    pub(super) fn statement_of(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        self.statement = node.start_byte();
        match node.kind() {
            "compound_statement" => self.block_of(node, out),
            "declaration" => self.declaration(node, out),
            "for_statement" | "while_statement" | "do_statement" | "for_range_loop" => self.loop_of(node, out),
            "if_statement" => self.branch(node, out),
            "preproc_if" | "preproc_ifdef" | "preproc_else" | "preproc_elif" | "labeled_statement"
            | "case_statement" | "switch_statement" | "else_clause" => {
                for child in named(node) {
                    if child.kind().ends_with("_statement") || child.kind().starts_with("preproc_") {
                        self.statement_of(child, out);
                    } else if child.kind() == "declaration" {
                        self.declaration(child, out);
                    } else if child.kind() != "statement_identifier" {
                        self.expression(child, out);
                    }
                }
            }
            "return_statement" => {
                for child in named(node) {
                    self.expression(child, out);
                }
                // In a device function it only ends the call.
                if self.stack.len() == 1 {
                    self.push(out, Item::Return { at: node.start_byte() });
                }
            }
            "expression_statement" => {
                for child in named(node) {
                    self.discarded(child, out);
                }
            }
            _ => {
                for child in named(node) {
                    self.expression(child, out);
                }
            }
        }
    }

    /// An expression whose value is thrown away.
    pub(super) fn discarded(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        if node.kind() == "call_expression" {
            self.call(node, false, out);
        } else {
            self.expression(node, out);
        }
    }

    pub(super) fn loop_of(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        self.scopes.push(HashMap::new());
        let header_end = node.child_by_field_name("body").map_or(node.end_byte(), |b| b.start_byte());
        let header =
            crate::cuda::syntax::squeeze(self.unit.source.text.get(node.start_byte()..header_end).unwrap_or(""));
        if let Some(init) = node.child_by_field_name("initializer") {
            self.statement_of(init, out);
        }
        let variable = self.loop_variable(node);
        self.loops += 1;
        let mut body = Vec::new();
        for part in ["condition", "body", "update"] {
            if let Some(n) = node.child_by_field_name(part) {
                if part == "body" {
                    self.block_of(n, &mut body);
                } else {
                    self.expression(n, &mut body);
                }
            }
        }
        self.loops -= 1;
        let update = node.child_by_field_name("update").map(|u| self.flat(u)).unwrap_or_default();
        let geometric = ["<<=", ">>=", "*=", "/=", ">> 1", "<< 1", "/ 2", "* 2"].iter().any(|w| update.contains(w));
        let trip = self.trip(node, variable.as_deref(), geometric);
        self.scopes.pop();
        self.push(out, Item::Loop { trip, variable, geometric, header, body, at: node.start_byte() });
    }

    pub(super) fn loop_variable(&self, node: Node<'t>) -> Option<String> {
        let init = node.child_by_field_name("initializer")?;
        let mut found = None;
        each(init, &mut |n| {
            if found.is_none() && n.kind() == "init_declarator" {
                found = n.child_by_field_name("declarator").map(|d| self.text(innermost(d)).to_owned());
            }
            if found.is_none() && n.kind() == "assignment_expression" {
                found = n.child_by_field_name("left").map(|d| self.text(d).to_owned());
            }
            found.is_none()
        });
        found
    }

    /// `for (v = a; v < b; v += c)` with known numbers; threads that share the range each take their part.
    pub(super) fn trip(&self, node: Node<'t>, variable: Option<&str>, geometric: bool) -> Trip {
        let unknown = if geometric { Trip::Logarithmic } else { Trip::Unknown };
        let known = || -> Option<f64> {
            let variable = variable?;
            let init = node.child_by_field_name("initializer")?;
            let mut start = None;
            each(init, &mut |n| {
                if n.kind() == "init_declarator" {
                    start = n.child_by_field_name("value");
                } else if n.kind() == "assignment_expression" {
                    start = n.child_by_field_name("right");
                }
                start.is_none()
            });
            let start_text = self.flat(start?);
            let condition = node.child_by_field_name("condition")?;
            let op = self.text(condition.child_by_field_name("operator")?);
            if self.text(condition.child_by_field_name("left")?) != variable {
                return None;
            }
            let end_text = self.flat(condition.child_by_field_name("right")?);
            // A limit that differs between threads of a block is at most the block's size over something.
            if self.differs(&end_text) {
                return Some(A_FEW);
            }
            let end = self.number(&end_text);
            let update = node.child_by_field_name("update")?;
            let shared_start = self.differs(&start_text);
            let from = if shared_start { Some(0) } else { self.number(&start_text) };
            if geometric {
                let (from, end) = (from? as f64, end? as f64);
                let halving = matches!(op, ">" | ">=");
                let ratio = if halving { from / end.max(1.0) } else { end / from.max(1.0) };
                return Some(ratio.max(1.0).log2().floor() + if halving { 1.0 } else { 0.0 });
            }
            let step = match update.kind() {
                "update_expression" => 1,
                "assignment_expression" => self.number(&self.flat(update.child_by_field_name("right")?))?,
                _ => return None,
            };
            let count = (end? - from?).checked_abs()? + i64::from(matches!(op, "<=" | ">="));
            (step != 0).then(|| (count as f64 / step.abs() as f64).max(0.0))
        };
        known().map_or(unknown, Trip::Known)
    }

    pub(super) fn branch(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        let condition = node.child_by_field_name("condition");
        let text = condition.map(|c| self.flat(c)).unwrap_or_default();
        if let Some(c) = condition {
            self.expression(c, out);
        }
        let by_thread = self.differs(&text);
        let mut then = Vec::new();
        let mut otherwise = Vec::new();
        if let Some(n) = node.child_by_field_name("consequence") {
            self.block_of(n, &mut then);
        }
        if let Some(n) = node.child_by_field_name("alternative") {
            self.block_of(n, &mut otherwise);
        }
        let condition = text.trim_start_matches('(').trim_end_matches(')').to_owned();
        self.push(out, Item::If { condition, by_thread, then, otherwise });
    }

    pub(super) fn declaration(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        let ty = node.child_by_field_name("type").map(|t| self.flat(t)).unwrap_or_default();
        let words: HashSet<&str> =
            self.unit.source.tokens_in(node.byte_range()).iter().map(|t| t.text(&self.unit.source.text)).collect();
        let shared = words.contains("__shared__");
        let mut cursor = node.walk();
        let declarators: Vec<_> = node.children_by_field_name("declarator", &mut cursor).collect();
        for d in declarators {
            let name = self.text(innermost(d)).to_owned();
            let value = d.child_by_field_name("value");
            let mut pointer = false;
            let mut array = false;
            each(d, &mut |n| {
                pointer |= n.kind() == "pointer_declarator" || n.kind() == "reference_declarator";
                array |= n.kind() == "array_declarator";
                !matches!(n.kind(), "argument_list" | "initializer_list") && Some(n) != value
            });
            let mut v = self.variable(&ty, Space::Local, &name, array || pointer, false);
            v.volatile = words.contains("volatile");
            if shared {
                v.space = Space::Shared;
            }
            if array && !shared && !pointer {
                let mut bytes = v.bytes;
                for extent in crate::cuda::unit::extents(self.unit.source, d) {
                    bytes = bytes.zip(self.number(&extent)).and_then(|(b, n)| b.checked_mul(n));
                }
                self.push(out, Item::Array { name: name.clone(), bytes });
            }
            if let Some(value) = value {
                self.expression(value, out);
                let text = self.flat(value);
                v.by_thread = self.differs(&text);
                v.loaded = !v.float && self.holds_load(value);
                if ty == "auto" {
                    v.float = self.is_float(value);
                }
                if pointer {
                    match self.base(value) {
                        Some(base) => {
                            (v.space, v.origin) = (base.space, base.origin);
                            v.bytes = v.bytes.or(base.bytes);
                            if is_whole(value) {
                                v.view = base.view;
                            }
                        }
                        None => v.space = Space::Unknown,
                    }
                }
                if v.float && !pointer && !array {
                    let (target, at) = (name.clone(), d.start_byte());
                    let item = Item::Update { target, value: text, operator: "=".into(), carried: false, at };
                    self.push(out, item);
                } else if !pointer && !array {
                    v.fixed = self.number(&text);
                    self.push(out, Item::Scalar { name: name.clone(), value: text });
                }
            }
            self.declare(&name, v);
        }
    }
}
