//! The lift of each skill, and one estimate over skills.

use std::collections::{BTreeMap, BTreeSet};

use assay_stats::{FEWEST_UNITS, MetricScale, PairedTask, RandomEffects, UnitEffect, random_effects};
use assay_store::{PlannedProvision, RunFolder};
use serde::Serialize;

use super::pair::{Pair, ends, paired, values_of_scored};
use crate::comparisons::within_spread;
use crate::model::AgentKey;
use crate::table::Slot;

/// One skill under a condition, on the tasks for which it is provided. Exploratory: there is no verdict on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SkillEffect {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub digest: String,
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// Tasks with a valid trial in every arm for which the condition provides it; at least 5.
    pub tasks: usize,
    /// Mean over them of the difference of mean scores.
    pub lift: Option<f64>,
    /// Its 95% CI, unadjusted; `null` below 5 clusters.
    pub ci95: Option<[f64; 2]>,
    /// The lift, shrunk towards the mean of all skills; skills are in the order of these. `null` without an estimate over
    /// skills.
    pub shrunk_lift: Option<f64>,
    /// Tokens under the condition, as a ratio to the baseline's: geometric mean over tasks. `null` if a trial's tokens are
    /// unknown.
    pub tokens_ratio: Option<f64>,
    /// Its 95% CI.
    pub tokens_ratio_ci95: Option<[f64; 2]>,
    /// Seconds of the agent, likewise.
    pub seconds_ratio: Option<f64>,
    /// Its 95% CI.
    pub seconds_ratio_ci95: Option<[f64; 2]>,
}

/// One estimate over the skills of a condition, with skills as units. Exploratory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverSkills {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// Skills with at least 5 tasks: the units.
    pub skills: usize,
    /// Skills with fewer, which have no estimate and are left out.
    pub few_tasks: usize,
    /// Whether a task has several of the skills. Their lifts depend on each other then, and there is no estimate over them.
    pub shared_tasks: bool,
    /// The estimate; its figures are `null` below two skills.
    #[serde(flatten)]
    pub estimate: OverUnits,
}

/// An estimate over units: restricted maximum likelihood, with the interval of Hartung and Knapp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct OverUnits {
    /// The mean of the units' lifts.
    pub lift: Option<f64>,
    /// Its 95% CI.
    pub ci95: Option<[f64; 2]>,
    /// The standard deviation of the units' true lifts.
    pub tau: Option<f64>,
    /// Its 95% CI; `null` too if the units agree better than their variances explain.
    pub tau_ci95: Option<[f64; 2]>,
    /// The 95% prediction interval of the true lift of a new unit; `null` below three units.
    pub prediction95: Option<[f64; 2]>,
}

impl OverUnits {
    pub(super) fn of(found: Option<&RandomEffects>) -> Self {
        let Some(found) = found else { return Self::default() };
        // No lift is outside [−1, 1], and so no standard deviation of lifts above 1.
        let within = |[low, high]: [f64; 2]| [low.max(-1.0), high.min(1.0)];
        Self {
            lift: Some(found.mean),
            ci95: ends(Some(found.interval)).map(within),
            tau: Some(found.tau),
            tau_ci95: ends(found.tau_interval).map(within_spread),
            prediction95: ends(found.prediction).map(within),
        }
    }
}

/// The skills of each pair whose condition provides the task's own, and the estimates over them.
pub(super) fn skills(
    run: &RunFolder,
    pairs: &[Pair<'_>],
    clusters: &BTreeMap<&str, u64>,
) -> (Vec<SkillEffect>, Vec<OverSkills>) {
    let provisions: BTreeMap<(&str, &str), &PlannedProvision> = run
        .provisions
        .iter()
        .map(|planned| ((planned.task.as_str(), planned.condition.as_str()), planned))
        .collect();
    let (mut rows, mut over) = (Vec::new(), Vec::new());
    for pair in pairs.iter().filter(|pair| run.role_of(pair.condition).has_own_skills()) {
        let (of_pair, estimate) = skills_of(pair, &provisions, clusters);
        rows.extend(of_pair);
        over.extend(estimate);
    }
    (rows, over)
}

/// A task of a pair.
type PairTask<'a> = (&'a str, &'a Slot, &'a Slot);

fn skills_of(
    pair: &Pair<'_>,
    provisions: &BTreeMap<(&str, &str), &PlannedProvision>,
    clusters: &BTreeMap<&str, u64>,
) -> (Vec<SkillEffect>, Option<OverSkills>) {
    let mut by_skill: BTreeMap<(&str, &str), Vec<PairTask<'_>>> = BTreeMap::new();
    for task in &pair.tasks {
        let skills = provisions
            .get(&(task.0, pair.condition))
            .map_or(&[][..], |provision| provision.skills.as_slice());
        // A skill that a task lists twice is one.
        let skills: BTreeSet<(&str, &str)> =
            skills.iter().map(|skill| (skill.name.as_str(), skill.digest.as_str())).collect();
        for skill in skills {
            by_skill.entry(skill).or_default().push(*task);
        }
    }
    if by_skill.is_empty() {
        return (Vec::new(), None);
    }
    let all = by_skill.len();
    by_skill.retain(|_, tasks| tasks.len() >= FEWEST_UNITS);
    let mut seen = BTreeSet::new();
    let shared_tasks = !by_skill.values().flatten().all(|(task, ..)| seen.insert(*task));
    let mut effects: Vec<SkillEffect> = Vec::new();
    let mut units: Vec<(usize, UnitEffect)> = Vec::new();
    for ((name, digest), tasks) in &by_skill {
        let scores: Vec<PairedTask> =
            tasks.iter().map(|(task, arm, base)| paired(task, arm, base, clusters)).collect();
        units.extend(UnitEffect::of_sample(&scores).map(|unit| (effects.len(), unit)));
        effects.push(effect_of(pair, (name, digest), tasks, &scores));
    }
    let usable: Vec<UnitEffect> = units.iter().map(|(_, unit)| *unit).collect();
    let found = if shared_tasks { None } else { random_effects(&usable) };
    for ((at, _), shrunk) in units.iter().zip(found.iter().flat_map(|found| &found.shrunk)) {
        effects[*at].shrunk_lift = Some(*shrunk);
    }
    effects.sort_by(|one, other| {
        let key = |effect: &SkillEffect| effect.shrunk_lift.or(effect.lift).unwrap_or(f64::NEG_INFINITY);
        key(other).total_cmp(&key(one)).then_with(|| one.name.cmp(&other.name))
    });
    let over = OverSkills {
        who: pair.who.clone(),
        baseline: pair.baseline.to_owned(),
        condition: pair.condition.to_owned(),
        skills: usable.len(),
        few_tasks: all - usable.len(),
        shared_tasks,
        estimate: OverUnits::of(found.as_ref()),
    };
    (effects, Some(over))
}

fn effect_of(
    pair: &Pair<'_>,
    (name, digest): (&str, &str),
    tasks: &[PairTask<'_>],
    scores: &[PairedTask],
) -> SkillEffect {
    let estimate = assay_stats::lift(scores, 0.95);
    let ratio = |value: fn(&crate::result::TrialResult) -> Option<f64>| {
        let of_task = |((_, arm, base), scores): (&PairTask<'_>, &PairedTask)| {
            let (arm, base) = (values_of_scored(arm, value)?, values_of_scored(base, value)?);
            Some(PairedTask { arm, base, cluster: scores.cluster })
        };
        let values: Option<Vec<PairedTask>> = tasks.iter().zip(scores).map(of_task).collect();
        values.and_then(|values| assay_stats::metric_effect(&values, MetricScale::Log, 0.95))
    };
    let tokens = ratio(|result| result.usage.map(|usage| usage.total() as f64));
    let seconds = ratio(|result| result.seconds);
    SkillEffect {
        name: name.to_owned(),
        digest: digest.to_owned(),
        who: pair.who.clone(),
        baseline: pair.baseline.to_owned(),
        condition: pair.condition.to_owned(),
        tasks: tasks.len(),
        lift: estimate.map(|estimate| estimate.mean),
        ci95: ends(estimate.and_then(|estimate| estimate.interval)),
        shrunk_lift: None,
        tokens_ratio: tokens.map(|found| found.effect),
        tokens_ratio_ci95: ends(tokens.and_then(|found| found.interval)),
        seconds_ratio: seconds.map(|found| found.effect),
        seconds_ratio_ci95: ends(seconds.and_then(|found| found.interval)),
    }
}
