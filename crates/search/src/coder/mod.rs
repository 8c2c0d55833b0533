//! The generators that ship: one module a task. Add a task's generator here and in [`generators`].

mod attention;
mod recipe;
mod selective_scan;
mod softmax;
mod template;
#[cfg(test)]
mod testing;

use crate::generator::Generator;

/// All built-in generators.
pub fn generators() -> Vec<Box<dyn Generator>> {
    vec![
        Box::new(attention::Attention::new()),
        Box::new(selective_scan::SelectiveScan::new()),
        Box::new(softmax::Softmax::new()),
    ]
}

/// The generator for this task, if there is one.
pub fn generator(task: &str) -> Option<Box<dyn Generator>> {
    generators().into_iter().find(|g| g.task() == task)
}
