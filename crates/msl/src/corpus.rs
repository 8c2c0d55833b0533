//! Whole trees of MSL files: loads a file with what it includes, and compiles all of a folder in parallel. Knows the
//! file system; nothing of the language beyond the look of an include line.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::Serialize;

use crate::compile::Compiler;
use crate::diag::Diagnostic;
use crate::module::{CompileOptions, EntryPoint};
use crate::source::SourceFile;

/// How far each file is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Everything but code is made of it.
    Check,
    /// All of its kernels are compiled.
    Compile,
}

/// What became of one file.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Path relative to the folder.
    pub file: String,
    /// Names of the kernels; empty when it did not compile.
    pub entries: Vec<String>,
    /// Did it compile?
    pub ok: bool,
    /// What was said about it.
    pub diagnostics: Vec<Diagnostic>,
    /// Time in milliseconds, on this machine, with others compiling beside it.
    pub ms: u64,
}

/// Compiles every `.metal` file below a folder, in the order of their names. Includes resolve inside the folder and
/// the `includes`.
pub fn check(
    dir: &Path,
    includes: &[PathBuf],
    compiler: &Compiler,
    options: &CompileOptions,
    depth: Depth,
) -> std::io::Result<Vec<Row>> {
    let mut paths = Vec::new();
    find(dir, &mut paths)?;
    paths.sort();
    let folders = Folders::new(dir, "", includes)?;
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = check_file(path, dir, &folders, compiler, options, depth);
                    rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    rows.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(rows)
}

fn check_file(
    path: &Path,
    dir: &Path,
    folders: &Folders,
    compiler: &Compiler,
    options: &CompileOptions,
    depth: Depth,
) -> Row {
    let file = path.strip_prefix(dir).unwrap_or(path).to_string_lossy().into_owned();
    let start = Instant::now();
    let result = match folders.load(path) {
        Ok(files) => match depth {
            Depth::Check => compiler.check(&files, options).map(|c| (names(&c.entries), c.warnings)),
            Depth::Compile => compiler.compile(&files, options).map(|m| (names(&m.entries), m.warnings.clone())),
        },
        Err(e) => Err(vec![Diagnostic {
            severity: crate::diag::Severity::Error,
            code: "unreadable-file".to_owned(),
            message: format!("cannot read {}: {e}", path.display()),
            pos: None,
            help: None,
        }]),
    };
    let ms = start.elapsed().as_millis() as u64;
    match result {
        Ok((entries, diagnostics)) => Row { file, entries, ok: true, diagnostics, ms },
        Err(diagnostics) => Row { file, entries: Vec::new(), ok: false, diagnostics, ms },
    }
}

fn names(entries: &[EntryPoint]) -> Vec<String> {
    entries.iter().map(|e| e.name.clone()).collect()
}

fn find(dir: &Path, out: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        // Links are not followed: a tree may link to itself.
        if kind.is_dir() {
            find(&entry.path(), out)?;
        } else if kind.is_file() && entry.path().extension().is_some_and(|e| e == "metal") {
            out.push(entry.path());
        }
    }
    Ok(())
}

/// Reads a file and everything it includes, from its own folder and from `includes`; nothing else is read. Files are
/// named as an include line names them where they are in one of `includes`, and by their path otherwise.
pub fn load(main: &Path, includes: &[PathBuf]) -> std::io::Result<Vec<SourceFile>> {
    let dir = main.parent().filter(|p| !p.as_os_str().is_empty());
    let shown = dir.map_or(String::new(), |d| format!("{}/", d.display()));
    Folders::new(dir.unwrap_or(Path::new(".")), &shown, includes)?.load(main)
}

/// Where files may be read from, and how they are named.
struct Folders {
    /// Each folder with what its files' names begin with; the first that holds a file names it.
    all: Vec<(PathBuf, String)>,
}

impl Folders {
    fn new(root: &Path, shown: &str, includes: &[PathBuf]) -> std::io::Result<Self> {
        let mut all = Vec::new();
        for dir in includes {
            let real =
                dir.canonicalize().map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", dir.display())))?;
            all.push((real, String::new()));
        }
        all.push((root.canonicalize()?, shown.to_owned()));
        Ok(Self { all })
    }

    fn name(&self, path: &Path) -> Option<String> {
        let named = |(dir, shown): &(PathBuf, String)| {
            path.strip_prefix(dir).ok().map(|rest| format!("{shown}{}", rest.to_string_lossy()))
        };
        self.all.iter().find_map(named)
    }

    fn load(&self, main: &Path) -> std::io::Result<Vec<SourceFile>> {
        let main = main.canonicalize()?;
        let mut files = Vec::new();
        let mut seen = HashSet::from([main.clone()]);
        let mut queue = VecDeque::from([main.clone()]);
        while let Some(path) = queue.pop_front() {
            // A link that leads out of the folders has no name in them, and is not read.
            let Some(name) = self.name(&path) else {
                if path == main {
                    return Err(std::io::Error::other("it is a link to a file outside of its folder"));
                }
                continue;
            };
            let text = match std::fs::read(&path) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(e) if path == main => return Err(e),
                // A name that only looks like an include, or one that a condition leaves out; if it is needed, the
                // preprocessor says at its line that it is missing.
                Err(_) => continue,
            };
            for wanted in text.lines().filter_map(included) {
                let beside = path.parent().map(|p| p.join(wanted));
                let below = self.all.iter().flat_map(|(d, _)| [d.join(wanted), d.join("include").join(wanted)]);
                let real = |p: PathBuf| p.canonicalize().ok().filter(|p| p.is_file() && self.name(p).is_some());
                if let Some(found) = beside.into_iter().chain(below).find_map(real)
                    && seen.insert(found.clone())
                {
                    queue.push_back(found);
                }
            }
            files.push(SourceFile::new(name, text));
        }
        Ok(files)
    }
}

/// The file that an include line names.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let (open, close) = (rest.chars().next()?, if rest.starts_with('<') { '>' } else { '"' });
    if !matches!(open, '"' | '<') {
        return None;
    }
    let inner = &rest[1..];
    Some(&inner[..inner.find(close)?])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot get its input has failed.
mod tests {
    use super::*;

    #[test]
    fn files_come_from_their_folder_and_the_given_ones() {
        let dir = std::env::temp_dir().join(format!("ksearch-corpus-{}", std::process::id()));
        for (name, text) in [
            ("own/k.metal", "#include \"near.h\"\n#include <lib/far.h>\n#include \"../secret.h\"\n"),
            ("own/near.h", ""),
            ("secret.h", ""),
            ("shared/lib/far.h", "#include \"beside.h\"\n"),
            ("shared/lib/beside.h", ""),
        ] {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let files = load(&dir.join("own/k.metal"), &[dir.join("shared")]).unwrap();
        let names: Vec<String> = files.iter().map(|f| f.name.replace(&*dir.to_string_lossy(), "")).collect();
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(names, ["/own/k.metal", "/own/near.h", "lib/far.h", "lib/beside.h"]);
        assert!(load(&dir.join("own/k.metal"), &[]).is_err());
    }

    #[test]
    fn include_lines() {
        assert_eq!(included("#include \"a/b.h\" // x"), Some("a/b.h"));
        assert_eq!(included("  # include <metal_stdlib>"), Some("metal_stdlib"));
        assert_eq!(included("#include NAME"), None);
        assert_eq!(included("int x;"), None);
    }
}
