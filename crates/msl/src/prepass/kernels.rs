//! Entry points: which functions are kernels, what their parameters are, and the plain function that stands for each
//! of them in the IR. Knows MSL's kernel attributes.

use super::scan::{Function, Instantiation, Outline, TemplateParam};
use super::unit::{Attr, Unit};
use super::words;
use crate::module::{Builtin, ParamKind};
use crate::pp::{Problem, integer_constant};
use crate::source::{Kind, Loc, Token};

/// A kernel with what its wrapper needs.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name the host uses.
    pub name: String,
    /// Where it is defined.
    pub loc: Loc,
    /// Parameters in order.
    pub params: Vec<EntryParam>,
    /// `max_total_threads_per_threadgroup`.
    pub max_threads: Option<u32>,
    /// The function to call, with namespaces and template arguments.
    callee: String,
}

/// A parameter of a kernel.
#[derive(Clone, Debug)]
pub struct EntryParam {
    /// Name as written.
    pub name: String,
    /// What it is; sizes are not known yet.
    pub kind: ParamKind,
    /// Function constant that decides whether the parameter exists.
    pub condition: Option<String>,
    /// Where it stands.
    pub loc: Loc,
    /// Expression that the wrapper passes, for builtins.
    value: String,
    /// Type to convert the argument to first, when the callee must deduce its template arguments from it.
    cast: Option<String>,
    /// How the raw pointer becomes the argument.
    adapter: Adapter,
}

/// How a raw pointer becomes what a kernel's parameter declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapter {
    /// By its memory space, as a pointer or reference: MSL's parameters.
    Space,
    /// As a generic pointer: CUDA's.
    Pointer,
    /// As the value it points to: CUDA's.
    Value,
    /// Not at all: the source reaches it by another way.
    Unpassed,
}

impl Entry {
    /// An entry whose function is called as `callee`.
    pub fn made(name: String, loc: Loc, params: Vec<EntryParam>, max_threads: Option<u32>, callee: String) -> Self {
        Self { name, loc, params, max_threads, callee }
    }

    /// Name of the IR function.
    pub fn symbol(number: usize) -> String {
        format!("ks_entry_{number}")
    }

    /// The wrapper for NVIDIA GPUs: a kernel that leaves the threads past the grid's end out, and takes threadgroup
    /// memory as offsets into the dynamic shared memory.
    pub fn kernel(&self, number: usize) -> String {
        let mut formals = Vec::new();
        let mut actuals = Vec::new();
        for (n, param) in self.params.iter().enumerate() {
            let (formal, pointer) = match &param.kind {
                ParamKind::Buffer { constant, .. } => {
                    let space = if *constant { "__constant" } else { "__global" };
                    (format!("{space} void* a{n}"), format!("a{n}"))
                }
                ParamKind::Threadgroup { .. } => {
                    (format!("uint a{n}"), format!("(__local void*)((__local char*)__ks_dynamic() + a{n})"))
                }
                ParamKind::Builtin(_) => {
                    actuals.push(param.value.clone());
                    continue;
                }
            };
            formals.push(formal);
            actuals.push(param.convert(number, n, &pointer));
        }
        formals.extend(["uint gx", "uint gy", "uint gz"].map(str::to_owned));
        format!(
            "extern \"C\" void {}({}) {{ if (__ks_outside()) return; {}({}); }}",
            Self::symbol(number),
            formals.join(", "),
            self.callee,
            actuals.join(", ")
        )
    }

    /// The wrapper's text, on one line.
    pub fn wrapper(&self, number: usize) -> String {
        let mut formals = Vec::new();
        let mut actuals = Vec::new();
        for (n, param) in self.params.iter().enumerate() {
            let space = match &param.kind {
                ParamKind::Buffer { constant: true, .. } => "__constant",
                ParamKind::Buffer { .. } => "__global",
                ParamKind::Threadgroup { .. } => "__local",
                ParamKind::Builtin(_) => {
                    actuals.push(param.value.clone());
                    continue;
                }
            };
            formals.push(format!("{space} void* a{n}"));
            if param.adapter != Adapter::Unpassed {
                actuals.push(param.convert(number, n, &format!("a{n}")));
            }
        }
        format!(
            "extern \"C\" void {}({}) {{ {}({}); }}",
            Self::symbol(number),
            formals.join(", "),
            self.callee,
            actuals.join(", ")
        )
    }
}

impl EntryParam {
    /// A parameter that is always there.
    pub fn made(name: String, kind: ParamKind, loc: Loc, adapter: Adapter) -> Self {
        Self { name, kind, condition: None, loc, value: String::new(), cast: None, adapter }
    }

    /// The argument made of a raw pointer.
    fn convert(&self, kernel: usize, n: usize, pointer: &str) -> String {
        match self.adapter {
            Adapter::Space | Adapter::Unpassed => {}
            Adapter::Pointer => return format!("__ks_pointer<{kernel}, {n}>{{{pointer}}}"),
            Adapter::Value => return format!("__ks_value<{kernel}, {n}>{{{pointer}}}"),
        }
        let (letter, reference) = match &self.kind {
            ParamKind::Buffer { constant: true, reference, .. } => ('c', *reference),
            ParamKind::Buffer { reference, .. } => ('g', *reference),
            ParamKind::Threadgroup { reference, .. } => ('l', *reference),
            ParamKind::Builtin(_) => return self.value.clone(),
        };
        let form = if reference { "ref" } else { "ptr" };
        let converted = format!("__ks_{form}_{letter}<{kernel}, {n}>{{{pointer}}}");
        match &self.cast {
            Some(ty) => format!("static_cast<{ty}>({converted})"),
            None => converted,
        }
    }
}

/// Stages that are not compute.
const OTHER_STAGES: &[&str] = &["vertex", "fragment", "object", "mesh", "intersection", "visible", "tile"];

/// Finds the kernels and their instantiations; removes the instantiation statements, which the wrappers replace.
pub fn collect(unit: &mut Unit, outline: &Outline, only: &[String]) -> Result<Vec<Entry>, Problem> {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|o| o == name);
    let mut out: Vec<Entry> = Vec::new();
    for function in outline.functions.iter().filter(|f| f.record.is_none()) {
        if !function.kernel {
            other_stage(unit, function)?;
            continue;
        }
        if function.template.is_some() {
            continue;
        }
        if function.body.is_none() || out.iter().any(|e| e.loc == unit.loc(function.name_at)) {
            continue;
        }
        let attrs = attributes_of(unit, function.start, function.params.0, function);
        let name = host_name(&attrs).unwrap_or_else(|| function.name.clone());
        let mut entry = entry(unit, function, name, &[], None)?;
        entry.callee = qualified(&function.scope, &function.name);
        out.push(entry);
    }
    for inst in &outline.instantiations {
        let attrs: Vec<Attr> = inst.range.clone().flat_map(|i| unit.attr_list(i).to_vec()).collect();
        let marked = attrs.iter().any(|a| a.name == "kernel" || a.name == "host_name")
            || inst.range.clone().any(|i| unit.is_ident(i, "kernel"));
        let Some(function) = find_template(outline, inst) else {
            if marked {
                return Err(Problem::at(
                    "unknown-kernel",
                    unit.loc(inst.name_at),
                    format!("there is no kernel template `{}`", inst.name),
                )
                .help("instantiate a function template that is marked `kernel` or `[[kernel]]`"));
            }
            continue;
        };
        let args = match &inst.args {
            Some(range) => unit.split(range.start, range.end),
            None => Vec::new(),
        };
        let name = host_name(&attrs).unwrap_or_else(|| inst.name.clone());
        let mut entry = entry(unit, function, name, &args, Some(inst))?;
        entry.loc = unit.loc(function.name_at);
        let rendered: Vec<String> = args.iter().map(|(a, b)| unit.render(*a, *b)).collect();
        let path = if inst.path.contains("::") { inst.path.clone() } else { qualified(&function.scope, &inst.name) };
        entry.callee = if inst.args.is_some() { format!("{path}<{}>", rendered.join(", ")) } else { path };
        out.push(entry);
        unit.remove(inst.range.start, inst.range.end);
    }
    out.retain(|e| wanted(&e.name));
    if let Some(missing) = only.iter().find(|o| !out.iter().any(|e| e.name == **o)) {
        let message = format!("there is no kernel named `{missing}`");
        return Err(Problem {
            code: "unknown-kernel",
            message,
            loc: None,
            help: Some("list the source's kernels to see their names".to_owned()),
        });
    }
    for (n, entry) in out.iter().enumerate() {
        if out[..n].iter().any(|e| e.name == entry.name) {
            return Err(Problem::at(
                "duplicate-kernel",
                entry.loc,
                format!("there are two kernels named `{}`", entry.name),
            )
            .help("give each instantiation its own host_name"));
        }
    }
    Ok(out)
}

fn other_stage(unit: &Unit, function: &Function) -> Result<(), Problem> {
    for i in function.start..function.name_at {
        let word = unit.ident(i).filter(|w| matches!(*w, "vertex" | "fragment"));
        let attr = unit.attr_list(i).iter().map(|a| a.name.as_str()).find(|a| OTHER_STAGES.contains(a));
        if let Some(stage) = word.or(attr).filter(|_| function.body.is_some()) {
            return Err(Problem::at(
                "unsupported-stage",
                unit.loc(i),
                format!("`{stage}` functions are not supported: only compute kernels are"),
            )
            .help("move the kernels into a file of their own"));
        }
    }
    Ok(())
}

fn find_template<'a>(outline: &'a Outline, inst: &Instantiation) -> Option<&'a Function> {
    let named =
        || outline.functions.iter().filter(|f| f.name == inst.name && f.template.is_some() && f.record.is_none());
    named().find(|f| f.body.is_some() && f.kernel).or_else(|| named().find(|f| f.kernel))
}

fn qualified(scope: &[String], name: &str) -> String {
    let mut out = String::new();
    for part in scope {
        out.push_str("::");
        out.push_str(part);
    }
    format!("{out}::{name}")
}

fn attributes_of(unit: &Unit, lo: usize, hi: usize, function: &Function) -> Vec<Attr> {
    let tail = function.body.map_or(function.end, |(open, _)| open);
    (lo..hi).chain(function.params.1..tail).flat_map(|i| unit.attr_list(i).to_vec()).collect()
}

fn host_name(attrs: &[Attr]) -> Option<String> {
    let attr = attrs.iter().find(|a| a.name == "host_name")?;
    // Adjacent literals are one string.
    let parts: String = attr.args.as_ref()?.iter().map(|t| t.text.trim_matches('"')).collect();
    Some(parts)
}

fn entry(
    unit: &Unit,
    function: &Function,
    name: String,
    args: &[(usize, usize)],
    inst: Option<&Instantiation>,
) -> Result<Entry, Problem> {
    let attrs = {
        let mut attrs = attributes_of(unit, function.start, function.params.0, function);
        if let Some(inst) = inst {
            attrs.extend(inst.range.clone().flat_map(|i| unit.attr_list(i).to_vec()));
        }
        attrs
    };
    let no_params = Vec::new();
    let template = function.template.as_ref().unwrap_or(&no_params);
    let bound: Vec<(&str, (usize, usize))> = template
        .iter()
        .enumerate()
        .filter_map(|(n, p): (usize, &TemplateParam)| {
            let range = args.get(n).copied().or_else(|| p.default.as_ref().map(|d| (d.start, d.end)))?;
            Some((p.name.as_str(), range))
        })
        .collect();
    let bindings: Vec<(&str, String)> = bound.iter().map(|(n, (a, b))| (*n, unit.spell(*a, *b))).collect();
    let max_threads = attrs
        .iter()
        .find(|a| a.name == "max_total_threads_per_threadgroup")
        .and_then(|a| integer_constant(&substituted(unit, a.args.as_deref()?, &bound, a.loc), a.loc))
        .and_then(|n| u32::try_from(n).ok());
    let (open, close) = function.params;
    let mut params = Vec::new();
    for (a, b) in unit.split(open + 1, close) {
        let a = unit.skip(a);
        let empty = a >= b || (unit.is_ident(a, "void") && unit.next(a) >= b);
        if !empty {
            params.push(parameter(unit, a, b, &bindings)?);
        }
    }
    if let Some(inst) = inst.filter(|i| i.args.is_none())
        && let Some((open, close)) = inst.params
    {
        for (param, (a, b)) in params.iter_mut().zip(unit.split(open + 1, close)) {
            param.cast = Some(declared_type(unit, unit.skip(a), b));
        }
    }
    number_buffers(&mut params)?;
    Ok(Entry { name, loc: unit.loc(function.name_at), params, max_threads, callee: String::new() })
}

/// An attribute's expression with template arguments in place of their names.
fn substituted(unit: &Unit, tokens: &[Token], bound: &[(&str, (usize, usize))], loc: Loc) -> Vec<Token> {
    let mut out = Vec::new();
    for token in tokens {
        match token.ident().and_then(|name| bound.iter().find(|(n, _)| *n == name)) {
            Some((_, (a, b))) => {
                out.push(Token::new(Kind::Punct, "(", loc));
                out.extend((*a..*b).filter_map(|i| unit.get(i)).filter(|t| t.significant()).cloned());
                out.push(Token::new(Kind::Punct, ")", loc));
            }
            None => out.push(token.clone()),
        }
    }
    out
}

/// The type of a parameter as clang reads it: everything but attributes, default and name.
fn declared_type(unit: &Unit, a: usize, b: usize) -> String {
    let shape = Shape::of(unit, a, b);
    let mut out = unit.render(a, shape.name_at.unwrap_or(shape.end));
    if shape.array {
        out.push('*');
    }
    out
}

/// Where the parts of a parameter are.
struct Shape {
    end: usize,
    name_at: Option<usize>,
    array: bool,
}

impl Shape {
    fn of(unit: &Unit, a: usize, b: usize) -> Self {
        let mut end = b;
        let mut i = a;
        while i < b {
            if unit.is(i, "=") || !unit.attr_list(i).is_empty() {
                end = i;
                break;
            }
            if unit.is(i, "<")
                && let Some(close) = unit.angle(i, b)
            {
                i = close;
            }
            i += 1;
        }
        let bracket = (a..end).find(|i| unit.is(*i, "["));
        let last = unit.prev(bracket.unwrap_or(end)).filter(|p| *p >= a);
        let name_at = last.filter(|p| {
            unit.ident(*p).is_some()
                && unit.prev(*p).is_some_and(|q| q >= a && !unit.is(q, "::"))
                && !matches!(unit.ident(*p), Some("const" | "device" | "constant" | "threadgroup"))
        });
        Self { end, name_at, array: bracket.is_some() }
    }
}

fn parameter(unit: &Unit, a: usize, b: usize, bindings: &[(&str, String)]) -> Result<EntryParam, Problem> {
    let attrs: Vec<Attr> = (a..b).flat_map(|i| unit.attr_list(i).to_vec()).collect();
    let shape = Shape::of(unit, a, b);
    let name = shape.name_at.and_then(|i| unit.ident(i)).unwrap_or("").to_owned();
    let loc = unit.loc(shape.name_at.unwrap_or(a));
    let type_end = shape.name_at.unwrap_or(shape.end);
    if let Some(what) = unsupported(unit, a, b, &attrs) {
        return Err(Problem::at(
            "unsupported-parameter",
            loc,
            format!("parameter `{name}` is {what}, which is not supported"),
        )
        .help("kernels here take buffers, threadgroup memory and positions"));
    }
    let condition = attrs
        .iter()
        .find(|a| a.name == "function_constant")
        .and_then(|a| a.args.as_ref())
        .map(|args| crate::pp::spell(args));
    let mut param = EntryParam {
        name: name.clone(),
        kind: ParamKind::Builtin(Builtin::GridOrigin),
        condition,
        loc,
        value: String::new(),
        cast: None,
        adapter: Adapter::Space,
    };
    if let Some((attr, position)) = attrs.iter().find_map(|a| Some((a, position(&a.name)?))) {
        let ty = unit.spell(a, type_end);
        let ty = bindings.iter().find(|(n, _)| *n == ty).map_or(ty.clone(), |(_, t)| t.clone());
        param.kind = ParamKind::Builtin(position.builtin);
        param.value = position.value(&ty).ok_or_else(|| {
            let wanted =
                if position.scalar { "`uint` or `ushort`" } else { "`uint`, `uint2`, `uint3` or their `ushort` kin" };
            Problem::at("position-type", loc, format!("`{}` cannot be a `{ty}`", attr.name))
                .help(format!("declare it as {wanted}"))
        })?;
        return Ok(param);
    }
    let space =
        (a..type_end).find_map(|i| unit.ident(i).filter(|w| matches!(*w, "device" | "constant" | "threadgroup")));
    let Some(space) = space.map(str::to_owned) else {
        let unknown = attrs.iter().find(|a| !matches!(a.name.as_str(), "buffer" | "threadgroup" | "maybe_unused"));
        return Err(match unknown {
            Some(attr) => Problem::at("unknown-attribute", attr.loc, format!("a kernel parameter cannot be `[[{}]]`", attr.name))
                .help("use buffer(n), threadgroup(n) or a position attribute such as thread_position_in_grid"),
            None => Problem::at("missing-attribute", loc, format!("parameter `{name}` needs an attribute or an address space"))
                .help(format!("write `constant {}& {name} [[buffer(n)]]` for a value from the host, or a position attribute such as [[thread_position_in_grid]]", unit.spell(a, type_end))),
        });
    };
    let star = (a..shape.end).rev().find(|i| unit.is(*i, "*") || unit.is(*i, "&"));
    if star.is_none() && !shape.array {
        return Err(Problem::at(
            "parameter-by-value",
            loc,
            format!("parameter `{name}` in `{space}` memory must be a pointer or a reference"),
        )
        .help(format!("write `{} & {name}`", unit.spell(a, type_end))));
    }
    let reference = star.is_some_and(|i| unit.is(i, "&"));
    let pointee_end = star.unwrap_or(type_end);
    let words: Vec<String> = (a..pointee_end)
        .filter(|i| {
            !matches!(
                unit.ident(*i),
                Some("device" | "constant" | "threadgroup" | "const" | "volatile" | "restrict" | "struct" | "coherent")
            )
        })
        .filter(|i| unit.get(*i).is_some_and(crate::source::Token::significant) && !unit.is(*i, "("))
        .map(|i| {
            let text = unit.spell(i, i + 1);
            bindings.iter().find(|(n, _)| *n == text).map_or(text, |(_, t)| t.clone())
        })
        .collect();
    let element = join_type(&words);
    let index = |name: &str| -> Result<Option<u32>, Problem> {
        let Some(attr) = attrs.iter().find(|a| a.name == name) else { return Ok(None) };
        let value =
            attr.args.as_deref().and_then(|t| integer_constant(t, attr.loc)).and_then(|v| u32::try_from(v).ok());
        value.map(Some).ok_or_else(|| {
            Problem::at("attribute-index", attr.loc, format!("`{name}` needs an index such as `{name}(0)`"))
        })
    };
    param.kind = if space == "threadgroup" {
        ParamKind::Threadgroup {
            index: index("threadgroup")?.unwrap_or(UNNUMBERED),
            reference,
            element,
            element_bytes: 0,
        }
    } else {
        let constant = space == "constant";
        let read_only = constant || (a..pointee_end).any(|i| unit.is_ident(i, "const"));
        ParamKind::Buffer {
            index: index("buffer")?.unwrap_or(UNNUMBERED),
            constant,
            read_only,
            reference,
            element,
            element_bytes: 0,
        }
    };
    Ok(param)
}

const UNNUMBERED: u32 = u32::MAX;

fn join_type(words: &[String]) -> String {
    let mut out = String::new();
    for word in words {
        if !out.is_empty() && super::emit::would_glue(&out, word) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Gives indices to buffers and threadgroup arguments that have none: the lowest free ones, in order.
fn number_buffers(params: &mut [EntryParam]) -> Result<(), Problem> {
    for threadgroup in [false, true] {
        let mut used = std::collections::BTreeMap::new();
        for param in params.iter() {
            let index = match &param.kind {
                ParamKind::Buffer { index, .. } if !threadgroup => *index,
                ParamKind::Threadgroup { index, .. } if threadgroup => *index,
                _ => continue,
            };
            if index == UNNUMBERED {
                continue;
            }
            let limit = 31;
            let what = if threadgroup { "threadgroup" } else { "buffer" };
            if index >= limit {
                return Err(Problem::at(
                    "attribute-index",
                    param.loc,
                    format!("`{what}({index})` is out of range: the last index is {}", limit - 1),
                ));
            }
            if let Some(other) = used.insert(index, (param.name.clone(), param.condition.is_some()))
                && !(other.1 || param.condition.is_some())
            {
                return Err(Problem::at(
                    "duplicate-index",
                    param.loc,
                    format!("parameters `{}` and `{}` both ask for {what} index {index}", other.0, param.name),
                )
                .help("give each its own index"));
            }
        }
        let mut next = 0;
        for param in params.iter_mut() {
            let index = match &mut param.kind {
                ParamKind::Buffer { index, .. } if !threadgroup => index,
                ParamKind::Threadgroup { index, .. } if threadgroup => index,
                _ => continue,
            };
            if *index == UNNUMBERED {
                while used.contains_key(&next) {
                    next += 1;
                }
                *index = next;
                used.insert(next, (String::new(), false));
            }
        }
    }
    Ok(())
}

fn unsupported(unit: &Unit, a: usize, b: usize, attrs: &[Attr]) -> Option<String> {
    for i in a..b {
        if let Some(word) = unit.ident(i)
            && let Some(what) = words::unsupported_type(word)
        {
            return Some(format!("a `{word}` ({what})"));
        }
    }
    let attr = attrs
        .iter()
        .find(|a| matches!(a.name.as_str(), "texture" | "sampler" | "stage_in" | "payload" | "imageblock"))?;
    Some(format!("`[[{}]]`", attr.name))
}

/// A parameter that the machine fills in.
struct Position {
    builtin: Builtin,
    /// Only scalars make sense.
    scalar: bool,
    /// Expression of each axis.
    axes: [&'static str; 3],
}

impl Position {
    fn value(&self, ty: &str) -> Option<String> {
        let ty = ty.trim_start_matches("const ").trim_start_matches("metal::");
        let ty = match ty {
            "unsigned" | "unsigned int" | "uint32_t" => "uint",
            "unsigned short" | "uint16_t" => "ushort",
            other => other,
        };
        let (element, width) = match ty {
            "uint" | "ushort" => (ty, 1),
            _ => words::vector(ty, false).filter(|(e, n)| matches!(*e, "uint" | "ushort") && *n < 4)?,
        };
        if self.scalar && width > 1 {
            return None;
        }
        let parts: Vec<String> = self.axes[..width as usize].iter().map(|x| format!("({element})({x})")).collect();
        Some(if width == 1 { parts[0].clone() } else { format!("({ty})({})", parts.join(", ")) })
    }
}

fn position(name: &str) -> Option<Position> {
    use Builtin as B;
    let sr = |builtin, axes| Some(Position { builtin, scalar: false, axes });
    let one = |builtin, x| Some(Position { builtin, scalar: true, axes: [x, "0", "0"] });
    match name {
        "thread_position_in_grid" => sr(B::ThreadPositionInGrid, ["__ks_sr(19)", "__ks_sr(20)", "__ks_sr(21)"]),
        "thread_position_in_threadgroup" => {
            sr(B::ThreadPositionInThreadgroup, ["__ks_sr(0)", "__ks_sr(1)", "__ks_sr(2)"])
        }
        "threadgroup_position_in_grid" => sr(B::ThreadgroupPositionInGrid, ["__ks_sr(3)", "__ks_sr(4)", "__ks_sr(5)"]),
        "threads_per_grid" | "grid_size" => sr(B::ThreadsPerGrid, ["__ks_sr(16)", "__ks_sr(17)", "__ks_sr(18)"]),
        "threads_per_threadgroup" | "dispatch_threads_per_threadgroup" => {
            sr(B::ThreadsPerThreadgroup, ["__ks_sr(6)", "__ks_sr(7)", "__ks_sr(8)"])
        }
        "threadgroups_per_grid" => sr(B::ThreadgroupsPerGrid, ["__ks_sr(9)", "__ks_sr(10)", "__ks_sr(11)"]),
        "grid_origin" => sr(B::GridOrigin, ["0", "0", "0"]),
        "thread_index_in_threadgroup" => one(B::ThreadIndexInThreadgroup, "__ks_sr(15)"),
        "thread_index_in_simdgroup" => one(B::ThreadIndexInSimdgroup, "__ks_sr(12)"),
        "simdgroup_index_in_threadgroup" => one(B::SimdgroupIndexInThreadgroup, "__ks_sr(13)"),
        "simdgroups_per_threadgroup" | "dispatch_simdgroups_per_threadgroup" => {
            one(B::SimdgroupsPerThreadgroup, "__ks_sr(14)")
        }
        "threads_per_simdgroup" | "thread_execution_width" => one(B::ThreadsPerSimdgroup, "32"),
        "thread_index_in_quadgroup" => one(B::ThreadIndexInQuadgroup, "__ks_sr(12) & 3"),
        "quadgroup_index_in_threadgroup" => one(B::QuadgroupIndexInThreadgroup, "(uint)__ks_sr(15) / 4"),
        "quadgroups_per_threadgroup" | "dispatch_quadgroups_per_threadgroup" => {
            one(B::QuadgroupsPerThreadgroup, "((uint)__ks_sr(6) * (uint)__ks_sr(7) * (uint)__ks_sr(8) + 3) / 4")
        }
        _ => None,
    }
}
