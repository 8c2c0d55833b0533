//! The generators that ship: one file a task. Add a task's generator here and in [`generators`].

use crate::generator::Generator;

/// All built-in generators.
pub fn generators() -> Vec<Box<dyn Generator>> {
    Vec::new()
}

/// The generator for this task, if there is one.
pub fn generator(task: &str) -> Option<Box<dyn Generator>> {
    generators().into_iter().find(|g| g.task() == task)
}
