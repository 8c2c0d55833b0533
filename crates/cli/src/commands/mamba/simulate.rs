//! `ksearch mamba simulate`: what the Metal backend's kernels would take on an Apple GPU, by the simulator's counters and the
//! timing model. Knows no kernel.

use anyhow::{Context as _, Result, bail};
use comfy_table::{Table, presets};
use indexmap::IndexMap;
use ksearch_apple::{Chip, Dispatched, Features, Model as Timing};
use ksearch_device::sim::sample::Sampling;
use ksearch_mamba::metal::{MetalModel, Simulator};
use ksearch_mamba::random::tokens;
use ksearch_mamba::{Batch, Engine, Want};
use serde_json::json;

use super::args::SimulateArgs;
use super::model::Model;
use crate::args::Global;
use crate::context;
use crate::exit::Outcome;
use crate::printer::Printer;

/// Kernels that run once for all layers.
const ONCE: [&str; 3] = ["embed", "product_logits", "product_row_logits"];

/// Counts one layer and the head, and prints what all layers would take.
pub fn run(args: &SimulateArgs, global: &Global, printer: Printer) -> Result<Outcome> {
    if args.lengths.contains(&0) {
        bail!("every one of --lengths must be at least 1");
    }
    let (_, chip) = context::sim(global, &args.target.target)?;
    // Layers are alike: one is counted.
    let model = Model::one_layer(&args.model)?;
    let layers = super::model::preset(&args.model, None)?.layers;
    let mut metal: MetalModel<Simulator> = model.on_metal(args.weights)?;
    metal.runtime_mut().count(Sampling::QUICK);
    let mut all = Vec::new();
    for (length, what) in args.lengths.iter().map(|&n| (n, "prompt")).chain([(1, "decode")]) {
        printer.note(format!("{what} of {length}"));
        let mut state = metal.start(1)?;
        let ids = tokens(model.config.vocab, length, 1);
        metal.forward(Batch::one(&ids)?, &mut state, Want::Last)?;
        let counted = metal.runtime_mut().take_counted();
        let (rows, total) = times(&counted, layers, &chip)?;
        let rate = length as f64 / total;
        printer.line(format!(
            "\n{what} of {length}: {rate:.0} tokens/s, {:.0} us a layer (simulated on {}, {} weights, {layers} layers)",
            rows.values().map(|r| r.layer).sum::<f64>() * 1e6,
            chip.name,
            args.weights.name()
        ))?;
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["kernel", "launches", "us", "of the time", "bound by"]);
        for (kernel, row) in &rows {
            table.add_row([
                kernel.clone(),
                row.launches.to_string(),
                format!("{:.1}", row.seconds * 1e6),
                format!("{:.1}%", 100.0 * row.seconds / total),
                row.bound.clone(),
            ]);
        }
        printer.line(table)?;
        all.push(json!({
            "what": what, "length": length, "tokens_per_s": rate, "kind": "simulated", "on": chip.name, "layers": layers,
            "kernels": rows.iter().map(|(k, r)| json!({ "kernel": k, "launches": r.launches, "us": r.seconds * 1e6 })).collect::<Vec<_>>(),
        }));
    }
    printer.object(&json!({ "model": args.model, "weights": args.weights.name(), "results": all }))?;
    Ok(Outcome::Success)
}

#[derive(Default)]
struct Row {
    launches: usize,
    seconds: f64,
    /// Seconds in one layer.
    layer: f64,
    /// What bounds the longest launch, and its largest terms.
    bound: String,
    longest: f64,
}

/// Per kernel, over the whole model; and the sum. Launches follow one another, as in one serial encoder.
fn times(counted: &[Dispatched], layers: usize, chip: &Chip) -> Result<(IndexMap<String, Row>, f64)> {
    let timing = Timing::shipped()?;
    let mut rows: IndexMap<String, Row> = IndexMap::new();
    let last = counted.len().saturating_sub(2);
    for (i, d) in counted.iter().enumerate() {
        let estimate = timing.estimate(chip, &[Features::new(d)]).context("a launch without an estimate")?;
        // The head's norm is the last launch but one.
        let once = ONCE.contains(&d.kernel.as_str()) || i >= last;
        let times = if once { 1 } else { layers };
        let row = rows.entry(d.kernel.clone()).or_default();
        if estimate.seconds > row.longest {
            row.longest = estimate.seconds;
            let mut terms: Vec<_> = estimate.terms.iter().collect();
            terms.sort_by(|a, b| b.1.total_cmp(&a.1));
            let most: Vec<&str> = terms.iter().take(3).map(|(t, _)| t.name()).collect();
            row.bound = format!("{} ({})", estimate.bottleneck, most.join(", "));
        }
        row.launches += times;
        row.seconds += estimate.seconds * times as f64;
        row.layer += if once { 0.0 } else { estimate.seconds };
    }
    let total = rows.values().map(|r| r.seconds).sum();
    rows.sort_by(|_, a, _, b| b.seconds.total_cmp(&a.seconds));
    Ok((rows, total))
}
