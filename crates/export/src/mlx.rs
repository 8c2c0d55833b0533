//! A candidate as a Python module for MLX: one `mx.fast.metal_kernel` a dispatch, everything else evaluated from the
//! arrays' shapes at call time. MLX takes a kernel's body alone and writes the signature itself, from names it finds in
//! the body; so parameters become a prelude, and the rest of the file the header.

use std::collections::{BTreeMap, BTreeSet};

use ksearch_msl::{CompileOptions, EntryPoint, ParamKind, SourceFile, entry_points};
use ksearch_task::candidate::{Binding, DefineValue, Dispatch};
use ksearch_task::spec::{Kind, Role};
use ksearch_task::{Candidate, Expr, Language, Task};

use crate::split::{self, Definition};

/// Why a candidate cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    /// It is not Metal.
    #[error("MLX takes Metal kernels; this candidate is written in {0:?}")]
    Language(Language),
    /// The front end refuses it.
    #[error("the kernel does not compile: {0}")]
    Source(String),
    /// Something in it has no counterpart.
    #[error("kernel `{kernel}`: {what}")]
    Construct {
        /// The kernel.
        kernel: String,
        /// What, and why not.
        what: String,
    },
    /// The recipe does not fit the source or the task.
    #[error("{0}")]
    Recipe(String),
}

/// Where a kernel comes from, for the module's first lines.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Sentences, e.g. what it was measured at and on what.
    pub lines: Vec<String>,
}

/// The static part of every module.
const RUNTIME: &str = include_str!("../python/runtime.py");
/// What MLX itself does for the tasks that ship, for arguments that a kernel does not serve.
const PLAIN: [(&str, &str); 3] = [
    ("attention", include_str!("../python/plain_attention.py")),
    ("selective_scan", include_str!("../python/plain_selective_scan.py")),
    ("softmax", include_str!("../python/plain_softmax.py")),
];
/// Values that MLX passes to a body that mentions them, with their types (its documentation of `metal_kernel`).
const ATTRIBUTES: [(&str, u8); 20] = [
    ("dispatch_quadgroups_per_threadgroup", 1),
    ("dispatch_simdgroups_per_threadgroup", 1),
    ("dispatch_threads_per_threadgroup", 3),
    ("grid_origin", 3),
    ("grid_size", 3),
    ("quadgroup_index_in_threadgroup", 1),
    ("quadgroups_per_threadgroup", 1),
    ("simdgroup_index_in_threadgroup", 1),
    ("simdgroups_per_threadgroup", 1),
    ("thread_execution_width", 1),
    ("thread_index_in_quadgroup", 1),
    ("thread_index_in_simdgroup", 1),
    ("thread_index_in_threadgroup", 1),
    ("thread_position_in_grid", 3),
    ("thread_position_in_threadgroup", 3),
    ("threadgroup_position_in_grid", 3),
    ("threadgroups_per_grid", 3),
    ("threads_per_grid", 3),
    ("threads_per_simdgroup", 1),
    ("threads_per_threadgroup", 3),
];

/// The module's text. Its one public function has the task's name, takes the input tensors and, by name, the scalars.
pub fn module(task: &Task, candidate: &Candidate, origin: &Origin) -> Result<String, Unfit> {
    if candidate.language != Language::Msl {
        return Err(Unfit::Language(candidate.language));
    }
    if let Some(t) = task.tensors.iter().find(|t| t.role == Role::InOut) {
        return Err(Unfit::Recipe(format!("tensor `{}` is changed in place, which MLX's arrays cannot be", t.name)));
    }
    let text = one_file(candidate);
    let entries = listing(task, candidate, &text)?;
    let mut export =
        Export { task, candidate, masked: split::mask(&text), text, written: BTreeSet::new(), cut: Vec::new() };
    let mut dispatches = String::new();
    for dispatch in &candidate.recipe.dispatches {
        export.dispatch(dispatch, &entries, &mut dispatches)?;
    }
    let header = export.header(&entries)?;
    Ok(export.assemble(&header, &dispatches, origin))
}

/// All files as one text: quoted includes are put in their place, once.
fn one_file(candidate: &Candidate) -> String {
    fn place(candidate: &Candidate, path: &str, seen: &mut BTreeSet<String>, out: &mut String) {
        if !seen.insert(path.to_owned()) {
            return;
        }
        let Some(file) = candidate.files.iter().find(|f| f.path == path) else { return };
        for line in file.text.lines() {
            let quoted = line
                .trim_start()
                .strip_prefix('#')
                .and_then(|l| l.trim_start().strip_prefix("include"))
                .and_then(|l| l.trim_start().strip_prefix('"'))
                .and_then(|l| l.split('"').next());
            let folder = path.rsplit_once('/').map_or("", |(f, _)| f);
            let target = quoted.map(|q| if folder.is_empty() { q.to_owned() } else { format!("{folder}/{q}") });
            if let Some(target) = target.filter(|t| candidate.files.iter().any(|f| f.path == *t)) {
                place(candidate, &target, seen, out);
            } else {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    let mut out = String::new();
    if let Some(main) = candidate.files.first() {
        place(candidate, &main.path, &mut BTreeSet::new(), &mut out);
    }
    // The recipe's comment is of no use there.
    match (out.find("/* ksearch"), out.find("*/")) {
        (Some(0), Some(end)) => out.get(end + 2..).unwrap_or_default().trim_start().to_owned(),
        _ => out,
    }
}

/// The kernels with their parameters, on a workload that the candidate takes.
fn listing(task: &Task, candidate: &Candidate, text: &str) -> Result<Vec<EntryPoint>, Unfit> {
    let resolved = task
        .workloads
        .iter()
        .find_map(|w| candidate.resolve(task, &w.env).ok())
        .ok_or_else(|| Unfit::Recipe("the recipe takes none of the task's workloads".into()))?;
    let options = CompileOptions { defines: resolved.defines, ..CompileOptions::default() };
    entry_points(&[SourceFile::new("kernel.metal", text)], &options)
        .map_err(|d| Unfit::Source(d.first().map_or_else(String::new, |d| d.message.clone())))
}

/// The work on one candidate.
struct Export<'a> {
    task: &'a Task,
    candidate: &'a Candidate,
    text: String,
    masked: Vec<u8>,
    /// Tensors and scratch buffers that a dispatch so far writes.
    written: BTreeSet<String>,
    /// Kernels found so far, by their place in the text.
    cut: Vec<std::ops::Range<usize>>,
}

impl Export<'_> {
    fn python(&self, e: &Expr) -> String {
        let known = |name: &str| {
            self.task.names().contains(&name)
                || self.candidate.tunables.iter().any(|t| t.name == name)
                || self.candidate.recipe.defines.iter().any(|d| d.name == name)
        };
        format!("lambda s: {}", e.python(&known))
    }

    fn locate(&self, entry: &EntryPoint) -> Result<Definition, Unfit> {
        let fail = |what: &str| Unfit::Construct { kernel: entry.name.clone(), what: what.to_owned() };
        let line = entry.pos.line;
        let definition = split::definition(&self.text, &self.masked, &entry.name, line)
            .ok_or_else(|| fail("its definition cannot be taken apart; is it made by a macro?"))?;
        if definition.template {
            return Err(fail(
                "it is a template, and MLX takes a body without one: write it for the types it is used with",
            ));
        }
        if definition.params.len() != entry.params.len() {
            return Err(fail("its parameters cannot be taken apart; are they made by a macro?"));
        }
        Ok(definition)
    }

    /// Appends one dispatch as a Python dictionary.
    fn dispatch(&mut self, dispatch: &Dispatch, entries: &[EntryPoint], out: &mut String) -> Result<(), Unfit> {
        let entry = entries.iter().find(|e| e.name == dispatch.kernel).ok_or_else(|| {
            Unfit::Recipe(format!("the recipe launches kernel `{}`, which the source does not define", dispatch.kernel))
        })?;
        let fail = |what: String| Unfit::Construct { kernel: entry.name.clone(), what };
        if !dispatch.constants.is_empty() || entry.params.iter().any(|p| p.condition.is_some()) {
            return Err(fail("function constants have no counterpart in MLX: use a define of the recipe".into()));
        }
        if dispatch.repeat.is_some() {
            return Err(fail("a repeated dispatch changes its own output, which MLX's arrays cannot".into()));
        }
        let definition = self.locate(entry)?;
        let slice = |range: &std::ops::Range<usize>| {
            String::from_utf8_lossy(self.masked.get(range.clone()).unwrap_or_default()).into_owned()
        };
        let (mut inputs, mut outputs, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let mut prelude = String::new();
        let mut body = self.text.get(definition.body.clone()).unwrap_or_default().to_owned();
        let mut written = BTreeSet::new();
        for (param, range) in entry.params.iter().zip(&definition.params) {
            let mut name = param.name.clone();
            if name.is_empty() {
                continue;
            }
            // A parameter that is called like one of MLX's own would be declared twice.
            if ATTRIBUTES.iter().any(|(a, _)| *a == name) {
                let other = format!("own_{name}");
                body = split::rename(&body, &name, &other);
                name = other;
            }
            let ty = split::declared_type(&slice(range), &param.name);
            match &param.kind {
                ParamKind::Builtin(_) => {
                    let text = slice(range);
                    let Some((attribute, width)) = ATTRIBUTES.iter().find(|(a, _)| {
                        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).skip(1).any(|w| w == *a)
                    }) else {
                        return Err(fail(format!("MLX does not pass what parameter `{name}` asks for")));
                    };
                    let part = match (*width, ty.chars().last()) {
                        (1, _) | (3, Some('3')) => "",
                        (_, Some('2')) => ".xy",
                        _ => ".x",
                    };
                    let plain = ty.trim_start_matches("const ").to_owned();
                    line(&mut prelude, &format!("const {plain} {name} = {plain}({attribute}{part});"));
                }
                ParamKind::Threadgroup { .. } => {
                    let Some(Binding::Threadgroup(bytes)) = binding(dispatch, param.name.as_str(), index(&param.kind))
                    else {
                        return Err(fail(format!("the recipe gives threadgroup memory `{name}` no size")));
                    };
                    let macro_name = format!("KS_BYTES_{name}");
                    sizes.push(format!("(\"{macro_name}\", {})", self.python(bytes)));
                    line(&mut prelude, &format!("threadgroup float4 ks_{name}[({macro_name} + 15) / 16];"));
                    line(&mut prelude, &format!("{ty} {name} = ({ty})ks_{name};"));
                }
                ParamKind::Buffer { constant, read_only, reference, element, .. } => {
                    let explicit = binding(dispatch, &param.name, index(&param.kind));
                    let source = self
                        .source(explicit, &param.name)
                        .ok_or_else(|| fail(format!("the recipe binds nothing to parameter `{}`", param.name)))?;
                    match source {
                        Source::Scalar(e) if *reference => {
                            // As written: a macro may stand for another type with other arguments.
                            let words = ty.split_whitespace().filter(|w| !matches!(*w, "constant" | "const"));
                            let written = words.collect::<String>();
                            if written.trim_end_matches('&') != element.as_str() || !Self::scalar_type(element) {
                                return Err(fail(format!(
                                    "scalar `{name}` is declared `{ty}`, and MLX passes scalars of fixed types, written out"
                                )));
                            }
                            inputs.push(format!("(\"ks_{name}\", \"scalar\", \"{element}\", {})", self.python(&e)));
                            line(&mut prelude, &format!("const {element} {name} = ks_{name};"));
                        }
                        Source::Scalar(_) | Source::Struct => {
                            return Err(fail(format!(
                                "`{name}` takes scalars as a struct or an array, and MLX passes scalars one by one: give each a parameter of its own"
                            )));
                        }
                        Source::Array(_, _) if *constant => {
                            return Err(fail(format!(
                                "`{name}` is a tensor in constant memory, and MLX passes tensors in device memory: declare it `device const`"
                            )));
                        }
                        Source::Array(kind, what) => {
                            line(&mut prelude, &format!("{ty} {name} = ({ty})ks_{name};"));
                            if *reference {
                                return Err(fail(format!(
                                    "`{name}` is a reference to device memory: make it a pointer"
                                )));
                            }
                            if *read_only {
                                inputs.push(format!("(\"ks_{name}\", \"{kind}\", \"{what}\")"));
                            } else if self.written.contains(&what) {
                                return Err(fail(format!(
                                    "`{what}` was written by a dispatch before and is not `const` here: MLX's arrays are written once"
                                )));
                            } else {
                                written.insert(what.clone());
                                outputs.push(format!("(\"ks_{name}\", \"{kind}\", \"{what}\")"));
                            }
                        }
                    }
                }
            }
        }
        self.written.append(&mut written);
        let three = |e: &[Expr; 3]| e.iter().map(|e| self.python(e)).collect::<Vec<_>>().join(", ");
        let when = dispatch.when.as_ref().map_or_else(|| "None".to_owned(), |e| self.python(e));
        let item = format!(
            "    {{\n        \"kernel\": \"{}\",\n        \"grid\": [{}],\n        \"threadgroup\": [{}],\n        \"when\": {when},\n        \"inputs\": [{}],\n        \"outputs\": [{}],\n        \"threadgroup_bytes\": [{}],\n        \"source\": {},\n    }},\n",
            entry.name,
            three(&dispatch.grid),
            three(&dispatch.threadgroup),
            list(&inputs),
            list(&outputs),
            list(&sizes),
            raw(&format!("{prelude}{body}")),
        );
        out.push_str(&item);
        Ok(())
    }

    /// What a parameter gets: what the recipe says, else what has its name.
    fn source(&self, explicit: Option<&Binding>, name: &str) -> Option<Source> {
        let tensor = |n: &str| self.task.tensor(n).map(|t| Source::Array("tensor", t.name.clone()));
        let scratch = |n: &str| {
            let found = self.candidate.recipe.scratch.iter().any(|s| s.name == n);
            found.then(|| Source::Array("scratch", n.to_owned()))
        };
        match explicit {
            Some(Binding::Tensor(n)) => tensor(n),
            Some(Binding::Scratch(n)) => scratch(n),
            Some(Binding::Scalar(e)) => Some(Source::Scalar(e.clone())),
            Some(Binding::Struct(_) | Binding::Threadgroup(_)) => Some(Source::Struct),
            None => tensor(name)
                .or_else(|| scratch(name))
                .or_else(|| Expr::parse(name).ok().filter(|_| self.is_name(name)).map(Source::Scalar)),
        }
    }

    fn is_name(&self, name: &str) -> bool {
        self.task.names().contains(&name)
            || self.candidate.tunables.iter().any(|t| t.name == name)
            || self.candidate.recipe.defines.iter().any(|d| d.name == name)
    }

    fn scalar_type(element: &str) -> bool {
        const KNOWN: [&str; 17] = [
            "float", "half", "int", "uint", "int32_t", "uint32_t", "short", "ushort", "char", "uchar", "long", "ulong",
            "int64_t", "uint64_t", "bool", "unsigned", "size_t",
        ];
        KNOWN.contains(&element)
    }

    /// The file without its kernels.
    fn header(&mut self, entries: &[EntryPoint]) -> Result<String, Unfit> {
        for entry in entries {
            let range = self.locate(entry)?.whole;
            if !self.cut.contains(&range) {
                self.cut.push(range);
            }
        }
        self.cut.sort_by_key(|r| r.start);
        let mut out = String::new();
        let mut done = 0;
        for range in &self.cut {
            out.push_str(self.text.get(done..range.start).unwrap_or_default());
            done = range.end;
        }
        out.push_str(self.text.get(done..).unwrap_or_default());
        Ok(format!("{}\n", out.trim_end()))
    }

    fn assemble(&self, header: &str, dispatches: &str, origin: &Origin) -> String {
        let task = self.task;
        let mut out = format!("\"\"\"{}, as a Metal kernel for MLX.\n\n", docstring(&task.title));
        for l in &origin.lines {
            line(&mut out, &docstring(l));
        }
        out.push_str("\nWhere the kernel does not serve the arguments, plain MLX computes instead and a warning says why.\n\"\"\"\n\nimport math\nimport warnings\nimport zlib\n\nimport mlx.core as mx\n\n");
        line(&mut out, &format!("_TASK = \"{}\"", task.name));
        line(
            &mut out,
            "# (name, role, dtype, shape, when): a name stands for a symbol, a function for a computed one.",
        );
        line(&mut out, "_TENSORS = [");
        for t in &task.tensors {
            let role = if t.role == Role::Output { "output" } else { "input" };
            let part = |e: &Expr| {
                if task.symbol(e.text().trim()).is_some() { format!("\"{}\"", e.text().trim()) } else { self.python(e) }
            };
            let shape: Vec<_> = t.shape.iter().map(part).collect();
            let when = t.when.as_ref().map_or_else(|| "None".to_owned(), |e| self.python(e));
            line(
                &mut out,
                &format!("    (\"{}\", \"{role}\", {}, [{}], {when}),", t.name, part(&t.dtype), shape.join(", ")),
            );
        }
        line(&mut out, "]\n# (name, kind, what the task allows, default)\n_SYMBOLS = [");
        for s in &task.symbols {
            let default = s.default.as_ref().map_or_else(|| "None".to_owned(), |e| self.python(e));
            let (kind, allowed) = match &s.kind {
                Kind::Int { min, max, values } => ("int", format!("({min}, {max}, {values:?})")),
                Kind::DType(all) => ("dtype", format!("{:?}", all.iter().map(ToString::to_string).collect::<Vec<_>>())),
                Kind::Real => ("real", "None".to_owned()),
                Kind::Flag => ("flag", "None".to_owned()),
            };
            line(&mut out, &format!("    (\"{}\", \"{kind}\", {allowed}, {default}),", s.name));
        }
        line(&mut out, "]");
        let pairs = |out: &mut String, name: &str, items: Vec<String>| {
            line(out, &format!("{name} = [{}]", list(&items)));
        };
        pairs(
            &mut out,
            "_DERIVED",
            task.derived.iter().map(|(n, e)| format!("(\"{n}\", {})", self.python(e))).collect(),
        );
        pairs(
            &mut out,
            "_CONSTRAINTS",
            task.constraints.iter().map(|c| format!("({}, {})", self.python(&c.expr), quoted(&c.why))).collect(),
        );
        let tunables: BTreeMap<_, _> =
            self.candidate.tunables.iter().map(|t| (t.name.as_str(), self.candidate.value_of(t))).collect();
        let tunables: Vec<_> = tunables.iter().map(|(n, v)| format!("\"{n}\": {v}")).collect();
        line(&mut out, &format!("_TUNABLES = {{{}}}", tunables.join(", ")));
        let recipe = &self.candidate.recipe;
        pairs(
            &mut out,
            "_DEFINES",
            recipe
                .defines
                .iter()
                .map(|d| match &d.value {
                    DefineValue::Expr(e) => format!("(\"{}\", \"expr\", {})", d.name, self.python(e)),
                    DefineValue::TypeOf(t) => format!("(\"{}\", \"type\", \"{t}\")", d.name),
                    DefineValue::Text(t) => format!("(\"{}\", \"text\", {})", d.name, raw(t)),
                })
                .collect(),
        );
        pairs(
            &mut out,
            "_REQUIRES",
            recipe.requires.iter().map(|r| format!("({}, {})", self.python(&r.expr), quoted(&r.why))).collect(),
        );
        let scratch: Vec<_> =
            recipe.scratch.iter().map(|s| format!("\"{}\": {}", s.name, self.python(&s.bytes))).collect();
        line(&mut out, &format!("_SCRATCH = {{{}}}", list(&scratch)));
        line(&mut out, &format!("_HEADER = {}", raw(header)));
        line(&mut out, &format!("_DISPATCHES = [\n{dispatches}]\n"));
        out.push('\n');
        out.push_str(RUNTIME);
        match PLAIN.iter().find(|(name, _)| *name == task.name) {
            Some((_, plain)) => {
                out.push_str("\n\n");
                out.push_str(plain);
            }
            None => out.push_str("\n\n_plain = None\n"),
        }
        out.push_str(&self.function());
        out
    }

    /// The public function.
    fn function(&self) -> String {
        let task = self.task;
        // A flag that says whether an input is there follows from the input.
        let implied = |name: &str| {
            task.tensors
                .iter()
                .find(|t| t.role != Role::Output && t.when.as_ref().is_some_and(|w| w.text().trim() == name))
        };
        let inputs: Vec<_> = task.tensors.iter().filter(|t| t.role != Role::Output).collect();
        let mut formals: Vec<String> = inputs.iter().filter(|t| t.when.is_none()).map(|t| t.name.clone()).collect();
        formals.extend(inputs.iter().filter(|t| t.when.is_some()).map(|t| format!("{}=None", t.name)));
        let shown: Vec<_> = task.symbols.iter().filter(|s| s.parameter && implied(&s.name).is_none()).collect();
        if !shown.is_empty() {
            formals.push("*".into());
            formals.extend(shown.iter().map(|s| format!("{}=None", s.name)));
        }
        let mut out =
            format!("\n\ndef {}({}):\n    \"\"\"{}.\n\n", task.name, formals.join(", "), docstring(&task.title));
        for l in task.description.trim().lines() {
            line(&mut out, &format!("    {}", docstring(l)));
        }
        out.push('\n');
        for t in &inputs {
            line(
                &mut out,
                &format!(
                    "    {}: {}, [{}]",
                    t.name,
                    docstring(&t.doc),
                    t.shape.iter().map(Expr::text).collect::<Vec<_>>().join(", ")
                ),
            );
        }
        for s in &shown {
            let default = s.default.as_ref().map_or_else(String::new, |d| format!(" (default {})", d.text()));
            line(&mut out, &format!("    {}: {}{default}", s.name, docstring(&s.doc)));
        }
        line(&mut out, "    \"\"\"");
        let arrays: Vec<_> = inputs.iter().map(|t| format!("\"{0}\": {0}", t.name)).collect();
        line(&mut out, &format!("    arrays = {{{}}}", arrays.join(", ")));
        let scalars: Vec<_> = shown.iter().map(|s| format!("\"{0}\": {0}", s.name)).collect();
        line(
            &mut out,
            &format!("    given = {{k: v for k, v in {{{}}}.items() if v is not None}}", scalars.join(", ")),
        );
        for t in inputs.iter().filter(|t| t.when.is_some()) {
            let when = t.when.as_ref().map_or("", |w| w.text().trim());
            if task.symbol(when).is_some() {
                line(&mut out, &format!("    given[\"{when}\"] = _flag({} is not None)", t.name));
            }
        }
        line(&mut out, "    return _run(arrays, given)");
        out
    }
}

enum Source {
    Array(&'static str, String),
    Scalar(Expr),
    Struct,
}

fn index(kind: &ParamKind) -> Option<u32> {
    match kind {
        ParamKind::Buffer { index, .. } | ParamKind::Threadgroup { index, .. } => Some(*index),
        ParamKind::Builtin(_) => None,
    }
}

fn binding<'a>(dispatch: &'a Dispatch, name: &str, index: Option<u32>) -> Option<&'a Binding> {
    let number = index.map(|i| i.to_string());
    dispatch.args.iter().find(|a| a.param == name || Some(&a.param) == number.as_ref()).map(|a| &a.binding)
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

fn list(items: &[String]) -> String {
    if items.is_empty() { String::new() } else { format!("\n        {},\n    ", items.join(",\n        ")) }
}

/// A Python string with `text` as it is where it can be, else escaped.
fn raw(text: &str) -> String {
    let plain = !text.contains("\"\"\"") && !text.ends_with(['\\', '"']) && !text.contains(['\r', '\0']);
    if plain { format!("r\"\"\"{text}\"\"\"") } else { quoted(text) }
}

/// A Python string on one line, in ASCII.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            ' '..='~' => out.push(c),
            _ => out.extend(["\\U", &format!("{:08x}", u32::from(c))]),
        }
    }
    out.push('"');
    out
}

/// Text that cannot end a docstring.
fn docstring(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "'''")
}

#[cfg(test)]
mod tests {
    use ksearch_task::builtin;

    use super::*;

    fn export(text: &str) -> Result<String, String> {
        let file = ksearch_task::SourceFile { path: "k.metal".to_owned(), text: text.to_owned() };
        let candidate = Candidate::from_texts("k.metal", &[file]).expect("the recipe is right");
        module(&builtin::task("softmax").expect("it ships"), &candidate, &Origin::default()).map_err(|e| e.to_string())
    }

    const RECIPE: &str = "/* ksearch\n[defines]\nT = { type = \"x\" }\n[[dispatch]]\nkernel = \"k\"\ngrid = [\"R\", 1, 1]\nthreadgroup = [32, 1, 1]\n*/\n";

    fn kernel(params: &str, rest: &str) -> Result<String, String> {
        let fixed = "device const T* x, device T* out, constant uint& C";
        export(&format!("{RECIPE}{rest}kernel void k({fixed}, {params}) {{ out[0] = x[0]; }}\n"))
    }

    #[test]
    fn parameters_become_a_prelude_and_the_rest_a_header() {
        let text = kernel(
            "constant float& scale, uint2 thread_position_in_grid [[thread_position_in_grid]], ushort2 g [[threadgroup_position_in_grid]]",
            "inline float twice(float x) { return 2 * x; }\n",
        )
        .unwrap();
        for part in [
            "device const T* x = (device const T*)ks_x;\n",
            "const uint C = ks_C;\n",
            "const uint2 own_thread_position_in_grid = uint2(thread_position_in_grid.xy);\n",
            "const ushort2 g = ushort2(threadgroup_position_in_grid.xy);\n",
            "_HEADER = r\"\"\"inline float twice(float x) { return 2 * x; }\n\"\"\"",
            "(\"ks_scale\", \"scalar\", \"float\", lambda s: s[\"scale\"])",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("kernel void"), "{text}");
    }

    #[test]
    fn what_mlx_cannot_do_is_refused_by_name() {
        for (result, why) in [
            (kernel("constant T& scale", ""), "scalar `scale` is declared `constant T&`"),
            (kernel("constant float* scale", ""), "takes scalars as a struct or an array"),
            (kernel("constant float& other", ""), "binds nothing to parameter `other`"),
            (kernel("threadgroup float* t", ""), "gives threadgroup memory `t` no size"),
            (
                export(&format!("{RECIPE}kernel void k(constant T* x, device T* out) {{ out[0] = x[0]; }}")),
                "a tensor in constant memory",
            ),
            (export(&format!("{RECIPE}kernel void other(device T* out) {{ out[0] = 0; }}")), "does not define"),
            (export(&format!("{RECIPE}kernel void k(device T* out) {{ out[0] = ")), "does not compile"),
        ] {
            let error = result.unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn text_is_python_whatever_it_holds() {
        assert_eq!(raw("a\nb"), "r\"\"\"a\nb\"\"\"");
        assert_eq!(raw("ends in \\"), "\"ends in \\\\\"");
        assert_eq!(quoted("\"é\n"), "\"\\\"\\U000000e9\\n\"");
        assert_eq!(docstring("\"\"\" \\"), "''' \\\\");
    }
}
