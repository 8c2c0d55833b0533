//! A selective-scan kernel as a small Python package that gives mlx-lm's Mamba a parallel prefill. Knows mlx-lm's model and
//! nothing of kernels beyond the MLX module it holds.

use ksearch_task::{Candidate, Task};

use crate::mlx::{self, Origin, Unfit};

/// Name of the package.
pub const PACKAGE: &str = "ksearch_mamba";

/// The task whose kernels it takes.
const TASK: &str = "selective_scan";

/// The package's files: name and text.
pub fn package(task: &Task, candidate: &Candidate, origin: &Origin) -> Result<Vec<(&'static str, String)>, Unfit> {
    if task.name != TASK {
        return Err(Unfit::Recipe(format!("mlx-lm's Mamba takes kernels of the task {TASK}, not of {}", task.name)));
    }
    Ok(vec![
        ("__init__.py", include_str!("../python/mlx_lm_patch.py").to_owned()),
        ("selective_scan.py", mlx::module(task, candidate, origin)?),
        ("test_parity.py", include_str!("../python/test_parity.py").to_owned()),
    ])
}
