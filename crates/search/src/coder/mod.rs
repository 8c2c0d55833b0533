//! The generators that ship: one module a task. Add a task's generator here and in [`generators`].

mod attention;
mod conv1d_silu;
mod cpu;
mod cuda;
mod family;
mod gated_rms_norm;
mod recipe;
mod scan_step;
mod selective_scan;
mod softmax;
mod ssd;
mod template;
#[cfg(test)]
mod testing;

use ksearch_task::Language;

use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Effect, Strategy};

/// All built-in generators.
pub fn generators() -> Vec<Box<dyn Generator>> {
    vec![
        Box::new(attention::Attention::new()),
        Box::new(selective_scan::SelectiveScan::new()),
        Box::new(softmax::Softmax::new()),
        Box::new(conv1d_silu::Conv1dSilu::new()),
        Box::new(gated_rms_norm::GatedRmsNorm::new()),
        Box::new(scan_step::ScanStep::new()),
        Box::new(ssd::Ssd::new()),
        Box::new(cpu::attention::Attention::new()),
        Box::new(cpu::selective_scan::SelectiveScan::new()),
        Box::new(cpu::conv1d_silu::family()),
        Box::new(cpu::gated_rms_norm::family()),
        Box::new(cpu::scan_step::family()),
        Box::new(cpu::ssd::family()),
        Box::new(cuda::attention::Attention::new()),
        Box::new(cuda::selective_scan::SelectiveScan::new()),
        Box::new(cuda::conv1d_silu::family()),
        Box::new(cuda::gated_rms_norm::family()),
        Box::new(cuda::scan_step::family()),
        Box::new(cuda::ssd::family()),
    ]
}

/// The generator of Metal kernels for this task, if there is one.
pub fn generator(task: &str) -> Option<Box<dyn Generator>> {
    generator_for(task, Language::Msl)
}

/// The generator for this task in this language, if there is one.
pub fn generator_for(task: &str, language: Language) -> Option<Box<dyn Generator>> {
    generators().into_iter().find(|g| g.task() == task && g.language() == language)
}

/// A catalogue's entry that costs one line, needs nothing and does nothing; entries say how they differ from it.
const fn entry(id: &'static str, title: &'static str, why: &'static str) -> Strategy {
    Strategy {
        id,
        title,
        why,
        requires: &[],
        conflicts: &[],
        tunables: &[],
        difficulty: 1,
        effect: Effect::NONE,
        applies: always,
    }
}

#[allow(clippy::unnecessary_wraps)] // The shape that a strategy wants.
fn always(_: &Facts) -> Result<(), String> {
    Ok(())
}

const fn effect(bandwidth: f64, latency: f64, compute: f64, synchronization: f64) -> Effect {
    Effect { bandwidth, latency, compute, synchronization }
}
