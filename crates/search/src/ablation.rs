//! The experiment behind the translation layer: the same search with and without what the layer knows. Without it the
//! built-in roles lose the strategies that rest on knowledge of Apple's GPUs, and all expectations of what a strategy
//! does: they draw the next change at random. Must not know how results are shown.

use ksearch_task::Candidate;

use crate::facts::Facts;
use crate::generator::Generator;
use crate::strategy::{Catalogue, Plan, PlanError, Strategy};

/// Strategies that exist because of what `knowledge/` says of Apple's GPUs and Metal; the others are told by the CUDA
/// literature alone. Each has its entry there.
pub const FROM_THE_LAYER: &[&str] = &[
    // Attention: base-2 exponential hardware, 8x8 matrices and their lane layout, banks, 32-lane teams without shared
    // memory, storage in 16 bits.
    "exp2",
    "simdgroup-matrix",
    "pad-tiles",
    "transpose-k",
    "edge-masks",
    "simd-rows",
    "half-storage",
    // Selective scan: lanes over states with shuffles, inputs shared within a simdgroup.
    "lanes-over-states",
    "share-inputs",
];

/// A generator that does not know some strategies.
pub struct Withheld<'a> {
    inner: &'a dyn Generator,
    catalogue: Catalogue,
}

impl<'a> Withheld<'a> {
    /// `inner` without the strategies named, and without those that need one of them.
    pub fn new(inner: &'a dyn Generator, without: &[&str]) -> Self {
        let mut left: Vec<Strategy> = inner.catalogue().iter().filter(|s| !without.contains(&s.id)).cloned().collect();
        loop {
            let ids: Vec<&str> = left.iter().map(|s| s.id).collect();
            let before = left.len();
            left.retain(|s| s.requires.iter().all(|r| ids.contains(r)));
            if left.len() == before {
                break;
            }
        }
        Self { inner, catalogue: Catalogue::new(left) }
    }

    /// Strategies that it does not know and `inner` does.
    pub fn missing(&self) -> Vec<&'static str> {
        self.inner.catalogue().iter().map(|s| s.id).filter(|id| self.catalogue.get(id).is_none()).collect()
    }
}

impl Generator for Withheld<'_> {
    fn task(&self) -> &'static str {
        self.inner.task()
    }

    fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn render(&self, plan: &Plan, facts: &Facts) -> Result<Candidate, PlanError> {
        match plan.strategies.iter().find(|id| self.catalogue.get(id).is_none()) {
            Some(unknown) => Err(PlanError::Unknown(unknown.clone())),
            None => self.inner.render(plan, facts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coder;

    #[test]
    fn what_is_withheld_is_known_to_some_task_and_cannot_be_rendered() {
        let all = coder::generators();
        for id in FROM_THE_LAYER {
            assert!(all.iter().any(|g| g.catalogue().get(id).is_some()), "{id}");
        }
        let attention = coder::generator("attention").unwrap();
        let withheld = Withheld::new(&*attention, FROM_THE_LAYER);
        assert!(withheld.missing().contains(&"simdgroup-matrix"));
        assert!(withheld.catalogue().get("online-softmax").is_some());
        assert!(withheld.catalogue().iter().all(|s| s.requires.iter().all(|r| withheld.catalogue().get(r).is_some())));
    }
}
