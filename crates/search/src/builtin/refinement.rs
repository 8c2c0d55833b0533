//! Plain iterative refinement, the control without a world model: always the best kernel, always the next change.
//! It shares loop, judge and coder with the search, so that a comparison shows what the tree is worth and nothing else.
//! Must not rate, compare or remember.

use ksearch_world::edit::NewNode;
use ksearch_world::{Edit, EditScript, NodeId, Patch};

use crate::roles::{PlanAnswer, PlanPurpose, PlanRequest, Planner, RoleError};
use crate::state::draw;
use crate::strategy::{Catalogue, Move};

/// Proposes one action at a time under the best kernel.
pub struct Refinement<'a> {
    catalogue: Option<&'a Catalogue>,
}

impl<'a> Refinement<'a> {
    /// With a catalogue it draws one of the strategies that apply; without, it leaves the change to the coder.
    pub fn new(catalogue: Option<&'a Catalogue>) -> Self {
        Self { catalogue }
    }
}

impl Planner for Refinement<'_> {
    fn name(&self) -> String {
        "refinement".to_owned()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<PlanAnswer, RoleError> {
        let state = request.state;
        let open = state.world.frontier().next().is_some();
        if open && *request.purpose != PlanPurpose::Initialise {
            return Ok(PlanAnswer::default());
        }
        let best = state.world.best();
        let parent = best.map_or(NodeId::ROOT, |b| b.id);
        let strategy = match self.catalogue {
            None => None,
            Some(catalogue) => {
                let plan = best.and_then(|b| state.attached(b)).and_then(|r| r.plan.clone()).unwrap_or_default();
                let tried: Vec<Move> =
                    state.world.children(parent).filter_map(|c| c.strategy().map(Move::parse)).collect();
                let options: Vec<&str> = catalogue
                    .iter()
                    .map(|s| s.id)
                    .filter(|id| !tried.contains(&Move::Add((*id).to_owned())))
                    .filter(|id| catalogue.extend(&plan, id, &state.premises.facts).is_ok())
                    .collect();
                let random = draw(state.config.seed, "refinement", &state.calls.to_string());
                let index = (u128::from(random) * options.len() as u128) >> 64;
                match options.get(index as usize) {
                    Some(id) => Some((*id).to_owned()),
                    None => return Ok(PlanAnswer::default()),
                }
            }
        };
        let title = strategy.clone().unwrap_or_else(|| format!("Improve the kernel, round {}", state.world.round + 1));
        let patch = Patch {
            title: Some(title),
            description: Some("Make the kernel faster, whichever way its verdict and profile suggest.".to_owned()),
            strategy,
            rating: Some(5.0),
            ..Patch::default()
        };
        let ops = vec![Edit::Insert { parent: parent.into(), node: NewNode { id: None, patch } }];
        Ok(PlanAnswer { script: EditScript { ops, ..EditScript::default() }, exchanges: Vec::new() })
    }
}
