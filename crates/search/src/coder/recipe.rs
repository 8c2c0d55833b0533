//! Launch recipes as the generators build them. Knows no task.

use std::collections::BTreeMap;

use ksearch_task::candidate::{Argument, Binding, Define, DefineValue, Dispatch, Recipe, Requirement, Scratch};
use ksearch_task::{Candidate, Expr, Language, SourceFile, Tunable};

use crate::strategy::{Plan, PlanError};

/// Collects a recipe. A bad expression is a generator's own mistake and is reported as such.
#[derive(Default)]
pub(super) struct RecipeBuilder {
    pub(super) recipe: Recipe,
    pub(super) tunables: Vec<Tunable>,
}

fn expr(text: &str) -> Result<Expr, PlanError> {
    Expr::parse(text).map_err(|e| PlanError::Unrenderable(e.to_string()))
}

impl RecipeBuilder {
    /// A macro that is a number.
    pub(super) fn define(&mut self, name: &str, text: &str) -> Result<(), PlanError> {
        let value = DefineValue::Expr(expr(text)?);
        self.recipe.defines.push(Define { name: name.into(), value });
        Ok(())
    }

    /// A macro that is the type of a tensor's elements.
    pub(super) fn define_type(&mut self, name: &str, tensor: &str) {
        self.recipe.defines.push(Define { name: name.into(), value: DefineValue::TypeOf(tensor.into()) });
    }

    /// A macro that is text.
    pub(super) fn define_text(&mut self, name: &str, text: &str) {
        self.recipe.defines.push(Define { name: name.into(), value: DefineValue::Text(text.into()) });
    }

    /// A tunable with its allowed values.
    pub(super) fn tunable(&mut self, name: &str, values: &[i64], default: i64) {
        self.tunables.push(Tunable { name: name.into(), values: values.to_vec(), default });
    }

    /// A scratch buffer.
    pub(super) fn scratch(&mut self, name: &str, bytes: &str) -> Result<(), PlanError> {
        self.recipe.scratch.push(Scratch { name: name.into(), bytes: expr(bytes)? });
        Ok(())
    }

    /// Dynamic shared memory of a CUDA dispatch, bytes.
    pub(super) fn shared(dispatch: &mut Dispatch, bytes: &str) -> Result<(), PlanError> {
        dispatch.args.push(Argument { param: "shared".into(), binding: Binding::Threadgroup(expr(bytes)?) });
        Ok(())
    }

    /// The same dispatch, launched only where `text` holds.
    pub(super) fn only_when(mut dispatch: Dispatch, text: &str) -> Result<Dispatch, PlanError> {
        dispatch.when = Some(expr(text)?);
        Ok(dispatch)
    }

    /// A condition.
    pub(super) fn require(&mut self, text: &str, why: &str) -> Result<(), PlanError> {
        self.recipe.requires.push(Requirement { expr: expr(text)?, why: why.into() });
        Ok(())
    }

    /// A dispatch whose arguments are bound by name.
    pub(super) fn dispatch(kernel: &str, grid: [&str; 3], threadgroup: [&str; 3]) -> Result<Dispatch, PlanError> {
        let [gx, gy, gz] = grid;
        let [tx, ty, tz] = threadgroup;
        Ok(Dispatch {
            kernel: kernel.into(),
            grid: [expr(gx)?, expr(gy)?, expr(gz)?],
            threadgroup: [expr(tx)?, expr(ty)?, expr(tz)?],
            args: Vec::new(),
            constants: BTreeMap::new(),
            when: None,
            repeat: None,
            cluster: None,
        })
    }
}

/// A kernel that ships, for the empty plan.
pub(super) fn naive(path: &str) -> Result<Candidate, PlanError> {
    ksearch_task::builtin::kernel(path).map_err(|e| PlanError::Unrenderable(e.to_string()))
}

/// A candidate of one file, in the language that its name says, that holds its recipe. Values of the plan that are no longer allowed fall back to the
/// default.
pub(super) fn candidate(path: &str, text: String, recipe: Recipe, tunables: Vec<Tunable>, plan: &Plan) -> Candidate {
    let wanted = |t: &Tunable| plan.values.get(&t.name).copied().filter(|v| t.values.contains(v));
    let values = tunables.iter().filter_map(|t| wanted(t).map(|v| (t.name.clone(), v))).collect();
    let files = vec![SourceFile { path: path.into(), text }];
    let language = Language::of_path(path).unwrap_or(Language::Msl);
    Candidate { language, files, recipe, tunables, values }.with_recipe_comment()
}
