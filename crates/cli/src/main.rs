//! The command line: parses, runs one command, and turns its outcome into an exit code. Knows no command's work.

mod args;
mod commands;
mod contest;
mod context;
mod exit;
mod printer;
mod progress;
mod roles;
mod sarif;
mod session;
mod show_source;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::printer::Printer;

fn main() -> ExitCode {
    // Candidates for processors run in processes of their own, which are this program too.
    #[cfg(target_os = "linux")]
    ksearch_device::cpu::worker::serve_if_asked();
    let cli = Cli::parse();
    let printer = Printer::new(cli.global.json, cli.global.quiet, cli.global.no_color);
    let filter = tracing_subscriber::EnvFilter::try_from_env("KSEARCH_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    match commands::run(cli, printer) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            if printer.json() {
                let causes: Vec<String> = error.chain().skip(1).map(ToString::to_string).collect();
                let object = serde_json::json!({ "error": error.to_string(), "causes": causes });
                // An error on the way to report an error has nowhere to go; the exit code still tells.
                let _unreported = printer.object(&object);
            } else {
                printer.error(&error);
            }
            ExitCode::from(exit::USAGE)
        }
    }
}
