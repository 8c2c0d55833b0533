//! The declaration of a port: a TOML file beside the `.cu` that says what the kernel's arguments are and how it is
//! launched. Turns it, with the original and its draft, into a task that the judge understands. Knows the format and
//! task files; must not know how anything is run.

mod render;

use std::collections::BTreeMap;

use indexmap::IndexMap;
use ksearch_task::file::{FileError, Step, TomlFile};
use ksearch_task::{DType, Task};
use serde::Deserialize;
use toml::{Table, Value};

use crate::cuda::constant;
use crate::cuda::host::{Host, locals};
use crate::cuda::syntax::Source;
use crate::cuda::unit::{Function, Unit};
use crate::draft::{self, Draft, Refused};

/// The document; `docs/port.md` explains every field.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Declaration {
    kernel: Option<String>,
    title: Option<String>,
    #[serde(default)]
    description: String,
    symbols: IndexMap<String, Table>,
    #[serde(default)]
    params: IndexMap<String, Table>,
    #[serde(default)]
    derived: Table,
    #[serde(default)]
    constraint: Vec<Table>,
    tensors: IndexMap<String, Table>,
    #[serde(default)]
    tolerance: Table,
    floor: Option<Table>,
    launch: Launch,
    #[serde(default)]
    scratch: IndexMap<String, Scratch>,
    #[serde(default)]
    tunables: IndexMap<String, Vec<i64>>,
    #[serde(default)]
    metamorphic: Vec<Table>,
    #[serde(default)]
    defaults: Table,
    /// Symbols that get edge values; all sizes unless given.
    edges: Option<Vec<String>>,
    workload: Vec<Workload>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Launch {
    /// Blocks per axis.
    grid: Vec<Value>,
    /// Threads per block and axis.
    block: Vec<Value>,
    /// Bytes of dynamic shared memory.
    shared: Option<Value>,
    /// Arguments that have another name than the parameter.
    #[serde(default)]
    args: Table,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scratch {
    bytes: Value,
    /// Cleared before each launch, as by `cudaMemset`.
    #[serde(default)]
    zero: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    label: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    heldout: bool,
    purpose: Option<String>,
    weight: Option<f64>,
    values: Table,
}

/// A port, ready to be judged.
#[derive(Clone, Debug)]
pub struct Port {
    /// Name of the kernel, template arguments included.
    pub kernel: String,
    /// Name of the task.
    pub name: String,
    /// The task file.
    pub task: String,
    /// The recipe of the original.
    pub original_recipe: String,
    /// The draft.
    pub draft: Draft,
    /// The draft with its recipe.
    pub metal: String,
}

/// Names of the files of a port, as its task file refers to them.
pub const TASK: &str = "task.toml";
/// The original.
pub const ORIGINAL: &str = "original.cu";
/// Its recipe.
pub const ORIGINAL_RECIPE: &str = "original.cu.toml";
/// The draft.
pub const DRAFT: &str = "draft.metal";

/// Why a port cannot be prepared.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PortError {
    /// The CUDA file cannot be read.
    #[error(transparent)]
    Read(#[from] crate::cuda::syntax::ReadError),
    /// The declaration is wrong.
    #[error(transparent)]
    Declaration(#[from] FileError),
    /// There is no such kernel, or it has to be named.
    #[error("{0}")]
    Kernel(String),
    /// No rule covers what the kernel does.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// Prepares the port of a kernel of `cuda` (text of `file`) with its declaration. `kernel` overrides the one that the
/// declaration names.
pub fn prepare(file: &str, cuda: &str, declaration: (&str, &str), kernel: Option<&str>) -> Result<Port, PortError> {
    let (declaration_file, text) = declaration;
    let toml = TomlFile::new(declaration_file, text);
    let declared: Declaration = toml.parse()?;
    let source = Source::parse(file, cuda)?;
    let unit = Unit::read(&source);
    let wanted = kernel.or(declared.kernel.as_deref());
    let (full, k) = choose(&unit, wanted)?;
    let instance = instance(&unit, k, &full)?;
    check_parameters(&toml, &declared, k)?;
    let tunables = tunables(&toml, &declared, &unit, k, &instance)?;
    let names: Vec<String> = declared.tunables.keys().cloned().collect();
    let draft = draft::draft(&unit, k, &instance, &names)?;
    let name = format!("port_{}", k.name.to_ascii_lowercase());
    let made = render::Rendered::new(&declared, k, &full, &name, &draft, &tunables, &unit);
    let port =
        Port { kernel: full, name, task: made.task, original_recipe: made.original_recipe, metal: made.metal, draft };
    // Complaints about the generated task are complaints about the declaration.
    port.load(cuda).map_err(|e| FileError {
        file: declaration_file.to_owned(),
        line: 0,
        column: 0,
        message: e.message,
    })?;
    Ok(port)
}

impl Port {
    /// The task, without a file on disk.
    pub fn load(&self, cuda: &str) -> Result<Task, FileError> {
        Task::parse(TASK, &self.task, &|name| match name {
            ORIGINAL => Ok(cuda.to_owned()),
            ORIGINAL_RECIPE => Ok(self.original_recipe.clone()),
            DRAFT => Ok(self.metal.clone()),
            other => Err(format!("there is no {other}")),
        })
    }
}

/// The kernel that is meant, with its full name.
pub fn choose<'u, 't>(unit: &'u Unit<'t>, wanted: Option<&str>) -> Result<(String, &'u Function<'t>), PortError> {
    let kernels: Vec<&Function<'t>> = unit.kernels().collect();
    let list = || kernels.iter().map(|k| k.name.as_str()).collect::<Vec<_>>().join(", ");
    match wanted {
        Some(name) => {
            let base = name.split('<').next().unwrap_or(name).trim();
            let found = kernels.iter().find(|k| k.name == base);
            match found {
                Some(k) => Ok((name.to_owned(), k)),
                None => Err(PortError::Kernel(format!("there is no kernel `{base}` (there are: {})", list()))),
            }
        }
        None => match kernels.as_slice() {
            [] => Err(PortError::Kernel(match unit.source.unread().first() {
                Some((from, _)) => {
                    format!("the file has no kernel that can be read; the first trouble is at line {from}")
                }
                None => "the file has no kernel (no `__global__` function)".into(),
            })),
            [one] => Ok((one.name.clone(), one)),
            _ => Err(PortError::Kernel(format!("several kernels; choose one with --kernel: {}", list()))),
        },
    }
}

/// Template arguments by parameter: those of the name, else those of the file's launches if they agree.
pub fn instance(unit: &Unit<'_>, k: &Function<'_>, full: &str) -> Result<Vec<(String, String)>, PortError> {
    if k.template.is_empty() {
        return Ok(Vec::new());
    }
    let host = Host::read(unit);
    let given: Option<Vec<String>> = full
        .split_once('<')
        .and_then(|(_, rest)| rest.rsplit_once('>'))
        .map(|(list, _)| list.split(',').map(|a| a.trim().to_owned()).collect());
    let mut values = Vec::new();
    for (n, p) in k.template.iter().enumerate() {
        let text = match &given {
            Some(list) => list.get(n).cloned(),
            None => host.launches_of(&k.name).find_map(|l| {
                let text = l.template_args.get(n)?;
                let names = locals(unit, l.function.and_then(|i| unit.functions.get(i)));
                if p.is_type { Some(text.clone()) } else { constant::eval(text, &names).map(|v| v.to_string()) }
            }),
        };
        let Some(text) = text.or_else(|| p.default.clone()) else {
            let parameters: Vec<&str> = k.template.iter().map(|p| p.name.as_str()).collect();
            let list = parameters.join(", ");
            return Err(PortError::Kernel(format!(
                "kernel `{0}` is a template of {list}; name an instance: kernel = \"{0}<…>\"",
                k.name
            )));
        };
        values.push((p.name.clone(), text));
    }
    Ok(values)
}

fn check_parameters(toml: &TomlFile<'_>, d: &Declaration, k: &Function<'_>) -> Result<(), FileError> {
    for p in &k.params {
        let known = d.tensors.contains_key(&p.name)
            || d.symbols.contains_key(&p.name)
            || d.params.contains_key(&p.name)
            || d.derived.contains_key(&p.name)
            || d.scratch.contains_key(&p.name)
            || d.launch.args.contains_key(&p.name);
        if !known {
            let what = if p.pointers > 0 {
                format!(
                    "`{}* {}` is declared nowhere: add [tensors.{}] or, for memory of its own, [scratch]",
                    p.ty, p.name, p.name
                )
            } else {
                format!(
                    "`{} {}` is declared nowhere: add it to [symbols] (a size) or [params], or bind it under launch.args",
                    p.ty, p.name
                )
            };
            let message = format!("parameter {what}");
            return Err(toml.error(&[Step::from("tensors")], message));
        }
    }
    for (name, tensor) in &d.tensors {
        let p = k.params.iter().find(|p| p.name == *name);
        let bound = d
            .launch
            .args
            .values()
            .any(|v| v.as_table().and_then(|t| t.get("tensor")).and_then(Value::as_str) == Some(name));
        let (Some(p), false) = (p, bound) else {
            if bound {
                continue;
            }
            let names: Vec<&str> = k.params.iter().map(|p| p.name.as_str()).collect();
            let message = format!("kernel `{}` has no parameter `{name}` (it has: {})", k.name, names.join(", "));
            return Err(toml.error(&[Step::from("tensors"), Step::from(name)], message));
        };
        if p.pointers == 0 {
            let message = format!("`{name}` is a value in kernel `{}`, not a pointer", k.name);
            return Err(toml.error(&[Step::from("tensors"), Step::from(name)], message));
        }
        let dtype = tensor.get("dtype").and_then(Value::as_str).unwrap_or_default();
        if let (Some(dtype), Some(element)) = (DType::parse(dtype), dtype_of(&p.ty))
            && dtype != element
        {
            let message = format!("`{name}` is declared as {}, but the kernel takes `{}*`", dtype.name(), p.ty);
            return Err(toml.error(&[Step::from("tensors"), Step::from(name), Step::from("dtype")], message));
        }
    }
    Ok(())
}

/// The dtype of a CUDA element type, where it is one.
fn dtype_of(ty: &str) -> Option<DType> {
    Some(match ty {
        "float" => DType::F32,
        "__half" | "half" => DType::F16,
        "__nv_bfloat16" => DType::BF16,
        "int" | "int32_t" => DType::I32,
        "unsigned int" | "unsigned" | "uint32_t" => DType::U32,
        "unsigned char" | "uint8_t" => DType::U8,
        _ => return None,
    })
}

/// Tunables with their defaults, which are the values of the file.
fn tunables(
    toml: &TomlFile<'_>,
    d: &Declaration,
    unit: &Unit<'_>,
    k: &Function<'_>,
    instance: &[(String, String)],
) -> Result<BTreeMap<String, i64>, FileError> {
    let mut out = BTreeMap::new();
    for (name, values) in &d.tunables {
        let at = [Step::from("tunables"), Step::from(name)];
        let own = instance.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        let default = constant::eval(&own.unwrap_or_else(|| name.clone()), unit);
        let Some(default) = default else {
            let message = format!("`{name}` is no constant of the file and no template argument of `{}`", k.name);
            return Err(toml.error(&at, message));
        };
        if !values.contains(&default) {
            return Err(toml.error(&at, format!("the file's own value {default} has to be among the values")));
        }
        out.insert(name.clone(), default);
    }
    Ok(out)
}
