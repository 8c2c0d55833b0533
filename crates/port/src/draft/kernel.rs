//! The kernel itself: its signature with attributes, the memory its functions share, its body. Knows Metal's kernel
//! attributes.

use std::fmt::Write;

use tree_sitter::Node;

use super::body::{self, INDICES, LANE, Wants, type_name};
use super::edits::Edits;
use super::{Context, Param, ParamKind};
use crate::cuda::syntax::{each, named};
use crate::cuda::unit::Function;

/// The kernel's text and its parameters.
pub fn kernel(c: &mut Context<'_, '_>, wants: &Wants) -> (String, Vec<Param>) {
    let k = c.kernel;
    let source = c.unit.source;
    let mut params = Vec::new();
    let mut formals = Vec::new();
    for (buffer, p) in k.params.iter().enumerate() {
        let ty = type_name(&p.ty);
        let name = if super::words::is_taken(&p.name) { format!("{}_", p.name) } else { p.name.clone() };
        if p.reference || p.pointers > 1 {
            c.refuse(p.at, format!("parameter `{}` is neither a plain pointer nor a value", p.name));
        }
        let volatile = if p.volatile { "volatile " } else { "" };
        if p.pointers > 0 {
            let constness = if p.is_const { "const " } else { "" };
            formals.push(format!("device {volatile}{constness}{ty}* {name} [[buffer({buffer})]]"));
            params.push(Param { name, kind: ParamKind::Buffer });
        } else {
            if assigned(c, k, &p.name) {
                c.refuse(
                    p.at,
                    format!("the kernel assigns to its parameter `{}`: copy it to a variable first", p.name),
                );
            }
            formals.push(format!("constant {ty}& {name} [[buffer({buffer})]]"));
            params.push(Param { name, kind: ParamKind::Scalar });
        }
    }
    let Some(block) = k.body else { return (String::new(), params) };
    let mut dynamic = Vec::new();
    for f in c.reachable {
        let Some(b) = f.body else { continue };
        for (name, ty, _, at, is_dynamic) in body::shared_arrays(c, b) {
            if is_dynamic && !std::ptr::eq(*f, k) {
                c.refuse(at, format!("`{name}`: dynamic shared memory of a function; hand it on from the kernel"));
            } else if is_dynamic {
                dynamic.push((name, type_name(&ty)));
            }
        }
    }
    for g in c.unit.globals.iter().filter(|g| g.qualifiers.iter().any(|q| q == "__shared__")) {
        dynamic.push((g.name.clone(), type_name(&g.ty)));
    }
    if dynamic.len() > 1 {
        c.refuse(block.start_byte(), "several names for the dynamic shared memory: use one and cast");
    }
    for (n, (name, ty)) in dynamic.iter().enumerate() {
        formals.push(format!("threadgroup {ty}* {name} [[threadgroup({n})]]"));
        params.push(Param { name: name.clone(), kind: ParamKind::Threadgroup });
    }
    for index in wants.indices.get(&k.name).into_iter().flatten() {
        let (ty, attribute) = match *index {
            "threadIdx" => ("uint3", "thread_position_in_threadgroup"),
            "blockIdx" => ("uint3", "threadgroup_position_in_grid"),
            "blockDim" => ("uint3", "threads_per_threadgroup"),
            "gridDim" => ("uint3", "threadgroups_per_grid"),
            _ => ("uint", "thread_index_in_simdgroup"),
        };
        debug_assert!(INDICES.contains(index) || *index == LANE);
        formals.push(format!("{ty} {index} [[{attribute}]]"));
    }
    let mut edits = Edits::default();
    body::rewrite(c, k, block.byte_range(), wants, &mut edits);
    let mut prologue = String::new();
    for h in wants.shared.get(&k.name).into_iter().flatten() {
        let extents = h.extents.iter().map(|e| format!("[{}]", substitute(c, h, e))).collect::<Vec<_>>().concat();
        // Writing to a String cannot fail.
        let _ = write!(prologue, "\n    threadgroup {} {}{extents};", type_name(&h.ty), h.outer);
    }
    edits.insert(block.start_byte() + 1, prologue);
    let text = edits.apply(&source.text, block.byte_range());
    let bound =
        k.launch_bounds.first().map_or(String::new(), |b| format!("[[max_total_threads_per_threadgroup({b})]] "));
    let formals: String = formals.iter().map(|f| format!("\n    {f}")).collect::<Vec<_>>().join(",");
    let name = if super::words::is_taken(&k.name) { format!("{}_", k.name) } else { k.name.clone() };
    (format!("{bound}kernel void {name}({formals})\n{text}\n"), params)
}

/// An extent with the template arguments of the calls in place of their names.
fn substitute(c: &mut Context<'_, '_>, h: &body::Hoisted, extent: &str) -> String {
    let Some(owner) = c.reachable.iter().find(|f| f.name == h.owner) else { return extent.to_owned() };
    let used: Vec<usize> = owner
        .template
        .iter()
        .enumerate()
        .filter(|(_, p)| body::words_of(extent).contains(&p.name.as_str()))
        .map(|(n, _)| n)
        .collect();
    if used.is_empty() {
        return extent.to_owned();
    }
    let mut seen: Vec<Vec<String>> = c.unit.instances.get(&h.owner).cloned().unwrap_or_default();
    seen.dedup();
    let [arguments] = seen.as_slice() else {
        c.refuse(h.at, format!("the size of `{}` differs between the calls of `{}`", h.name, h.owner));
        return extent.to_owned();
    };
    let mut out = String::new();
    for piece in body::pieces(extent) {
        match used.iter().find(|n| owner.template.get(**n).is_some_and(|p| p.name == piece)) {
            Some(n) => out.push_str(arguments.get(*n).map_or(piece, String::as_str)),
            None => out.push_str(piece),
        }
    }
    out
}

/// Does the body assign to this name?
fn assigned(c: &Context<'_, '_>, k: &Function<'_>, name: &str) -> bool {
    let mut found = false;
    let is_name = |n: Option<Node<'_>>| n.is_some_and(|n| c.unit.source.text(n) == name);
    if let Some(b) = k.body {
        each(b, &mut |n| {
            match n.kind() {
                "assignment_expression" => found |= is_name(n.child_by_field_name("left")),
                "update_expression" => found |= is_name(n.child_by_field_name("argument")),
                "pointer_expression" if c.unit.source.text(n).starts_with('&') => {
                    found |= is_name(named(n).into_iter().next());
                }
                _ => {}
            }
            !found
        });
    }
    found
}
