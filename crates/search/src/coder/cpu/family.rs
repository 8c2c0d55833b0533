//! What the generators for small operations on processors have in common: one template each, whose parts follow from the
//! plan's strategies. Must not know any operation.

use ksearch_task::candidate::Recipe;
use ksearch_task::{Candidate, Language, Tunable};

use super::SHARED;
use crate::coder::recipe::{candidate, naive};
use crate::coder::template::{Context, render, strategies};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError};

/// Shares rows or blocks out to threads.
pub(super) const THREADS: &str = "threads";
/// Powers of two by a polynomial.
pub(super) const EXP2: &str = "exp2-polynomial";

/// A recipe and the tunables that it uses.
pub(super) type Written = (Recipe, Vec<Tunable>);

/// A generator of one template.
pub(in crate::coder) struct Family {
    /// The task.
    pub(super) task: &'static str,
    /// The kernel of the empty plan.
    pub(super) naive: &'static str,
    /// Name of the file that is written.
    pub(super) file: &'static str,
    /// The template.
    pub(super) template: &'static str,
    /// Names in the template, each with the strategy that sets it.
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
        Language::Cpp
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
        context.flag("exp2", plan.has(EXP2));
        context.flag("bfloat", true);
        // A part of the shared templates that none of these uses.
        context.flag("transpose", false);
        context.text("strategies", strategies(&self.catalogue, plan));
        let templates: Vec<_> = SHARED.iter().copied().chain([("kernel", self.template)]).collect();
        let text = render(&templates, "kernel", context)?;
        let (recipe, tunables) = (self.recipe)(plan)?;
        Ok(candidate(self.file, text, recipe, tunables, plan))
    }
}
