//! Simulates the kernel that the built-in coder writes for a plan and prints, per workload, whether it is right and the
//! estimated time on a chip: `simulate TASK [--chip C] [--only LABEL] [--sanitize] STRATEGY… [NAME=VALUE…]`.

#![allow(clippy::print_stdout)] // Printing is what it is for.

#[path = "support/facts.rs"]
mod facts;
#[path = "../src/coder/testing/run.rs"]
mod run;

use anyhow::{Context, Result};
use ksearch_apple::{Chips, Dispatched, Features, Model};
use ksearch_search::{Plan, coder};
use ksearch_simt::Mode;
use ksearch_task::builtin;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let name =
        args.next().context("usage: simulate TASK [--chip C] [--only LABEL] [--sanitize] STRATEGY… [NAME=VALUE…]")?;
    let generator = coder::generator(&name).context("no generator for this task")?;
    let facts = facts::facts(&name)?;
    let mut plan = Plan::default();
    let (mut chip, mut only, mut mode) = ("m1-max".to_owned(), None, Mode::Profile);
    while let Some(arg) = args.next() {
        match (arg.as_str(), arg.split_once('=')) {
            ("--chip", _) => chip = args.next().context("--chip NAME")?,
            ("--only", _) => only = args.next(),
            ("--sanitize", _) => mode = Mode::Sanitize,
            (_, Some((tunable, value))) => {
                plan.values.insert(tunable.to_owned(), value.parse()?);
            }
            (strategy, None) => plan = generator.catalogue().extend(&plan, strategy, &facts)?,
        }
    }
    let candidate = generator.render(&plan, &facts)?;
    let chip = Chips::embedded()?.get(&chip)?;
    let task = builtin::task(&name)?;
    for workload in task.workloads.iter().filter(|w| only.as_ref().is_none_or(|o| w.label.contains(o))) {
        let start = std::time::Instant::now();
        let result = run::check(&candidate, &task, workload, 1, mode);
        let wall = start.elapsed().as_secs_f64();
        let counted = match result {
            Ok(counted) => counted,
            Err(why) => {
                println!("{:40} WRONG ({wall:.2} s): {why}", workload.label);
                continue;
            }
        };
        let halves = counted.iter().map(|c| c.outcome.counters.register_halves).max().unwrap_or(0);
        let parts: Vec<_> = counted
            .into_iter()
            .filter_map(|c| Dispatched::new("kernel", c.outcome, c.groups, c.threads, c.buffers))
            .map(|d| Features::new(&d))
            .collect();
        let Some(total) = Model::shipped()?.estimate(&chip, &parts) else { continue };
        let terms: Vec<_> = total.terms.iter().take(6).map(|(t, s)| format!("{} {:.1}", t.name(), s * 1e6)).collect();
        let work = task.work(&workload.env)?;
        println!(
            "{:40} {:9.1} us simulated on {}, {:6.0} GFLOP/s, {:?} [{}] halves {halves} simds {} ({wall:.2} s)",
            workload.label,
            total.seconds * 1e6,
            chip.name,
            work.flops / total.seconds / 1e9,
            total.bottleneck,
            terms.join(", "),
            total.occupancy.simdgroups,
        );
    }
    Ok(())
}
