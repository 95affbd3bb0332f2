//! One estimate over models.

use std::collections::BTreeMap;

use assay_stats::{PairedTask, UnitEffect, random_effects};
use assay_store::RunFolder;
use serde::Serialize;

use super::pair::Pair;
use super::pooled::by_agent;
use super::skills::OverUnits;
use crate::table::Slot;

/// The lift of a condition with agents as units: they are a sample of models, and the tasks are given. Where
/// [`super::Pooled`] is about tasks like these and exactly these agents, this is about these tasks and agents like these.
/// Exploratory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverModels {
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// Agents, the units; at least 2.
    pub agents: usize,
    /// Tasks with a valid trial in every arm of every one of them.
    pub tasks: usize,
    /// The estimate.
    #[serde(flatten)]
    pub estimate: OverUnits,
}

pub(super) fn over_models(run: &RunFolder, pairs: &[Pair<'_>]) -> Vec<OverModels> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    others.iter().filter_map(|condition| over(pairs, baseline, condition)).collect()
}

fn over(pairs: &[Pair<'_>], baseline: &str, condition: &str) -> Option<OverModels> {
    let agents = by_agent(pairs, condition);
    let (_, first) = agents.first_key_value().filter(|_| agents.len() > 1)?;
    let shared: Vec<&str> =
        first.keys().copied().filter(|task| agents.values().all(|tasks| tasks.contains_key(task))).collect();
    let lift_of = |tasks: &BTreeMap<&str, (&Slot, &Slot)>| {
        let pair = |task: &&str| {
            let (arm, base) = tasks.get(task)?;
            Some(PairedTask { arm: arm.scores(), base: base.scores(), cluster: None })
        };
        UnitEffect::of_fixed_tasks(&shared.iter().filter_map(pair).collect::<Vec<_>>())
    };
    let units: Vec<UnitEffect> = agents.values().filter_map(lift_of).collect();
    let found = random_effects(&units)?;
    Some(OverModels {
        baseline: baseline.to_owned(),
        condition: condition.to_owned(),
        agents: units.len(),
        tasks: shared.len(),
        estimate: OverUnits::of(Some(&found)),
    })
}
