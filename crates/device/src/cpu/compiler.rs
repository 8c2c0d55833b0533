//! The C++ compiler of this machine: found once, run in a confined child, its findings as diagnostics in the
//! candidate's own lines. Must not know tasks.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ksearch_msl::{Diagnostic, Severity, SourcePos};
use ksearch_task::SourceFile;
use tempfile::TempDir;

use super::process::Group;
use super::protocol::{Confine, ORDERS};
use super::worker::WorkerProgram;
use crate::isolation::Limits;
use crate::target::Failure;

/// Time for one compilation.
const LIMIT: Duration = Duration::from_secs(90);
/// Most bytes of a compiler's output that are read.
const OUTPUT_LIMIT: u64 = 4 << 20;
/// Folders that compilers and the loader read.
pub const SYSTEM: [&str; 9] =
    ["/usr", "/lib", "/lib64", "/bin", "/opt", "/nix/store", "/etc/ld.so.cache", "/etc/alternatives", "/dev/null"];
/// Name of the generated file that calls the kernels.
pub const ADAPTER: &str = "ksearch_adapter.cpp";

/// Options of every candidate. Contraction to fused multiply-add and ignoring `errno` are what GPUs do too; anything
/// that changes results further is left to the candidate.
const OPTIONS: [&str; 16] = [
    "-std=c++20",
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fstack-clash-protection",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-Wall",
    "-Wextra",
    "-Wno-unknown-pragmas",
    "-Wno-unused-function",
    "-fdiagnostics-color=never",
    "-g0",
];

/// A compiler that works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CxxCompiler {
    /// The program.
    pub program: PathBuf,
    /// First line of `--version`.
    pub version: String,
}

/// A compiled candidate; its folder goes with the last user.
#[derive(Debug)]
pub struct Library {
    /// The shared object.
    pub path: PathBuf,
    /// Its folder.
    pub folder: TempDir,
    /// Warnings in the candidate's files.
    pub warnings: Vec<Diagnostic>,
}

static FOUND: Mutex<Option<Result<CxxCompiler, String>>> = Mutex::new(None);

impl CxxCompiler {
    /// How to get one.
    pub const HELP: &'static str = "install clang or gcc (Debian, Ubuntu: apt install clang-19 libstdc++-12-dev, or g++), or set KSEARCH_CXX to one";

    /// The compiler to use, found once per process: `KSEARCH_CXX`, else the newest clang, else g++.
    pub fn find() -> Result<Self, String> {
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        found.get_or_insert_with(Self::search).clone()
    }

    fn search() -> Result<Self, String> {
        if let Some(given) = std::env::var_os("KSEARCH_CXX").filter(|p| !p.is_empty()) {
            let path = PathBuf::from(given);
            return Self::probe(&path).map_err(|e| format!("KSEARCH_CXX is {}: {e}", path.display()));
        }
        let names = (14..=24).rev().map(|n| format!("clang++-{n}")).chain(["clang++", "g++", "c++"].map(str::to_owned));
        let mut why = String::new();
        for name in names {
            let Some(path) = on_path(&name) else { continue };
            match Self::probe(&path) {
                Ok(compiler) => return Ok(compiler),
                Err(e) => why = format!(" ({}: {e})", path.display()),
            }
        }
        Err(format!("there is no C++ compiler{why}"))
    }

    /// Asks a program whether it compiles C++20 with the library's headers.
    fn probe(path: &Path) -> Result<Self, String> {
        let run = |args: &[&str], input: &str| {
            use std::io::Write;
            let mut child = Command::new(path)
                .args(args)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|e| e.to_string())?;
            if let Some(mut stdin) = child.stdin.take() {
                // A compiler that does not read says why by its status.
                let _status_tells = stdin.write_all(input.as_bytes());
            }
            let out = child.wait_with_output().map_err(|e| e.to_string())?;
            if out.status.success() { Ok(out.stdout) } else { Err(format!("it failed on {}", args.join(" "))) }
        };
        let version = run(&["--version"], "")?;
        let version = String::from_utf8_lossy(&version).lines().next().unwrap_or("").trim().to_owned();
        let probe = "#include <cmath>\n#include <cstdint>\n#include <algorithm>\nextern \"C\" float f(float x) { return std::exp(x); }\n";
        run(&["-std=c++20", "-O1", "-march=native", "-x", "c++", "-fsyntax-only", "-"], probe)?;
        Ok(Self { program: path.to_owned(), version })
    }

    /// Compiles `files` (the first one is the main file) together with the text of the adapter.
    pub fn compile(
        &self,
        worker: &WorkerProgram,
        files: &[SourceFile],
        defines: &[(String, String)],
        adapter: &str,
    ) -> Result<Arc<Library>, Failure> {
        let trouble = |what: &str, e: std::io::Error| Failure::Infrastructure(format!("{what}: {e}"));
        let folder = tempfile::Builder::new().prefix("ksearch-cpu-").tempdir().map_err(|e| trouble("no folder", e))?;
        for file in files.iter().map(|f| (f.path.as_str(), f.text.as_str())).chain([(ADAPTER, adapter)]) {
            let path = folder.path().join(file.0);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(|e| trouble("cannot make a folder", e))?;
            }
            std::fs::write(&path, file.1).map_err(|e| trouble("cannot write a source", e))?;
        }
        let path = folder.path().join("kernel.so");
        let mut args: Vec<String> = OPTIONS.iter().map(|o| (*o).to_owned()).collect();
        args.extend(defines.iter().map(|(name, value)| format!("-D{name}={value}")));
        args.extend(["-o".into(), path.display().to_string(), ADAPTER.into()]);
        let orders = Confine {
            program: self.program.clone(),
            args,
            path: std::env::var("PATH").unwrap_or_default(),
            read: SYSTEM.iter().map(PathBuf::from).chain(self.home()).collect(),
            write: vec![folder.path().to_owned(), PathBuf::from("/dev/null")],
            limits: Limits {
                address_space: Some(8 << 30),
                cpu_seconds: Some(2 * LIMIT.as_secs()),
                file_size: Some(256 << 20),
                files: None,
            },
        };
        let text = run(worker, &orders, folder.path())?;
        let diagnostics = diagnostics(&text, files);
        if !path.is_file() {
            return Err(refused(diagnostics, &text));
        }
        let warnings = diagnostics.into_iter().filter(|d| d.severity == Severity::Warning).collect();
        Ok(Arc::new(Library { path, folder, warnings }))
    }

    /// The folder the compiler itself lies in, where it is none of the system's.
    fn home(&self) -> Option<PathBuf> {
        let real = self.program.canonicalize().ok()?;
        real.parent()?.parent().map(Path::to_owned).filter(|p| p.components().count() > 2)
    }
}

/// Runs the orders to the end; what the compiler said.
fn run(worker: &WorkerProgram, orders: &Confine, folder: &Path) -> Result<String, Failure> {
    let trouble = |e: String| Failure::Infrastructure(format!("the compiler could not be run: {e}"));
    let text = serde_json::to_string(orders).map_err(|e| trouble(e.to_string()))?;
    let mut command = worker.command("confine");
    command.env(ORDERS, text).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut group = Group::spawn(&mut command).map_err(|e| trouble(e.to_string()))?;
    let stream = group.child().stderr.take();
    let (done, finished) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let result = stream.map_or(Ok(0), |s| s.take(OUTPUT_LIMIT).read_to_end(&mut bytes));
        // The receiver is gone only when the deadline has passed.
        let _late = done.send(());
        result.map(|_| bytes)
    });
    let start = Instant::now();
    let in_time = finished.recv_timeout(LIMIT).is_ok();
    group.end();
    let bytes =
        reader.join().map_err(|_| trouble("its reader ended early".into()))?.map_err(|e| trouble(e.to_string()))?;
    if !in_time {
        let pos = None;
        return Err(Failure::Timeout {
            message: format!("the compiler did not end within {} s", start.elapsed().as_secs()),
            help: "Look for templates that expand without end.".into(),
            pos,
        });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn refused(diagnostics: Vec<Diagnostic>, text: &str) -> Failure {
    let errors: Vec<Diagnostic> = diagnostics.into_iter().filter(|d| d.severity != Severity::Warning).collect();
    let first = errors.iter().find(|d| d.severity == Severity::Error);
    match first {
        Some(d) if d.pos.as_ref().is_some_and(|p| p.file == ADAPTER) => Failure::Launch {
            message: format!("the kernel cannot be called as the recipe says: {}", d.message),
            help: "Define it as `extern \"C\" void NAME(…)` with parameters named like tensors, symbols or built-ins."
                .into(),
            pos: None,
        },
        Some(_) => Failure::Compile(errors),
        None => {
            let message = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no reason given").to_owned();
            Failure::Compile(vec![Diagnostic {
                severity: Severity::Error,
                code: "cxx".into(),
                message,
                pos: None,
                help: Some("The linker or the compiler refused it as a whole.".into()),
            }])
        }
    }
}

/// Findings with the candidate's own lines; those of other files are left to their notes.
fn diagnostics(text: &str, files: &[SourceFile]) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for line in text.lines() {
        let Some((severity, place, message)) =
            [(Severity::Error, ": fatal error: "), (Severity::Error, ": error: "), (Severity::Warning, ": warning: ")]
                .into_iter()
                .find_map(|(severity, mark)| line.split_once(mark).map(|(place, message)| (severity, place, message)))
        else {
            continue;
        };
        let mut parts = place.rsplitn(3, ':');
        let (column, row, file) = (parts.next(), parts.next(), parts.next());
        let number = |part: Option<&str>| part.and_then(|p| p.parse::<u32>().ok());
        let pos = match (file, number(row), number(column)) {
            (Some(file), Some(line), Some(column)) => {
                Some(SourcePos { file: file.trim_start_matches("./").to_owned(), line, column })
            }
            _ => None,
        };
        let own = |p: &SourcePos| p.file == ADAPTER || files.iter().any(|f| f.path == p.file);
        let pos = pos.filter(own);
        if severity == Severity::Warning && pos.is_none() {
            continue;
        }
        out.push(Diagnostic { severity, code: "cxx".into(), message: message.to_owned(), pos, help: None });
    }
    out
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|p| p.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_name_the_candidate_s_lines_only() {
        let files = [SourceFile { path: "a.cpp".into(), text: String::new() }];
        let text = "In file included from ksearch_adapter.cpp:1:\na.cpp:3:7: error: expected ';'\n\
                    /usr/include/x.h:1:1: warning: odd\na.cpp:9:2: warning: unused parameter 'n' [-Wunused-parameter]\n\
                    nothing: error: without a place\n";
        let found = diagnostics(text, &files);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].pos.as_ref().unwrap().to_string(), "a.cpp:3:7");
        assert_eq!(found[1].severity, Severity::Warning);
        assert_eq!(found[2].pos, None);
    }
}
