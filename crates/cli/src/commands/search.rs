//! `ksearch search`: a new run.

use std::path::Path;

use anyhow::{Context as _, Result};
use ksearch_search::{RunStore, SearchConfig, solution};
use ksearch_task::Candidate;
use ksearch_world::{PolicyConfig, paper, policy::PolicyKind};

use super::port;
use crate::args::{Global, SearchArgs};
use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;
use crate::roles;
use crate::session::{self, Material, Session};

/// Searches and shows what was found.
pub fn run(args: &SearchArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let mut config = SearchConfig {
        task: context::stable_task_name(&args.task),
        target: args.target.target.clone(),
        planner: args.planner.clone(),
        coder: args.coder.clone(),
        seed: args.seed,
        parallel: args.parallel,
        policy: policy(&args.policy),
        ..SearchConfig::default()
    };
    if args.no_world_model {
        "refinement".clone_into(&mut config.planner);
    }
    if let Some(k) = args.stagnation {
        config.stagnation = k;
    }
    roles::choose(&mut config, &args.models);
    session::widen(&mut config, &args.budget);
    let material = material(args, &mut config, global, printer)?;
    let session = Session::new(global, &config, material)?;
    let store = RunStore::new(&global.runs);
    let (lock, journal) = store.create(session.task_name())?;
    printer.note(format!("run {} in {}", lock.name, lock.folder.display()));
    let evaluations = config.budget.evaluations;
    session.work(&lock, evaluations, printer, |players| session.start(config, players, journal))
}

/// What the user brings along; the name of the context pack goes into the settings.
fn material(args: &SearchArgs, config: &mut SearchConfig, global: &Global, printer: Printer) -> Result<Material> {
    let mut material = Material::default();
    if let Some(choice) = &args.context {
        pack(choice, &args.task, config, &mut material, global)?;
    }
    if let Some(path) = &args.from {
        let wrong = || format!("--from {}", path.display());
        let is_solution = path.extension().is_some_and(|e| e == "json");
        material.given = Some(if is_solution {
            solution::import(&read(path, "--from")?).with_context(wrong)?
        } else {
            Candidate::load(path).with_context(wrong)?
        });
    }
    if let Some(path) = &args.world_model {
        let text = read(path, "--world-model")?;
        let wrong = || format!("--world-model {}", path.display());
        for warning in paper::import(&text).with_context(wrong)?.warnings {
            printer.note(format!("{}: {warning}", path.display()));
        }
        material.tree = Some(serde_json::from_str(&text).with_context(wrong)?);
    }
    Ok(material)
}

/// The context pack that `--context` names: `full`, `none` or a file.
pub fn pack(
    choice: &Path,
    task: &str,
    config: &mut SearchConfig,
    material: &mut Material,
    global: &Global,
) -> Result<()> {
    let name = if choice == Path::new("full") {
        let task = context::task(task)?;
        let pack = port::context::render(&task, &config.target, global, None, ksearch_port::context::BUDGET)?;
        material.context = Some(pack.text.trim().to_owned());
        "full".to_owned()
    } else if choice == Path::new("none") {
        "none".to_owned()
    } else {
        material.context = Some(read(choice, "--context")?.trim().to_owned());
        choice.file_stem().unwrap_or(choice.as_os_str()).to_string_lossy().into_owned()
    };
    config.context = Some(name);
    Ok(())
}

fn read(path: &Path, option: &str) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{option} {}: cannot be read", path.display()))
}

fn policy(name: &str) -> PolicyConfig {
    let kind = match name {
        "paper" => PolicyKind::Paper,
        "random" => PolicyKind::Random,
        _ => PolicyKind::Default,
    };
    PolicyConfig { kind, ..PolicyConfig::default() }
}
