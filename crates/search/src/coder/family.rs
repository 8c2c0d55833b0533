//! What generators of one template have in common: the parts of the text follow from the plan's strategies, one condition
//! each. Must not know any operation.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Language, Tunable};

use super::recipe::{candidate, naive};
use super::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError};

/// A recipe and the tunables that it uses.
pub(super) type Written = (Recipe, Vec<Tunable>);

/// A generator of one template.
pub(super) struct Family {
    /// The task.
    pub(super) task: &'static str,
    /// Language of its kernels.
    pub(super) language: Language,
    /// The kernel of the empty plan.
    pub(super) naive: &'static str,
    /// Name of the file that is written.
    pub(super) file: &'static str,
    /// The template and those that it includes, each with its name; the first is the kernel.
    pub(super) templates: &'static [(&'static str, &'static str)],
    /// Conditions of the templates, each with the strategy that sets it.
    pub(super) flags: &'static [(&'static str, &'static str)],
    /// The strategies.
    pub(super) catalogue: Catalogue,
    /// Launches, macros and tunables of a plan.
    pub(super) recipe: fn(&Plan) -> Result<Written, PlanError>,
}

impl Generator for Family {
    fn task(&self) -> &'static str {
        self.task
    }

    fn language(&self) -> Language {
        self.language
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, _facts: &Facts) -> Result<Candidate, PlanError> {
        if plan.strategies.is_empty() {
            return naive(self.naive);
        }
        let mut context = Context::default();
        for (name, strategy) in self.flags {
            context.flag(name, plan.has(strategy));
        }
        context.text("strategies", strategies(&self.catalogue, plan));
        let main = self.templates.first().map_or("", |(name, _)| name);
        let text = render(self.templates, main, context)?;
        let (recipe, tunables) = (self.recipe)(plan)?;
        Ok(candidate(self.file, text, recipe, tunables, plan))
    }
}
