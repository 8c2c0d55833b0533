//! The built-in planner: proposes the strategies that apply to a solved node, rated by what they should gain on its
//! profile, and learns from results. Stateless: everything comes from the run's state. Must not know how a plan is
//! rendered.

use ksearch_device::Profile;
use ksearch_task::Bottleneck;
use ksearch_world::edit::NewNode;
use ksearch_world::{Edit, EditScript, Impact, Node, NodeId, Patch, Resource, World};

use crate::builtin::predict::{gain, shares};
use crate::facts::Facts;
use crate::generator::Generator;
use crate::roles::{PlanAnswer, PlanPurpose, PlanRequest, Planner, RoleError};
use crate::state::RunState;
use crate::strategy::{Catalogue, Move, Plan, Strategy};

/// Gain that rates 10.
const TOP_GAIN: f64 = 4.0;
/// Weight of what a strategy makes possible beside what it gains itself.
const UNLOCK: f64 = 0.5;

/// Rates a catalogue.
pub struct BuiltinPlanner<'a> {
    generator: &'a dyn Generator,
}

/// An action that could be proposed.
struct Proposal {
    change: Move,
    worth: f64,
    patch: Patch,
}

impl<'a> BuiltinPlanner<'a> {
    /// A planner over this generator's catalogue.
    pub fn new(generator: &'a dyn Generator) -> Self {
        Self { generator }
    }

    fn catalogue(&self) -> &Catalogue {
        self.generator.catalogue()
    }

    /// Actions under `parent`, the best first.
    fn options(&self, state: &RunState, parent: &Node, plans: &[Option<Plan>], drops: bool) -> Vec<Proposal> {
        let facts = &state.premises.facts;
        let Some(Some(plan)) = plans.get(parent.id.0 as usize) else { return Vec::new() };
        let verdict = parent.outcome().and_then(|o| state.full_verdict(&o.candidate));
        let profile = verdict.and_then(|v| v.profile.as_ref());
        let known = |next: &Plan| plans.iter().flatten().any(|p| p.strategies == next.strategies);
        let mut options = Vec::new();
        for strategy in self.catalogue().iter() {
            let change = Move::Add(strategy.id.to_owned());
            if self.catalogue().apply(plan, &change, facts).is_ok_and(|next| !known(&next)) {
                options.push(self.add(state, plan, profile, strategy, facts));
            }
        }
        if drops {
            for id in &plan.strategies {
                let change = Move::Drop(id.clone());
                if self.catalogue().apply(plan, &change, facts).is_ok_and(|next| !known(&next)) {
                    options.push(drop_option(state, id));
                }
            }
        }
        options.sort_by(|a, b| b.worth.total_cmp(&a.worth));
        options
    }

    fn add(
        &self,
        state: &RunState,
        plan: &Plan,
        profile: Option<&Profile>,
        strategy: &Strategy,
        facts: &Facts,
    ) -> Proposal {
        let gain = gain(profile, &strategy.effect);
        // A strategy may be worth its while for what it makes possible.
        let unlocked = self
            .catalogue()
            .iter()
            .filter(|s| s.requires.contains(&strategy.id) && !plan.has(s.id) && (s.applies)(facts).is_ok())
            .map(|s| crate::builtin::predict::gain(profile, &s.effect).ln())
            .fold(0.0, f64::max);
        let replaced: Vec<&str> = plan
            .strategies
            .iter()
            .filter(|held| {
                strategy.conflicts.contains(&held.as_str())
                    || self.catalogue().get(held).is_some_and(|h| h.conflicts.contains(&strategy.id))
            })
            .map(String::as_str)
            .collect();
        let worth = gain.ln() + UNLOCK * unlocked;
        let seen = state.world.calibration.strategies.get(strategy.id).map_or(0, |r| r.compared);
        let confidence =
            (0.4 + if profile.is_some() { 0.1 } else { 0.0 } + 0.1 * f64::from(seen.min(4))).clamp(0.0, 0.9);
        let shares = shares(profile);
        let impacts = Bottleneck::ALL
            .into_iter()
            .zip(shares)
            .filter(|(class, _)| strategy.effect.on(*class) != 1.0)
            .map(|(class, share)| {
                let factor = strategy.effect.on(class);
                let rating = (10.0 * share * (1.0 - factor).max(0.0)).clamp(0.0, 10.0);
                let notes = format!("time x{factor:.2} here; {:.0}% of the time is here", share * 100.0);
                (resource(class), Impact { rating: round(rating), notes, ..Impact::default() })
            })
            .collect();
        let attacked = Bottleneck::ALL.into_iter().zip(shares).max_by(|a, b| {
            let saved = |(class, share): &(Bottleneck, f64)| share * (1.0 - strategy.effect.on(*class));
            saved(a).total_cmp(&saved(b))
        });
        let mut rationale = format!("Expected {gain:.2}x on this profile.");
        if unlocked > 0.0 {
            rationale.push_str(" Others build on it.");
        }
        if !replaced.is_empty() {
            rationale = format!("{rationale} Replaces {}.", replaced.join(", "));
        }
        let patch = Patch {
            title: Some(strategy.title.to_owned()),
            description: Some(strategy.why.to_owned()),
            rationale: Some(rationale),
            strategy: Some(strategy.id.to_owned()),
            difficulty: Some(strategy.difficulty.clamp(1, 5)),
            rating: Some(rating(worth)),
            confidence: Some(round(confidence)),
            predicted_gain: Some(gain),
            impacts,
            bottleneck: attacked.map(|(class, _)| class),
            ..Patch::default()
        };
        Proposal { change: Move::Add(strategy.id.to_owned()), worth, patch }
    }

    /// Inserts the best options under `parent` that its children do not propose yet.
    fn grow(&self, state: &RunState, parent: &Node, plans: &[Option<Plan>], most: usize, drops: bool) -> Vec<Edit> {
        let has: Vec<Move> = state.world.children(parent.id).filter_map(|c| c.strategy().map(Move::parse)).collect();
        let room = state.config.edits.max_children.saturating_sub(state.world.children(parent.id).count());
        self.options(state, parent, plans, drops)
            .into_iter()
            .filter(|o| !has.contains(&o.change))
            .take(most.min(room))
            .map(|o| Edit::Insert { parent: parent.id.into(), node: NewNode { id: None, patch: o.patch } })
            .collect()
    }

    /// The plan of every node that has one: what is attached, else the parent's with the node's own move.
    fn plans(&self, state: &RunState) -> Vec<Option<Plan>> {
        let mut plans: Vec<Option<Plan>> = Vec::new();
        for node in state.world.nodes() {
            let attached = state.attached(node).and_then(|c| c.plan.clone());
            let plan = attached.or_else(|| match (node.parent, node.strategy()) {
                (None, _) => Some(Plan::default()),
                (Some(parent), Some(strategy)) => {
                    let parent = plans.get(parent.0 as usize)?.as_ref()?;
                    self.catalogue().apply(parent, &Move::parse(strategy), &state.premises.facts).ok()
                }
                (Some(_), None) => None,
            });
            plans.push(plan);
        }
        plans
    }
}

fn drop_option(state: &RunState, id: &str) -> Proposal {
    // What it gained when it came, as far as known, is what is lost when it goes.
    let record = state.world.calibration.strategies.get(id);
    let gained = record.filter(|r| r.compared > 0).map_or(0.05, |r| r.observed / f64::from(r.compared));
    let gain = (-gained).exp().clamp(0.25, 4.0);
    let patch = Patch {
        title: Some(format!("Without {id}")),
        description: Some(format!("Take {id} out again: other strategies may have made it a burden.")),
        rationale: Some(format!("It was worth {:.2}x when it came.", gained.exp())),
        strategy: Some(format!("drop:{id}")),
        difficulty: Some(1),
        rating: Some(rating(gain.ln())),
        confidence: Some(0.3),
        predicted_gain: Some(gain),
        ..Patch::default()
    };
    Proposal { change: Move::Drop(id.to_owned()), worth: gain.ln(), patch }
}

const fn resource(class: Bottleneck) -> Resource {
    match class {
        Bottleneck::Bandwidth => Resource::Bandwidth,
        Bottleneck::Latency => Resource::Latency,
        Bottleneck::Compute => Resource::Compute,
        Bottleneck::Synchronization => Resource::Synchronization,
    }
}

/// Rating of an expected log gain.
fn rating(log_gain: f64) -> f64 {
    round((10.0 * log_gain / TOP_GAIN.ln()).clamp(0.0, 10.0))
}

/// Two decimals are what a rating is worth.
fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// New ratings for the open actions whose strategy was just tried elsewhere, and for `node` itself if it is open again.
fn rerate(world: &World, node: &Node, script: &mut Vec<Edit>) {
    let Some(strategy) = node.strategy() else { return };
    for other in world.frontier().filter(|n| n.strategy() == Some(strategy)) {
        let belief = world.calibration.belief(other, 0);
        let decay = 0.5_f64.powi(other.attempts as i32);
        let rating = round(rating(belief.log_gain) * belief.success * decay);
        let confidence = round((other.confidence + 0.1).min(0.9) * decay);
        if (rating - other.rating).abs() > 0.05 || (confidence - other.confidence).abs() > 0.05 {
            let patch = Patch { rating: Some(rating), confidence: Some(confidence), ..Patch::default() };
            script.push(Edit::Update { node: other.id.into(), patch });
        }
    }
}

impl Planner for BuiltinPlanner<'_> {
    fn name(&self) -> String {
        "builtin".to_owned()
    }

    fn plan(&self, request: &PlanRequest<'_>) -> Result<PlanAnswer, RoleError> {
        let state = request.state;
        let plans = self.plans(state);
        let mut ops = Vec::new();
        let most = request.limits.max_new;
        match request.purpose {
            PlanPurpose::Initialise => ops.extend(self.grow(state, state.world.root(), &plans, most, false)),
            PlanPurpose::Refine { node } => {
                if let Some(node) = state.world.get(*node) {
                    note(node, &mut ops);
                    ops.extend(self.grow(state, node, &plans, most, false));
                    rerate(&state.world, node, &mut ops);
                }
            }
            PlanPurpose::Failed { node } => {
                if let Some(node) = state.world.get(*node) {
                    rerate(&state.world, node, &mut ops);
                }
            }
            PlanPurpose::Propose => {
                for node in state.ranking().into_iter().take(5) {
                    if ops.len() < most {
                        ops.extend(self.grow(state, node, &plans, most - ops.len(), true));
                    }
                }
                dedupe(&mut ops, state, &plans, self.catalogue());
            }
        }
        let summary = (*request.purpose == PlanPurpose::Initialise).then(|| self.summary(&state.premises.facts));
        Ok(PlanAnswer { script: EditScript { summary, ops, ..EditScript::default() }, exchanges: Vec::new() })
    }
}

impl BuiltinPlanner<'_> {
    fn summary(&self, facts: &Facts) -> String {
        format!(
            "{} on {}: {:.0} GB/s, {:.0} GFLOP/s in f32; {} strategies known.",
            facts.task,
            facts.chip.name,
            facts.chip.dram_gbps,
            facts.chip.f32_gflops,
            self.catalogue().iter().count()
        )
    }
}

/// What a measurement says about the prediction, on the node itself.
fn note(node: &Node, ops: &mut Vec<Edit>) {
    if let (Some(outcome), Some(predicted)) = (node.outcome(), node.predicted_gain)
        && let Some(gain) = outcome.gain
    {
        let bound = outcome.bottleneck.map_or_else(String::new, |b| format!(" Now bound by {b}."));
        let patch = Patch {
            notes: Some(format!("Predicted {predicted:.2}x, measured {gain:.2}x over its parent.{bound}")),
            rating: Some(rating(gain.max(0.01).ln())),
            ..Patch::default()
        };
        ops.push(Edit::Update { node: node.id.into(), patch });
    }
}

/// Two parents may lead to the same plan; the first keeps it.
fn dedupe(ops: &mut Vec<Edit>, state: &RunState, plans: &[Option<Plan>], catalogue: &Catalogue) {
    let mut seen: Vec<Plan> = Vec::new();
    ops.retain(|op| {
        let Edit::Insert { parent, node } = op else { return true };
        let plan = NodeId::parse(&parent.0)
            .and_then(|p| plans.get(p.0 as usize)?.as_ref())
            .zip(node.patch.strategy.as_deref())
            .and_then(|(plan, s)| catalogue.apply(plan, &Move::parse(s), &state.premises.facts).ok());
        let Some(plan) = plan else { return false };
        let fresh = !seen.iter().any(|p| p.strategies == plan.strategies);
        seen.push(plan);
        fresh
    });
}
