//! The plans by which comparisons are decided after each round.

use std::collections::BTreeMap;

use assay_stats::sequential::{Look, SequentialPlan};
use assay_stats::{Losses, PairedTask};

/// The plans of families, by size: their levels take a while to compute.
pub(crate) struct Plans {
    rounds: u32,
    margin: f64,
    by_family: BTreeMap<usize, Option<SequentialPlan>>,
}

impl Plans {
    pub(crate) fn new(rounds: u32, margin: f64) -> Self {
        Self { rounds, margin, by_family: BTreeMap::new() }
    }

    /// The look at a round of a comparison.
    pub(crate) fn decide_round(
        &mut self,
        family: usize,
        round: u32,
        tasks: &[PairedTask],
        losses: &Losses,
    ) -> Option<Look> {
        let (rounds, margin) = (self.rounds as usize, self.margin);
        let plan =
            self.by_family.entry(family).or_insert_with(|| SequentialPlan::new(rounds, family, margin));
        plan.as_ref()?.decide_round(tasks, round as usize, Some(losses))
    }
}
