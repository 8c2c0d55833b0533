//! The whole way: preprocess, pre-pass, library, clang, IR passes. Knows the order of things; each step is elsewhere.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clang::{self, Clang, Target};
use crate::diag::{Diagnostic, Severity, SourcePos};
use crate::driver::toolchain::{NoToolchain, Toolchain};
use crate::ir::{calls, debug, hooks, ptx, unroll, volatile};
use crate::library;
use crate::messages::{self, Places};
use crate::module::{
    CompileOptions, EntryPoint, Language, Module, Optimise, Param, ParamKind, PtxModule, ThreadgroupVariable,
};
use crate::pp::{Preprocessed, Problem, preprocess};
use crate::prepass::{self, Entry, Lowered, SourceMap};
use crate::source::{Loc, SourceFile};

/// Most runs of clang for one source: each further one mends what the one before complained about.
const ROUNDS: usize = 8;
/// Oldest clang whose NVIDIA target has half.
const OLDEST_FOR_PTX: u32 = 17;
/// Most modules kept in memory.
const CACHED: usize = 512;

/// A clang with its settings and what it has compiled.
#[derive(Debug)]
pub struct Compiler {
    clang: Clang,
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    modules: HashMap<[u8; 32], Arc<Module>>,
    order: VecDeque<[u8; 32]>,
}

static SHARED: Mutex<Option<Arc<Compiler>>> = Mutex::new(None);

/// Compiles with the clang that [`Toolchain::find`] finds. The first file is the one compiled; the others resolve
/// its includes.
pub fn compile(files: &[SourceFile], options: &CompileOptions) -> Result<Arc<Module>, Vec<Diagnostic>> {
    Compiler::shared().map_err(|e| vec![no_clang(&e)])?.compile(files, options)
}

/// Kernels of a source and their signatures, without running clang: sizes of elements are 0, and mistakes that only a
/// compiler sees go unnoticed.
pub fn entry_points(files: &[SourceFile], options: &CompileOptions) -> Result<Vec<EntryPoint>, Vec<Diagnostic>> {
    let front = Front::new(files, options, Target::Machine)?;
    Ok(front.entry_points())
}

fn no_clang(error: &NoToolchain) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        code: "no-clang".to_owned(),
        message: error.message.clone(),
        pos: None,
        help: Some(NoToolchain::HELP.to_owned()),
    }
}

/// What [`Compiler::check`] finds out.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Kernels, in source order.
    pub entries: Vec<EntryPoint>,
    /// Warnings.
    pub warnings: Vec<Diagnostic>,
}

/// What stands before clang runs.
#[derive(Debug)]
struct Front<'a> {
    /// The text after the library, and where each piece of it was written.
    text: String,
    map: SourceMap,
    files: &'a [SourceFile],
    names: Vec<String>,
    lowered: Lowered,
    imports: (bool, bool),
    warnings: Vec<Diagnostic>,
}

impl<'a> Front<'a> {
    fn new(files: &'a [SourceFile], options: &CompileOptions, target: Target) -> Result<Self, Vec<Diagnostic>> {
        let names: Vec<String> = files.iter().map(|f| f.name.clone()).collect();
        let report = |severity, p: Problem| problem(&names, severity, p);
        let fail = |p| vec![report(Severity::Error, p)];
        let mut pre: Preprocessed = preprocess(files, options.language, &options.defines).map_err(fail)?;
        let warnings = std::mem::take(&mut pre.warnings).into_iter().map(|p| report(Severity::Warning, p)).collect();
        let included = !pre.headers.is_empty();
        let lowered = prepass::lower(&pre, options).map_err(fail)?;
        let imports = (included, lowered.uses_metal);
        let (text, map) = lowered.emit(target);
        Ok(Self { text, map, files, names, lowered, imports, warnings })
    }

    fn pos(&self, loc: Loc) -> SourcePos {
        position(&self.names, loc)
    }

    fn entry_points(&self) -> Vec<EntryPoint> {
        self.lowered.entries.iter().enumerate().map(|(n, e)| self.entry_point(n, e)).collect()
    }

    fn entry_point(&self, number: usize, entry: &Entry) -> EntryPoint {
        let params = entry
            .params
            .iter()
            .map(|p| Param {
                name: p.name.clone(),
                kind: p.kind.clone(),
                condition: p.condition.clone(),
                pos: self.pos(p.loc),
            })
            .collect();
        EntryPoint {
            name: entry.name.clone(),
            symbol: Entry::symbol(number),
            params,
            max_threads: entry.max_threads,
            threadgroup_bytes: 0,
            pos: self.pos(entry.loc),
        }
    }
}

fn position(names: &[String], loc: Loc) -> SourcePos {
    SourcePos { file: names.get(loc.file as usize).cloned().unwrap_or_default(), line: loc.line, column: loc.col }
}

fn problem(names: &[String], severity: Severity, p: Problem) -> Diagnostic {
    Diagnostic {
        severity,
        code: p.code.to_owned(),
        message: p.message,
        pos: p.loc.map(|l| position(names, l)),
        help: p.help,
    }
}

/// The generated text under the name it has in clang's messages.
fn source_text(front: &Front<'_>) -> String {
    format!("# 1 \"{}\"\n{}", debug::SOURCE, front.text)
}

impl Places for Front<'_> {
    fn find(&self, line: u32, column: u32) -> Option<SourcePos> {
        self.map.find(line, column).map(|l| self.pos(l))
    }

    fn rest_of_line(&self, pos: &SourcePos) -> &str {
        let file = self.files.iter().find(|f| f.name == pos.file);
        let line = file.and_then(|f| f.text.lines().nth((pos.line as usize).saturating_sub(1))).unwrap_or("");
        let start = line.char_indices().nth((pos.column as usize).saturating_sub(1)).map_or(line.len(), |(n, _)| n);
        &line[start..]
    }

    fn imports(&self) -> (bool, bool) {
        self.imports
    }
}

impl Compiler {
    /// A compiler that uses this clang.
    pub fn new(toolchain: Toolchain) -> Self {
        Self { clang: Clang::new(toolchain), cache: Mutex::default() }
    }

    /// The process's own compiler.
    pub fn shared() -> Result<Arc<Self>, NoToolchain> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(compiler) = &*shared {
            return Ok(Arc::clone(compiler));
        }
        let compiler = Arc::new(Self::new(Toolchain::find()?));
        *shared = Some(Arc::clone(&compiler));
        Ok(compiler)
    }

    /// Time that one run of clang may take (five minutes unless set).
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.clang.limit = limit;
        self
    }

    /// The clang in use.
    pub fn toolchain(&self) -> &Toolchain {
        &self.clang.toolchain
    }

    /// Compiles a source; equal sources and options give the same module without another run.
    pub fn compile(&self, files: &[SourceFile], options: &CompileOptions) -> Result<Arc<Module>, Vec<Diagnostic>> {
        let key = self.key(files, options);
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = lock().modules.get(&key) {
            return Ok(Arc::clone(module));
        }
        let module = Arc::new(self.build(files, options)?);
        let mut cache = lock();
        if cache.modules.insert(key, Arc::clone(&module)).is_none() {
            cache.order.push_back(key);
        }
        while cache.order.len() > CACHED
            && let Some(oldest) = cache.order.pop_front()
        {
            cache.modules.remove(&oldest);
        }
        Ok(module)
    }

    fn key(&self, files: &[SourceFile], options: &CompileOptions) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let mut feed = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        feed(&self.clang.toolchain.version);
        for file in files {
            feed(&file.name);
            feed(&file.text);
        }
        feed("options");
        for (name, value) in &options.defines {
            feed(name);
            feed(value);
        }
        feed("constants");
        for (name, value) in &options.constants {
            feed(name);
            feed(value);
        }
        feed("only");
        for name in &options.only {
            feed(name);
        }
        feed(&format!(
            "{:?} {:?} {} {} {}",
            options.language, options.optimise, options.fast_math, options.double, options.variables
        ));
        *hasher.finalize().as_bytes()
    }

    fn build(&self, files: &[SourceFile], options: &CompileOptions) -> Result<Module, Vec<Diagnostic>> {
        let mut front = Front::new(files, options, Target::Machine)?;
        self.refuse_recursion(&mut front, options)?;
        let names: Vec<String> = front.lowered.allocations.iter().map(|a| a.name.clone()).collect();
        let (ir, mut warnings, unhooked) = match options.optimise {
            Optimise::Speed => {
                let (ir, warnings) = self.source_to_ir(&mut front, options, &["-O2"], Target::Machine)?;
                let ir = if unroll::left(&ir) { self.clang.optimise(&unroll::calls_made_plain(&ir))? } else { ir };
                let unhooked = hooks::unhook(&ir, &names);
                (unhooked.ir.clone(), warnings, unhooked)
            }
            Optimise::Faithful => {
                let (ir, warnings) = self.source_to_ir(&mut front, options, &clang::UNOPTIMISED, Target::Machine)?;
                let marked = volatile::make_volatile(&ir);
                let ir = self.clang.optimise(&marked)?;
                let unhooked = hooks::unhook(&ir, &names);
                (unhooked.ir.clone(), warnings, unhooked)
            }
        };
        let find = |line: u32, column: u32| front.map.find(line, column).map(|l| (l.file, l.line, l.col));
        let ir = debug::relocate(&ir, &front.names, &find);
        undefined_functions(&ir)?;
        let (entries, threadgroup) = measured(&front, &unhooked);
        let mut all = front.warnings;
        all.append(&mut warnings);
        Ok(Module { entries, ir, constants: front.lowered.constants, threadgroup, warnings: all })
    }

    /// Compiles a source for NVIDIA GPUs.
    pub fn compile_ptx(&self, files: &[SourceFile], options: &CompileOptions) -> Result<PtxModule, Vec<Diagnostic>> {
        if self.clang.toolchain.major < OLDEST_FOR_PTX {
            return Err(vec![Diagnostic {
                severity: Severity::Error,
                code: "clang-too-old".to_owned(),
                message: format!("clang {} cannot compile half for NVIDIA GPUs", self.clang.toolchain.major),
                pos: None,
                help: Some(format!("use clang {OLDEST_FOR_PTX} or newer: {}", NoToolchain::HELP)),
            }]);
        }
        if options.language == Language::Cuda {
            return Err(vec![Diagnostic {
                severity: Severity::Error,
                code: "wrong-language".to_owned(),
                message: "CUDA sources go to NVIDIA GPUs by NVIDIA's own compiler".to_owned(),
                pos: None,
                help: Some("run them on the simulator here".to_owned()),
            }]);
        }
        let mut front = Front::new(files, options, Target::Nvidia)?;
        self.refuse_recursion(&mut front, options)?;
        let names: Vec<String> = front.lowered.allocations.iter().map(|a| a.name.clone()).collect();
        let (ir, mut warnings) = self.source_to_ir(&mut front, options, &["-O2"], Target::Nvidia)?;
        let unhooked = hooks::unhook(&ir, &names);
        undefined_functions(&ptx::settle(&unhooked.ir))?;
        let ptx = self.clang.to_ptx(&ptx::settle(&unhooked.ir))?;
        let (entries, threadgroup) = measured(&front, &unhooked);
        let mut all = front.warnings;
        all.append(&mut warnings);
        Ok(PtxModule { entries, ptx, constants: front.lowered.constants, threadgroup, warnings: all })
    }

    /// Says whether a source is right, and lists its kernels, without making code: everything but what the optimiser
    /// alone could find is reported. Sizes of elements are 0.
    pub fn check(&self, files: &[SourceFile], options: &CompileOptions) -> Result<Checked, Vec<Diagnostic>> {
        let mut front = Front::new(files, options, Target::Machine)?;
        self.refuse_recursion(&mut front, options)?;
        let (_, mut warnings) = self.source_to_ir(&mut front, options, clang::CHECK, Target::Machine)?;
        let mut all = std::mem::take(&mut front.warnings);
        all.append(&mut warnings);
        Ok(Checked { entries: front.entry_points(), warnings: all })
    }

    /// Where names allow a circle of calls, asks the compiler whether there is one.
    fn refuse_recursion(&self, front: &mut Front<'_>, options: &CompileOptions) -> Result<(), Vec<Diagnostic>> {
        if !front.lowered.may_recurse {
            return Ok(());
        }
        (front.text, front.map) = front.lowered.emit(Target::Machine);
        let ir = match self.source_to_ir(front, options, &clang::UNOPTIMISED, Target::Machine) {
            Ok((ir, _)) => ir,
            Err(problems) if problems.iter().any(|d| d.code == clang::TOO_LARGE) => {
                front.warnings.push(Diagnostic {
                    severity: Severity::Warning,
                    code: "recursion-unknown".to_owned(),
                    message: "functions of the same name call each other; the source is too large to tell whether in a circle"
                        .to_owned(),
                    pos: None,
                    help: Some("instantiate fewer kernels in one file".to_owned()),
                });
                return Ok(());
            }
            Err(problems) => return Err(problems),
        };
        let Some(function) = calls::recursion(&ir) else { return Ok(()) };
        let find = |line: u32, column: u32| front.map.find(line, column).map(|l| (l.file, l.line, l.col));
        let pos = debug::first_call(&debug::relocate(&ir, &front.names, &find), &function);
        Err(vec![Diagnostic {
            severity: Severity::Error,
            code: "recursion".to_owned(),
            message: format!("`{}` calls itself, directly or through others", hooks::demangle(&function)),
            pos,
            help: Some("Apple GPUs have no recursion: use a loop".to_owned()),
        }])
    }

    /// Runs clang, mending what only its complaints can tell, until there is nothing left to mend.
    fn source_to_ir(
        &self,
        front: &mut Front<'_>,
        options: &CompileOptions,
        level: &[&'static str],
        target: Target,
    ) -> Result<(String, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut rounds = 0;
        loop {
            let done = self.clang.source_to_ir(&source_text(front), &front.lowered.words, options, level, target)?;
            rounds += 1;
            if !done.success && rounds < ROUNDS {
                let stderr = String::from_utf8_lossy(&done.stderr);
                if front.lowered.repair(&front.map, &messages::complaints(&stderr)) {
                    (front.text, front.map) = front.lowered.emit(target);
                    continue;
                }
            }
            return clang::read(done, front);
        }
    }

    /// The text that clang would read, library included: for finding out what became of a source.
    pub fn generated_text(&self, files: &[SourceFile], options: &CompileOptions) -> Result<String, Vec<Diagnostic>> {
        let front = Front::new(files, options, Target::Machine)?;
        let library = match options.language {
            Language::Metal => library::whole(),
            Language::Cuda => library::cuda(),
        };
        Ok(library.to_owned() + &source_text(&front))
    }
}

/// Entry points and threadgroup variables with the sizes that only compiling tells.
fn measured(front: &Front<'_>, unhooked: &hooks::Unhooked) -> (Vec<EntryPoint>, Vec<ThreadgroupVariable>) {
    let mut entries = front.entry_points();
    for (n, entry) in entries.iter_mut().enumerate() {
        for (p, param) in entry.params.iter_mut().enumerate() {
            let size = unhooked.sizes.get(&(n as u32, p as u32)).copied().unwrap_or(0);
            match &mut param.kind {
                ParamKind::Buffer { element_bytes, .. } | ParamKind::Threadgroup { element_bytes, .. } => {
                    *element_bytes = size;
                }
                ParamKind::Builtin(_) => {}
            }
        }
        let used = unhooked.used_by.get(&entry.symbol);
        entry.threadgroup_bytes =
            used.map_or(0, |set| set.iter().fold(0u32, |at, h| at.next_multiple_of(h.align).saturating_add(h.bytes)));
    }
    let threadgroup = unhooked
        .hand_outs
        .iter()
        .filter_map(|h| {
            let allocation = front.lowered.allocations.get(h.number as usize)?;
            Some(ThreadgroupVariable {
                symbol: h.symbol.clone(),
                name: allocation.name.clone(),
                bytes: h.bytes,
                align: h.align,
                pos: front.pos(allocation.loc),
            })
        })
        .collect();
    (entries, threadgroup)
}

/// Functions that the module calls and nobody defines.
fn undefined_functions(ir: &str) -> Result<(), Vec<Diagnostic>> {
    let mut out = Vec::new();
    for line in ir.lines().filter(|l| l.starts_with("declare ")) {
        let name = hooks::function_name(line);
        if name.starts_with(crate::abi::PREFIX) || name.starts_with("llvm.") {
            continue;
        }
        let pos = debug::first_call(ir, name);
        let plain = hooks::demangle(name);
        out.push(Diagnostic {
            severity: Severity::Error,
            code: "undefined-function".to_owned(),
            message: format!("`{plain}` is declared but never defined"),
            pos,
            help: Some("define it in one of the source's files".to_owned()),
        });
    }
    if out.is_empty() { Ok(()) } else { Err(out) }
}
