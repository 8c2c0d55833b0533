//! The generators that ship: one module a task. Add a task's generator here and in [`generators`].

mod attention;
mod cpu;
mod recipe;
mod selective_scan;
mod softmax;
mod template;
#[cfg(test)]
mod testing;

use ksearch_task::Language;

use crate::generator::Generator;

/// All built-in generators.
pub fn generators() -> Vec<Box<dyn Generator>> {
    vec![
        Box::new(attention::Attention::new()),
        Box::new(selective_scan::SelectiveScan::new()),
        Box::new(softmax::Softmax::new()),
        Box::new(cpu::attention::Attention::new()),
        Box::new(cpu::selective_scan::SelectiveScan::new()),
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
