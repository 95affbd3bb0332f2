//! The plans by which comparisons are decided after each round.

use std::collections::BTreeMap;

use assay_stats::sequential::{Look, SequentialPlan, spread_looks};
use assay_stats::{Losses, PairedTask};
use assay_store::Stopping;

/// The plans of families, by size: their levels take a while to compute.
pub(crate) struct Plans {
    rounds: usize,
    /// The rounds after which is looked.
    looks: Vec<usize>,
    margin: f64,
    by_family: BTreeMap<usize, Option<SequentialPlan>>,
}

impl Plans {
    pub(crate) fn new(stopping: Stopping, margin: f64) -> Self {
        let rounds = stopping.rounds as usize;
        Self { rounds, looks: spread_looks(rounds, stopping.looks), margin, by_family: BTreeMap::new() }
    }

    /// Whether there is a look after a round.
    pub(crate) fn look_after(&self, round: u32) -> bool {
        self.looks.contains(&(round as usize))
    }

    fn of(&mut self, family: usize) -> Option<&SequentialPlan> {
        let (rounds, looks, margin) = (self.rounds, &self.looks, self.margin);
        self.by_family
            .entry(family)
            .or_insert_with(|| Some(SequentialPlan::new(rounds, family, margin)?.looking_after(looks)))
            .as_ref()
    }

    /// The median-unbiased lift of a comparison that ended after a round.
    pub(crate) fn unbiased_lift(&mut self, family: usize, round: u32, tasks: &[PairedTask]) -> Option<f64> {
        self.of(family)?.unbiased_lift(tasks, round as usize)
    }

    /// The look at a round of a comparison.
    pub(crate) fn decide_round(
        &mut self,
        family: usize,
        round: u32,
        tasks: &[PairedTask],
        losses: &Losses,
    ) -> Option<Look> {
        self.of(family)?.decide_round(tasks, round as usize, Some(losses))
    }
}
