//! `ksearch report`: a run as one file that can be sent.

use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use ksearch_report::{Loaded, Plot, formats, page};
use ksearch_search::RunStore;
use serde_json::json;

use crate::args::Global;
use crate::exit::Outcome;
use crate::printer::Printer;

/// `ksearch report`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The file is written into the run's folder unless --out names another; `--out -` prints it.\n\nExamples:\n  ksearch report latest\n  ksearch report attention-1 --out attention.html\n  ksearch report attention-1 --format svg --plot progress"
)]
pub struct ReportArgs {
    /// Name of the run, a path to its folder, or `latest`.
    pub run: String,
    /// Where to.
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Form of the report.
    #[arg(long, default_value = "html", value_parser = ["html", "md", "json", "csv", "svg"])]
    pub format: String,
    /// Which plot, with `--format svg`.
    #[arg(long, default_value = "waterfall", value_parser = ["waterfall", "progress", "roofline", "split", "ablation"])]
    pub plot: String,
}

/// Writes the report.
pub fn run(args: &ReportArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    let folder = RunStore::new(&global.runs).resolve(&args.run)?;
    let loaded = Loaded::load(&folder)?;
    let text = match args.format.as_str() {
        "html" => page::stand_alone(&loaded),
        "md" => formats::markdown(&loaded.report()),
        "json" => formats::json(&loaded)?,
        "csv" => formats::csv(&loaded.report()),
        "svg" => {
            let plot = Plot::parse(&args.plot).with_context(|| format!("--plot {}: no such plot", args.plot))?;
            plot.stand_alone(&loaded.report()).map_err(|why| anyhow!("there is no {} to draw: {why}", args.plot))?
        }
        other => bail!("--format {other}: expected html, md, json, csv or svg"),
    };
    if args.out.as_ref().is_some_and(|o| o.as_os_str() == "-") {
        printer.line(text.trim_end())?;
        return Ok(Outcome::Success);
    }
    let file = args.out.clone().unwrap_or_else(|| default_name(&folder, args));
    std::fs::write(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    printer.line(format!("{} ({} kB)", file.display(), text.len().div_ceil(1000)))?;
    printer.object(&json!({ "run": loaded.view.name, "file": file, "format": args.format, "bytes": text.len() }))?;
    Ok(Outcome::Success)
}

/// Within the run's own folder.
fn default_name(folder: &std::path::Path, args: &ReportArgs) -> PathBuf {
    match args.format.as_str() {
        "svg" => folder.join(format!("{}.svg", args.plot)),
        format => folder.join(format!("report.{format}")),
    }
}
