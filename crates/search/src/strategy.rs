//! Strategies: named ways to speed a kernel up, and plans that combine them. Must not know the world model, nor how a
//! strategy is written down in a kernel.

use std::collections::BTreeMap;

use indexmap::IndexSet;
use ksearch_task::Bottleneck;
use serde::{Deserialize, Serialize};

use crate::facts::Facts;

/// Expected effect of a strategy: per bottleneck class, the factor by which the time spent there is multiplied
/// (0.5 halves it, 1.0 leaves it, 1.1 costs a tenth).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Factor on time bound by bytes moved.
    pub bandwidth: f64,
    /// Factor on time bound by dependent chains.
    pub latency: f64,
    /// Factor on time bound by instruction issue and arithmetic.
    pub compute: f64,
    /// Factor on time bound by barriers, atomics and launches.
    pub synchronization: f64,
}

impl Effect {
    /// Leaves everything as it is.
    pub const NONE: Self = Self { bandwidth: 1.0, latency: 1.0, compute: 1.0, synchronization: 1.0 };

    /// Factor for one class.
    pub const fn on(&self, class: Bottleneck) -> f64 {
        match class {
            Bottleneck::Bandwidth => self.bandwidth,
            Bottleneck::Latency => self.latency,
            Bottleneck::Compute => self.compute,
            Bottleneck::Synchronization => self.synchronization,
        }
    }
}

/// One entry of a catalogue.
#[derive(Clone, Debug)]
pub struct Strategy {
    /// Stable identifier in kebab case, e.g. `online-softmax`.
    pub id: &'static str,
    /// A few words for a person.
    pub title: &'static str,
    /// Why it helps, one or two sentences.
    pub why: &'static str,
    /// Strategies that a plan must hold already.
    pub requires: &'static [&'static str],
    /// Strategies it cannot stand beside; applying it replaces them (and what required them).
    pub conflicts: &'static [&'static str],
    /// Tunables it brings into the candidate.
    pub tunables: &'static [&'static str],
    /// How hard it is to get right, 1 (a line) to 5 (a new kernel).
    pub difficulty: u8,
    /// Expected effect.
    pub effect: Effect,
    /// Does it apply to this task on this chip? `Err` says why not in one sentence.
    pub applies: fn(&Facts) -> Result<(), String>,
}

/// A structured description of a kernel: which strategies, in the order they were added, and which tunable values.
/// The empty plan is the naive kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Strategy ids in the order they were applied.
    pub strategies: IndexSet<String>,
    /// Chosen values; a tunable that is missing has its default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, i64>,
}

impl Plan {
    /// Does the plan hold this strategy?
    pub fn has(&self, id: &str) -> bool {
        self.strategies.contains(id)
    }
}

/// A change to a plan, as the strategy field of an action names it: `some-strategy` adds it, `drop:some-strategy` takes
/// it away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Adds a strategy.
    Add(String),
    /// Takes one away.
    Drop(String),
}

impl Move {
    /// Reads the strategy field of an action.
    pub fn parse(text: &str) -> Self {
        match text.strip_prefix("drop:") {
            Some(id) => Self::Drop(id.to_owned()),
            None => Self::Add(text.to_owned()),
        }
    }
}

impl std::fmt::Display for Move {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Add(id) => f.write_str(id),
            Self::Drop(id) => write!(f, "drop:{id}"),
        }
    }
}

/// Why a strategy cannot be added to a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The catalogue has no such strategy.
    #[error("there is no strategy `{0}` in the catalogue")]
    Unknown(String),
    /// The plan does not hold what is to be dropped.
    #[error("the plan has no `{0}` to drop")]
    Absent(String),
    /// The plan holds it already.
    #[error("the plan already has `{0}`")]
    Present(String),
    /// It needs another one first.
    #[error("`{strategy}` needs `{missing}` first")]
    Missing {
        /// The strategy that was asked for.
        strategy: String,
        /// What it requires.
        missing: String,
    },
    /// It does not apply here.
    #[error("`{strategy}` does not apply: {why}")]
    Inapplicable {
        /// The strategy that was asked for.
        strategy: String,
        /// One sentence.
        why: String,
    },
    /// The generator cannot render the combination.
    #[error("this combination of strategies cannot be written: {0}")]
    Unrenderable(String),
}

/// A catalogue: the strategies known for one task.
#[derive(Clone, Debug)]
pub struct Catalogue {
    strategies: Vec<Strategy>,
}

impl Catalogue {
    /// A catalogue of these strategies, in this order.
    pub fn new(strategies: Vec<Strategy>) -> Self {
        Self { strategies }
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Strategy> {
        self.strategies.iter()
    }

    /// The entry with this id.
    pub fn get(&self, id: &str) -> Option<&Strategy> {
        self.strategies.iter().find(|s| s.id == id)
    }

    /// `plan` with `id` added. Strategies it conflicts with are dropped, and then whatever required those, so that the
    /// result is again a plan whose requirements hold. Values of tunables are kept; those of dropped strategies go.
    pub fn extend(&self, plan: &Plan, id: &str, facts: &Facts) -> Result<Plan, PlanError> {
        let strategy = self.get(id).ok_or_else(|| PlanError::Unknown(id.to_owned()))?;
        if plan.has(id) {
            return Err(PlanError::Present(id.to_owned()));
        }
        (strategy.applies)(facts).map_err(|why| PlanError::Inapplicable { strategy: id.to_owned(), why })?;
        let mut next = plan.clone();
        next.strategies.retain(|held| !self.conflict(strategy, held));
        self.drop_unsupported(&mut next);
        if let Some(missing) = strategy.requires.iter().find(|r| !next.has(r)) {
            return Err(PlanError::Missing { strategy: id.to_owned(), missing: (*missing).to_owned() });
        }
        next.strategies.insert(id.to_owned());
        self.drop_orphan_values(&mut next);
        Ok(next)
    }

    /// `plan` changed by a move.
    pub fn apply(&self, plan: &Plan, change: &Move, facts: &Facts) -> Result<Plan, PlanError> {
        match change {
            Move::Add(id) => self.extend(plan, id, facts),
            Move::Drop(id) if plan.has(id) => Ok(self.without(plan, id)),
            Move::Drop(id) => Err(PlanError::Absent(id.clone())),
        }
    }

    /// `plan` without `id` and without whatever required it.
    pub fn without(&self, plan: &Plan, id: &str) -> Plan {
        let mut next = plan.clone();
        next.strategies.retain(|held| held != id);
        self.drop_unsupported(&mut next);
        self.drop_orphan_values(&mut next);
        next
    }

    /// `plan` with the first `count` of its strategies only.
    pub fn prefix(&self, plan: &Plan, count: usize) -> Plan {
        let mut next = plan.clone();
        next.strategies.truncate(count);
        self.drop_unsupported(&mut next);
        self.drop_orphan_values(&mut next);
        next
    }

    /// Conflicts hold both ways, whichever side declares them.
    fn conflict(&self, new: &Strategy, held: &str) -> bool {
        new.conflicts.contains(&held) || self.get(held).is_some_and(|h| h.conflicts.contains(&new.id))
    }

    fn drop_unsupported(&self, plan: &mut Plan) {
        loop {
            let before = plan.strategies.len();
            let held = plan.strategies.clone();
            plan.strategies
                .retain(|id| self.get(id).is_none_or(|s| s.requires.iter().all(|required| held.contains(*required))));
            if plan.strategies.len() == before {
                return;
            }
        }
    }

    fn drop_orphan_values(&self, plan: &mut Plan) {
        let strategies = &plan.strategies;
        plan.values.retain(|name, _| {
            let mut owners = self.strategies.iter().filter(|s| s.tunables.contains(&name.as_str())).peekable();
            owners.peek().is_none() || owners.any(|s| strategies.contains(s.id))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ChipFacts;

    fn facts() -> Facts {
        Facts {
            task: "t".into(),
            dtypes: vec![],
            symbols: BTreeMap::new(),
            chip: ChipFacts {
                name: "test".into(),
                simd_width: 32,
                max_threads: 1024,
                threadgroup_memory: 32768,
                registers_at_full_occupancy: 104,
                cores: 8,
                dram_gbps: 100.0,
                f32_gflops: 1000.0,
                f16_gflops: 1000.0,
                bfloat: false,
                simdgroup_matrix: true,
            },
        }
    }

    fn entry(
        id: &'static str,
        requires: &'static [&'static str],
        conflicts: &'static [&'static str],
        tunables: &'static [&'static str],
    ) -> Strategy {
        Strategy {
            id,
            title: id,
            why: "",
            requires,
            conflicts,
            tunables,
            difficulty: 1,
            effect: Effect::NONE,
            applies: |_| Ok(()),
        }
    }

    fn catalogue() -> Catalogue {
        Catalogue::new(vec![
            entry("tile", &[], &[], &["BK"]),
            entry("double-buffer", &["tile"], &[], &["STAGES"]),
            entry("matrix", &[], &["tile"], &["BM"]),
            Strategy { applies: |_| Err("never".into()), ..entry("never", &[], &[], &[]) },
        ])
    }

    #[test]
    fn requirements_are_checked_in_order() {
        let c = catalogue();
        let e = c.extend(&Plan::default(), "double-buffer", &facts()).unwrap_err();
        assert_eq!(e, PlanError::Missing { strategy: "double-buffer".into(), missing: "tile".into() });
        let tiled = c.extend(&Plan::default(), "tile", &facts()).unwrap();
        assert!(c.extend(&tiled, "double-buffer", &facts()).unwrap().has("double-buffer"));
        assert_eq!(c.extend(&tiled, "tile", &facts()).unwrap_err(), PlanError::Present("tile".into()));
        assert!(matches!(c.extend(&tiled, "never", &facts()), Err(PlanError::Inapplicable { .. })));
        assert!(matches!(c.extend(&tiled, "nosuch", &facts()), Err(PlanError::Unknown(_))));
    }

    #[test]
    fn a_conflict_replaces_and_takes_dependants_and_their_values_along() {
        let c = catalogue();
        let mut plan = c.extend(&Plan::default(), "tile", &facts()).unwrap();
        plan = c.extend(&plan, "double-buffer", &facts()).unwrap();
        plan.values = BTreeMap::from([("BK".into(), 32), ("STAGES".into(), 2), ("UNROLL".into(), 4)]);
        let replaced = c.extend(&plan, "matrix", &facts()).unwrap();
        assert_eq!(replaced.strategies.iter().collect::<Vec<_>>(), ["matrix"]);
        assert_eq!(replaced.values, BTreeMap::from([("UNROLL".into(), 4)]), "only values nobody owns stay");
        // The other way round: the held strategy declares the conflict.
        let back = c.extend(&replaced, "tile", &facts()).unwrap();
        assert_eq!(back.strategies.iter().collect::<Vec<_>>(), ["tile"]);
    }

    #[test]
    fn removal_takes_dependants_along() {
        let c = catalogue();
        let plan = c.extend(&Plan::default(), "tile", &facts()).unwrap();
        let plan = c.extend(&plan, "double-buffer", &facts()).unwrap();
        assert!(c.without(&plan, "tile").strategies.is_empty());
    }
}
