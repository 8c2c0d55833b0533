//! Metal kernels compiled for NVIDIA GPUs ahead of time: on a machine with clang, for one without. Must not know the
//! driver.

use std::path::{Path, PathBuf};

use ksearch_msl::Compiler;
use ksearch_task::Candidate;
use ksearch_task::candidate::Resolved;

use super::bind::Plan;
use crate::target::Failure;

/// Compiles `candidate` for the workload its recipe was resolved on, and keeps the result in `folder`; its file.
pub fn prebuild(
    compiler: &Compiler,
    candidate: &Candidate,
    resolved: &Resolved,
    folder: &Path,
) -> Result<PathBuf, Failure> {
    let plan = Plan::of_msl(compiler, candidate, resolved)?;
    let path = file(folder, candidate, resolved)?;
    let failed = |e: &dyn std::fmt::Display| Failure::Infrastructure(format!("{}: {e}", path.display()));
    std::fs::create_dir_all(folder).map_err(|e| failed(&e))?;
    let text = serde_json::to_vec(&plan).map_err(|e| failed(&e))?;
    std::fs::write(&path, text).map_err(|e| failed(&e))?;
    Ok(path)
}

/// What is kept for this candidate and workload, else what the compiler makes.
pub(super) fn plan(
    folder: Option<&Path>,
    compiler: Option<&Compiler>,
    candidate: &Candidate,
    resolved: &Resolved,
) -> Result<Plan, Failure> {
    if let Some(folder) = folder {
        let path = file(folder, candidate, resolved)?;
        if let Ok(text) = std::fs::read(&path) {
            return serde_json::from_slice(&text)
                .map_err(|e| Failure::Infrastructure(format!("{}: {e}", path.display())));
        }
    }
    match compiler {
        Some(compiler) => Plan::of_msl(compiler, candidate, resolved),
        None => Err(Failure::Infrastructure("there is no clang here, and this kernel was not compiled ahead".into())),
    }
}

/// Where a candidate's code for a workload is kept: named by all that it depends on.
fn file(folder: &Path, candidate: &Candidate, resolved: &Resolved) -> Result<PathBuf, Failure> {
    let candidate = serde_json::to_vec(candidate).map_err(|e| Failure::Infrastructure(e.to_string()))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&candidate).update(format!("{resolved:?}").as_bytes());
    let name: String = hasher.finalize().to_hex().chars().take(32).collect();
    Ok(folder.join(format!("{name}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ksearch_task::builtin;

    #[test]
    fn what_was_compiled_ahead_is_found_without_a_compiler() {
        let folder = tempfile::tempdir().unwrap();
        let task = builtin::task("softmax").unwrap();
        let candidate = task.naive.clone().unwrap();
        let compiler = Compiler::shared().unwrap();
        let workload = &task.workloads[0];
        let resolved = candidate.resolve(&task, &workload.env).unwrap();
        assert!(plan(Some(folder.path()), None, &candidate, &resolved).is_err());
        prebuild(&compiler, &candidate, &resolved, folder.path()).unwrap();
        let found = plan(Some(folder.path()), None, &candidate, &resolved).unwrap();
        assert_eq!(found, Plan::of_msl(&compiler, &candidate, &resolved).unwrap());
        let other = candidate.resolve(&task, &task.workloads[1].env).unwrap();
        assert!(plan(Some(folder.path()), None, &candidate, &other).is_err(), "another workload, other code");
    }
}
