//! `ksearch replay`: derives every decision of a run again and says where it differs.

use anyhow::Result;
use ksearch_device::TargetId;
use ksearch_search::RunStore;
use ksearch_search::replay::replay;

use crate::args::{Global, ReplayArgs};
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};
use crate::roles::Roles;
use crate::session;

/// Replays and reports.
pub fn run(args: &ReplayArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let view = RunStore::new(&global.runs).open(&args.run)?;
    let events = view.events()?;
    let config = &view.state.config;
    // A run of a task file that is gone by now can still be replayed, unless the file only extended a task.
    let family = crate::context::task(&config.task).map(|t| t.family.clone());
    let family = family.unwrap_or_else(|_| view.state.premises.facts.task.clone());
    let language = config.target.parse::<TargetId>()?.language();
    let generator = ksearch_search::coder::generator_for(&family, language);
    let replayed = if args.answers {
        replay(&events, None, None)?
    } else {
        let briefing = session::briefing(config, &view.state.premises)?;
        let roles = Roles::rehearse(config, &events, generator.as_deref(), &briefing)?;
        replay(&events, Some(&*roles.planner), Some(&*roles.coder))?
    };
    let (same, all) = (replayed.same, replayed.decisions);
    if let Some(first) = replayed.reworded.first() {
        printer.note(format!(
            "{} questions to models read differently in this version ({first} first); the answers recorded to them were taken",
            replayed.reworded.len()
        ));
    }
    printer.object(&serde_json::json!({
        "run": view.name, "decisions": all, "same": same, "by_the_clock": replayed.by_the_clock, "reworded": replayed.reworded, "difference": replayed.difference.as_ref().map(|d| serde_json::json!({
            "seq": d.seq, "paths": d.paths, "recorded": d.recorded, "derived": d.derived})),
    }))?;
    if replayed.by_the_clock > 0 {
        printer.line(format!(
            "{} {} decisions follow from where the wall-clock budget ended something; a replay cannot derive them",
            Tone::Warn.paint("note:"),
            replayed.by_the_clock
        ))?;
    }
    let Some(difference) = &replayed.difference else {
        printer.line(format!("{} all {all} decisions of {} are the same", Tone::Good.paint("same"), view.name))?;
        return Ok(Outcome::Success);
    };
    let place = difference.seq.map_or_else(|| "after the end".to_owned(), |s| format!("at event {s}"));
    printer.line(format!("{} {place}, after {same} of {all} decisions", Tone::Bad.paint("differs")))?;
    for path in difference.paths.iter().take(10) {
        let at = |v: &Option<serde_json::Value>| {
            v.as_ref().and_then(|v| v.pointer(path)).map_or_else(|| "nothing".to_owned(), ToString::to_string)
        };
        printer.line(format!(
            "  {path}: recorded {}, derived {}",
            at(&difference.recorded),
            at(&difference.derived)
        ))?;
    }
    let kind = |v: &Option<serde_json::Value>| {
        v.as_ref().and_then(|v| v.get("kind")?.as_str().map(str::to_owned)).unwrap_or_else(|| "nothing".to_owned())
    };
    if difference.paths.is_empty() {
        printer.line(format!("  recorded {}, derived {}", kind(&difference.recorded), kind(&difference.derived)))?;
    }
    Ok(Outcome::No)
}
