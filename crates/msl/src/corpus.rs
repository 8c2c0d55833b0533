//! Whole trees of MSL files: loads a file with what it includes, and compiles all of a folder in parallel. Knows the
//! file system; nothing of the language beyond the look of an include line.

use std::collections::HashSet;
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

/// Compiles every `.metal` file below a folder, in the order of their names. Includes resolve inside the folder.
pub fn check(dir: &Path, compiler: &Compiler, options: &CompileOptions, depth: Depth) -> std::io::Result<Vec<Row>> {
    let mut paths = Vec::new();
    find(dir, &mut paths)?;
    paths.sort();
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = check_file(path, dir, compiler, options, depth);
                    rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    rows.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(rows)
}

fn check_file(path: &Path, dir: &Path, compiler: &Compiler, options: &CompileOptions, depth: Depth) -> Row {
    let file = path.strip_prefix(dir).unwrap_or(path).to_string_lossy().into_owned();
    let start = Instant::now();
    let result = match load(path, dir) {
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

/// Reads a file and everything it includes by name, from its own folder or by its path from `root`; nothing outside
/// `root` is read. Files are named by their path from `root`.
pub fn load(main: &Path, root: &Path) -> std::io::Result<Vec<SourceFile>> {
    let root = root.canonicalize()?;
    let main = main.canonicalize()?;
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    let mut queue = std::collections::VecDeque::from([main.clone()]);
    seen.insert(main.clone());
    while let Some(path) = queue.pop_front() {
        let text = match std::fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) if path == main => return Err(e),
            // A name that only looks like an include, or one that a condition leaves out; if it is needed, the
            // preprocessor says at its line that it is missing.
            Err(_) => continue,
        };
        for name in text.lines().filter_map(included) {
            let beside = path.parent().unwrap_or(&root).join(name);
            let places = [beside, root.join(name), root.join("include").join(name)];
            let found =
                places.iter().filter_map(|p| p.canonicalize().ok()).find(|p| p.starts_with(&root) && p.is_file());
            if let Some(found) = found
                && seen.insert(found.clone())
            {
                queue.push_back(found);
            }
        }
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        files.push(SourceFile::new(name, text));
    }
    Ok(files)
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
mod tests {
    use super::*;

    #[test]
    fn include_lines() {
        assert_eq!(included("#include \"a/b.h\" // x"), Some("a/b.h"));
        assert_eq!(included("  # include <metal_stdlib>"), Some("metal_stdlib"));
        assert_eq!(included("#include NAME"), None);
        assert_eq!(included("int x;"), None);
    }
}
