//! How well the adoption score tells runs that read a skill from runs that did not: on the very traces at hand.

use std::collections::BTreeMap;

use assay_stats::{Interval, clopper_pearson};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use super::planted::RATES;
use super::task::{RunAudit, TaskAudit};
use crate::evidence::ADOPTED;

/// Resamples of tasks.
const DRAWS: usize = 9_999;

/// A threshold is chosen so that at most this share of runs that read nothing reach it: half of what is allowed, to have room.
const ALLOWANCE: f64 = 0.025;

/// A count out of some, with the exact 95 % interval of Clopper & Pearson (1934), which takes them as independent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// How many.
    pub count: usize,
    /// Out of how many.
    pub of: usize,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Rate {
    /// So many out of so many.
    pub fn new(count: usize, of: usize) -> Self {
        let Interval { low, high } = clopper_pearson(count as u64, of as u64, 0.95);
        Self { count, of, low, high }
    }

    fn counted(values: impl IntoIterator<Item = bool>) -> Self {
        let (mut count, mut of) = (0, 0);
        for value in values {
            count += usize::from(value);
            of += 1;
        }
        Self::new(count, of)
    }
}

/// The share of comparisons that a run which read the skill wins, ties counted half.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Auc {
    /// Over all comparisons.
    pub value: f64,
    /// How many comparisons.
    pub comparisons: usize,
    /// 2.5th and 97.5th percentile over 9,999 resamples of the tasks; of no width where every task gives the same.
    pub low: f64,
    /// The upper one.
    pub high: f64,
    /// The smallest value with one task left out; the value itself with a single task.
    pub without_one_task: f64,
    /// By task.
    pub per_task: BTreeMap<String, f64>,
}

/// What the score is worth here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Runs that opened the skill, copies counted once.
    pub opened: usize,
    /// Tasks with such a run.
    pub tasks: usize,
    /// Runs that opened it against their task's controls, and against themselves scored with every other skill, together.
    pub auc: Option<Auc>,
    /// The first half of it.
    pub auc_controls: Option<Auc>,
    /// The second.
    pub auc_skills: Option<Auc>,
    /// Runs that outscore all their controls and all other skills.
    pub first: Rate,
    /// The same runs and controls, scored with every skill but the right one: one half if the score knows nothing but the skill.
    pub placebo_auc: Option<Auc>,
    /// The threshold.
    pub threshold: f64,
    /// Runs that opened the skill and reach the threshold.
    pub detected: Rate,
    /// Controls and runs that did not open it, and reach the threshold.
    pub false_alarms: Rate,
    /// Wrong skills that reach the threshold, over all runs and other skills.
    pub placebo_alarms: Rate,
    /// For each task: the threshold that the other tasks give, and what it does here.
    pub threshold_by_others: Vec<LeftOut>,
    /// Lines of the skill spliced into controls, and the share of controls that then reach the threshold.
    pub planted: Vec<Planted>,
}

/// A task judged by a threshold that it had no part in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOut {
    /// The task.
    pub task: String,
    /// The smallest multiple of .05 that at most 2.5 % of the other tasks' unread runs reach.
    pub threshold: f64,
    /// Runs of this task that opened the skill and reach it.
    pub detected: usize,
    /// Out of.
    pub opened: usize,
    /// Runs of this task that did not, and reach it.
    pub false_alarms: usize,
    /// Out of.
    pub unread: usize,
}

/// Detection at one rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Planted {
    /// Lines spliced in.
    pub lines: usize,
    /// Controls that then reach the threshold.
    pub detected: Rate,
}

/// Checks the score on some tasks. A run and its copies are one.
pub fn check(tasks: &[TaskAudit]) -> Check {
    let distinct: Vec<(&TaskAudit, Vec<&RunAudit>)> = tasks
        .iter()
        .map(|task| {
            let kept =
                task.runs.iter().enumerate().filter(|(at, run)| run.original == *at).map(|(_, run)| run);
            (task, kept.collect())
        })
        .collect();
    let (mut controls, mut skills, mut placebo) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut first = Vec::new();
    let (mut opened, mut with_reader) = (0, 0);
    for (task, runs) in &distinct {
        let readers: Vec<&&RunAudit> = runs.iter().filter(|run| run.exposure.opened).collect();
        let unread: Vec<&&RunAudit> = runs.iter().filter(|run| !run.with && !run.exposure.opened).collect();
        opened += readers.len();
        with_reader += usize::from(!readers.is_empty());
        for reader in readers {
            let own = reader.adoption.score;
            let won: Vec<f64> = unread.iter().map(|run| wins(own, run.adoption.score)).collect();
            let over: Vec<f64> = reader.placebo.iter().map(|other| wins(own, *other)).collect();
            let right = |all: &[f64]| all.iter().all(|win| *win > 0.75);
            first.push(right(&won) && right(&over));
            let by_chance = unread
                .iter()
                .flat_map(|run| reader.placebo.iter().zip(&run.placebo).map(|(a, b)| wins(*a, *b)));
            placebo.entry(task.task.clone()).or_insert_with(Vec::new).extend(by_chance);
            controls.entry(task.task.clone()).or_insert_with(Vec::new).extend(won);
            skills.entry(task.task.clone()).or_insert_with(Vec::new).extend(over);
        }
    }
    let mut both: BTreeMap<String, Vec<f64>> = controls.clone();
    for (task, wins) in &skills {
        both.entry(task.clone()).or_default().extend(wins);
    }
    let runs = || distinct.iter().flat_map(|(_, runs)| runs.iter());
    let reaches = |run: &&&RunAudit| run.adoption.score >= ADOPTED;
    let planted = |lines: usize| {
        let found = runs().flat_map(|run| run.planted.iter().filter(move |(rate, _)| *rate == lines));
        Planted { lines, detected: Rate::counted(found.map(|(_, score)| *score >= ADOPTED)) }
    };
    Check {
        opened,
        tasks: with_reader,
        auc: auc(&both),
        auc_controls: auc(&controls),
        auc_skills: auc(&skills),
        first: Rate::counted(first),
        placebo_auc: auc(&placebo),
        threshold: ADOPTED,
        detected: Rate::counted(runs().filter(|run| run.exposure.opened).map(|run| reaches(&run))),
        false_alarms: Rate::counted(runs().filter(|run| !run.exposure.opened).map(|run| reaches(&run))),
        placebo_alarms: Rate::counted(
            runs().flat_map(|run| run.placebo.iter().map(|score| *score >= ADOPTED)),
        ),
        threshold_by_others: left_out(&distinct),
        planted: RATES.into_iter().map(planted).filter(|planted| planted.detected.of > 0).collect(),
    }
}

fn left_out(tasks: &[(&TaskAudit, Vec<&RunAudit>)]) -> Vec<LeftOut> {
    let judge = |at: usize| {
        let (task, runs) = &tasks[at];
        let others =
            tasks.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, (_, runs))| runs);
        let unread: Vec<f64> =
            others.filter(|run| !run.exposure.opened).map(|run| run.adoption.score).collect();
        let alarms = |threshold: f64| unread.iter().filter(|score| **score >= threshold).count() as f64;
        let steps = (1..=20).map(|step| f64::from(step) * 0.05);
        let threshold =
            steps.into_iter().find(|t| alarms(*t) <= ALLOWANCE * unread.len() as f64).unwrap_or(1.0);
        let count = |opened: bool| runs.iter().filter(move |run| run.exposure.opened == opened);
        let reach = |opened: bool| count(opened).filter(|run| run.adoption.score >= threshold).count();
        LeftOut {
            task: task.task.clone(),
            threshold,
            detected: reach(true),
            opened: count(true).count(),
            false_alarms: reach(false),
            unread: count(false).count(),
        }
    };
    (0..tasks.len()).map(judge).collect()
}

/// 1 for more, one half for as much.
fn wins(one: f64, other: f64) -> f64 {
    if one > other {
        1.0
    } else if one < other {
        0.0
    } else {
        0.5
    }
}

/// Pools comparisons by task. `None` without one.
fn auc(tasks: &BTreeMap<String, Vec<f64>>) -> Option<Auc> {
    let sums: Vec<(f64, usize)> =
        tasks.values().filter(|wins| !wins.is_empty()).map(|wins| (wins.iter().sum(), wins.len())).collect();
    let pool = |chosen: &mut dyn Iterator<Item = (f64, usize)>| {
        let (sum, n) = chosen.fold((0.0, 0), |(sum, n), (wins, of)| (sum + wins, n + of));
        sum / n as f64
    };
    if sums.is_empty() {
        return None;
    }
    let value = pool(&mut sums.iter().copied());
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut draw = || {
        let high = u128::from(random.next_u64()) * sums.len() as u128;
        // The high half of the product is below the length.
        sums[usize::try_from(high >> 64).unwrap_or_default()]
    };
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| pool(&mut (0..sums.len()).map(|_| draw()))).collect();
    drawn.sort_by(f64::total_cmp);
    let rest =
        |at: usize| pool(&mut sums.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, sum)| *sum));
    let without = (0..sums.len()).map(rest).fold(f64::INFINITY, f64::min);
    Some(Auc {
        value,
        comparisons: sums.iter().map(|(_, n)| n).sum(),
        low: drawn[DRAWS / 40],
        high: drawn[DRAWS - 1 - DRAWS / 40],
        without_one_task: if sums.len() > 1 { without } else { value },
        per_task: tasks
            .iter()
            .map(|(task, wins)| (task.clone(), wins.iter().sum::<f64>() / wins.len().max(1) as f64))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_pooled_over_tasks() {
        let tasks = BTreeMap::from([("a".to_owned(), vec![1.0, 1.0, 0.5, 0.0]), ("b".to_owned(), vec![1.0])]);
        let found = auc(&tasks).unwrap();
        assert!((found.value - 3.5 / 5.0).abs() < 1e-12);
        assert!((found.without_one_task - 0.625).abs() < 1e-12);
        assert!((found.low, found.high) == (0.625, 1.0));
        assert!(auc(&BTreeMap::new()).is_none());
    }

    #[test]
    fn a_rate_carries_its_exact_interval() {
        // scipy.stats.binomtest(1, 66).proportion_ci(method="exact") of SciPy.
        let rate = Rate::new(1, 66);
        assert!((rate.low - 0.000_383_5).abs() < 1e-6 && (rate.high - 0.081_55).abs() < 1e-4, "{rate:?}");
        assert_eq!(Rate::counted([]).of, 0);
    }
}
