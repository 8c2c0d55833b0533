//! Finding a clang that has the C++ for OpenCL mode. Knows where clangs live; nothing of what is compiled.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use serde::Serialize;

use super::process::{self, RunError};

/// How a clang was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The environment variable `KSEARCH_CLANG`.
    Environment,
    /// A program on the search path, or where a package manager puts it.
    System,
    /// The PyPI package `ziglang` in the project's cache or in Python's path: a whole clang.
    Ziglang,
}

/// A clang that works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Toolchain {
    /// The program.
    pub program: PathBuf,
    /// Arguments that come before clang's own (`clang` for `zig`).
    pub prefix: Vec<String>,
    /// Major version.
    pub major: u32,
    /// First line of `--version`.
    pub version: String,
    /// How it was found.
    pub origin: Origin,
}

/// Why there is none.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct NoToolchain {
    /// What was tried and what came of it.
    pub message: String,
}

impl NoToolchain {
    /// How to get one.
    pub const HELP: &'static str = "install clang 16 or newer (Debian, Ubuntu: apt install clang-19; macOS: brew install \
         llvm; anywhere, without root: python3 -m pip install --target ~/.cache/ksearch/ziglang ziglang), or set \
         KSEARCH_CLANG to one";
}

/// Oldest version whose C++ for OpenCL mode is complete enough.
const OLDEST: u32 = 16;
/// Versions asked for by name, newest first.
const NEWEST: u32 = 24;
/// Time for a clang to answer a question about itself; a cold start from a slow disk included.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

static FOUND: Mutex<Option<Toolchain>> = Mutex::new(None);

impl Toolchain {
    /// The clang to use, found once per process.
    pub fn find() -> Result<Self, NoToolchain> {
        let mut found = FOUND.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(toolchain) = &*found {
            return Ok(toolchain.clone());
        }
        let toolchain = Self::search()?;
        *found = Some(toolchain.clone());
        Ok(toolchain)
    }

    fn search() -> Result<Self, NoToolchain> {
        if let Some(path) = std::env::var_os("KSEARCH_CLANG").filter(|p| !p.is_empty()) {
            let path = PathBuf::from(path);
            return Self::probe_any(&path, Origin::Environment).map_err(|why| NoToolchain {
                message: format!("KSEARCH_CLANG is {}, which cannot be used: {why}", path.display()),
            });
        }
        let mut refused = Vec::new();
        let mut candidates: Vec<(PathBuf, Origin)> = (OLDEST..=NEWEST)
            .rev()
            .map(|n| format!("clang-{n}"))
            .chain(["clang".to_owned()])
            .filter_map(|name| on_path(&name))
            .map(|p| (p, Origin::System))
            .collect();
        // A release that is known to work comes before whatever is newest.
        if let Some(n) = candidates.iter().position(|(p, _)| p.ends_with("clang-19")) {
            let known = candidates.remove(n);
            candidates.insert(0, known);
        }
        for place in ["/opt/homebrew/opt/llvm/bin/clang", "/usr/local/opt/llvm/bin/clang", "/usr/lib/llvm-19/bin/clang"]
        {
            candidates.push((PathBuf::from(place), Origin::System));
        }
        candidates.extend(zig_places().into_iter().map(|p| (p, Origin::Ziglang)));
        for (path, origin) in candidates {
            if !path.is_file() {
                continue;
            }
            match Self::probe_any(&path, origin) {
                Ok(toolchain) => return Ok(toolchain),
                Err(why) => refused.push(format!("{}: {why}", path.display())),
            }
        }
        let tried = if refused.is_empty() { String::new() } else { format!(" (tried {})", refused.join("; ")) };
        Err(NoToolchain { message: format!("there is no clang {OLDEST} or newer with the C++ for OpenCL mode{tried}") })
    }

    /// Asks a program whether it is a clang that works.
    pub fn probe_any(path: &Path, origin: Origin) -> Result<Self, String> {
        let zig = path.file_stem().is_some_and(|n| n == "zig");
        let prefix = if zig { vec!["clang".to_owned()] } else { Vec::new() };
        let mut toolchain = Self { program: path.to_owned(), prefix, major: 0, version: String::new(), origin };
        let mut command = toolchain.command();
        command.arg("--version");
        let answer = process::run(command, b"", PROBE_LIMIT).map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&answer.stdout);
        text.lines().next().unwrap_or("").trim().clone_into(&mut toolchain.version);
        toolchain.major = major_version(&toolchain.version).ok_or("it is not clang")?;
        // Apple's numbers run ahead of LLVM's; the compile below decides for them.
        if toolchain.major < OLDEST {
            return Err(format!("it is version {}, and {OLDEST} is the oldest that works", toolchain.major));
        }
        let mut command = toolchain.command();
        command.args([
            "-x",
            "clcpp",
            "-cl-std=clc++2021",
            "-cl-no-stdinc",
            "-target",
            "spir64",
            "-emit-llvm",
            "-S",
            "-o",
            "-",
            "-",
        ]);
        let source = b"template<class T> void f(__global T* x) { x[0] = 1; }\nextern \"C\" void k(__global float* x) { f(x); }\n";
        let done = process::run(command, source, PROBE_LIMIT).map_err(|e: RunError| e.to_string())?;
        if !done.success {
            let why = String::from_utf8_lossy(&done.stderr);
            return Err(format!("it lacks the mode ({})", why.lines().next().unwrap_or("no reason given").trim()));
        }
        Ok(toolchain)
    }

    /// A command that runs this clang; arguments are to be added.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.prefix);
        command
    }
}

/// The project's cache folder: `KSEARCH_CACHE`, else the user's cache folder.
pub fn cache_dir() -> Option<PathBuf> {
    if let Some(dir) = std::env::var_os("KSEARCH_CACHE").filter(|d| !d.is_empty()) {
        return Some(PathBuf::from(dir));
    }
    let base = std::env::var_os("XDG_CACHE_HOME").filter(|d| !d.is_empty()).map(PathBuf::from);
    base.or_else(|| std::env::home_dir().map(|h| h.join(".cache"))).map(|d| d.join("ksearch"))
}

fn zig_places() -> Vec<PathBuf> {
    let mut out = Vec::new();
    if let Some(dir) = cache_dir() {
        out.push(dir.join("ziglang/ziglang/zig"));
    }
    // A wheel that Python already has.
    if let Some(python) = on_path("python3") {
        let mut command = Command::new(python);
        command.args(["-c", "import importlib.util as u; s = u.find_spec('ziglang'); print(s.submodule_search_locations[0] if s else '')"]);
        if let Ok(done) = process::run(command, b"", PROBE_LIMIT) {
            let dir = String::from_utf8_lossy(&done.stdout).trim().to_owned();
            if done.success && !dir.is_empty() {
                out.push(PathBuf::from(dir).join("zig"));
            }
        }
    }
    out
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|p| p.is_file())
}

fn major_version(line: &str) -> Option<u32> {
    let rest = &line[line.find("clang version ")? + "clang version ".len()..];
    rest.split(['.', ' ', '-']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(major_version("Debian clang version 19.1.7 (3~deb12u1)"), Some(19));
        assert_eq!(major_version("clang version 22.1.8"), Some(22));
        assert_eq!(major_version("Apple clang version 15.0.0 (clang-1500)"), Some(15));
        assert_eq!(major_version("gcc 12"), None);
    }

    #[test]
    fn this_machine_has_one() {
        let found = Toolchain::find().unwrap();
        assert!(found.major >= OLDEST, "{found:?}");
    }

    #[test]
    fn a_program_that_is_no_clang_is_refused() {
        assert!(Toolchain::probe_any(Path::new("/bin/cat"), Origin::Environment).is_err());
    }
}
