//! `ksearch ui`: the dashboard.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::Args;
use ksearch_report::model::LineCosts;
use ksearch_report::ui::{Control, Dashboard};
use ksearch_search::RunStore;
use serde_json::json;

use crate::args::Global;
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch ui`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The page answers on this machine only, and only under the address that is printed. ^C ends it; runs go on.\n\nExamples:\n  ksearch ui\n  ksearch ui --port 8080"
)]
pub struct UiArgs {
    /// Port on 127.0.0.1; by default any that is free.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
}

/// Serves until it is interrupted.
pub fn run(args: &UiArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let control = Arc::new(Resumer { global: global.clone() });
    let dashboard = Dashboard::bind(args.port, RunStore::new(&global.runs), control)
        .with_context(|| format!("cannot listen on 127.0.0.1:{}; choose another --port", args.port))?;
    printer.line(dashboard.address())?;
    printer.object(&json!({ "url": dashboard.address(), "runs": global.runs }))?;
    printer.note("open the address in a browser; ^C ends the dashboard");
    dashboard.serve()?;
    Ok(Outcome::Success)
}

/// Goes on with runs in processes of their own, and counts in this one.
struct Resumer {
    global: Global,
}

impl Control for Resumer {
    fn resume(&self, run: &str) -> Result<(), String> {
        let told = |e: std::io::Error| e.to_string();
        let folder: PathBuf = self.global.runs.join(run);
        let log = File::create(folder.join("resume.log")).map_err(told)?;
        let mut command = Command::new(std::env::current_exe().map_err(told)?);
        command.arg("--runs").arg(&self.global.runs);
        if let Some(chips) = &self.global.chips {
            command.arg("--chips").arg(chips);
        }
        command.args(["resume", run]).stdin(Stdio::null()).stderr(log.try_clone().map_err(told)?).stdout(log);
        // ^C in the dashboard's terminal is not meant for the run.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(told)?;
        std::thread::spawn(move || child.wait());
        Ok(())
    }

    fn line_costs(&self, run: &str) -> Result<LineCosts, String> {
        let told = |why: anyhow::Error| format!("What each line costs is not known: {why:#}.");
        let view = RunStore::new(&self.global.runs).open(run).map_err(|e| told(e.into()))?;
        super::report::line_costs(&view, &self.global).map_err(told)
    }
}
