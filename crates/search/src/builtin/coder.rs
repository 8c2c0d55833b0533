//! The built-in coder: applies the action's move to the parent's plan and renders it. Must not know the tree's ratings.

use ksearch_judge::Status;
use ksearch_task::Candidate;

use crate::generator::Generator;
use crate::roles::{CodeAnswer, CodeRequest, CodeStep, Coder, RoleError, RoleErrorKind};
use crate::strategy::{Move, Plan};

/// Renders plans with a generator. Deterministic.
pub struct BuiltinCoder<'a> {
    generator: &'a dyn Generator,
}

impl<'a> BuiltinCoder<'a> {
    /// A coder over this generator.
    pub fn new(generator: &'a dyn Generator) -> Self {
        Self { generator }
    }

    fn apply(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError> {
        let inapplicable = |why: String| RoleError::new(RoleErrorKind::Inapplicable, why);
        let node = request.state.world.get(request.node);
        let strategy = node.and_then(|n| n.strategy()).ok_or_else(|| {
            inapplicable(
                "the built-in coder can only apply strategies of its catalogue, and this action names none".to_owned(),
            )
        })?;
        let base = request.base.and_then(|b| request.state.candidates.get(b));
        let plan = base.and_then(|b| b.plan.clone()).unwrap_or_default();
        let facts = &request.state.premises.facts;
        let plan = self
            .generator
            .catalogue()
            .apply(&plan, &Move::parse(strategy), facts)
            .map_err(|e| inapplicable(e.to_string()))?;
        let mut candidate = self.generator.render(&plan, facts).map_err(|e| inapplicable(e.to_string()))?;
        // What a sweep of the parent has found is kept where it is still allowed.
        for tunable in &candidate.tunables {
            if let Some(value) = plan.values.get(&tunable.name).filter(|v| tunable.values.contains(v)) {
                candidate.values.insert(tunable.name.clone(), *value);
            }
        }
        Ok(answer(candidate, Some(plan), "rendered from the catalogue".to_owned()))
    }
}

fn answer(candidate: Candidate, plan: Option<Plan>, notes: String) -> CodeAnswer {
    CodeAnswer::Candidate { candidate: Box::new(candidate), plan, notes, exchanges: Vec::new() }
}

fn nothing(why: &str) -> CodeAnswer {
    CodeAnswer::Nothing { why: why.to_owned(), exchanges: Vec::new() }
}

/// The same candidate with the largest tunable one step smaller: what a broken limit asks for.
fn smaller(candidate: &Candidate) -> Option<Candidate> {
    let value = |name: &str, default: i64| candidate.values.get(name).copied().unwrap_or(default);
    let (tunable, down) = candidate
        .tunables
        .iter()
        .filter_map(|t| {
            let now = value(&t.name, t.default);
            t.values.iter().rev().find(|v| **v < now).map(|down| (t, now, *down))
        })
        .max_by_key(|(_, now, _)| *now)
        .map(|(t, _, down)| (t, down))?;
    let mut candidate = candidate.clone();
    candidate.values.insert(tunable.name.clone(), down);
    Some(candidate)
}

impl Coder for BuiltinCoder<'_> {
    fn name(&self) -> String {
        "builtin".to_owned()
    }

    fn write(&self, request: &CodeRequest<'_>) -> Result<CodeAnswer, RoleError> {
        match &request.step {
            CodeStep::Apply => self.apply(request),
            CodeStep::Repair { candidate, verdict } | CodeStep::Debug { candidate, verdict } => {
                if verdict.status != Status::LaunchError {
                    return Ok(nothing("a generator has one way to write a plan"));
                }
                let plan = request.tried.last().and_then(|(id, _)| request.state.candidates.get(id));
                let plan = plan.and_then(|c| c.plan.clone());
                Ok(smaller(candidate).map_or_else(
                    || nothing("the smallest settings break a limit of the chip too"),
                    |c| answer(c, plan, "smaller settings, to keep within the chip's limits".to_owned()),
                ))
            }
            CodeStep::Improve { .. } => Ok(nothing("the plan is written and its tunables are swept")),
        }
    }
}
