//! `ksearch mamba bench`: tokens a second, beside other implementations, with the floor that the machine sets.

use anyhow::{Context as _, Result, bail};
use comfy_table::{Table, presets};
use ksearch_mamba::bench::{Case, Contestant, Own, Samples};
use ksearch_mamba::cpu::Limits;
use ksearch_mamba::metal::Gpu;
use ksearch_mamba::peer::{Launch, PEERS, Peer};
use ksearch_mamba::random::tokens;
use ksearch_mamba::{Config, Engine as _, bench};
use serde_json::json;

use super::args::{Backend, BenchArgs};
use super::model::Model;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Seed of the prompt.
const PROMPT_SEED: u64 = 5;

/// Runs all contestants and prints one table.
pub fn run(args: &BenchArgs, printer: Printer) -> Result<Outcome> {
    if args.rounds == 0 || args.lengths.is_empty() || args.lengths.contains(&0) {
        bail!("--rounds and every one of --lengths must be at least 1");
    }
    if let Some(unknown) = args.peers.iter().find(|p| !PEERS.contains(&p.as_str())) {
        bail!("no peer `{unknown}`; there are {}", PEERS.join(", "));
    }
    let model = Model::open(&args.model)?;
    let mut contestants: Vec<Box<dyn Contestant>> = Vec::new();
    let mut limits = None;
    let mut versions = vec![("ksearch".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    for &kind in &args.weights {
        match args.model.backend {
            Backend::Cpu => {
                let engine = model.on_cpu(&args.model, kind)?;
                limits = Some(engine.limits()?);
                printer.note(engine.name());
                contestants.push(Box::new(Own { label: format!("ksearch {}", kind.name()), engine }));
            }
            Backend::Cuda => {
                let engine = model.on_cuda(kind)?;
                printer.note(engine.name());
                contestants.push(Box::new(Own { label: format!("ksearch {}", kind.name()), engine }));
            }
            Backend::Metal => {
                let engine = model.on_metal::<Gpu>(kind)?;
                printer.note(engine.name());
                contestants.push(Box::new(Own { label: format!("ksearch {}", kind.name()), engine }));
            }
            Backend::Sim => bail!("the simulator's speed says nothing; use `ksearch mamba verify --backend sim`"),
        }
    }
    let scratch = tempfile::tempdir()?;
    let mut absent = Vec::new();
    for launch in launches(args)? {
        match Peer::start(&launch, model.folder(scratch.path())?)? {
            Ok(peer) => {
                versions.extend(peer.versions().iter().map(|(k, v)| (format!("{}: {k}", launch.label), v.clone())));
                contestants.push(Box::new(peer));
            }
            Err(reason) => absent.push((launch.label, reason)),
        }
    }
    let longest = args.lengths.iter().copied().max().unwrap_or(1);
    let prompt = tokens(model.config.vocab, longest.max(16), PROMPT_SEED);
    let mut cases: Vec<Case> = args.lengths.iter().map(|&n| Case::Prefill(n)).collect();
    if args.decode > 0 {
        cases.push(Case::Decode(args.decode));
    }
    let samples = bench::run(&mut contestants, &cases, args.rounds, &prompt, |line| printer.note(line))?;

    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "case",
        "who",
        "tokens/s measured",
        "least-greatest",
        "of the floor",
    ]);
    let mut rows = Vec::new();
    for s in &samples {
        let [middle, least, greatest] = s.rate();
        let share = share(&model.config, s, middle, limits);
        table.add_row([
            s.case.label(),
            s.label.clone(),
            figure(middle),
            format!("{}-{}", figure(least), figure(greatest)),
            share.map_or_else(String::new, |s| format!("{:.0} %", 100.0 * s)),
        ]);
        rows.push(json!({
            "case": s.case.label(), "who": s.label, "tokens_per_second": middle, "least": least, "greatest": greatest,
            "seconds": s.seconds, "share_of_floor": share, "evidence": "measured",
        }));
    }
    printer.line(table)?;
    for (name, reason) in &absent {
        printer.line(format!("{name}: not measured, {reason}"))?;
    }
    let speedups = speedups(&samples);
    for line in &speedups {
        printer.line(line)?;
    }
    if let Some(l) = limits {
        printer.line(format!(
            "floor: this machine multiplies at {:.0} GFLOP/s from registers and reads at {:.1} GB/s, measured just now",
            l.flops / 1e9,
            l.bytes / 1e9
        ))?;
    }
    printer.line(format!(
        "versions: {}",
        versions.iter().map(|(k, v)| format!("{k} {v}")).collect::<Vec<_>>().join(", ")
    ))?;
    printer.object(&json!({
        "model": args.model.model, "random": model.is_random(), "layers": model.config.layers, "rows": rows,
        "absent": absent.iter().map(|(n, r)| json!({ "peer": n, "reason": r })).collect::<Vec<_>>(),
        "versions": versions.iter().map(|(k, v)| json!({ "name": k, "version": v })).collect::<Vec<_>>(),
        "limits": limits.map(|l| json!({ "flops": l.flops, "bytes": l.bytes })),
    }))?;
    Ok(Outcome::Success)
}

/// The peers asked for, and mlx-lm a second time where a BLAS is to be preloaded.
fn launches(args: &BenchArgs) -> Result<Vec<Launch>> {
    let mut launches: Vec<Launch> = args.peers.iter().map(|name| Launch::new(name, &args.python)).collect();
    let Some(blas) = &args.blas else { return Ok(launches) };
    if !args.peers.iter().any(|p| p == "mlx-lm") {
        bail!("--blas is for mlx-lm, which is not among the peers");
    }
    // The loader only warns of a library that it cannot preload, and the peer would run without it.
    let blas = blas.canonicalize().with_context(|| format!("--blas {}", blas.display()))?;
    let mut launch = Launch::new("mlx-lm", &args.python);
    launch.label = format!("mlx-lm + {}", blas.file_name().unwrap_or_default().to_string_lossy());
    launch.environment.push(("LD_PRELOAD".to_owned(), blas.to_string_lossy().into_owned()));
    launches.push(launch);
    Ok(launches)
}

/// Which part of the machine's rate a contestant reached: multiplications for prompts, reading every weight once for a
/// decoded token.
fn share(config: &Config, samples: &Samples, rate: f64, limits: Option<Limits>) -> Option<f64> {
    let limits = limits?;
    Some(match samples.case {
        Case::Prefill(_) => rate * config.gemm_flops_per_token() as f64 / limits.flops,
        Case::Decode(_) => {
            let width = if samples.label.ends_with("f16") { 2.0 } else { 4.0 };
            rate * config.parameters_per_decode() as f64 * width / limits.bytes
        }
    })
}

/// One line a case: our fastest against the fastest peer, taken within rounds.
fn speedups(samples: &[Samples]) -> Vec<String> {
    let fastest = |case: Case, own: bool| {
        samples
            .iter()
            .filter(|s| s.case == case && s.label.starts_with("ksearch ") == own)
            .max_by(|a, b| a.rate()[0].total_cmp(&b.rate()[0]))
    };
    let mut cases: Vec<Case> = samples.iter().map(|s| s.case).collect();
    cases.dedup();
    let line = |case: Case| {
        let (own, peer) = (fastest(case, true)?, fastest(case, false)?);
        let [middle, least, greatest] = own.speedup_over(peer);
        Some(format!(
            "{}: {} is {middle:.2}x the fastest peer, {} (rounds {least:.2}-{greatest:.2})",
            case.label(),
            own.label,
            peer.label
        ))
    };
    cases.into_iter().filter_map(line).collect()
}

/// Three figures.
fn figure(rate: f64) -> String {
    if rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.1}") }
}
