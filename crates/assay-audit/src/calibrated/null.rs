//! What chance gives: excesses over a null, tested by exchanging labels within tasks.
//!
//! The unit is the task. A task gives one observed excess and the list of all excesses its labels
//! could have given; the statistic is the mean over tasks, and p the share of label assignments
//! whose mean is at least the observed one (one-sided: a skill is asked to add, and the direction
//! was fixed beforehand). Labels move within a task and arm only, and a run carries its label into
//! every pair it is in, so that runs shared by pairs stay shared.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

/// The level of a test.
pub(super) const LEVEL: f64 = 0.05;

/// Up to this many assignments all are counted.
const EXACT: u64 = 200_000;

/// Random assignments above that.
const DRAWS: usize = 99_999;

/// Means closer than this are one mean, relative to the largest excess.
const TIE: f64 = 1e-9;

/// Assignments of one task that are listed; more are thinned evenly.
const LISTED: usize = 20_000;

/// What a task showed, and all it could have shown under other labels, the observed one among them.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The task.
    pub task: String,
    /// Mean of what was counted in pairs with the skill against without.
    pub treatment: f64,
    /// Mean of the null.
    pub null: f64,
    /// All excesses, equally likely if the labels mean nothing.
    pub possible: Vec<f64>,
}

impl Unit {
    /// What was counted beyond the null.
    pub fn excess(&self) -> f64 {
        self.treatment - self.null
    }

    /// From counts of ordered pairs of runs: `counts[i][j]` is found in run i compared with run j;
    /// `with` are the runs that had the skill.
    ///
    /// The null is the mean over pairs of two different runs without the skill, in both orders;
    /// with fewer than two such runs, over pairs of two with it. `None` without a pair of either
    /// kind.
    pub fn of_pairs(task: &str, with: &[bool], counts: &[Vec<f64>]) -> Option<Self> {
        let (treatment, null) = contrast(with, counts)?;
        let given = with.iter().filter(|with| **with).count();
        let mut possible = Vec::new();
        for labels in assignments(with.len(), given) {
            possible.extend(contrast(&labels, counts).map(|(treatment, null)| treatment - null));
        }
        Some(Self { task: task.to_owned(), treatment, null, possible })
    }

    /// From one value of each run: the mean of those with the skill, beside the mean of those
    /// without.
    pub fn of_runs(task: &str, with: &[bool], values: &[f64]) -> Option<Self> {
        let mean = |labels: &[bool], wanted: bool| {
            let kept =
                labels.iter().zip(values).filter(|(label, _)| **label == wanted).map(|(_, value)| *value);
            mean(kept)
        };
        let (treatment, null) = (mean(with, true)?, mean(with, false)?);
        let given = with.iter().filter(|with| **with).count();
        let all = assignments(with.len(), given);
        let possible =
            all.iter().filter_map(|labels| Some(mean(labels, true)? - mean(labels, false)?)).collect();
        Some(Self { task: task.to_owned(), treatment, null, possible })
    }

    /// From a placebo null: what is counted with the task's own skill, and with each of the others
    /// in its place. Which of them is the right one is exchanged. `None` without another.
    pub fn of_placebo(task: &str, own: f64, others: &[f64]) -> Option<Self> {
        let null = mean(others.iter().copied())?;
        let total = own + others.iter().sum::<f64>();
        let excess = |chosen: f64| chosen - (total - chosen) / others.len() as f64;
        let possible = others.iter().copied().chain([own]).map(excess).collect();
        Some(Self { task: task.to_owned(), treatment: own, null, possible })
    }
}

/// A mean excess over tasks and how often chance gives as much.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Excess {
    /// Tasks counted.
    pub tasks: usize,
    /// Mean over tasks of what was counted.
    pub treatment: f64,
    /// Mean over tasks of the null.
    pub null: f64,
    /// Their difference.
    pub excess: f64,
    /// Share of label assignments that give as much or more.
    pub p: f64,
    /// The same after Holm's correction over the family; p itself where there is no family.
    pub p_holm: f64,
    /// The smallest p that these labels can give, whatever is counted: one over the number of
    /// assignments, or of draws and one.
    pub smallest_p: f64,
    /// The smallest mean excess that the assignments reach in at most the level's share of cases:
    /// from there on it would have been seen. `None` where none does.
    pub detectable_from: Option<f64>,
    /// Smallest and largest excess with one task left out.
    pub without_one_task: (f64, f64),
    /// Largest p with one task left out.
    pub p_without_one_task: f64,
    /// Excess of each task.
    pub per_task: Vec<TaskExcess>,
}

/// One task's part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskExcess {
    /// The task.
    pub task: String,
    /// What was counted.
    pub treatment: f64,
    /// The null.
    pub null: f64,
    /// Their difference.
    pub excess: f64,
}

/// Tests the mean excess of some tasks; `level` is for `detectable_from`. `None` without a task.
pub fn test(units: &[Unit], level: f64, seed: u64) -> Option<Excess> {
    let tasks = units.len();
    let treatment = mean(units.iter().map(|unit| unit.treatment))?;
    let null = mean(units.iter().map(|unit| unit.null))?;
    let (p, means, without) = share(units, seed);
    let mut range = (treatment - null, treatment - null);
    if tasks > 1 {
        let sum: f64 = units.iter().map(Unit::excess).sum();
        let rest = units.iter().map(|unit| (sum - unit.excess()) / (tasks - 1) as f64);
        range = rest
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(mean), high.max(mean)));
    }
    let per_task = units.iter().map(|unit| TaskExcess {
        task: unit.task.clone(),
        treatment: unit.treatment,
        null: unit.null,
        excess: unit.excess(),
    });
    Some(Excess {
        tasks,
        treatment,
        null,
        excess: treatment - null,
        p,
        p_holm: p,
        smallest_p: 1.0 / combinations(units).map_or((DRAWS + 1) as f64, |all| all as f64),
        detectable_from: detectable_from(means, level),
        without_one_task: range,
        p_without_one_task: without.into_iter().fold(p, f64::max),
        per_task: per_task.collect(),
    })
}

/// How many joint assignments there are, up to [`EXACT`].
fn combinations(units: &[Unit]) -> Option<u64> {
    let mut all: u64 = 1;
    for unit in units {
        all = all.checked_mul(unit.possible.len().max(1) as u64).filter(|all| *all <= EXACT)?;
    }
    Some(all)
}

/// The share of assignments with a mean of at least the observed one, all their means, and the same
/// share with each task left out.
fn share(units: &[Unit], seed: u64) -> (f64, Vec<f64>, Vec<f64>) {
    let tasks = units.len() as f64;
    let largest =
        units.iter().flat_map(|unit| &unit.possible).fold(0.0_f64, |most, value| most.max(value.abs()));
    let tie = TIE * largest * tasks;
    let observed: Vec<f64> = units.iter().map(Unit::excess).collect();
    let sum: f64 = observed.iter().sum();
    if combinations(units).is_some() {
        let mut sums = vec![0.0];
        for unit in units.iter().filter(|unit| !unit.possible.is_empty()) {
            sums = sums.iter().flat_map(|sum| unit.possible.iter().map(move |value| sum + value)).collect();
        }
        let above = sums.iter().filter(|value| **value >= sum - tie).count();
        let p = above as f64 / sums.len() as f64;
        let rest = |at: usize| -> Vec<Unit> {
            units.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, unit)| unit.clone()).collect()
        };
        // One level deep: what is left out is not left out again.
        let without = if units.len() > 1 {
            (0..units.len()).map(|at| exact(&rest(at), tie)).collect()
        } else {
            Vec::new()
        };
        return (p, sums.into_iter().map(|sum| sum / tasks).collect(), without);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut means = Vec::with_capacity(DRAWS);
    let mut drawn = vec![0.0; units.len()];
    let mut above = 0_usize;
    let mut above_without = vec![0_usize; units.len()];
    for _ in 0..DRAWS {
        for (value, unit) in drawn.iter_mut().zip(units) {
            let high = u128::from(random.next_u64()) * unit.possible.len() as u128;
            // The high half of the product is below the length.
            *value = unit
                .possible
                .get(usize::try_from(high >> 64).unwrap_or_default())
                .copied()
                .unwrap_or_default();
        }
        let all: f64 = drawn.iter().sum();
        above += usize::from(all >= sum - tie);
        for ((count, value), own) in above_without.iter_mut().zip(&drawn).zip(&observed) {
            *count += usize::from(all - value >= sum - own - tie);
        }
        means.push(all / tasks);
    }
    // Phipson & Smyth (2010): the observed assignment is one of them.
    let p = |count: usize| (count + 1) as f64 / (DRAWS + 1) as f64;
    (p(above), means, above_without.into_iter().map(p).collect())
}

/// The share alone, where all assignments are counted.
fn exact(units: &[Unit], tie: f64) -> f64 {
    let sum: f64 = units.iter().map(Unit::excess).sum();
    let mut sums = vec![0.0];
    for unit in units.iter().filter(|unit| !unit.possible.is_empty()) {
        sums = sums.iter().flat_map(|sum| unit.possible.iter().map(move |value| sum + value)).collect();
    }
    sums.iter().filter(|value| **value >= sum - tie).count() as f64 / sums.len() as f64
}

/// The smallest of the means that at most `level` of them reach.
fn detectable_from(mut means: Vec<f64>, level: f64) -> Option<f64> {
    means.sort_by(|a, b| b.total_cmp(a));
    let n = means.len() as f64;
    let mut found = None;
    let mut at = 0;
    while at < means.len() {
        let end = at + means[at..].partition_point(|value| *value >= means[at] - TIE);
        if end as f64 > level * n {
            break;
        }
        found = Some(means[at]);
        at = end;
    }
    found.filter(|value| *value > 0.0)
}

fn contrast(with: &[bool], counts: &[Vec<f64>]) -> Option<(f64, f64)> {
    let of = |one: bool, other: bool| {
        let pairs = (0..with.len()).flat_map(|i| (0..with.len()).map(move |j| (i, j)));
        mean(pairs.filter(|&(i, j)| i != j && with[i] == one && with[j] == other).map(|(i, j)| counts[i][j]))
    };
    Some((of(true, false)?, of(false, false).or_else(|| of(true, true))?))
}

/// All ways to give `given` of `n` runs the label.
fn assignments(n: usize, given: usize) -> Vec<Vec<bool>> {
    let mut all = Vec::new();
    let mut chosen: Vec<usize> = (0..given).collect();
    if given > n {
        return all;
    }
    loop {
        let mut labels = vec![false; n];
        for &at in &chosen {
            labels[at] = true;
        }
        all.push(labels);
        // The next combination in lexicographic order.
        let Some(at) = (0..given).rev().find(|&at| chosen[at] < n - given + at) else { break };
        chosen[at] += 1;
        for later in at + 1..given {
            chosen[later] = chosen[later - 1] + 1;
        }
        if all.len() >= LISTED {
            break;
        }
    }
    all
}

pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0);
    for value in values {
        sum += value;
        n += 1;
    }
    (n > 0).then(|| sum / f64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} and not {expected}");
    }

    #[test]
    fn assignments_are_all_of_them_once() {
        assert_eq!(assignments(4, 2).len(), 6);
        assert_eq!(assignments(6, 3).len(), 20);
        assert_eq!(assignments(3, 0), [vec![false; 3]]);
        assert_eq!(assignments(2, 2), [vec![true; 2]]);
        let mut all = assignments(5, 2);
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 10);
    }

    #[test]
    fn one_task_by_hand() {
        // Two of four runs had the skill, with values 3 and 2 against 1 and 0: the most extreme of
        // six assignments.
        let unit = Unit::of_runs("t", &[true, true, false, false], &[3.0, 2.0, 1.0, 0.0]).unwrap();
        near(unit.excess(), 2.0);
        let found = test(std::slice::from_ref(&unit), 0.2, 1).unwrap();
        near(found.p, 1.0 / 6.0);
        near(found.smallest_p, 1.0 / 6.0);
        near(found.detectable_from.unwrap(), 2.0);
        // At .05 nothing can be seen with six assignments.
        assert_eq!(test(std::slice::from_ref(&unit), 0.05, 1).unwrap().detectable_from, None);
        // Two such tasks: one of 36.
        let found = test(&[unit.clone(), unit], 0.05, 1).unwrap();
        near(found.p, 1.0 / 36.0);
        near(found.p_without_one_task, 1.0 / 6.0);
        near(found.without_one_task.0, 2.0);
    }

    #[test]
    fn pairs_by_hand() {
        // Runs 0 and 1 had the skill. What is found depends on the first run alone: 4, 2, 1, 1.
        let counts: Vec<Vec<f64>> = [4.0, 2.0, 1.0, 1.0].iter().map(|value| vec![*value; 4]).collect();
        let unit = Unit::of_pairs("t", &[true, true, false, false], &counts).unwrap();
        near(unit.treatment, 3.0);
        near(unit.null, 1.0);
        // {0,1}: 3 − 1; {0,2} and {0,3}: 2.5 − 1.5; {1,2} and {1,3}: 1.5 − 2.5; {2,3}: 1 − 3.
        let mut possible = unit.possible.clone();
        possible.sort_by(f64::total_cmp);
        assert_eq!(possible, [-2.0, -1.0, -1.0, 1.0, 1.0, 2.0]);
        // Without a second run without the skill, the null is the pairs with it; without either
        // there is none.
        assert!(Unit::of_pairs("t", &[true, true, false], &vec![vec![1.0; 3]; 3]).is_some());
        assert!(Unit::of_pairs("t", &[true, false], &vec![vec![1.0; 2]; 2]).is_none());
        assert!(Unit::of_pairs("t", &[false, false], &vec![vec![1.0; 2]; 2]).is_none());
    }

    #[test]
    fn a_placebo_null_exchanges_the_skill() {
        let unit = Unit::of_placebo("t", 5.0, &[1.0, 0.0, 2.0]).unwrap();
        near(unit.excess(), 4.0);
        near(test(&[unit], 0.25, 1).unwrap().p, 0.25);
        assert!(Unit::of_placebo("t", 5.0, &[]).is_none());
    }

    #[test]
    fn drawn_and_counted_assignments_agree() {
        // Nine tasks of 3 + 3 runs are drawn; the mean of the possible excesses is 0 and half lie
        // above.
        let unit = |at: usize| {
            let value = |run: usize| ((at * 7 + run * 5) % 11) as f64;
            Unit::of_runs(
                "t",
                &[true, true, true, false, false, false],
                &(0..6).map(value).collect::<Vec<_>>(),
            )
            .unwrap()
        };
        let units: Vec<Unit> = (0..9).map(unit).collect();
        assert!(combinations(&units).is_none());
        let drawn = share(&units[..], 3).0;
        let again = share(&units[..], 4).0;
        assert!((drawn - again).abs() < 0.01, "{drawn} {again}");
        let few: Vec<Unit> = units[..4].to_vec();
        let (exact, means, _) = share(&few, 3);
        assert_eq!(means.len(), 160_000);
        let bar = mean(few.iter().map(Unit::excess)).unwrap();
        near(exact, means.iter().filter(|value| **value >= bar - 1e-9).count() as f64 / 160_000.0);
    }

    #[test]
    fn p_is_valid_when_labels_mean_nothing() {
        // Over all 20 labellings of one task, p ≤ a in at most a share of a.
        let values = [0.3, 1.7, 0.2, 4.0, 2.5, 0.9];
        let ps: Vec<f64> = assignments(6, 3)
            .iter()
            .map(|labels| test(&[Unit::of_runs("t", labels, &values).unwrap()], 0.05, 1).unwrap().p)
            .collect();
        for level in [0.05, 0.1, 0.25, 0.5] {
            let share = ps.iter().filter(|p| **p <= level + 1e-12).count() as f64 / 20.0;
            assert!(share <= level + 1e-12, "{share} at {level}");
        }
    }
}
