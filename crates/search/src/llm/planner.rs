//! The planner played by a model. Must not know how an answer travels.

use ksearch_llm::{Client, json, schema};
use ksearch_world::{EditScript, Node, NodeId};
use serde_json::{Value, json as object};

use super::briefing::Briefing;
use super::{prompts, role_error, views};
use crate::noise::is_same;
use crate::roles::{PlanAnswer, PlanPurpose, PlanRequest, Planner, RoleError};
use crate::state::RunState;
use crate::strategy::Catalogue;

/// A model that plans.
pub struct LlmPlanner<'a> {
    client: Client,
    briefing: Briefing,
    catalogue: Option<&'a Catalogue>,
    catalogue_only: bool,
}

impl<'a> LlmPlanner<'a> {
    /// A planner. `catalogue` is shown as a list of known strategies; `catalogue_only` says that the coder can do
    /// nothing else.
    pub fn new(client: Client, briefing: Briefing, catalogue: Option<&'a Catalogue>, catalogue_only: bool) -> Self {
        Self { client, briefing, catalogue, catalogue_only }
    }

    /// The values that the prompt for this request is rendered from.
    pub(super) fn values(&self, request: &PlanRequest<'_>) -> Value {
        let state = request.state;
        let briefing = object!(self.briefing);
        let common = object!({
            "limits": request.limits,
            "catalogue": self.catalogue.map(|c| views::strategies(c, state)),
            "catalogue_only": self.catalogue_only,
            "baseline": views::baseline(state),
            "floor": state.premises.floor.as_ref().map(views::figure),
            "budget": views::budget(state),
        });
        let own = match request.purpose {
            PlanPurpose::Initialise => {
                let (naive, verdict) = attached(state, NodeId::ROOT);
                object!({"naive": naive, "naive_verdict": verdict})
            }
            PlanPurpose::Propose => {
                let best = state.world.best().map(|n| {
                    let (candidate, verdict) = attached(state, n.id);
                    object!({"node": n.id, "candidate": candidate, "verdict": verdict})
                });
                object!({"tree": views::tree(state, None), "best": best})
            }
            PlanPurpose::Refine { node } => {
                let parent = state.world.get(*node).and_then(|n| n.parent);
                let (candidate, verdict) = attached(state, *node);
                object!({
                    "tree": views::tree(state, Some(*node)),
                    "active": state.world.get(*node).map(views::node),
                    "outcome": outcome(state, *node),
                    "candidate": candidate,
                    "verdict": verdict,
                    "parent_verdict": parent.and_then(|p| attached(state, p).1),
                })
            }
            PlanPurpose::Failed { node } => {
                let report = state.closed.iter().rev().find(|c| c.node == *node).map(|c| &c.report);
                let last = report.and_then(|r| r.attempts.iter().rev().find_map(|a| a.candidate.clone()));
                let record = last.as_ref().and_then(|id| state.candidates.get(id));
                let verdict = last.as_ref().and_then(|id| state.any_verdict(id));
                object!({
                    "tree": views::tree(state, Some(*node)),
                    "active": state.world.get(*node).map(views::node),
                    "outcome": failure(state, *node),
                    "attempts": report.map(views::attempts).unwrap_or_default(),
                    "candidate": record.zip(last.as_ref()).map(|(r, id)| views::candidate(&r.candidate, views::swept(state, id))),
                    "verdict": record.zip(verdict).map(|(r, v)| views::verdict(v, &r.candidate)),
                })
            }
        };
        prompts::merged(prompts::merged(briefing, common), own)
    }
}

/// The candidate attached to a node, and its verdict.
fn attached(state: &RunState, node: NodeId) -> (Option<views::CandidateView>, Option<views::VerdictView>) {
    let Some(node) = state.world.get(node) else { return (None, None) };
    let Some(record) = state.attached(node) else { return (None, None) };
    let verdict = node.outcome().and_then(|o| state.full_verdict(&o.candidate));
    let swept = node.outcome().and_then(|o| views::swept(state, &o.candidate));
    (Some(views::candidate(&record.candidate, swept)), verdict.map(|v| views::verdict(v, &record.candidate)))
}

fn outcome(state: &RunState, node: NodeId) -> String {
    let Some(outcome) = state.world.get(node).and_then(Node::outcome) else { return String::new() };
    let noise = if outcome.within_noise { "That is no difference from its parent beyond noise. " } else { "" };
    let best = match state.best() {
        Some(best) if best.candidate == outcome.candidate => "It is the fastest so far.".to_owned(),
        Some(best) if is_same(&best.time, &outcome.time, state.config.min_gain) => {
            format!("It is as fast as the fastest so far, within noise ({}).", views::figure(&best.time))
        }
        Some(best) => format!("The fastest so far takes {}.", views::figure(&best.time)),
        None => String::new(),
    };
    format!("{noise}{best}")
}

fn failure(state: &RunState, node: NodeId) -> String {
    match state.world.get(node) {
        Some(n) if n.is_open() => "It stays open for another try.".to_owned(),
        _ => "It is given up.".to_owned(),
    }
}

impl Planner for LlmPlanner<'_> {
    fn name(&self) -> String {
        self.client.name()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<PlanAnswer, RoleError> {
        let prompt =
            prompts::prompt("planner", request.purpose.name(), prompts::PLANNER_SCHEMA, &self.values(request))?;
        let by = self.name();
        let check = |text: &str| {
            let found = json::find_object(text).map_err(|e| vec![e])?;
            if let Some(schema) = &prompt.schema {
                let faults = schema::check(&found.value, schema);
                if !faults.is_empty() {
                    return Err(faults);
                }
            }
            let script: EditScript = serde_json::from_value(found.value).map_err(|e| vec![e.to_string()])?;
            // Tried on a copy, so that the model is told at once what the tree would refuse.
            match request.state.world.clone().edit(&by, &script, request.limits) {
                Ok(_) => Ok(script),
                Err(refusals) => Err(refusals.iter().map(ToString::to_string).collect()),
            }
        };
        let ask = self.client.ask(&prompt, &|| request.cancel.is_cancelled(), check);
        match ask.result {
            Ok(script) => Ok(PlanAnswer { script, exchanges: ask.exchanges }),
            Err(error) => Err(role_error(&error, ask.exchanges)),
        }
    }
}
