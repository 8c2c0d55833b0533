//! A kernel as a module for MLX.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ksearch_export::{Origin, mlx, mlx_lm};
use ksearch_search::{RunStore, RunView};
use ksearch_task::{Candidate, Task};
use serde_json::json;

use super::{ExportArgs, Format};
use crate::args::Global;
use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Writes the module.
pub fn run(args: &ExportArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let (task, candidate, origin) = match &args.task {
        Some(task) => {
            let task = context::task(task)?;
            let candidate = Candidate::load(Path::new(&args.what))?;
            let origin = Origin { lines: vec![format!("Written by hand ({}); not measured here.", args.what)] };
            (task, candidate, origin)
        }
        None => from_run(&RunStore::new(&global.runs).open(&args.what)?, &args.candidate)?,
    };
    if args.format == Format::MlxLm {
        let dir = args.out.clone().unwrap_or_else(|| PathBuf::from(mlx_lm::PACKAGE));
        let files = mlx_lm::package(&task, &candidate, &origin)?;
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        for (name, text) in &files {
            let path = dir.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        printer.line(format!("{0} patches mlx-lm: `import {1}; {1}.patch()`", dir.display(), mlx_lm::PACKAGE))?;
        printer.object(&json!({ "package": dir, "candidate": candidate.id() }))?;
        return Ok(Outcome::Success);
    }
    let text = mlx::module(&task, &candidate, &origin)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}_mlx.py", task.name)));
    std::fs::write(&out, text).with_context(|| format!("cannot write {}", out.display()))?;
    printer.line(format!("{} holds `{}`, a function for MLX", out.display(), task.name))?;
    printer.object(&json!({ "file": out, "function": task.name, "candidate": candidate.id() }))?;
    Ok(Outcome::Success)
}

fn from_run(view: &RunView, id: &str) -> Result<(std::sync::Arc<Task>, Candidate, Origin)> {
    let summary = view.summary();
    let wanted = match id {
        "best" => summary
            .best
            .as_ref()
            .map(|b| b.candidate.0.clone())
            .with_context(|| format!("run `{}` has found no kernel yet", view.name))?,
        other => other.to_owned(),
    };
    let found: Vec<_> = view.state.candidates.iter().filter(|(key, _)| key.0.starts_with(&wanted)).collect();
    let [(key, record)] = found.as_slice() else {
        bail!("run `{}` has {} candidates whose id begins with `{wanted}`", view.name, found.len());
    };
    let task = context::task(&summary.task)?;
    let mut lines =
        vec![format!("Found by K-Search, run {}, seed {}, candidate {}.", view.name, summary.seed, key.short())];
    if let Some(verdict) = view.state.full_verdict(key) {
        if let Some(time) = &verdict.time {
            lines.push(format!("Time: {}.", context::show_figure(time)));
        }
        lines.push(format!("Verdict: {:?}: {}.", verdict.status, verdict.summary));
    }
    if let (Some(best), Some(heldout)) = (&summary.best, &summary.heldout)
        && best.candidate == **key
    {
        lines.push(format!("Held-out workloads: {} of {} passed.", heldout.passed, heldout.total));
    }
    Ok((task, record.candidate.clone(), Origin { lines }))
}
