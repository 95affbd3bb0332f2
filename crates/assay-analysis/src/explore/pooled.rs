//! Lifts over all agents together.

use std::collections::BTreeMap;

use assay_stats::PairedTask;
use assay_store::RunFolder;
use serde::Serialize;

use super::pair::{Pair, ends};
use crate::table::Slot;

/// The lift of a condition over several agents, crossed with tasks: a task's value is the mean over
/// agents of its difference, and tasks are the sample. It is about these agents, and about tasks
/// like these. Exploratory: there is no verdict on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pooled {
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// Agents pooled, each weighing the same; at least 2.
    pub agents: usize,
    /// Tasks with a valid trial in every arm of every one of these agents.
    pub tasks: usize,
    /// Mean over tasks.
    pub lift: Option<f64>,
    /// Its 95 % interval, unadjusted; `null` below 5 tasks or clusters.
    pub ci95: Option<[f64; 2]>,
}

pub(super) fn pooled(run: &RunFolder, pairs: &[Pair<'_>], clusters: &BTreeMap<&str, u64>) -> Vec<Pooled> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    others.iter().filter_map(|condition| pool(pairs, baseline, condition, clusters)).collect()
}

fn pool(
    pairs: &[Pair<'_>],
    baseline: &str,
    condition: &str,
    clusters: &BTreeMap<&str, u64>,
) -> Option<Pooled> {
    let agents = by_agent(pairs, condition);
    let (_, first) = agents.first_key_value().filter(|_| agents.len() > 1)?;
    let tasks: Vec<PairedTask> = first
        .keys()
        .filter_map(|task| {
            let slots: Option<Vec<_>> = agents.values().map(|tasks| tasks.get(task).copied()).collect();
            let (arms, bases): (Vec<&Slot>, Vec<&Slot>) = slots?.into_iter().unzip();
            Some(PairedTask {
                arm: together(&arms)?,
                base: together(&bases)?,
                cluster: clusters.get(task).copied(),
            })
        })
        .collect();
    let estimate = assay_stats::lift(&tasks, 0.95);
    Some(Pooled {
        baseline: baseline.to_owned(),
        condition: condition.to_owned(),
        agents: agents.len(),
        tasks: tasks.len(),
        lift: estimate.map(|estimate| estimate.mean),
        ci95: ends(estimate.and_then(|estimate| estimate.interval)),
    })
}

/// The tasks of a condition by agent, arm and baseline each. An agent may have some tasks in one sandbox and some in
/// another.
pub(super) fn by_agent<'a>(
    pairs: &[Pair<'a>],
    condition: &str,
) -> BTreeMap<usize, BTreeMap<&'a str, (&'a Slot, &'a Slot)>> {
    let mut agents: BTreeMap<usize, BTreeMap<&str, (&Slot, &Slot)>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.condition == condition) {
        let tasks = pair.tasks.iter().map(|(task, arm, base)| (*task, (*arm, *base)));
        agents.entry(pair.agent).or_default().extend(tasks);
    }
    agents
}

/// A task's trials under several agents as trials of one: their mean is the mean over agents, and
/// their number is such that the binomial's largest variance is that of the mean, ¼/r = Σ(¼/rᵢ)/k²,
/// rounded down. With equal repetitions it is all of them.
fn together(slots: &[&Slot]) -> Option<Vec<f64>> {
    let rates: Option<Vec<f64>> = slots.iter().map(|slot| slot.pass_rate()).collect();
    let agents = slots.len() as f64;
    let mean = rates?.iter().sum::<f64>() / agents;
    let inverse: f64 = slots.iter().map(|slot| 1.0 / slot.valid().count() as f64).sum();
    // Slightly above a whole number counts as that number.
    let trials = (agents * agents / inverse + 1e-9).floor().max(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number of trials")]
    let trials = trials as usize;
    Some(vec![mean; trials])
}
