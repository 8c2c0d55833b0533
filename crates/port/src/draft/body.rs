//! Bodies and heads of functions: rules for words, declarations, casts and calls. Knows single constructs; the kernel's
//! signature is elsewhere.

use std::ops::Range;

use indexmap::IndexMap;
use tree_sitter::Node;

use super::Context;
use super::edits::Edits;
use super::spaces::{self, Memory};
use super::words::{self, Rule};
use crate::cuda::constant;
use crate::cuda::lex::Kind;
use crate::cuda::syntax::{each, named};
use crate::cuda::unit::{Function, innermost};

/// Index variables of CUDA; in Metal they are parameters of the kernel, which hands them on.
pub const INDICES: [&str; 4] = ["threadIdx", "blockIdx", "blockDim", "gridDim"];
/// The lane's parameter.
pub const LANE: &str = "simd_lane";

/// Shared array of a device function, which Metal declares in the kernel only.
#[derive(Clone, Debug)]
pub struct Hoisted {
    /// Function that declares it.
    pub owner: String,
    /// Its name there.
    pub name: String,
    /// Name in the kernel and on the way.
    pub outer: String,
    /// Element type.
    pub ty: String,
    /// Extents as the owner writes them.
    pub extents: Vec<String>,
    /// First byte.
    pub at: usize,
}

/// What each function needs handed to it, its callees' needs included.
#[derive(Debug, Default)]
pub struct Wants {
    /// Index variables and the lane, by function.
    pub indices: IndexMap<String, Vec<&'static str>>,
    /// Shared arrays, by function: its own and those of its callees.
    pub shared: IndexMap<String, Vec<Hoisted>>,
}

impl Wants {
    /// Follows calls through the functions that the kernel reaches.
    pub fn of(c: &Context<'_, '_>) -> Self {
        let mut wants = Self::default();
        let source = c.unit.source;
        for f in c.reachable {
            let mut indices = Vec::new();
            let mut shared = Vec::new();
            if let Some(body) = f.body {
                for t in source.tokens_in(body.byte_range()) {
                    let word = t.text(&source.text);
                    if let Some(index) = INDICES.iter().find(|i| **i == word) {
                        push(&mut indices, index);
                    }
                    if matches!(words::rule(word), Some(Rule::Shuffle(_))) {
                        push(&mut indices, LANE);
                    }
                }
                if !std::ptr::eq(*f, c.kernel) {
                    for (name, ty, extents, at, dynamic) in shared_arrays(c, body) {
                        if !dynamic {
                            let outer = format!("{}_{name}", f.name);
                            shared.push(Hoisted { owner: f.name.clone(), name, outer, ty, extents, at });
                        }
                    }
                }
            }
            wants.indices.insert(f.name.clone(), indices);
            wants.shared.insert(f.name.clone(), shared);
        }
        for _ in 0..c.reachable.len() {
            for f in c.reachable {
                for callee in callees(c, f) {
                    for index in wants.indices.get(&callee).cloned().unwrap_or_default() {
                        if let Some(mine) = wants.indices.get_mut(&f.name) {
                            push(mine, index);
                        }
                    }
                    for h in wants.shared.get(&callee).cloned().unwrap_or_default() {
                        if let Some(mine) = wants.shared.get_mut(&f.name)
                            && !mine.iter().any(|m| m.outer == h.outer)
                        {
                            mine.push(h);
                        }
                    }
                }
            }
        }
        wants
    }
}

fn push(list: &mut Vec<&'static str>, item: &'static str) {
    if !list.contains(&item) {
        list.push(item);
        list.sort_unstable_by_key(|i| INDICES.iter().position(|x| x == i).unwrap_or(INDICES.len()));
    }
}

/// `(name, type, extents, first byte, dynamic)` of each shared array declared in a body.
pub fn shared_arrays(c: &Context<'_, '_>, body: Node<'_>) -> Vec<(String, String, Vec<String>, usize, bool)> {
    let source = c.unit.source;
    let mut out = Vec::new();
    each(body, &mut |n| {
        if n.kind() != "declaration" {
            return true;
        }
        let tokens = source.tokens_in(n.byte_range());
        let has = |w: &str| tokens.iter().any(|t| t.text(&source.text) == w);
        if has("__shared__") {
            let ty = n.child_by_field_name("type").map(|t| source.flat(t)).unwrap_or_default();
            let mut cursor = n.walk();
            for d in n.children_by_field_name("declarator", &mut cursor) {
                let extents = crate::cuda::unit::extents(source, d);
                out.push((source.text(innermost(d)).to_owned(), ty.clone(), extents, n.start_byte(), has("extern")));
            }
        }
        false
    });
    out
}

fn callees(c: &Context<'_, '_>, f: &Function<'_>) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(body) = f.body {
        each(body, &mut |n| {
            if n.kind() == "call_expression"
                && let Some(name) = spaces::callee(c.unit.source, n)
                && c.reachable.iter().any(|g| g.name == name)
            {
                out.push(name.to_owned());
            }
            true
        });
    }
    out
}

/// A device function in Metal.
pub fn function(c: &mut Context<'_, '_>, f: &Function<'_>, wants: &Wants) -> String {
    let source = c.unit.source;
    let mut edits = Edits::default();
    let range = f.node.byte_range();
    rewrite(c, f, range.clone(), wants, &mut edits);
    for p in f.params.iter().filter(|p| p.pointers > 0 || p.reference) {
        let space = c.space(&f.name, &p.name, p.at);
        edits.insert(p.at, format!("{} ", space.word()));
    }
    if let Some(list) = parameters(f) {
        let mut extra: Vec<String> = Vec::new();
        for index in wants.indices.get(&f.name).into_iter().flatten() {
            extra.push(format!("{} {index}", if *index == LANE { "uint" } else { "uint3" }));
        }
        for h in wants.shared.get(&f.name).into_iter().flatten() {
            let name = if h.owner == f.name { &h.name } else { &h.outer };
            let extents = h.extents.iter().map(|e| format!("[{}]", renamed(c, f, e))).collect::<Vec<_>>().concat();
            if h.owner != f.name && h.extents.iter().any(|e| depends_on_template(c, &h.owner, e)) {
                c.refuse(h.at, format!("the size of `{}` depends on template arguments two calls away", h.name));
            }
            let ty = type_name(&h.ty);
            extra.push(if extents.is_empty() {
                format!("threadgroup {ty}& {name}")
            } else {
                format!("threadgroup {ty} (&{name}){extents}")
            });
        }
        if !extra.is_empty() {
            let comma = if f.params.is_empty() { "" } else { ", " };
            edits.insert(list.end_byte() - 1, format!("{comma}{}", extra.join(", ")));
        }
    }
    edits.apply(&source.text, range)
}

/// A text of a function with those of its template parameters renamed that a macro has the name of.
fn renamed(c: &Context<'_, '_>, f: &Function<'_>, text: &str) -> String {
    pieces(text)
        .into_iter()
        .map(|p| {
            let clash = f.template.iter().any(|t| t.name == p) && c.macros.iter().any(|m| m == p);
            if clash { format!("{p}_") } else { p.to_owned() }
        })
        .collect()
}

/// A text cut into identifiers and what lies between them.
pub fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |ch: char| ch == '_' || ch.is_alphanumeric();
        let kind = word(first);
        let end = rest.find(|ch| word(ch) != kind).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        out.push(piece);
        rest = after;
    }
    out
}

fn depends_on_template(c: &Context<'_, '_>, function: &str, text: &str) -> bool {
    let Some(f) = c.reachable.iter().find(|f| f.name == function) else { return false };
    words_of(text).iter().any(|w| f.template.iter().any(|p| p.name == *w))
}

/// Identifiers of a text.
pub fn words_of(text: &str) -> Vec<&str> {
    text.split(|ch: char| !(ch == '_' || ch.is_alphanumeric())).filter(|w| !w.is_empty()).collect()
}

/// The parameter list of a function.
pub fn parameters<'t>(f: &Function<'t>) -> Option<Node<'t>> {
    let mut found = None;
    each(f.node, &mut |n| {
        if n.kind() == "function_declarator" && found.is_none() {
            found = n.child_by_field_name("parameters");
        }
        found.is_none()
    });
    found
}

/// Edits for everything inside `range` of function `f`.
pub fn rewrite(c: &mut Context<'_, '_>, f: &Function<'_>, range: Range<usize>, wants: &Wants, edits: &mut Edits) {
    words_in(c, Some(f), range, edits);
    let Some(body) = f.body else { return };
    let mut nodes = Vec::new();
    each(body, &mut |n| {
        if matches!(n.kind(), "declaration" | "call_expression" | "cast_expression" | "lambda_expression") {
            nodes.push(n);
        }
        true
    });
    for n in nodes {
        match n.kind() {
            "declaration" => declaration(c, f, n, edits),
            "cast_expression" => cast(c, f, n.child_by_field_name("type"), n.child_by_field_name("value"), edits),
            "lambda_expression" => c.refuse(n.start_byte(), "a lambda: write it as a function"),
            _ => call(c, f, n, wants, edits),
        }
    }
}

fn declaration(c: &mut Context<'_, '_>, f: &Function<'_>, n: Node<'_>, edits: &mut Edits) {
    let source = c.unit.source;
    let tokens = source.tokens_in(n.byte_range());
    let has = |w: &str| tokens.iter().any(|t| t.text(&source.text) == w);
    if has("__shared__") {
        // The kernel declares what its functions share; a block that the launch sizes is a parameter.
        if has("extern") || !std::ptr::eq(f, c.kernel) {
            edits.remove(n.byte_range());
        }
        return;
    }
    let mut cursor = n.walk();
    let pointers: Vec<String> = n
        .children_by_field_name("declarator", &mut cursor)
        .filter(|d| spaces::declares_pointer(*d))
        .map(|d| source.text(innermost(d)).to_owned())
        .collect();
    let mut space: Option<Memory> = None;
    for name in &pointers {
        let here = c.space(&f.name, name, n.start_byte());
        if space.is_some_and(|s| s != here) {
            c.refuse(n.start_byte(), "pointers to different memory spaces in one declaration");
        }
        space = Some(here);
    }
    if let Some(space) = space {
        edits.insert(n.start_byte(), format!("{} ", space.word()));
    }
}

/// A cast to a pointer says which space it points to.
fn cast(c: &mut Context<'_, '_>, f: &Function<'_>, ty: Option<Node<'_>>, value: Option<Node<'_>>, edits: &mut Edits) {
    let (Some(ty), Some(value)) = (ty, value) else { return };
    if !c.unit.source.text(ty).contains(['*', '&']) {
        return;
    }
    match c.spaces.of_expression(c.unit.source, f, value) {
        Some(space) => edits.insert(ty.start_byte(), format!("{} ", space.word())),
        None => c.refuse(ty.start_byte(), "a cast to a pointer whose memory space the text does not tell"),
    }
}

fn call(c: &mut Context<'_, '_>, f: &Function<'_>, n: Node<'_>, wants: &Wants, edits: &mut Edits) {
    let source = c.unit.source;
    let (Some(callee), Some(list)) = (spaces::callee(source, n), n.child_by_field_name("arguments")) else { return };
    let arguments = named(list);
    let close = list.end_byte() - 1;
    if matches!(callee, "reinterpret_cast" | "static_cast" | "const_cast") {
        let mut ty = None;
        each(n, &mut |m| {
            if m.kind() == "type_descriptor" && ty.is_none() {
                ty = Some(m);
            }
            ty.is_none()
        });
        cast(c, f, ty, arguments.first().copied(), edits);
        return;
    }
    if c.reachable.iter().any(|g| g.name == callee) {
        let mut extra: Vec<String> = wants.indices.get(callee).into_iter().flatten().map(|i| (*i).to_owned()).collect();
        for h in wants.shared.get(callee).into_iter().flatten() {
            extra.push(if h.owner == f.name { h.name.clone() } else { h.outer.clone() });
        }
        if !extra.is_empty() {
            let comma = if arguments.is_empty() { "" } else { ", " };
            edits.insert(close, format!("{comma}{}", extra.join(", ")));
        }
        return;
    }
    let Some(name) = n.child_by_field_name("function") else { return };
    match (words::rule(callee), arguments.as_slice()) {
        (Some(Rule::Shuffle(helper)), [mask, value, lane, rest @ ..]) => {
            full_mask(c, f, *mask);
            c.helpers.insert(helper);
            edits.replace(name.byte_range(), helper);
            edits.remove(mask.start_byte()..value.start_byte());
            edits.insert(lane.end_byte(), format!(", {LANE}"));
            if helper == "cuda_shfl_xor" && !rest.is_empty() {
                c.refuse(n.start_byte(), "an exclusive-or shuffle in segments: write the lanes out");
            }
        }
        (Some(Rule::Vote(helper)), [mask, value]) => {
            full_mask(c, f, *mask);
            if helper == "cuda_ballot" {
                c.helpers.insert(helper);
            }
            edits.replace(name.byte_range(), helper);
            edits.remove(mask.start_byte()..value.start_byte());
        }
        (Some(Rule::Load), [_]) => {
            edits.replace(name.byte_range(), "(*");
            edits.insert(list.end_byte(), ")");
        }
        (Some(Rule::Store), [pointer, value]) => {
            edits.replace(name.byte_range(), "*");
            edits.replace(pointer.end_byte()..value.start_byte(), ") = (");
        }
        (Some(Rule::Atomic(function)), [target, ..]) => atomic(c, f, n, function, *target, close, edits),
        (Some(Rule::Helper(helper)), _) => {
            if matches!(helper, "cuda_log1p" | "cuda_expm1") {
                c.note(
                    n.start_byte(),
                    format!("`{callee}`: an identity that counts on additions being left in their order"),
                );
            }
            c.helpers.insert(helper);
            edits.replace(name.byte_range(), helper);
        }
        (Some(Rule::Shuffle(_) | Rule::Vote(_) | Rule::Load | Rule::Store), _) => {
            c.refuse(n.start_byte(), format!("`{callee}` with {} arguments", arguments.len()));
        }
        _ => {}
    }
}

/// Only the mask of all lanes has a counterpart.
fn full_mask(c: &mut Context<'_, '_>, f: &Function<'_>, mask: Node<'_>) {
    let names = crate::cuda::host::locals(c.unit, Some(f));
    let value = constant::eval(&c.unit.source.flat(mask), &names);
    if !matches!(value, Some(0xffff_ffff | -1)) {
        let text = c.unit.source.flat(mask);
        c.refuse(
            mask.start_byte(),
            format!("the mask `{text}` does not name all 32 lanes; Metal's functions always work on those that run"),
        );
    }
}

fn atomic(
    c: &mut Context<'_, '_>,
    f: &Function<'_>,
    n: Node<'_>,
    function: &str,
    target: Node<'_>,
    close: usize,
    edits: &mut Edits,
) {
    let source = c.unit.source;
    let Some(space) = c.spaces.of_expression(source, f, target) else {
        c.refuse(n.start_byte(), "an atomic on memory whose space the text does not tell");
        return;
    };
    let mut variable = None;
    each(target, &mut |m| {
        if m.kind() == "identifier" && variable.is_none() {
            variable = Some(source.text(m).to_owned());
        }
        variable.is_none()
    });
    let ty = variable.and_then(|v| element_type(c, f, &v)).unwrap_or_default();
    let metal = match (type_name(&ty).as_str(), space) {
        ("int" | "int32_t", _) => "atomic_int",
        ("unsigned int" | "unsigned" | "uint" | "uint32_t", _) => "atomic_uint",
        ("float", Memory::Device) => "atomic_float",
        ("float", _) => {
            c.refuse(n.start_byte(), "a float atomic in threadgroup memory: Metal has it in device memory only");
            return;
        }
        (other, _) => {
            c.refuse(
                n.start_byte(),
                format!("an atomic on `{other}`: Metal has int, uint, and float in device memory"),
            );
            return;
        }
    };
    if metal == "atomic_float"
        && !matches!(function, "atomic_fetch_add_explicit" | "atomic_fetch_sub_explicit" | "atomic_exchange_explicit")
    {
        c.refuse(n.start_byte(), "Metal's float atomics add, subtract and exchange only");
        return;
    }
    if let Some(name) = n.child_by_field_name("function") {
        edits.replace(name.byte_range(), function);
    }
    edits.insert(target.start_byte(), format!("({} {metal}*)(", space.word()));
    edits.insert(target.end_byte(), ")");
    edits.insert(close, ", memory_order_relaxed");
}

/// Element type of a pointer or array variable of a function.
fn element_type(c: &Context<'_, '_>, f: &Function<'_>, variable: &str) -> Option<String> {
    if let Some(p) = f.params.iter().find(|p| p.name == variable) {
        return Some(p.ty.clone());
    }
    let mut found = None;
    each(f.body?, &mut |n| {
        if n.kind() == "declaration" && found.is_none() {
            let mut cursor = n.walk();
            if n.children_by_field_name("declarator", &mut cursor).any(|d| c.unit.source.text(innermost(d)) == variable)
            {
                found = n.child_by_field_name("type").map(|t| c.unit.source.flat(t));
            }
        }
        found.is_none()
    });
    found
}

/// A type's name in Metal.
pub fn type_name(ty: &str) -> String {
    match ty {
        "unsigned long long" | "unsigned long long int" | "unsigned long" => "ulong".to_owned(),
        "long long" | "long long int" => "long".to_owned(),
        "__half" => "half".to_owned(),
        "__half2" => "half2".to_owned(),
        "__nv_bfloat16" => "bfloat".to_owned(),
        other => other.to_owned(),
    }
}

/// Edits for the words inside a range; `f` is the function around them, if any.
pub fn words_in(c: &mut Context<'_, '_>, f: Option<&Function<'_>>, range: Range<usize>, edits: &mut Edits) {
    let source = c.unit.source;
    let text = &source.text;
    let tokens = source.tokens_in(range).to_vec();
    let templates: Vec<String> = f
        .filter(|f| !std::ptr::eq(*f, c.kernel))
        .map(|f| f.template.iter().map(|p| p.name.clone()).filter(|n| c.macros.contains(n)).collect())
        .unwrap_or_default();
    let word_at = |i: usize| tokens.get(i).map_or("", |t| t.text(text));
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        i += 1;
        if token.kind != Kind::Ident {
            continue;
        }
        let word = token.text(text);
        let before = if i >= 2 { word_at(i - 2) } else { "" };
        if matches!(before, "." | "->") {
            continue;
        }
        if templates.iter().any(|t| t == word) {
            edits.replace(token.range.clone(), format!("{word}_"));
            continue;
        }
        if words::is_taken(word) || (word == "half" && !c.has_half) {
            edits.replace(token.range.clone(), format!("{word}_"));
            continue;
        }
        let called = word_at(i) == "(";
        match word {
            "unsigned" | "long" if word_at(i) == "long" => {
                edits.replace(token.range.clone(), if word == "unsigned" { "ulong" } else { "long" });
                while word_at(i) == "long" {
                    if let Some(t) = tokens.get(i) {
                        edits.remove(t.range.clone());
                    }
                    i += 1;
                }
                continue;
            }
            "__syncthreads" if called => {
                let end = tokens.get(i + 1).map_or(token.range.end, |t| t.range.end);
                edits.replace(token.range.start..end, barrier(c));
                continue;
            }
            "printf" | "assert" if called => {
                c.refuse(token.range.start, format!("`{word}` in a kernel: take it out, Metal kernels cannot print"));
                continue;
            }
            _ => {}
        }
        // A function of the file's own hides what the word means elsewhere.
        if c.unit.device(word).is_some() {
            continue;
        }
        match words::rule(word) {
            Some(Rule::Rename(name)) => {
                let is_function = name.contains("::") || word.ends_with('f');
                if name.starts_with("CUDA_MATH") {
                    if !called {
                        continue;
                    }
                    c.math = true;
                }
                if !is_function || called || !name.contains("::") {
                    edits.replace(token.range.clone(), name);
                }
            }
            Some(Rule::Drop) => {
                let end = tokens.get(i).map_or(token.range.end, |t| t.range.start);
                let blank = text.get(token.range.end..end).is_some_and(|s| !s.contains('\n') && !s.contains('/'));
                edits.remove(token.range.start..if blank { end } else { token.range.end });
            }
            Some(Rule::DropCall) => {
                if let Some((_, end)) = constant::arguments(text, &tokens, i) {
                    edits.remove(token.range.start..end);
                }
            }
            Some(Rule::Whole(whole)) if called => {
                if let Some((_, end)) = constant::arguments(text, &tokens, i) {
                    edits.replace(token.range.start..end, whole);
                }
            }
            Some(Rule::Refuse(why)) => c.refuse(token.range.start, format!("`{word}`: {why}")),
            _ => {}
        }
    }
}

/// A barrier orders device memory too where threads of a block exchange something through it.
fn barrier(c: &Context<'_, '_>) -> &'static str {
    let exchanged = c.kernel.params.iter().any(|p| p.pointers > 0 && !p.is_const && !p.restrict);
    if exchanged {
        "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)"
    } else {
        "threadgroup_barrier(mem_flags::mem_threadgroup)"
    }
}
