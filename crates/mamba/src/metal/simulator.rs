//! Metal kernels on the simulated machine: to check a model end to end where there is no Mac. Slow, and its speed says
//! nothing about a GPU's. Must not know models.

use std::cell::RefCell;
use std::sync::Arc;

use ksearch_apple::Dispatched;
use ksearch_device::sim::sample::{self, Sampling};
use ksearch_msl::{CompileOptions, Compiler, Module, Optimise, ParamKind, SourceFile};
use ksearch_simt::{ArgValue, Buffer, BufferId, Launch as Dispatch, Limits, Memory, Mode, Program};

use super::runtime::{Argument, Launch, Runtime};
use crate::error::{Error, Result};

/// The simulated machine with one compiled source.
pub struct Simulator {
    module: Arc<Module>,
    program: Program,
    memory: RefCell<Memory>,
    mode: Mode,
    /// How much of each launch is run to count what it does; then its result is of no use.
    sampling: Option<Sampling>,
    counted: RefCell<Vec<Dispatched>>,
}

fn failed(reason: impl Into<String>) -> Error {
    Error::Unsupported { backend: "sim", reason: reason.into() }
}

impl Simulator {
    /// Watches every access from now on: slower, and the first fault is an error that names its line.
    pub fn sanitize(&mut self) {
        self.mode = Mode::Sanitize;
    }

    /// Counts what launches do from now on, on a sample of their threadgroups. What they compute is no longer whole.
    pub fn count(&mut self, sampling: Sampling) {
        self.sampling = Some(sampling);
    }

    /// The launches counted since this was last asked, in order.
    pub fn take_counted(&self) -> Vec<Dispatched> {
        self.counted.take()
    }
}

impl Runtime for Simulator {
    type Memory = BufferId;

    fn open(source: &str, defines: &[(&'static str, String)]) -> Result<Self> {
        let compiler = Compiler::shared().map_err(|e| failed(e.to_string()))?;
        let options = CompileOptions {
            defines: defines.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect(),
            optimise: Optimise::Speed,
            fast_math: true,
            ..CompileOptions::default()
        };
        let files = [SourceFile::new("kernels.metal", source)];
        let module = compiler.compile(&files, &options).map_err(|all| {
            let first = all.first().map_or_else(String::new, |d| {
                d.pos.as_ref().map_or_else(|| d.message.clone(), |p| format!("{p}: {}", d.message))
            });
            failed(format!("compiling the kernels: {first}"))
        })?;
        let program = Program::load(&module).map_err(|e| failed(format!("loading the kernels: {e}")))?;
        Ok(Self {
            module,
            program,
            memory: RefCell::default(),
            mode: Mode::Fast,
            sampling: None,
            counted: RefCell::default(),
        })
    }

    fn name(&self) -> String {
        "simulated Metal machine".into()
    }

    fn memory(&self, bytes: usize, what: &str) -> Result<BufferId> {
        let buffer = Buffer { name: what.to_owned(), bytes: vec![0; bytes.max(16)], written: None, read_only: false };
        Ok(self.memory.borrow_mut().add(buffer))
    }

    fn write(&self, memory: &BufferId, bytes: &[u8]) -> Result<()> {
        let mut all = self.memory.borrow_mut();
        let place = all.buffers.get_mut(memory.0 as usize).and_then(|b| b.bytes.get_mut(..bytes.len()));
        place.ok_or_else(|| failed("a copy is larger than its target"))?.copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, memory: &BufferId, bytes: &mut [u8]) -> Result<()> {
        let all = self.memory.borrow();
        let place = all.buffers.get(memory.0 as usize).and_then(|b| b.bytes.get(..bytes.len()));
        bytes.copy_from_slice(place.ok_or_else(|| failed("a copy is larger than its source"))?);
        Ok(())
    }

    fn launch(&self, launch: &Launch<'_, BufferId>) -> Result<()> {
        let fail = |why: String| failed(format!("kernel `{}`: {why}", launch.kernel));
        let entry = self.module.entries.iter().find(|e| e.name == launch.kernel);
        let entry = entry.ok_or_else(|| fail("it is not in the source".into()))?;
        let mut args = Vec::new();
        for p in &entry.params {
            let ParamKind::Buffer { index, .. } = &p.kind else { continue };
            args.push(match launch.arguments.get(*index as usize) {
                Some(Argument::Memory(id)) => ArgValue::Buffer(**id, 0),
                Some(Argument::Words(words)) => ArgValue::Bytes(bytemuck::cast_slice(words).to_vec()),
                None => return Err(fail(format!("parameter `{}` has no argument", p.name))),
            });
        }
        let size = |n: usize| u32::try_from(n).map_err(|_| fail("the launch is too large".into()));
        let groups = [size(launch.groups[0])?, size(launch.groups[1])?, size(launch.groups[2])?];
        let dispatch = Dispatch::new(groups, [size(launch.threads)?, 1, 1], args);
        let memory = &mut *self.memory.borrow_mut();
        if let Some(sampling) = self.sampling {
            let limits = Limits::default();
            let outcome = sample::profile(&self.program, launch.kernel, &dispatch, memory, &limits, sampling)
                .map_err(|e| fail(e.to_string()))?;
            let sizes = memory.buffers.iter().map(|b| b.bytes.len() as u64).collect();
            let counted = Dispatched::new(launch.kernel, outcome, dispatch.group_count(), launch.threads as u32, sizes)
                .ok_or_else(|| fail("the machine gave no profile".into()))?;
            self.counted.borrow_mut().push(counted);
            return Ok(());
        }
        let outcome = self
            .program
            .run(launch.kernel, &dispatch, memory, &Limits::default(), self.mode)
            .map_err(|e| fail(e.to_string()))?;
        outcome.faults.first().map_or(Ok(()), |fault| Err(fail(fault.to_string())))
    }
}
