//! A candidate on one workload as buffers and launches of the GPU's worker. Knows recipes and signatures; must not know
//! the driver.

use std::collections::BTreeMap;

use ksearch_msl::{CompileOptions, Compiler, Diagnostic, Optimise, ParamKind, Severity, SourceFile, SourcePos};
use ksearch_task::Candidate;
use ksearch_task::candidate::{Bound, Resolved, ResolvedDispatch, scalar};

use super::signature::{self, Parameter, Signature};
use super::wire::{Arg, BufferSpec, Code, Facts, KernelReport, Step, Use};
use crate::target::{Failure, Slots};

/// Everything the worker is sent, and the contents that are not tensors.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// Code to load.
    pub code: Code,
    /// Buffers: present tensors, scratch, then values that a kernel reads through an address.
    pub buffers: Vec<BufferSpec>,
    /// Dispatches.
    pub steps: Vec<Step>,
    /// Findings of our own front end.
    pub warnings: Vec<Diagnostic>,
    /// Where the first kernel stands.
    pub pos: Option<SourcePos>,
    /// Names of the parameters of each kernel, in the order of its arguments.
    params: BTreeMap<String, Vec<String>>,
    values: Vec<Vec<u8>>,
}

fn refused(message: impl Into<String>, help: &str, pos: Option<SourcePos>) -> Failure {
    Failure::Launch { message: message.into(), help: help.into(), pos }
}

impl Plan {
    fn new(code: Code, resolved: &Resolved) -> Self {
        let mut buffers = Vec::new();
        for info in resolved.tensors.iter().filter(|i| i.present) {
            let bytes = ksearch_task::tensor::elements(&info.shape) * info.dtype.bytes();
            let usage = match (info.role.is_read(), info.role.is_written()) {
                (_, false) => Use::Input,
                (true, true) => Use::InOut,
                (false, true) => Use::Output,
            };
            buffers.push(BufferSpec { name: info.name.clone(), bytes, dtype: Some(info.dtype), usage });
        }
        for s in &resolved.scratch {
            buffers.push(BufferSpec { name: s.name.clone(), bytes: s.bytes, dtype: None, usage: Use::Scratch });
        }
        Self {
            code,
            buffers,
            steps: Vec::new(),
            warnings: Vec::new(),
            pos: None,
            params: BTreeMap::new(),
            values: Vec::new(),
        }
    }

    /// A CUDA candidate.
    pub fn of_cuda(candidate: &Candidate, resolved: &Resolved) -> Result<Self, Failure> {
        let mut known: Vec<Signature> = Vec::new();
        for file in &candidate.files {
            if let Some((line, text)) = signature::foreign_include(&file.text) {
                return Err(Failure::Compile(vec![Diagnostic {
                    severity: Severity::Error,
                    code: "foreign-include".into(),
                    message: format!("`{text}` would read a file that is not the candidate's"),
                    pos: Some(SourcePos { file: file.path.clone(), line, column: 0 }),
                    help: Some("Include files of the candidate and CUDA's own headers only, by their names.".into()),
                }]));
            }
            known.extend(signature::signatures(&file.path, &file.text));
        }
        let mut kernels: Vec<String> = resolved.dispatches.iter().map(|d| d.kernel.clone()).collect();
        kernels.dedup();
        let files = candidate.files.iter().map(|f| (f.path.clone(), f.text.clone())).collect();
        let code = Code::Source { files, defines: resolved.defines.clone(), kernels };
        let mut plan = Self::new(code, resolved);
        for dispatch in &resolved.dispatches {
            let name = dispatch.kernel.split('<').next().unwrap_or("").trim();
            let name = name.rsplit("::").next().unwrap_or(name);
            let Some(found) = known.iter().find(|s| s.name == name) else {
                let names: Vec<_> = known.iter().map(|s| format!("`{}`", s.name)).collect();
                let there = if names.is_empty() {
                    "the source has no __global__ function".to_owned()
                } else {
                    format!("there are: {}", names.join(", "))
                };
                return Err(refused(
                    format!("the recipe launches kernel `{name}`, which the source does not define ({there})"),
                    "Mend the kernel's name in the recipe or in the source.",
                    None,
                ));
            };
            plan.pos.get_or_insert_with(|| found.pos.clone());
            let args = found
                .params
                .iter()
                .enumerate()
                .map(|(n, p)| plan.cuda_argument(found, p, n as u32, dispatch, resolved))
                .collect::<Result<Vec<_>, _>>()?;
            Self::unknown_arguments(
                dispatch,
                &found.params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
                &found.pos,
            )?;
            let names = found.params.iter().map(|p| p.name.clone()).collect();
            plan.params.insert(dispatch.kernel.clone(), names);
            // There is no parameter for dynamic shared memory: any argument of that kind gives its size.
            let shared = dispatch.args.values().map(|b| if let Bound::Threadgroup(n) = b { *n } else { 0 }).sum();
            plan.push(&dispatch.kernel, dispatch, shared, args);
        }
        Ok(plan)
    }

    fn cuda_argument(
        &self,
        kernel: &Signature,
        param: &Parameter,
        index: u32,
        dispatch: &ResolvedDispatch,
        resolved: &Resolved,
    ) -> Result<Arg, Failure> {
        let help = "Name the parameter like a tensor or symbol of the task, or bind it under `args` in the recipe.";
        let refuse = |message: String| refused(message, help, Some(kernel.pos.clone()));
        let bound = resolved.bind(dispatch, &param.name, index).map_err(|e| refuse(e.to_string()))?;
        let wrong = |what: &str| {
            Err(refuse(format!("parameter `{}` of kernel `{}` cannot be bound to {what}", param.name, kernel.name)))
        };
        match (param.pointer, bound) {
            (true, Bound::Tensor(name) | Bound::Scratch(name)) => self.address(&name),
            (true, Bound::Absent(_)) => Ok(Arg::Null),
            (true, _) => wrong("a value: it is a pointer"),
            (false, Bound::Scalar(value)) => scalar::bytes(&param.ty, value)
                .map(Arg::Bytes)
                .map_err(|e| refuse(format!("parameter `{}` of kernel `{}`: {e}", param.name, kernel.name))),
            (false, Bound::Struct(fields)) => scalar::struct_bytes(&fields).map(Arg::Bytes).map_err(refuse),
            (false, _) => wrong("a buffer: it is no pointer"),
        }
    }

    /// A Metal candidate, compiled for NVIDIA GPUs.
    pub fn of_msl(compiler: &Compiler, candidate: &Candidate, resolved: &Resolved) -> Result<Self, Failure> {
        let files: Vec<_> = candidate.files.iter().map(|f| SourceFile::new(f.path.clone(), f.text.clone())).collect();
        let mut plan = Self::new(Code::Ptx { modules: Vec::new() }, resolved);
        let mut modules: Vec<(String, Vec<(String, String)>)> = Vec::new();
        let mut built: BTreeMap<BTreeMap<String, String>, (usize, ksearch_msl::PtxModule)> = BTreeMap::new();
        for dispatch in &resolved.dispatches {
            let constants: BTreeMap<_, _> =
                dispatch.constants.iter().map(|(n, v)| (n.clone(), v.to_string())).collect();
            if !built.contains_key(&constants) {
                let options = CompileOptions {
                    defines: resolved.defines.clone(),
                    constants: constants.clone(),
                    optimise: Optimise::Speed,
                    fast_math: true,
                    ..CompileOptions::default()
                };
                let module = compiler.compile_ptx(&files, &options).map_err(Failure::Compile)?;
                plan.warnings.extend(module.warnings.iter().cloned());
                let at = modules.len();
                let names = module.entries.iter().map(|e| (format!("{at}:{}", e.name), e.symbol.clone())).collect();
                modules.push((module.ptx.clone(), names));
                built.insert(constants.clone(), (at, module));
            }
            let Some((at, module)) = built.get(&constants) else { continue };
            let Some(entry) = module.entries.iter().find(|e| e.name == dispatch.kernel) else {
                let names: Vec<_> = module.entries.iter().map(|e| format!("`{}`", e.name)).collect();
                return Err(refused(
                    format!(
                        "the recipe launches kernel `{}`, which the source does not define (there are: {})",
                        dispatch.kernel,
                        names.join(", ")
                    ),
                    "Mend the kernel's name in the recipe or in the source.",
                    None,
                ));
            };
            plan.pos.get_or_insert_with(|| entry.pos.clone());
            let help = "Name the parameter like a tensor or symbol of the task, or bind it under `args` in the recipe.";
            let refuse = |message: String| refused(message, help, Some(entry.pos.clone()));
            let mut args = Vec::new();
            let mut names = Vec::new();
            // Dynamic shared memory is cut into the host-sized parameters, each at a multiple of 16.
            let mut shared = 0u32;
            for param in &entry.params {
                let index = match &param.kind {
                    ParamKind::Buffer { index, .. } | ParamKind::Threadgroup { index, .. } => *index,
                    ParamKind::Builtin(_) => continue,
                };
                let bound = match resolved.bind(dispatch, &param.name, index) {
                    Ok(bound) => Some(bound),
                    Err(_) if param.condition.is_some() => None,
                    Err(e) => return Err(refuse(e.to_string())),
                };
                let value = |plan: &mut Self, bytes: Vec<u8>| plan.value(&param.name, bytes);
                let arg = match (&param.kind, bound) {
                    (ParamKind::Threadgroup { .. }, Some(Bound::Threadgroup(bytes))) => {
                        let offset = shared.next_multiple_of(16);
                        shared = offset + bytes;
                        Arg::Bytes(offset.to_le_bytes().to_vec())
                    }
                    (ParamKind::Threadgroup { .. }, _) => {
                        return Err(refuse(format!(
                            "parameter `{}` is threadgroup memory, so the recipe must give its size",
                            param.name
                        )));
                    }
                    (_, Some(Bound::Threadgroup(_))) => {
                        return Err(refuse(format!("parameter `{}` is not threadgroup memory", param.name)));
                    }
                    (_, Some(Bound::Tensor(name) | Bound::Scratch(name))) => plan.address(&name)?,
                    (_, Some(Bound::Absent(_)) | None) => Arg::Null,
                    (ParamKind::Buffer { element, .. }, Some(Bound::Scalar(number))) => {
                        let bytes = scalar::bytes(element, number)
                            .map_err(|e| refuse(format!("parameter `{}`: {e}", param.name)))?;
                        value(&mut plan, bytes)
                    }
                    (_, Some(Bound::Struct(fields))) => {
                        let bytes = scalar::struct_bytes(&fields)
                            .map_err(|e| refuse(format!("parameter `{}`: {e}", param.name)))?;
                        value(&mut plan, bytes)
                    }
                    (_, Some(Bound::Scalar(_))) => {
                        return Err(refuse(format!("parameter `{}` takes no scalar", param.name)));
                    }
                };
                names.push(param.name.clone());
                args.push(arg);
            }
            for axis in 0..3 {
                let threads = dispatch.grid[axis].saturating_mul(dispatch.threadgroup[axis]);
                args.push(Arg::Bytes(threads.to_le_bytes().to_vec()));
            }
            let kernel = format!("{at}:{}", dispatch.kernel);
            plan.params.insert(kernel.clone(), names);
            plan.push(&kernel, dispatch, shared, args);
        }
        plan.code = Code::Ptx { modules };
        Ok(plan)
    }

    fn push(&mut self, kernel: &str, dispatch: &ResolvedDispatch, shared: u32, args: Vec<Arg>) {
        self.steps.push(Step {
            kernel: kernel.to_owned(),
            grid: dispatch.grid,
            block: dispatch.threadgroup,
            cluster: dispatch.cluster,
            shared,
            repeat: dispatch.repeat,
            args,
        });
    }

    /// A buffer that holds a value, for kernels that take values by address.
    fn value(&mut self, name: &str, bytes: Vec<u8>) -> Arg {
        let spec = BufferSpec { name: name.to_owned(), bytes: bytes.len(), dtype: None, usage: Use::Input };
        self.buffers.push(spec);
        self.values.push(bytes);
        Arg::Buffer(self.buffers.len() - 1)
    }

    fn address(&self, name: &str) -> Result<Arg, Failure> {
        let found = self.buffers.iter().position(|b| b.name == name);
        found.map(Arg::Buffer).ok_or_else(|| Failure::Infrastructure(format!("there is no buffer `{name}`")))
    }

    /// An argument that names no parameter is a typing mistake, not an intent.
    fn unknown_arguments(dispatch: &ResolvedDispatch, params: &[&str], pos: &SourcePos) -> Result<(), Failure> {
        let known = |name: &str| params.contains(&name) || name.parse::<usize>().is_ok_and(|n| n < params.len());
        for (name, bound) in &dispatch.args {
            if !known(name) && !matches!(bound, Bound::Threadgroup(_)) {
                return Err(refused(
                    format!(
                        "the recipe gives an argument `{name}`, but kernel `{}` takes {}",
                        dispatch.kernel,
                        params.join(", ")
                    ),
                    "Mend the argument's name in the recipe.",
                    Some(pos.clone()),
                ));
            }
        }
        if !dispatch.constants.is_empty() {
            return Err(refused(
                "function constants are Metal's; a CUDA kernel takes template arguments or defines",
                "Spell the instance out in the kernel's name, or add a define.",
                Some(pos.clone()),
            ));
        }
        Ok(())
    }

    /// What every launch asks for must exist on the GPU.
    pub fn check(&self, gpu: &Facts) -> Result<(), Failure> {
        for step in &self.steps {
            let threads: u64 = step.block.iter().map(|&t| u64::from(t)).product();
            if threads > 1024 || step.block[2] > 64 {
                return Err(refused(
                    format!("kernel `{}` asks for {threads} threads a block; there are at most 1024", step.kernel),
                    "Launch smaller blocks and more of them.",
                    self.pos.clone(),
                ));
            }
            if step.shared > gpu.shared_optin {
                return Err(refused(
                    format!(
                        "kernel `{}` asks for {} bytes of dynamic shared memory; a block has {}",
                        step.kernel, step.shared, gpu.shared_optin
                    ),
                    "Use smaller tiles or fewer stages.",
                    self.pos.clone(),
                ));
            }
            if step.grid[1] > 65535 || step.grid[2] > 65535 {
                return Err(refused(
                    format!("kernel `{}`: axes y and z of the grid have at most 65535 blocks", step.kernel),
                    "Put the largest extent on axis x.",
                    self.pos.clone(),
                ));
            }
            let divides = step.grid.iter().zip(step.cluster).all(|(g, c)| g % c.max(1) == 0);
            if step.cluster != [1; 3] && (gpu.capability.0 < 9 || !divides) {
                return Err(refused(
                    format!("kernel `{}`: clusters need compute capability 9 and a grid that they divide", step.kernel),
                    "Round the grid up to whole clusters.",
                    self.pos.clone(),
                ));
            }
        }
        Ok(())
    }

    /// Kernel, threads and dynamic shared memory of each launch.
    pub fn launches(&self) -> Vec<(String, u32, u32)> {
        self.steps.iter().map(|s| (s.kernel.clone(), s.block.iter().product(), s.shared)).collect()
    }

    /// Names of the parameters that no kernel reads, `kernel: parameter`.
    pub fn unread(&self, reports: &[KernelReport]) -> Vec<String> {
        let mut unread = Vec::new();
        for report in reports {
            let names = self.params.get(&report.kernel);
            for index in &report.unread {
                if let Some(name) = names.and_then(|n| n.get(*index as usize)) {
                    let kernel = report.kernel.split_once(':').filter(|(n, _)| n.parse::<u32>().is_ok());
                    unread.push(format!("{}: {name}", kernel.map_or(report.kernel.as_str(), |(_, k)| k)));
                }
            }
        }
        unread
    }

    /// Contents of all buffers but scratch.
    pub fn body<'a>(&'a self, slots: &'a Slots) -> Result<Vec<&'a [u8]>, Failure> {
        let mut body = Vec::new();
        let mut values = self.values.iter();
        for spec in self.buffers.iter().filter(|b| b.usage != Use::Scratch) {
            let bytes = match slots.get(&spec.name) {
                Some(slot) => slot.tensor.bytes.as_slice(),
                None => values.next().map_or(&[][..], Vec::as_slice),
            };
            if bytes.len() != spec.bytes {
                return Err(Failure::Infrastructure(format!("`{}` has another size than its task says", spec.name)));
            }
            body.push(bytes);
        }
        Ok(body)
    }

    /// Puts what came back into the slots; `None` if it has another size than it must have.
    pub fn give_back(&self, slots: &mut Slots, mut back: &[u8], changed: bool, probed: bool) -> Option<()> {
        let mut cut = |n: usize| {
            let part = back.get(..n)?;
            back = back.get(n..)?;
            Some(part)
        };
        for spec in &self.buffers {
            if matches!(spec.usage, Use::InOut | Use::Output) || (changed && spec.usage == Use::Input) {
                let part = cut(spec.bytes)?;
                if let Some(slot) = slots.get_mut(&spec.name) {
                    slot.tensor.bytes = part.to_vec();
                }
            }
        }
        for spec in self.buffers.iter().filter(|b| b.usage == Use::Output) {
            let slot = slots.get_mut(&spec.name)?;
            if probed {
                let part = cut(spec.bytes / spec.element())?;
                let written = part.iter().flat_map(|w| std::iter::repeat_n(*w != 0, spec.element()));
                slot.written = Some(written.collect());
            } else {
                // Timed calls began with NaN everywhere, and gave what the first one gave.
                slot.written = None;
            }
        }
        back.is_empty().then_some(())
    }
}
