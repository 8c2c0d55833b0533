//! `ksearch mamba verify`: is the model the model? Against transformers, and against itself in parts and batches.

use anyhow::{Result, bail};
use comfy_table::{Table, presets};
use ksearch_mamba::metal::{Gpu, Simulator};
use ksearch_mamba::peer::{Launch, Peer};
use ksearch_mamba::random::tokens;
use ksearch_mamba::verify::{self, Check, LOGIT_LIMIT};
use ksearch_mamba::{Engine, weights::WeightType};
use serde_json::json;

use super::args::{Backend, VerifyArgs};
use super::model::Model;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Makes every comparison that this machine can.
pub fn run(args: &VerifyArgs, printer: Printer) -> Result<Outcome> {
    if args.lengths.contains(&0) {
        bail!("every one of --lengths must be at least 1");
    }
    let model = Model::open(&args.model)?;
    let mut checks = Vec::new();
    let scratch = tempfile::tempdir()?;
    let mut peer = match &args.python {
        None => Err("no Python was named with --python".to_owned()),
        Some(python) => Peer::start(&Launch::new("transformers", python), model.folder(scratch.path())?)?,
    };
    match args.model.backend {
        Backend::Cpu => all(&mut model.on_cpu(&args.model, WeightType::F32)?, args, &mut peer, &mut checks, printer)?,
        Backend::Cuda => {
            let mut gpu = model.on_cuda(WeightType::F32)?;
            all(&mut gpu, args, &mut peer, &mut checks, printer)?;
            against_cpu(&mut gpu, &mut model.on_cpu(&args.model, WeightType::F32)?, args, &mut checks)?;
        }
        Backend::Metal => {
            let mut gpu = model.on_metal::<Gpu>(WeightType::F32)?;
            all(&mut gpu, args, &mut peer, &mut checks, printer)?;
            against_cpu(&mut gpu, &mut model.on_cpu(&args.model, WeightType::F32)?, args, &mut checks)?;
        }
        Backend::Sim => {
            let mut gpu = model.on_metal::<Simulator>(WeightType::F32)?;
            all(&mut gpu, args, &mut peer, &mut checks, printer)?;
            against_cpu(&mut gpu, &mut model.on_cpu(&args.model, WeightType::F32)?, args, &mut checks)?;
        }
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["comparison", "difference", "allowed", ""]);
    for c in &checks {
        let word = if c.passed() { "ok" } else { "FAILED" };
        table.add_row([&c.name, &format!("{:.1e}", c.value), &format!("{:.0e}", c.limit), word]);
    }
    printer.line(table)?;
    let passed = checks.iter().all(Check::passed);
    let unproven = peer.as_ref().err();
    if let Some(reason) = unproven {
        printer.line(format!("not compared with transformers: {reason}"))?;
    }
    printer.object(&json!({
        "passed": passed,
        "checks": checks.iter().map(|c| json!({ "name": c.name, "value": c.value, "limit": c.limit, "passed": c.passed() })).collect::<Vec<_>>(),
        "not_compared": unproven,
    }))?;
    Ok(if passed { Outcome::Success } else { Outcome::No })
}

fn all<E: Engine>(
    engine: &mut E,
    args: &VerifyArgs,
    peer: &mut Result<Peer, String>,
    checks: &mut Vec<Check>,
    printer: Printer,
) -> Result<()> {
    let vocab = engine.config().vocab;
    let scratch = tempfile::tempdir()?;
    for &length in &args.lengths {
        printer.note(format!("{length} tokens"));
        let ids = tokens(vocab, length, 3);
        if let Ok(peer) = peer {
            let ours = verify::logits_of(engine, &ids)?;
            let theirs = peer.logits(std::slice::from_ref(&ids), scratch.path())?;
            checks.push(Check {
                name: format!("logits of {length} tokens against transformers"),
                value: verify::max_difference(ours.as_slice(), theirs.as_slice()),
                limit: LOGIT_LIMIT,
            });
        }
        if length > 1 {
            checks.push(verify::parts_against_whole(engine, &ids, &[length / 3, 1, length / 4])?);
        }
    }
    let sequences: Vec<Vec<u32>> = (0..3).map(|i| tokens(vocab, 33, i)).collect();
    checks.push(verify::batch_against_single(engine, &sequences)?);
    if let Ok(peer) = peer {
        let prompt = tokens(vocab, 16, 9);
        let ours = verify::greedy(engine, &prompt, args.tokens)?;
        let (_, theirs) = peer.decode(&prompt, args.tokens)?;
        checks.push(verify::tokens(&format!("{} greedy tokens against transformers", args.tokens), &ours, &theirs));
    }
    Ok(())
}

/// The GPU's logits and tokens against the processor's.
fn against_cpu<A: Engine, B: Engine>(
    gpu: &mut A,
    cpu: &mut B,
    args: &VerifyArgs,
    checks: &mut Vec<Check>,
) -> Result<()> {
    for &length in &args.lengths {
        let ids = tokens(cpu.config().vocab, length, 3);
        let (a, b) = (verify::logits_of(gpu, &ids)?, verify::logits_of(cpu, &ids)?);
        checks.push(Check {
            name: format!("logits of {length} tokens against the CPU's"),
            value: verify::max_difference(a.as_slice(), b.as_slice()),
            limit: LOGIT_LIMIT,
        });
    }
    let prompt = tokens(cpu.config().vocab, 16, 9);
    let (a, b) = (verify::greedy(gpu, &prompt, args.tokens)?, verify::greedy(cpu, &prompt, args.tokens)?);
    checks.push(verify::tokens(&format!("{} greedy tokens against the CPU's", args.tokens), &a, &b));
    Ok(())
}
