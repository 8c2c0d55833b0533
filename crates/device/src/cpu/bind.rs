//! Binding: the arguments of a dispatch against a C++ function's parameters, and the adapter that calls it. Knows
//! signatures and recipes; must not know memory or time.

use std::fmt::Write;

use ksearch_msl::SourcePos;
use ksearch_task::candidate::{Bound, Resolved, ResolvedDispatch, scalar};
use ksearch_task::{Candidate, SourceFile};

use super::signature::{self, Parameter, Signature};
use crate::target::Failure;

/// What one parameter is given, by name; places in memory are found later.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A tensor that is there.
    Tensor(String),
    /// A tensor that is not there.
    Absent,
    /// A scratch buffer.
    Scratch(String),
    /// A value.
    Bytes(Vec<u8>),
    /// The position in the grid along an axis.
    Group(u8),
    /// The number of the thread that calls.
    Thread,
    /// How many threads there are.
    Threads,
}

/// One dispatch with its parameters bound.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundDispatch {
    /// The kernel.
    pub kernel: String,
    /// Its signature.
    pub signature: Signature,
    /// File it is defined in.
    pub file: String,
    /// Calls per axis.
    pub grid: [u32; 3],
    /// How many times in a row.
    pub repeat: u32,
    /// What each parameter is given.
    pub given: Vec<Given>,
}

/// Names that stand for the call itself.
const BUILT_INS: [(&str, Given); 5] = [
    ("group_x", Given::Group(0)),
    ("group_y", Given::Group(1)),
    ("group_z", Given::Group(2)),
    ("thread", Given::Thread),
    ("threads", Given::Threads),
];

fn refuse(message: String, help: &str, pos: Option<SourcePos>) -> Failure {
    Failure::Launch { message, help: help.into(), pos }
}

/// Finds `kernel` in the candidate's files.
fn find<'a>(candidate: &'a Candidate, kernel: &str) -> Option<(&'a SourceFile, Signature)> {
    candidate.files.iter().find_map(|f| signature::find(&f.text, kernel).map(|s| (f, s)))
}

/// Binds every dispatch.
pub fn bind(candidate: &Candidate, resolved: &Resolved) -> Result<Vec<BoundDispatch>, Failure> {
    resolved.dispatches.iter().map(|dispatch| one(candidate, resolved, dispatch)).collect()
}

fn one(candidate: &Candidate, resolved: &Resolved, dispatch: &ResolvedDispatch) -> Result<BoundDispatch, Failure> {
    let kernel = &dispatch.kernel;
    let Some((file, signature)) = find(candidate, kernel) else {
        return Err(refuse(
            format!("the recipe launches kernel `{kernel}`, which the source does not define"),
            "Define it as `extern \"C\" void NAME(…) { … }`, or mend its name in the recipe.",
            None,
        ));
    };
    let pos = Some(SourcePos { file: file.path.clone(), line: signature.line, column: 0 });
    if dispatch.threadgroup != [1, 1, 1] {
        return Err(refuse(
            format!("the recipe gives kernel `{kernel}` a threadgroup of {:?}", dispatch.threadgroup),
            "On a CPU a kernel is called once for every position of the grid, by the threads of a pool: the threadgroup is \
             [1, 1, 1].",
            pos,
        ));
    }
    if !dispatch.constants.is_empty() {
        let help = "Give the value as a define of the recipe.";
        return Err(refuse(format!("kernel `{kernel}` is given function constants, which C++ has not"), help, pos));
    }
    let mut given = Vec::new();
    for (index, parameter) in signature.parameters.iter().enumerate() {
        given.push(argument(resolved, dispatch, parameter, index as u32, pos.as_ref())?);
    }
    // An argument that names no parameter is a typing mistake, not an intent.
    let known =
        |name: &str| signature.parameters.iter().enumerate().any(|(i, p)| p.name == name || i.to_string() == name);
    if let Some(name) = dispatch.args.keys().find(|n| !known(n)) {
        let names: Vec<_> = signature.parameters.iter().map(|p| p.name.as_str()).collect();
        return Err(refuse(
            format!("the recipe gives an argument `{name}`, but kernel `{kernel}` takes {}", names.join(", ")),
            "Mend the argument's name in the recipe.",
            pos,
        ));
    }
    let (grid, repeat) = (dispatch.grid, dispatch.repeat);
    Ok(BoundDispatch { kernel: kernel.clone(), file: file.path.clone(), signature, grid, repeat, given })
}

fn argument(
    resolved: &Resolved,
    dispatch: &ResolvedDispatch,
    parameter: &Parameter,
    index: u32,
    pos: Option<&SourcePos>,
) -> Result<Given, Failure> {
    let name = &parameter.name;
    let kernel = &dispatch.kernel;
    let bad = |what: String| refuse(what, "Mend the argument in the recipe or the parameter's type.", pos.cloned());
    let explicit = dispatch.args.contains_key(name) || dispatch.args.contains_key(&index.to_string());
    if let (false, Some((_, built_in))) = (explicit, BUILT_INS.iter().find(|(n, _)| n == name)) {
        if parameter.pointer || parameter.type_name.contains("float") || parameter.type_name.contains("double") {
            return Err(bad(format!("parameter `{name}` of kernel `{kernel}` is an integer, e.g. `int {name}`")));
        }
        return Ok(built_in.clone());
    }
    let bound = resolved.bind(dispatch, name, index).map_err(|e| {
        refuse(
            format!("{e}, group_x, group_y, group_z, thread, threads"),
            "Name the parameter like a tensor or symbol of the task, or bind it under `args` in the recipe.",
            pos.cloned(),
        )
    })?;
    let pointer = |given: Given| {
        if parameter.pointer {
            Ok(given)
        } else {
            Err(bad(format!("parameter `{name}` of kernel `{kernel}` gets a tensor, so it must be a pointer")))
        }
    };
    match bound {
        Bound::Tensor(tensor) => pointer(Given::Tensor(tensor)),
        Bound::Absent(_) => pointer(Given::Absent),
        Bound::Scratch(scratch) => pointer(Given::Scratch(scratch)),
        Bound::Threadgroup(_) => {
            Err(bad(format!("parameter `{name}` of kernel `{kernel}` is threadgroup memory, which a CPU has not")))
        }
        Bound::Scalar(_) if parameter.pointer => {
            Err(bad(format!("parameter `{name}` of kernel `{kernel}` is a pointer, but its argument is a number")))
        }
        Bound::Scalar(value) => scalar::bytes(&parameter.type_name, value)
            .map(Given::Bytes)
            .map_err(|e| bad(format!("parameter `{name}` of kernel `{kernel}`: {e}"))),
        Bound::Struct(fields) => scalar::struct_bytes(&fields)
            .map(Given::Bytes)
            .map_err(|e| bad(format!("parameter `{name}` of kernel `{kernel}`: {e}"))),
    }
}

/// Name of the adapter of the `index`-th dispatch.
pub fn entry(index: usize) -> String {
    format!("ksearch_call_{index}")
}

/// C++ that includes the candidate's main file and calls each kernel with what a list of addresses points at.
pub fn adapter(main: &str, dispatches: &[BoundDispatch]) -> String {
    let mut out = format!("#include \"{main}\"\n");
    out.push_str(
        "namespace ksearch_adapter_ {\n\
         template <class Ks_T> struct Ks_Of { static Ks_T& get(void* p) { return *static_cast<Ks_T*>(p); } };\n\
         template <class Ks_T> struct Ks_Of<Ks_T*> { static Ks_T* get(void* p) { return static_cast<Ks_T*>(p); } };\n\
         template <class Ks_T> struct Ks_Of<Ks_T&> { static Ks_T& get(void* p) { return *static_cast<Ks_T*>(p); } };\n\
         template <unsigned Ks_I, class Ks_H, class... Ks_R> struct Ks_At { using type = typename Ks_At<Ks_I - 1, Ks_R...>::type; };\n\
         template <class Ks_H, class... Ks_R> struct Ks_At<0, Ks_H, Ks_R...> { using type = Ks_H; };\n\
         template <class... Ks_A> struct Ks_Fn {\n\
         template <unsigned Ks_I> static decltype(auto) get(void* const* a) {\n\
         return Ks_Of<typename Ks_At<Ks_I, Ks_A...>::type>::get(a[Ks_I]); } };\n\
         template <class... Ks_A> Ks_Fn<Ks_A...> ks_fn(void (*)(Ks_A...));\n\
         }\n",
    );
    for (index, dispatch) in dispatches.iter().enumerate() {
        let kernel = &dispatch.kernel;
        let args: Vec<String> = (0..dispatch.given.len()).map(|i| format!("Ks_F::get<{i}>(a)")).collect();
        let (declared, unused) = if args.is_empty() {
            (String::new(), "(void)a; ")
        } else {
            (format!("using Ks_F = decltype(ksearch_adapter_::ks_fn(&{kernel})); "), "")
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "extern \"C\" __attribute__((visibility(\"default\"))) void {}(void* const* a) {{ {declared}{unused}{kernel}({}); }}",
            entry(index),
            args.join(", ")
        );
    }
    out
}

/// Parameters that the compiler says are unused, `kernel: parameter`.
pub fn unread(dispatches: &[BoundDispatch], warnings: &[ksearch_msl::Diagnostic]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for warning in warnings {
        let name = warning.message.split_once("unused parameter '").and_then(|(_, rest)| rest.split('\'').next());
        let (Some(name), Some(pos)) = (name, &warning.pos) else { continue };
        for d in dispatches {
            let inside = pos.file == d.file && (d.signature.line..=d.signature.last_line).contains(&pos.line);
            let text = format!("{}: {name}", d.kernel);
            if inside && d.signature.parameters.iter().any(|p| p.name == name) && !out.contains(&text) {
                out.push(text);
            }
        }
    }
    out
}
