//! A fresh task to fill in: three files that run as they are. Knows the format, not what a user will make of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::file::FileError;

const TASK: &str = include_str!("scaffold/task.toml");
const REFERENCE: &str = include_str!("scaffold/reference.cpp");
const NAIVE: &str = include_str!("scaffold/naive.metal");

/// Name used in the templates.
const PLACEHOLDER: &str = "scaled_add";

/// Writes `NAME.toml`, `NAME_ref.cpp` and `NAME_naive.metal` into `folder` and returns their paths. Files that exist
/// are never overwritten.
pub fn write(folder: &Path, name: &str) -> Result<Vec<PathBuf>, FileError> {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(good) {
        let message = "a task's name is lower case letters, digits and `_`, and starts with a letter";
        return Err(FileError::whole(name, message));
    }
    let files = [
        (folder.join(format!("{name}.toml")), TASK),
        (folder.join(format!("{name}_ref.cpp")), REFERENCE),
        (folder.join(format!("{name}_naive.metal")), NAIVE),
    ];
    let problem = |path: &Path, e: std::io::Error| FileError::whole(path.display().to_string(), e.to_string());
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(FileError::whole(path.display().to_string(), "exists already; choose another name or move it"));
    }
    std::fs::create_dir_all(folder).map_err(|e| problem(folder, e))?;
    let mut written = Vec::new();
    for (path, template) in files {
        let text = template.replace(PLACEHOLDER, name);
        std::fs::File::create_new(&path)
            .and_then(|mut f| f.write_all(text.as_bytes()))
            .map_err(|e| problem(&path, e))?;
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Reference, Task};

    #[test]
    fn what_is_written_loads() {
        let folder = tempfile::tempdir().unwrap();
        let files = write(folder.path(), "row_norm").unwrap();
        assert_eq!(files.len(), 3);
        let task = Task::load(&files[0]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(task.name, "row_norm");
        let Reference::Source(reference) = &task.reference else { panic!("a source file") };
        let naive = task.naive.as_ref().unwrap();
        for workload in &task.workloads {
            task.inputs(workload, 1).unwrap();
            for candidate in [reference.as_ref(), naive] {
                let resolved = candidate.resolve(&task, &workload.env).unwrap_or_else(|e| panic!("{e}"));
                assert_eq!(resolved.dispatches.len(), 1);
            }
        }
    }

    #[test]
    fn nothing_is_overwritten_and_names_are_checked() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a1").unwrap();
        assert!(write(folder.path(), "a1").unwrap_err().message.contains("exists"));
        for bad in ["", "1a", "A", "a-b", "../a", "a/b"] {
            assert!(write(folder.path(), bad).is_err(), "{bad}");
        }
    }
}
