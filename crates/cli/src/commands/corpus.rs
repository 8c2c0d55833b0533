//! `ksearch corpus check`: what becomes of every source below a folder. Knows no chip and no task.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use comfy_table::{CellAlignment, Table, presets};
use ksearch_msl::corpus::{self, Depth, Row};
use ksearch_msl::{CompileOptions, Compiler, NoToolchain, Severity, Toolchain};
use serde_json::json;

use crate::args::CorpusArgs;
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};

/// Compiles the tree and prints one row a file.
pub fn check(args: &CorpusArgs, printer: Printer) -> Result<Outcome> {
    ensure!(args.dir.is_dir(), "{} is no folder", args.dir.display());
    ensure!(args.limit > 0, "--limit 0: at least a second");
    let options = CompileOptions {
        defines: context::pairs(&args.defines, "-D", Some("1"))?,
        fast_math: true,
        ..CompileOptions::default()
    };
    let toolchain = Toolchain::find().with_context(|| NoToolchain::HELP)?;
    let compiler = Compiler::new(toolchain).with_limit(Duration::from_secs(args.limit));
    let depth = if args.compile { Depth::Compile } else { Depth::Check };
    let rows = corpus::check(&args.dir, &args.includes, &compiler, &options, depth)
        .with_context(|| format!("cannot read {}", args.dir.display()))?;
    if rows.is_empty() {
        bail!("{} has no .metal file", args.dir.display());
    }
    let passed = rows.iter().filter(|r| r.ok).count();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["file", "kernels", "result", "ms"]);
    for column in [1, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in &rows {
        table.add_row([row.file.clone(), row.entries.len().to_string(), result(row), row.ms.to_string()]);
    }
    printer.line(table)?;
    let kernels: usize = rows.iter().map(|r| r.entries.len()).sum();
    printer.line(format!("{passed} of {} files compile, with {kernels} kernels", rows.len()))?;
    printer.object(&json!({
        "clang": compiler.toolchain().version, "passed": passed, "total": rows.len(), "kernels": kernels, "files": rows,
    }))?;
    Ok(if passed == rows.len() { Outcome::Success } else { Outcome::No })
}

/// `ok`, or the first error with its place.
fn result(row: &Row) -> String {
    if row.ok {
        return Tone::Good.paint("ok");
    }
    let first = row.diagnostics.iter().find(|d| d.severity == Severity::Error).or(row.diagnostics.first());
    let Some(d) = first else { return Tone::Bad.paint("refused") };
    let place = d.pos.as_ref().map_or(String::new(), |p| format!("{p}: "));
    let others = row.diagnostics.len().saturating_sub(1);
    let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
    format!("{} {place}{}{more}", Tone::Bad.paint(&d.code), d.message)
}
