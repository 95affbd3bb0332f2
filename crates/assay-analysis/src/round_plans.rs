//! The plans by which comparisons are decided after each round.

use std::collections::BTreeMap;

use assay_stats::sequential::{Look, SequentialPlan, spread_looks};
use assay_stats::{Losses, PairedTask, Verdict};
use assay_store::Stopping;

/// The plans of families, by size: their levels take a while to compute.
pub(crate) struct Plans {
    rounds: usize,
    /// The rounds after which is looked.
    looks: Vec<usize>,
    /// Tasks of the rounds, and those after them.
    stages: Option<[usize; 2]>,
    margin: f64,
    by_family: BTreeMap<usize, Option<SequentialPlan>>,
}

impl Plans {
    pub(crate) fn new(stopping: Stopping, margin: f64) -> Self {
        let rounds = stopping.rounds as usize;
        Self {
            rounds,
            looks: spread_looks(rounds, stopping.looks),
            stages: stopping.stages(),
            margin,
            by_family: BTreeMap::new(),
        }
    }

    /// Whether there is a look after a round.
    pub(crate) fn look_after(&self, round: u32) -> bool {
        self.looks.contains(&(round as usize))
    }

    fn of(&mut self, family: usize) -> Option<&SequentialPlan> {
        let (rounds, looks, stages, margin) = (self.rounds, &self.looks, self.stages, self.margin);
        let plan = || {
            let plan = SequentialPlan::new(rounds, family, margin)?.looking_after(looks);
            Some(match stages {
                Some([first, more]) => plan.with_more_tasks(first, more),
                None => plan,
            })
        };
        self.by_family.entry(family).or_insert_with(plan).as_ref()
    }

    /// The median-unbiased lift of a comparison that ended after a round.
    pub(crate) fn unbiased_lift(&mut self, family: usize, round: u32, tasks: &[PairedTask]) -> Option<f64> {
        self.of(family)?.unbiased_lift(tasks, round as usize)
    }

    /// The same of a comparison that ended with the tasks after the rounds.
    pub(crate) fn unbiased_lift_of_stages(
        &mut self,
        family: usize,
        round: u32,
        [first, more]: [&[PairedTask]; 2],
    ) -> Option<f64> {
        self.of(family)?.unbiased_lift_of_stages(first, round as usize, more)
    }

    /// The verdict on a comparison that the rounds left open after `round`, with the tasks after them.
    pub(crate) fn decide_more(
        &mut self,
        family: usize,
        round: u32,
        [first, more]: [(&[PairedTask], &Losses); 2],
    ) -> Option<Verdict> {
        let losses = Some([first.1, more.1]);
        self.of(family)?.decide_more(first.0, round as usize, more.0, losses)
    }

    /// The least shift of lost trials that changes such a verdict, with the shift in both stages.
    pub(crate) fn tipping_shift_of_stages(
        &mut self,
        family: usize,
        round: u32,
        [first, more]: [(&[PairedTask], &Losses); 2],
    ) -> Option<f64> {
        let plan = self.of(family)?;
        let kept = [first.0, more.0];
        let kind = plan.kind_of_stages(kept, round as usize, kept)?;
        let at =
            |by: f64| plan.kind_of_stages([&first.1.filled(by), &more.1.filled(by)], round as usize, kept);
        let has_lost = |losses: &Losses| losses.arm_lost + losses.base_lost > 0;
        let losses = if has_lost(first.1) { first.1 } else { more.1 };
        losses.tipping_shift_of(kind, at)
    }

    /// The same of a verdict at a round.
    pub(crate) fn tipping_shift(
        &mut self,
        family: usize,
        round: u32,
        tasks: &[PairedTask],
        losses: &Losses,
    ) -> Option<f64> {
        let plan = self.of(family)?;
        let kind_with =
            |losses: Option<&Losses>| Some(plan.decide_round(tasks, round as usize, losses)?.verdict.kind);
        losses.tipping_shift(kind_with)
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
