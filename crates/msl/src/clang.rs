//! Runs of clang: which flags, with the library in which form, and what came of it. Knows the flags; nothing of the
//! pre-pass.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use crate::diag::{Diagnostic, Severity};
use crate::driver::precompiled::Precompiled;
use crate::driver::process::{self, Finished, RunError};
use crate::driver::toolchain::{NoToolchain, Toolchain};
use crate::library;
use crate::messages::{self, Places};
use crate::module::{CompileOptions, Language};

/// A clang, ready to run.
#[derive(Debug)]
pub struct Clang {
    /// The program.
    pub toolchain: Toolchain,
    /// Time that one run may take.
    pub limit: Duration,
    precompiled: Precompiled,
}

/// What code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The SIMT machine, by LLVM IR for `spir64`.
    Machine,
    /// NVIDIA GPUs, by PTX.
    Nvidia,
}

/// Level that keeps every access as written, and still lets a later run optimise.
pub const UNOPTIMISED: [&str; 3] = ["-O0", "-Xclang", "-disable-O0-optnone"];

/// Code of the complaint about a source whose code is too large to be read.
pub const TOO_LARGE: &str = "compile-size";

/// Most errors reported of one source.
const REPORTED: usize = 10;

/// No code at all, and the same precompiled library as at full optimisation.
pub const CHECK: &[&str] = &["-O2", "-fsyntax-only"];

/// Where the result goes.
const OUTPUT: [&str; 5] = ["-emit-llvm", "-S", "-o", "-", "-"];

impl Clang {
    /// A clang with the usual limit: far more than any kernel takes, also on a machine that is busy with other things.
    pub fn new(toolchain: Toolchain) -> Self {
        Self { toolchain, limit: Duration::from_mins(5), precompiled: Precompiled::default() }
    }

    /// Compiles generated text to IR; `words` are those the text uses.
    pub fn source_to_ir(
        &self,
        source: &str,
        words: &BTreeSet<String>,
        options: &CompileOptions,
        level: &[&str],
        target: Target,
    ) -> Result<Finished, Vec<Diagnostic>> {
        let check = level == CHECK;
        let flags = self.language_flags(options, if check { &["-O2"] } else { level }, target);
        let whole = match (options.language, target) {
            (Language::Cuda, _) => library::cuda(),
            (Language::Metal, Target::Machine) => library::whole(),
            (Language::Metal, Target::Nvidia) => library::nvidia(),
        };
        let output: &[&str] = if check { &["-fsyntax-only", "-"] } else { &OUTPUT };
        if let Some(pch) = self.precompiled.find(&self.toolchain, &flags, whole) {
            let mut with = flags.clone();
            with.extend(["-Xclang", "-include-pch", "-Xclang"].map(str::to_owned));
            with.push(pch.to_string_lossy().into_owned());
            with.extend(output.iter().map(|s| (*s).to_owned()));
            let done = self.run(&with, source)?;
            if done.success || !unreadable(&done.stderr, &pch) {
                return Ok(done);
            }
            self.precompiled.discard(&pch);
        }
        let mut with = flags;
        with.extend(output.iter().map(|s| (*s).to_owned()));
        let library = match (options.language, target) {
            (Language::Metal, Target::Machine) => library::text(words),
            _ => whole.to_owned(),
        };
        self.run(&with, &(library + source))
    }

    /// PTX of printed IR.
    pub fn to_ptx(&self, ir: &str) -> Result<String, Vec<Diagnostic>> {
        let mut flags = vec!["-x", "ir", "-O2", "-Wno-everything"];
        flags.extend(Target::Nvidia.flags());
        flags.extend(["-S", "-o", "-", "-"]);
        let flags: Vec<String> = flags.iter().map(|s| (*s).to_owned()).collect();
        let done = self.run(&flags, ir)?;
        if !done.success {
            return Err(broken(&String::from_utf8_lossy(&done.stderr)));
        }
        text(done.stdout)
    }

    /// Optimises printed IR.
    pub fn optimise(&self, ir: &str) -> Result<String, Vec<Diagnostic>> {
        let mut flags = vec!["-x", "ir", "-target", "spir64", "-O2", "-Wno-everything"];
        flags.extend(SIMT);
        flags.extend(OUTPUT);
        let flags: Vec<String> = flags.iter().map(|s| (*s).to_owned()).collect();
        let done = self.run(&flags, ir)?;
        if !done.success {
            return Err(broken(&String::from_utf8_lossy(&done.stderr)));
        }
        text(done.stdout)
    }

    fn run(&self, flags: &[String], input: &str) -> Result<Finished, Vec<Diagnostic>> {
        let mut command = self.toolchain.command();
        command.args(flags);
        process::run(command, input.as_bytes(), self.limit).map_err(|e| match e {
            RunError::Timeout(_) => failed(
                "compile-timeout",
                format!("the compiler was {e}"),
                "look for templates or constant expressions that expand without end, or unroll less",
            ),
            RunError::TooMuchOutput => failed(TOO_LARGE, format!("the compiler {e}"), "unroll less"),
            RunError::Start { .. } | RunError::Read(_) => failed("clang-failed", e.to_string(), NoToolchain::HELP),
        })
    }

    /// Flags that turn the generated text into IR, without those that say where it goes.
    fn language_flags(&self, options: &CompileOptions, level: &[&str], target: Target) -> Vec<String> {
        let mut flags: Vec<&str> = vec![
            "-x",
            "clcpp",
            "-cl-std=clc++2021",
            "-cl-no-stdinc",
            "-undef",
            "-nostdinc",
            if options.variables { "-g" } else { "-gline-tables-only" },
            "-fno-math-errno",
            "-fno-trapping-math",
            "-ftemplate-depth=512",
            "-fno-caret-diagnostics",
            "-fno-color-diagnostics",
            "-fno-diagnostics-show-option",
            "-ferror-limit=50",
            "-Wno-everything",
            "-Wuninitialized",
            "-Wsometimes-uninitialized",
            "-Wreturn-type",
            "-Wdivision-by-zero",
            "-Wshift-count-overflow",
            "-Warray-bounds",
            "-Werror=undefined-internal",
        ];
        flags.extend(target.flags());
        flags.extend(SIMT);
        flags.push(if options.double || options.language == Language::Cuda {
            "-DKS_DOUBLE"
        } else {
            "-cl-single-precision-constant"
        });
        if self.toolchain.major < 17 {
            flags.push("-DKS_OLD_ATOMICS");
        }
        if options.fast_math {
            // Nothing that lets the optimiser assume there are no NaNs or infinities.
            flags.extend(["-ffp-contract=fast", "-freciprocal-math", "-fno-signed-zeros"]);
        } else {
            flags.extend(["-ffp-contract=off", "-DKS_PRECISE"]);
        }
        flags.extend(level);
        flags.into_iter().map(str::to_owned).collect()
    }
}

impl Target {
    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Machine => &["-target", "spir64"],
            // Volta and later, which the driver's own compiler takes further.
            Self::Nvidia => &[
                "-target",
                "nvptx64-nvidia-cuda",
                "-Xclang",
                "-target-cpu",
                "-Xclang",
                "sm_70",
                "-Xclang",
                "-target-feature",
                "-Xclang",
                "+ptx63",
                // What the language mode leaves to the target: half, generic pointers, variables outside of functions.
                "-Xclang",
                "-cl-ext=+all",
            ],
        }
    }
}

/// How a machine with 32 lanes wants its code: scalar, and with loops over private arrays unrolled, because registers
/// cannot be indexed.
const SIMT: [&str; 4] = ["-fno-vectorize", "-fno-slp-vectorize", "-mllvm", "-unroll-threshold=1200"];

/// Was it the precompiled library that clang could not read?
fn unreadable(stderr: &[u8], pch: &Path) -> bool {
    let text = String::from_utf8_lossy(stderr);
    let name = pch.to_string_lossy();
    text.lines()
        .any(|l| l.contains(name.as_ref()) && (l.contains("PCH") || l.contains("precompiled") || l.contains("AST")))
}

/// What clang's run amounts to: the IR and warnings, or the errors.
pub fn read(done: Finished, places: &dyn Places) -> Result<(String, Vec<Diagnostic>), Vec<Diagnostic>> {
    let stderr = String::from_utf8_lossy(&done.stderr);
    let found = messages::read(&stderr, places);
    if done.success {
        return Ok((text(done.stdout)?, found));
    }
    let errors: Vec<Diagnostic> = found.into_iter().filter(|d| d.severity == Severity::Error).take(REPORTED).collect();
    Err(if errors.is_empty() { broken(&stderr) } else { errors })
}

fn text(stdout: Vec<u8>) -> Result<String, Vec<Diagnostic>> {
    String::from_utf8(stdout)
        .map_err(|_| failed("clang-failed", "clang printed IR that is not UTF-8".to_owned(), "report this"))
}

fn broken(stderr: &str) -> Vec<Diagnostic> {
    let head: Vec<&str> = stderr.lines().take(3).collect();
    let message = format!("clang failed: {}", head.join(" / "));
    failed("clang-failed", message, "report this with the source that caused it")
}

fn failed(code: &str, message: String, help: &str) -> Vec<Diagnostic> {
    vec![Diagnostic {
        severity: Severity::Error,
        code: code.to_owned(),
        message,
        pos: None,
        help: Some(help.to_owned()),
    }]
}
