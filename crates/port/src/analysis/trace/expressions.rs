//! Expressions of a traced kernel: accesses, arithmetic, assignments, calls.

use tree_sitter::Node;

use super::math::math_flops;
use super::{Access, Base, Item, MAX_INLINE, MAX_ITEMS, Space, Tracer, Variable};
use crate::cuda::syntax::named;

impl<'t> Tracer<'_, 't> {
    pub(super) fn access(&mut self, node: Node<'t>, write: bool, atomic: bool, out: &mut Vec<Item>) {
        // The indices are read first.
        let mut index = Vec::new();
        let mut at = node;
        let mut indirect = false;
        loop {
            match at.kind() {
                "subscript_expression" => {
                    for i in at.child_by_field_name("indices").map(named).unwrap_or_default() {
                        self.expression(i, out);
                        indirect |= self.holds_load(i) || self.mentions_loaded(i);
                        index.push(self.flat(i));
                    }
                }
                "pointer_expression" | "parenthesized_expression" | "cast_expression" | "call_expression" => {}
                "binary_expression" => {
                    index.push(self.flat(at));
                    for side in ["left", "right"] {
                        if let Some(n) = at.child_by_field_name(side)
                            && self.base(n).is_none()
                        {
                            self.expression(n, out);
                            indirect |= self.holds_load(n) || self.mentions_loaded(n);
                        }
                    }
                    break;
                }
                _ => break,
            }
            let next = match at.kind() {
                "parenthesized_expression" => named(at).into_iter().next(),
                "cast_expression" => at.child_by_field_name("value"),
                "call_expression" => at.child_by_field_name("arguments").and_then(|a| named(a).into_iter().next()),
                _ => at.child_by_field_name("argument"),
            };
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        let Some(Base { origin: array, view, space, bytes, volatile }) = self.base(node) else { return };
        index.reverse();
        let index = index.join("][");
        let by_thread = self.differs(&index);
        let integer = !self.is_float(node);
        let (start, statement) = (node.start_byte(), self.statement);
        let access = Access {
            array,
            view,
            space,
            index,
            write,
            atomic,
            bytes,
            integer,
            volatile,
            by_thread,
            indirect,
            at: start,
            statement,
        };
        self.push(out, Item::Access(access));
    }

    pub(super) fn expression(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        match node.kind() {
            "assignment_expression" => self.assignment(node, out),
            "update_expression" => {
                if let Some(a) = node.child_by_field_name("argument") {
                    self.expression(a, out);
                    self.write(a, out);
                    self.forget(a);
                }
            }
            "subscript_expression" => self.access(node, false, false, out),
            "pointer_expression" => {
                let deref = self.text(node).starts_with('*');
                if deref && self.base(node).is_some() {
                    self.access(node, false, false, out);
                } else {
                    for c in named(node) {
                        // `&a[i]` names a place and reads only the index.
                        if c.kind() == "subscript_expression" {
                            for i in c.child_by_field_name("indices").map(named).unwrap_or_default() {
                                self.expression(i, out);
                            }
                        } else {
                            self.expression(c, out);
                        }
                    }
                }
            }
            "identifier" => {
                // An array's name alone is an address; a shared scalar's is a load.
                if self.lookup(self.text(node)).is_some_and(|v| v.space == Space::Shared && !v.array) {
                    self.access(node, false, false, out);
                }
            }
            "call_expression" => self.call(node, true, out),
            "binary_expression" => {
                for c in named(node) {
                    self.expression(c, out);
                }
                let op = node.child_by_field_name("operator").map_or("", |o| self.text(o));
                if matches!(op, "+" | "-" | "*" | "/" | "<" | ">" | "<=" | ">=") && self.is_float(node) {
                    self.push(out, Item::Flops(1));
                }
            }
            "lambda_expression" => {
                if let Some(b) = node.child_by_field_name("body") {
                    self.block_of(b, out);
                }
            }
            _ => {
                for c in named(node) {
                    self.expression(c, out);
                }
            }
        }
    }

    pub(super) fn write(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        let target = if node.kind() == "field_expression" { node.child_by_field_name("argument") } else { Some(node) };
        let Some(target) = target else { return };
        match target.kind() {
            "subscript_expression" | "pointer_expression" => {
                let mut scratch = Vec::new();
                self.access(target, true, false, &mut scratch);
                // Indices were traced with the reads already.
                if let Some(last) = scratch.pop() {
                    self.push(out, last);
                }
            }
            "identifier" if self.lookup(self.text(target)).is_some_and(|v| v.space == Space::Shared) => {
                self.access(target, true, false, out);
            }
            _ => {}
        }
    }

    pub(super) fn assignment(&mut self, node: Node<'t>, out: &mut Vec<Item>) {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return;
        };
        let operator = node.child_by_field_name("operator").map_or("=", |o| self.text(o)).to_owned();
        self.expression(right, out);
        if operator == "=" {
            // Only the indices of the left side are read.
            if let Some(indices) = left.child_by_field_name("indices") {
                for i in named(indices) {
                    self.expression(i, out);
                }
            }
        } else {
            self.expression(left, out);
        }
        let float = self.is_float(left) || self.is_float(right);
        if float && operator != "=" {
            self.push(out, Item::Flops(1));
        }
        self.write(left, out);
        self.forget(left);
        let root = self.base_name(left);
        let value = self.flat(right);
        let (differs, loaded) = (self.differs(&value), self.holds_load(right));
        let loops = self.loops;
        let carried = root.as_deref().and_then(|r| self.lookup(r)).is_some_and(|v| v.depth < loops);
        if let Some(v) = root.as_deref().and_then(|r| self.scopes.iter_mut().rev().find_map(|s| s.get_mut(r)))
            && left.kind() == "identifier"
        {
            v.by_thread |= differs;
            v.loaded |= loaded && !v.float;
        }
        let is_private = root.as_deref().and_then(|r| self.lookup(r)).is_none_or(|v| v.space == Space::Local);
        if float && is_private {
            let at = node.start_byte();
            self.push(out, Item::Update { target: self.flat(left), value, operator, carried, at });
        } else if left.kind() == "identifier" {
            self.push(out, Item::Scalar { name: self.flat(left), value });
        }
    }

    pub(super) fn call(&mut self, node: Node<'t>, used: bool, out: &mut Vec<Item>) {
        let (Some(callee), Some(list)) = (node.child_by_field_name("function"), node.child_by_field_name("arguments"))
        else {
            return;
        };
        let args = named(list);
        let name = last_name(self, callee);
        let whole = self.text(callee);
        if whole.contains("_cast<") {
            for a in args {
                self.expression(a, out);
            }
            return;
        }
        let atomic = name.starts_with("atomic") || matches!(name.as_str(), "fetch_add" | "fetch_min" | "fetch_max");
        for (i, a) in args.iter().enumerate() {
            let place = a.kind() == "pointer_expression" && self.text(*a).starts_with('&');
            if atomic && i == 0 {
                let target = if place { a.child_by_field_name("argument").unwrap_or(*a) } else { *a };
                self.access(target, true, true, out);
            } else if i == 0 && name.starts_with("__ld") && self.base(*a).is_some() {
                self.access(*a, false, false, out);
            } else if i == 0 && name.starts_with("__st") && self.base(*a).is_some() {
                self.access(*a, true, false, out);
            } else {
                self.expression(*a, out);
            }
        }
        let flops = math_flops(&name);
        if flops > 0 {
            self.push(out, Item::Flops(flops));
        }
        if callee.kind() == "field_expression"
            && let Some(object) = callee.child_by_field_name("argument")
        {
            self.expression(object, out);
        }
        let inlined = self.unit.device(&name).filter(|f| f.space == crate::cuda::unit::Space::Device);
        if let Some(f) = inlined
            && self.stack.len() < MAX_INLINE
            && !self.stack.contains(&name)
            && self.items < MAX_ITEMS
        {
            let given: Vec<Option<Variable>> = args.iter().map(|a| Some(self.argument(*a))).collect();
            let values = self.template_values(f, callee);
            let statement = self.statement;
            let mut inner = self.function(f, values, if given.is_empty() { &[None] } else { &given });
            self.statement = statement;
            out.append(&mut inner);
            return;
        }
        // Intrinsics that take a pointer are accesses, and counted as such above.
        let known = atomic || name.starts_with("__");
        let global = !known && args.iter().any(|a| self.points_to_global(*a));
        let args = args.iter().map(|a| self.fixed(*a).unwrap_or_else(|| self.flat(*a))).collect();
        self.push(out, Item::Call { name, args, used, global, at: node.start_byte() });
    }

    /// Is it an address in global memory, not an element there?
    fn points_to_global(&self, node: Node<'t>) -> bool {
        let element = node.kind() == "subscript_expression"
            || (node.kind() == "pointer_expression" && self.text(node).starts_with('*'));
        !element && self.base(node).is_some_and(|b| b.space == Space::Global)
    }

    /// The number a variable has kept since its declaration. Inside a loop only one that was declared there: an earlier
    /// one may be assigned further down.
    fn fixed(&self, node: Node<'t>) -> Option<String> {
        let v = self.lookup(self.text(node)).filter(|v| node.kind() == "identifier" && v.depth == self.loops)?;
        v.fixed.map(|n| n.to_string())
    }

    /// A variable that is assigned has no fixed value any more.
    fn forget(&mut self, node: Node<'t>) {
        let name = self.text(node);
        if let Some(v) = self.scopes.iter_mut().rev().find_map(|s| s.get_mut(name)) {
            v.fixed = None;
        }
    }
}

fn last_name(tracer: &Tracer<'_, '_>, callee: Node<'_>) -> String {
    match callee.kind() {
        "template_function" | "qualified_identifier" | "template_method" => {
            callee.child_by_field_name("name").map(|n| last_name(tracer, n)).unwrap_or_default()
        }
        "field_expression" => callee.child_by_field_name("field").map(|n| last_name(tracer, n)).unwrap_or_default(),
        _ => tracer.unit.source.text(callee).to_owned(),
    }
}
