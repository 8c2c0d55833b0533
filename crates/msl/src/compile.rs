//! The whole way: preprocess, pre-pass, library, clang, IR passes. Knows the order of things; each step is elsewhere.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::diag::{Diagnostic, Severity, SourcePos};
use crate::driver::process::{self, RunError};
use crate::driver::toolchain::{NoToolchain, Toolchain};
use crate::ir::{debug, hooks, volatile};
use crate::library;
use crate::messages::{self, Places};
use crate::module::{CompileOptions, EntryPoint, Module, Optimise, Param, ParamKind, ThreadgroupVariable};
use crate::pp::{Preprocessed, Problem, preprocess};
use crate::prepass::{self, Entry, Lowered};
use crate::source::{Loc, SourceFile};

/// Most modules kept in memory.
const CACHED: usize = 512;

/// A clang with its settings and what it has compiled.
#[derive(Debug)]
pub struct Compiler {
    toolchain: Toolchain,
    limit: Duration,
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
    let front = Front::new(files, options)?;
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

/// What stands before clang runs.
struct Front<'a> {
    files: &'a [SourceFile],
    names: Vec<String>,
    lowered: Lowered,
    imports: (bool, bool),
    warnings: Vec<Diagnostic>,
}

impl<'a> Front<'a> {
    fn new(files: &'a [SourceFile], options: &CompileOptions) -> Result<Self, Vec<Diagnostic>> {
        let names: Vec<String> = files.iter().map(|f| f.name.clone()).collect();
        let report = |severity, p: Problem| problem(&names, severity, p);
        let fail = |p| vec![report(Severity::Error, p)];
        let mut pre: Preprocessed = preprocess(files, &options.defines).map_err(fail)?;
        let warnings = std::mem::take(&mut pre.warnings).into_iter().map(|p| report(Severity::Warning, p)).collect();
        let included = !pre.headers.is_empty();
        let lowered = prepass::lower(&pre, options).map_err(fail)?;
        let imports = (included, lowered.uses_metal);
        Ok(Self { files, names, lowered, imports, warnings })
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

impl Places for Front<'_> {
    fn find(&self, line: u32, column: u32) -> Option<SourcePos> {
        self.lowered.map.find(line, column).map(|l| self.pos(l))
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
        Self { toolchain, limit: Duration::from_mins(1), cache: Mutex::default() }
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

    /// Time that one run of clang may take (60 s unless set).
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The clang in use.
    pub fn toolchain(&self) -> &Toolchain {
        &self.toolchain
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
        feed(&self.toolchain.version);
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
        feed(&format!("{:?} {}", options.optimise, options.fast_math));
        *hasher.finalize().as_bytes()
    }

    fn build(&self, files: &[SourceFile], options: &CompileOptions) -> Result<Module, Vec<Diagnostic>> {
        let front = Front::new(files, options)?;
        let text = self.full_text(&front);
        let names: Vec<String> = front.lowered.allocations.iter().map(|a| a.name.clone()).collect();
        let (ir, mut warnings, unhooked) = match options.optimise {
            Optimise::Speed => {
                let (ir, warnings) = self.clang(&language_flags(options, &["-O2"]), &text, &front)?;
                let unhooked = hooks::unhook(&ir, &names);
                (unhooked.ir.clone(), warnings, unhooked)
            }
            Optimise::Faithful => {
                let first = ["-O0", "-Xclang", "-disable-O0-optnone"];
                let (ir, warnings) = self.clang(&language_flags(options, &first), &text, &front)?;
                let marked = volatile::make_volatile(&ir);
                let (ir, _) = self.clang(&optimise_flags(), &marked, &front)?;
                let unhooked = hooks::unhook(&ir, &names);
                (unhooked.ir.clone(), warnings, unhooked)
            }
        };
        let find = |line: u32, column: u32| front.lowered.map.find(line, column).map(|l| (l.file, l.line, l.col));
        let ir = debug::relocate(&ir, &front.names, &find);
        undefined_functions(&ir)?;
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
            entry.threadgroup_bytes = used
                .map_or(0, |set| set.iter().fold(0u32, |at, h| at.next_multiple_of(h.align).saturating_add(h.bytes)));
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
        let mut all = front.warnings;
        all.append(&mut warnings);
        Ok(Module { entries, ir, constants: front.lowered.constants, threadgroup, warnings: all })
    }

    /// The text that clang would read, library included: for finding out what became of a source.
    pub fn generated_text(&self, files: &[SourceFile], options: &CompileOptions) -> Result<String, Vec<Diagnostic>> {
        Ok(self.full_text(&Front::new(files, options)?))
    }

    fn full_text(&self, front: &Front<'_>) -> String {
        let mut text = format!("# 1 \"{}\"\n", debug::LIBRARY);
        if self.toolchain.major < 17 {
            text.push_str("#define KS_OLD_ATOMICS\n");
        }
        text.push_str(&library::text(&front.lowered.words));
        let _ = writeln!(text, "# 1 \"{}\"", debug::SOURCE);
        text.push_str(&front.lowered.text);
        text
    }

    fn clang(
        &self,
        flags: &[String],
        input: &str,
        front: &Front<'_>,
    ) -> Result<(String, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut command = self.toolchain.command();
        command.args(flags);
        let failed = |code: &str, message: String, help: &str| {
            vec![Diagnostic {
                severity: Severity::Error,
                code: code.to_owned(),
                message,
                pos: None,
                help: Some(help.to_owned()),
            }]
        };
        let done = process::run(command, input.as_bytes(), self.limit).map_err(|e| match e {
            RunError::Timeout(_) => failed(
                "compile-timeout",
                format!("the compiler was {e}"),
                "look for templates or constant expressions that expand without end, or unroll less",
            ),
            RunError::TooMuchOutput => failed("compile-size", format!("the compiler {e}"), "unroll less"),
            _ => failed("clang-failed", e.to_string(), NoToolchain::HELP),
        })?;
        let stderr = String::from_utf8_lossy(&done.stderr);
        let found = messages::read(&stderr, front);
        if !done.success {
            let errors: Vec<Diagnostic> = found.into_iter().filter(|d| d.severity == Severity::Error).collect();
            if errors.is_empty() {
                let head: String = stderr.lines().take(3).collect::<Vec<_>>().join(" / ");
                return Err(failed(
                    "clang-failed",
                    format!("clang failed: {head}"),
                    "report this with the source that caused it",
                ));
            }
            return Err(errors);
        }
        let ir = String::from_utf8(done.stdout)
            .map_err(|_| failed("clang-failed", "clang printed IR that is not UTF-8".to_owned(), "report this"))?;
        Ok((ir, found))
    }
}

/// Flags that turn the generated text into IR.
fn language_flags(options: &CompileOptions, level: &[&str]) -> Vec<String> {
    let mut flags: Vec<&str> = vec![
        "-x",
        "clcpp",
        "-cl-std=clc++2021",
        "-cl-no-stdinc",
        "-undef",
        "-nostdinc",
        "-target",
        "spir64",
        "-emit-llvm",
        "-S",
        "-gline-tables-only",
        "-fno-vectorize",
        "-fno-slp-vectorize",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-cl-single-precision-constant",
        "-ftemplate-depth=512",
        "-fno-caret-diagnostics",
        "-fno-color-diagnostics",
        "-fno-diagnostics-show-option",
        "-fno-show-source-location-range",
        "-ferror-limit=10",
        "-Wno-everything",
        "-Wuninitialized",
        "-Wsometimes-uninitialized",
        "-Wreturn-type",
        "-Wdivision-by-zero",
        "-Wshift-count-overflow",
        "-Warray-bounds",
    ];
    flags.retain(|f| *f != "-fno-show-source-location-range");
    if options.fast_math {
        // Nothing that lets the optimiser assume there are no NaNs or infinities.
        flags.extend(["-ffp-contract=fast", "-freciprocal-math", "-fno-signed-zeros"]);
    } else {
        flags.extend(["-ffp-contract=off", "-DKS_PRECISE"]);
    }
    flags.extend(level);
    flags.extend(["-o", "-", "-"]);
    flags.into_iter().map(str::to_owned).collect()
}

/// Flags that optimise printed IR.
fn optimise_flags() -> Vec<String> {
    [
        "-x",
        "ir",
        "-target",
        "spir64",
        "-O2",
        "-emit-llvm",
        "-S",
        "-fno-vectorize",
        "-fno-slp-vectorize",
        "-Wno-everything",
        "-o",
        "-",
        "-",
    ]
    .iter()
    .map(|s| (*s).to_owned())
    .collect()
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
