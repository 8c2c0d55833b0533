//! How sure a win against the library is: the best kernel of a run against the library's on each timed search workload,
//! under many draws of the timing model's parameters. Computed from the journal's kernel when a search ends and on request; what it
//! must not do is change the run.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use ksearch_apple::Chip;
use ksearch_apple::model::Robustness;
use ksearch_baseline::{Operation, Wheel, time};
use ksearch_device::TargetId;
use ksearch_device::sim::sample::Sampling;
use ksearch_search::RunView;
use ksearch_task::{Set, Task};
use serde::Serialize;

use crate::args::Global;
use crate::commands::baseline::{Rival, Sureness};
use crate::context;
use crate::printer::Printer;

/// The comparison on each timed search workload.
pub struct Contest {
    rows: Vec<(String, Robustness)>,
}

impl Contest {
    /// Of the best kernel of a run. None where there is nothing to compare: no library kernel, no passing candidate, or a
    /// target whose times are measured.
    pub fn of(view: &RunView, global: &Global) -> Result<Option<Self>> {
        let state = &view.state;
        let Ok(TargetId::Sim(chip)) = state.config.target.parse::<TargetId>() else { return Ok(None) };
        if state.premises.baseline.is_none() {
            return Ok(None);
        }
        let best = view.summary().best.and_then(|b| state.candidates.get(&b.candidate));
        let Some(best) = best else { return Ok(None) };
        let task = context::task(&state.config.task)?;
        let chip = context::chips(global)?.get(&chip)?;
        let (Some(operation), Ok(wheel)) = (Operation::of_task(&task.family), Wheel::find()) else { return Ok(None) };
        let rival = Rival::of(best.candidate.clone(), &task, &chip, Sampling::QUICK)?;
        Self::rows(&task, &chip, &rival, operation, &wheel).map(Some)
    }

    fn rows(task: &Arc<Task>, chip: &Chip, rival: &Rival, operation: Operation, wheel: &Wheel) -> Result<Self> {
        let mut rows = Vec::new();
        for w in task.workloads_of(Set::Search).filter(|w| w.purpose.times()) {
            let library = time(wheel, operation, &w.env, chip, Sampling::QUICK).map_err(|e| anyhow!(e.to_string()))?;
            rows.push((w.label.clone(), rival.against(&w.label, &w.env, &library)?.1));
        }
        Ok(Self { rows })
    }

    /// One line for each workload, and one that sums up.
    pub fn show(&self, printer: Printer) -> Result<()> {
        let wins = self.rows.iter().filter(|(_, r)| r.wins()).count();
        printer.line(format!("robustness it wins beyond doubt on {wins} of {} workloads", self.rows.len()))?;
        for (label, r) in &self.rows {
            printer.line(format!(
                "           {label}: {:.2}x as fast as the library, {:.2} to {:.2} in nine of ten draws of the model's parameters, faster in {:.0}% of them",
                r.ratio,
                r.interval.0,
                r.interval.1,
                r.share * 100.0
            ))?;
        }
        Ok(())
    }

    /// The same for programs.
    pub fn rows_for_programs(&self) -> Vec<Row<'_>> {
        self.rows.iter().map(|(label, r)| Row { workload: label, ratio: r.ratio, sureness: Sureness::of(r) }).collect()
    }
}

/// The comparison on one workload, for programs.
#[derive(Clone, Debug, Serialize)]
pub struct Row<'a> {
    workload: &'a str,
    ratio: f64,
    #[serde(flatten)]
    sureness: Sureness,
}
