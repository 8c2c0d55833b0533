//! `ksearch doctor`: what this machine can do, and what is missing.

use anyhow::Result;
use comfy_table::{Table, presets};
use ksearch_msl::{NoToolchain, Toolchain};
use serde::Serialize;
use serde_json::json;

use crate::args::Global;
use crate::context;
use crate::exit::Outcome;
use crate::printer::{Printer, Tone};

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    /// Without it nothing runs.
    needed: bool,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

/// Checks everything; the outcome is "no" where something that is needed is missing.
pub fn run(global: &Global, printer: Printer) -> Result<Outcome> {
    let mut checks = vec![clang(), chips(global), runs_folder(global), cores(), cuda()];
    checks.extend(processor());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for c in &checks {
        let mark = match (c.ok, c.needed) {
            (true, _) => Tone::Good.paint("ok"),
            (false, true) => Tone::Bad.paint("missing"),
            (false, false) => Tone::Warn.paint("absent"),
        };
        printer.line(format!("{mark:10} {:14} {}", c.name, c.found))?;
        if let (false, Some(help)) = (c.ok, &c.help) {
            printer.line(format!("           {:14} {help}", ""))?;
        }
    }
    let good = checks.iter().all(|c| c.ok || !c.needed);
    printer.object(&json!({ "ok": good, "version": env!("CARGO_PKG_VERSION"), "checks": checks }))?;
    Ok(if good { Outcome::Success } else { Outcome::No })
}

fn clang() -> Check {
    match Toolchain::find() {
        Ok(t) => Check {
            name: "clang",
            ok: true,
            needed: true,
            found: format!("{} ({})", t.version, t.program.display()),
            help: None,
        },
        Err(e) => Check {
            name: "clang",
            ok: false,
            needed: true,
            found: e.to_string(),
            help: Some(NoToolchain::HELP.to_owned()),
        },
    }
}

fn chips(global: &Global) -> Check {
    let names = context::chips(global).map(|c| c.names());
    let (ok, found) = match names {
        Ok(names) => (true, format!("{} simulated: {}", names.len(), names.join(", "))),
        Err(e) => (false, e.to_string()),
    };
    Check {
        name: "chips",
        ok,
        needed: true,
        found,
        help: Some("Mend the folder given by --chips or KSEARCH_CHIPS.".into()),
    }
}

fn runs_folder(global: &Global) -> Check {
    let dir = &global.runs;
    let writable = std::fs::create_dir_all(dir).and_then(|()| {
        let probe = dir.join(".write-test");
        std::fs::write(&probe, b"")?;
        std::fs::remove_file(&probe)
    });
    let (ok, found) = match writable {
        Ok(()) => (true, dir.display().to_string()),
        Err(e) => (false, format!("{}: {e}", dir.display())),
    };
    Check {
        name: "runs folder",
        ok,
        needed: true,
        found,
        help: Some("Choose another with --runs or KSEARCH_RUNS.".into()),
    }
}

/// The NVIDIA GPU, asked in a process of its own as a run would.
fn cuda() -> Check {
    let found = context::cuda(false).map(|t| {
        let versions = t.versions().into_iter().map(|(name, version)| format!("{name} {version}"));
        versions.collect::<Vec<_>>().join(", ")
    });
    let ok = found.is_ok();
    Check {
        name: "cuda",
        ok,
        needed: false,
        found: found.unwrap_or_else(|e| e.to_string()),
        help: Some(
            "Only for --target cuda and cuda-msl: an NVIDIA GPU with its driver, and the CUDA toolkit's NVRTC.".into(),
        ),
    }
}

fn cores() -> Check {
    let n = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Check {
        name: "host",
        ok: true,
        needed: false,
        found: format!("{n} cores, {} {}", std::env::consts::OS, std::env::consts::ARCH),
        help: None,
    }
}

/// Target `cpu`: its compiler, and what this host enforces on kernels that run natively.
#[cfg(target_os = "linux")]
fn processor() -> Vec<Check> {
    use ksearch_device::cpu::{CxxCompiler, model_name};
    let compiler = CxxCompiler::find();
    let found = match &compiler {
        Ok(c) => format!("{} with {} ({})", model_name(), c.version, c.program.display()),
        Err(e) => e.clone(),
    };
    let cpu = Check {
        name: "target cpu",
        ok: compiler.is_ok(),
        needed: false,
        found,
        help: Some(CxxCompiler::HELP.to_owned()),
    };
    let isolation = ksearch_device::isolation::available();
    let confined = Check {
        name: "isolation",
        ok: isolation.missing.is_empty(),
        needed: false,
        found: isolation.sentence(),
        help: Some("Native kernels run less confined here; every verdict says so. Use a Linux kernel with Landlock and seccomp.".into()),
    };
    vec![cpu, confined]
}

#[cfg(not(target_os = "linux"))]
fn processor() -> Vec<Check> {
    vec![Check {
        name: "target cpu",
        ok: false,
        needed: false,
        found: "confines kernels by means that only Linux has".into(),
        help: Some("Use sim:<chip>.".into()),
    }]
}
