//! Binding: the arguments of a dispatch against the kernel's signature, and tensors against device memory.
//! Knows signatures and recipes; must not know time.

use indexmap::IndexMap;
use ksearch_apple::Chip;
use ksearch_msl::{EntryPoint, Module, Param, ParamKind};
use ksearch_simt::launch::Buffer;
use ksearch_simt::{ArgValue, BufferId, Memory};
use ksearch_task::candidate::{Bound, Resolved, ResolvedDispatch, scalar};

use crate::target::{Failure, Slots};

/// Tensors and scratch of one run, as the simulator holds them.
pub struct DeviceMemory {
    /// All buffers.
    pub memory: Memory,
    tensors: IndexMap<String, BufferId>,
    scratch: IndexMap<String, BufferId>,
}

impl DeviceMemory {
    /// Moves the slots' contents in; absent tensors become empty buffers.
    pub fn new(slots: &mut Slots, resolved: &Resolved) -> Self {
        let mut memory = Memory::default();
        let mut tensors = IndexMap::new();
        let mut scratch = IndexMap::new();
        for info in &resolved.tensors {
            let buffer = match slots.get_mut(&info.name) {
                Some(slot) => Buffer {
                    name: info.name.clone(),
                    bytes: std::mem::take(&mut slot.tensor.bytes),
                    written: slot.written.take(),
                    read_only: !slot.writable,
                },
                None => Buffer { name: format!("{} (absent)", info.name), ..Buffer::default() },
            };
            tensors.insert(info.name.clone(), memory.add(buffer));
        }
        for s in &resolved.scratch {
            let buffer = Buffer {
                name: s.name.clone(),
                bytes: vec![0xa5; s.bytes],
                written: Some(vec![false; s.bytes]),
                read_only: false,
            };
            scratch.insert(s.name.clone(), memory.add(buffer));
        }
        Self { memory, tensors, scratch }
    }

    /// Moves the contents back.
    pub fn give_back(mut self, slots: &mut Slots) {
        for (name, id) in &self.tensors {
            if let (Some(slot), Some(buffer)) = (slots.get_mut(name), self.memory.buffers.get_mut(id.0 as usize)) {
                slot.tensor.bytes = std::mem::take(&mut buffer.bytes);
                slot.written = buffer.written.take();
            }
        }
    }
}

fn launch_error(message: impl Into<String>, help: &str, entry: Option<&EntryPoint>, param: Option<&Param>) -> Failure {
    let pos = param.map(|p| p.pos.clone()).or_else(|| entry.map(|e| e.pos.clone()));
    Failure::Launch { message: message.into(), help: help.into(), pos }
}

fn entry<'a>(module: &'a Module, dispatch: &ResolvedDispatch) -> Result<&'a EntryPoint, Failure> {
    module.entries.iter().find(|e| e.name == dispatch.kernel).ok_or_else(|| {
        let names: Vec<_> = module.entries.iter().map(|e| format!("`{}`", e.name)).collect();
        let there = if names.is_empty() {
            "the source has no kernel".into()
        } else {
            format!("there are: {}", names.join(", "))
        };
        launch_error(
            format!("the recipe launches kernel `{}`, which the source does not define ({there})", dispatch.kernel),
            "Mend the kernel's name in the recipe or in the source.",
            None,
            None,
        )
    })
}

/// Refuses a recipe that does not fit the signature or the chip.
pub fn check(module: &Module, dispatch: &ResolvedDispatch, resolved: &Resolved, chip: &Chip) -> Result<(), Failure> {
    let entry = entry(module, dispatch)?;
    let threads: u64 = dispatch.threadgroup.iter().map(|&n| u64::from(n)).product();
    let limit = u64::from(entry.max_threads.unwrap_or(u32::MAX).min(chip.max_threads));
    if threads > limit {
        return Err(launch_error(
            format!(
                "kernel `{}` is launched with {threads} threads per threadgroup, but at most {limit} are allowed",
                entry.name
            ),
            "Launch smaller threadgroups and more of them.",
            Some(entry),
            None,
        ));
    }
    let mut memory = u64::from(entry.threadgroup_bytes);
    for param in &entry.params {
        if let Some(Bound::Threadgroup(bytes)) = bound(entry, param, dispatch, resolved)? {
            memory += u64::from(bytes);
        }
    }
    if memory > u64::from(chip.max_threadgroup_bytes) {
        let pos =
            module.threadgroup.iter().max_by_key(|v| v.bytes).map_or_else(|| entry.pos.clone(), |v| v.pos.clone());
        return Err(Failure::Launch {
            message: format!(
                "kernel `{}` needs {memory} bytes of threadgroup memory, but a threadgroup on {} has {}",
                entry.name, chip.name, chip.max_threadgroup_bytes
            ),
            help: "Use smaller tiles, keep half values, or reuse one array for two purposes.".into(),
            pos: Some(pos),
        });
    }
    // An argument that names no parameter is a typing mistake, not an intent.
    for name in dispatch.args.keys() {
        let known = entry.params.iter().any(|p| p.name == *name || index(p).is_some_and(|i| i.to_string() == *name));
        if !known {
            let names: Vec<_> = entry.params.iter().filter(|p| index(p).is_some()).map(|p| p.name.as_str()).collect();
            return Err(launch_error(
                format!(
                    "the recipe gives an argument `{name}`, but kernel `{}` takes {}",
                    entry.name,
                    names.join(", ")
                ),
                "Mend the argument's name in the recipe.",
                Some(entry),
                None,
            ));
        }
    }
    Ok(())
}

/// Where the host puts the argument of `param`; `None` for what the machine fills in.
pub fn index(param: &Param) -> Option<u32> {
    match &param.kind {
        ParamKind::Buffer { index, .. } | ParamKind::Threadgroup { index, .. } => Some(*index),
        ParamKind::Builtin(_) => None,
    }
}

/// Parameters that become arguments of the IR function, in its order.
pub fn bindable(entry: &EntryPoint) -> impl Iterator<Item = &Param> {
    entry.params.iter().filter(|p| index(p).is_some())
}

/// What `param` is bound to; `None` for what the machine itself fills in.
fn bound(
    entry: &EntryPoint,
    param: &Param,
    dispatch: &ResolvedDispatch,
    resolved: &Resolved,
) -> Result<Option<Bound>, Failure> {
    let Some(index) = index(param) else { return Ok(None) };
    // A parameter that a function constant switches off may stay unbound.
    match resolved.bind(dispatch, &param.name, index) {
        Ok(bound) => Ok(Some(bound)),
        Err(_) if param.condition.is_some() => Ok(None),
        Err(e) => Err(launch_error(
            e.to_string(),
            "Name the parameter like a tensor or symbol of the task, or bind it under `args` in the recipe.",
            Some(entry),
            Some(param),
        )),
    }
}

/// Values of the kernel's IR arguments, in order.
pub fn arguments(
    module: &Module,
    dispatch: &ResolvedDispatch,
    resolved: &Resolved,
    memory: &mut DeviceMemory,
) -> Result<Vec<ArgValue>, Failure> {
    let entry = entry(module, dispatch)?;
    let mut args = Vec::new();
    for param in bindable(entry) {
        let refuse =
            |message: String| launch_error(message, "Mend the argument in the recipe.", Some(entry), Some(param));
        let what = bound(entry, param, dispatch, resolved)?;
        let value = match (&param.kind, what) {
            (ParamKind::Threadgroup { .. }, Some(Bound::Threadgroup(bytes))) => ArgValue::Threadgroup(bytes),
            (ParamKind::Threadgroup { .. }, _) => {
                return Err(refuse(format!(
                    "parameter `{}` is threadgroup memory, so the recipe must give its size: {} = {{ threadgroup = BYTES }}",
                    param.name, param.name
                )));
            }
            (_, Some(Bound::Threadgroup(_))) => {
                return Err(refuse(format!("parameter `{}` is not threadgroup memory", param.name)));
            }
            (_, Some(Bound::Tensor(name) | Bound::Absent(name))) => match memory.tensors.get(&name) {
                Some(id) => ArgValue::Buffer(*id, 0),
                None => return Err(refuse(format!("there is no tensor `{name}`"))),
            },
            (_, Some(Bound::Scratch(name))) => match memory.scratch.get(&name) {
                Some(id) => ArgValue::Buffer(*id, 0),
                None => return Err(refuse(format!("there is no scratch buffer `{name}`"))),
            },
            (ParamKind::Buffer { element, .. }, Some(Bound::Scalar(value))) => {
                let bytes = scalar::bytes(element, value)
                    .map_err(|e| refuse(format!("parameter `{}` of kernel `{}`: {e}", param.name, entry.name)))?;
                ArgValue::Bytes(bytes)
            }
            (_, Some(Bound::Struct(fields))) => ArgValue::Bytes(
                scalar::struct_bytes(&fields).map_err(|e| refuse(format!("parameter `{}`: {e}", param.name)))?,
            ),
            (_, Some(Bound::Scalar(_))) => return Err(refuse(format!("parameter `{}` takes no scalar", param.name))),
            (_, None) => ArgValue::Bytes(Vec::new()),
        };
        args.push(value);
    }
    Ok(args)
}
