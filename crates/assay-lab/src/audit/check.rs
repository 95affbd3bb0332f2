//! How well the adoption score separates runs that read a skill from runs that did not, on the
//! audited traces.

use std::collections::BTreeMap;

use assay_audit::adherence::ADOPTED;
use assay_audit::calibrated::{Rate, RunAudit, TaskAudit, run_scores};
use assay_stats::rate;
use serde::Serialize;

use super::planted::{Group, PlantedRun};

/// A threshold is chosen so that at most this share of runs that read nothing reach it: half of
/// what is allowed, to have room.
const ALLOWANCE: f64 = 0.025;

/// The share of comparisons that a run which read the skill wins, ties counted half.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Auc {
    /// Over all comparisons.
    pub value: f64,
    /// How many comparisons.
    pub comparisons: usize,
    /// Mean over tasks of the mean over the task's runs of the share each wins.
    pub by_task: f64,
    /// Its 95 % interval over tasks, with runs for trials: the project's default one for rates,
    /// which has a width also where all tasks give the same. `None` with a single task.
    pub interval: Option<(f64, f64)>,
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
    /// Runs that opened it against their task's controls, and against themselves scored with every
    /// other skill, together.
    pub auc: Option<Auc>,
    /// The first half of it.
    pub auc_controls: Option<Auc>,
    /// The second.
    pub auc_skills: Option<Auc>,
    /// Runs that opened a skill, scored by all their skills together, against their task's controls.
    pub auc_runs: Option<Auc>,
    /// Skills that can be measured, of all skills and tasks that are audited. No other figure but those of wrong
    /// skills counts one that cannot.
    pub measured: Rate,
    /// Of those that a run opened.
    pub measured_opened: Rate,
    /// Runs that outscore all their controls and all other skills.
    pub first: Rate,
    /// The same runs and controls, scored with every skill but the right one: one half if the score
    /// knows nothing but the skill.
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
    /// Runs of all tasks that opened the skill and reach the threshold of the other tasks.
    pub detected_by_others: Rate,
    /// Controls and runs that did not open it, and reach the threshold of the other tasks.
    pub false_alarms_by_others: Rate,
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

/// Detection of planted directives of one group at one dose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Planted {
    /// What was planted.
    pub group: Group,
    /// How many directives in each run.
    pub dose: usize,
    /// Planted directives that have the expected status. For directives of another skill: runs in
    /// which a directive of the right skill has a status that it did not have before.
    pub found: Rate,
    /// Runs that then reach the threshold.
    pub adopted: Rate,
}

impl Planted {
    fn new(group: Group, dose: usize, runs: &[&PlantedRun]) -> Self {
        let found = match group {
            Group::Nothing | Group::OtherSkill => Rate::counted(runs.iter().map(|run| run.found > 0)),
            _ => Rate::new(runs.iter().map(|run| run.found).sum(), dose * runs.len()),
        };
        Self { group, dose, found, adopted: Rate::counted(runs.iter().map(|run| run.adopted)) }
    }
}

/// What was planted in the controls of some tasks, by group and dose.
pub fn planted<'a>(runs: impl IntoIterator<Item = &'a PlantedRun>) -> Vec<Planted> {
    let mut rows: BTreeMap<(Group, usize), Vec<&PlantedRun>> = BTreeMap::new();
    for run in runs {
        rows.entry((run.group, run.dose)).or_default().push(run);
    }
    rows.into_iter().map(|((group, dose), runs)| Planted::new(group, dose, &runs)).collect()
}

/// By task, by run, what each comparison gave.
type Comparisons = BTreeMap<String, Vec<Vec<f64>>>;

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
    let (mut controls, mut skills, mut placebo) =
        (Comparisons::new(), Comparisons::new(), Comparisons::new());
    let mut both = Comparisons::new();
    let mut first = Vec::new();
    let (mut opened, mut with_reader) = (0, 0);
    for (task, runs) in &distinct {
        let readers: Vec<&&RunAudit> = runs.iter().filter(|run| run.exposure.opened).collect();
        let unread: Vec<&&RunAudit> = runs.iter().filter(|run| !run.with && !run.exposure.opened).collect();
        opened += readers.len();
        with_reader += usize::from(!readers.is_empty());
        for reader in readers {
            let by_chance = unread
                .iter()
                .flat_map(|run| reader.other_skills.iter().zip(&run.other_skills).map(|(a, b)| wins(*a, *b)));
            let name = &task.task;
            placebo.entry(name.clone()).or_default().push(by_chance.collect());
            let Some(own) = reader.adoption else { continue };
            let won: Vec<f64> = unread.iter().map(|run| wins(own, run.adherence.score)).collect();
            let over: Vec<f64> = reader.other_skills.iter().map(|other| wins(own, *other)).collect();
            let right = |all: &[f64]| all.iter().all(|win| *win > 0.75);
            first.push(right(&won) && right(&over));
            both.entry(name.clone()).or_default().push(won.iter().chain(&over).copied().collect());
            controls.entry(name.clone()).or_default().push(won);
            skills.entry(name.clone()).or_default().push(over);
        }
    }
    let all_runs = || distinct.iter().flat_map(|(_, runs)| runs.iter());
    let runs = || all_runs().filter(|run| run.adopted.is_some());
    let is_measured = |runs: &[&RunAudit]| runs.iter().any(|run| run.adoption.is_some());
    let is_opened = |runs: &[&RunAudit]| runs.iter().any(|run| run.exposure.opened);
    let mut by_run = Comparisons::new();
    for run in run_scores(tasks).iter().filter(|run| run.opened) {
        let Some(own) = run.score else { continue };
        let won = run.controls.iter().map(|other| wins(own, *other)).collect();
        by_run.entry(run.task.clone()).or_default().push(won);
    }
    let reaches = |run: &&&RunAudit| run.adherence.score >= ADOPTED;
    let left_out = left_out(&distinct);
    let sum = |count: fn(&LeftOut) -> usize| left_out.iter().map(count).sum::<usize>();
    Check {
        opened,
        tasks: with_reader,
        auc: auc(&both),
        auc_controls: auc(&controls),
        auc_skills: auc(&skills),
        auc_runs: auc(&by_run),
        measured: Rate::counted(distinct.iter().map(|(_, runs)| is_measured(runs))),
        measured_opened: Rate::counted(
            distinct.iter().filter(|(_, runs)| is_opened(runs)).map(|(_, runs)| is_measured(runs)),
        ),
        first: Rate::counted(first),
        placebo_auc: auc(&placebo),
        threshold: ADOPTED,
        detected: Rate::counted(runs().filter(|run| run.exposure.opened).map(|run| reaches(&run))),
        false_alarms: Rate::counted(runs().filter(|run| !run.exposure.opened).map(|run| reaches(&run))),
        placebo_alarms: Rate::counted(
            all_runs().flat_map(|run| run.other_skills.iter().map(|score| *score >= ADOPTED)),
        ),
        detected_by_others: Rate::new(sum(|task| task.detected), sum(|task| task.opened)),
        false_alarms_by_others: Rate::new(sum(|task| task.false_alarms), sum(|task| task.unread)),
        threshold_by_others: left_out,
    }
}

fn left_out(tasks: &[(&TaskAudit, Vec<&RunAudit>)]) -> Vec<LeftOut> {
    let judge = |at: usize| {
        let (task, runs) = &tasks[at];
        let others =
            tasks.iter().enumerate().filter(|(other, _)| *other != at).flat_map(|(_, (_, runs))| runs);
        let unread: Vec<f64> =
            others.filter(|run| !run.exposure.opened).filter_map(|run| run.adoption).collect();
        let alarms = |threshold: f64| unread.iter().filter(|score| **score >= threshold).count() as f64;
        let steps = (1..=20).map(|step| f64::from(step) * 0.05);
        let threshold =
            steps.into_iter().find(|t| alarms(*t) <= ALLOWANCE * unread.len() as f64).unwrap_or(1.0);
        let measured = || runs.iter().filter(|run| run.adoption.is_some());
        let count = |opened: bool| measured().filter(move |run| run.exposure.opened == opened);
        let reach = |opened: bool| count(opened).filter(|run| run.adherence.score >= threshold).count();
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

/// Puts comparisons together: those of a run, the runs of a task, the tasks. `None` without one.
fn auc(tasks: &Comparisons) -> Option<Auc> {
    let tasks: BTreeMap<&String, Vec<&Vec<f64>>> = tasks
        .iter()
        .map(|(task, runs)| (task, runs.iter().filter(|wins| !wins.is_empty()).collect::<Vec<_>>()))
        .filter(|(_, runs)| !runs.is_empty())
        .collect();
    let pool = |left_out: Option<usize>| {
        let kept = tasks.values().enumerate().filter(|(at, _)| Some(*at) != left_out);
        mean(kept.flat_map(|(_, runs)| runs.iter().flat_map(|wins| wins.iter().copied())))
    };
    let by_run: Vec<Vec<f64>> = tasks
        .values()
        .map(|runs| runs.iter().filter_map(|wins| mean(wins.iter().copied())).collect())
        .collect();
    let value = pool(None)?;
    let estimate = rate(&by_run, 0.95)?;
    let without = (0..tasks.len()).filter_map(|at| pool(Some(at))).reduce(f64::min);
    let of_task = |runs: &Vec<f64>| mean(runs.iter().copied()).unwrap_or_default();
    Some(Auc {
        value,
        comparisons: tasks.values().flatten().map(|wins| wins.len()).sum(),
        by_task: estimate.mean,
        interval: estimate.interval.map(|interval| (interval.low, interval.high)),
        without_one_task: without.unwrap_or(value),
        per_task: tasks.keys().map(|task| (*task).clone()).zip(by_run.iter().map(of_task)).collect(),
    })
}

/// The mean of some values; `None` without one.
fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_pooled_over_runs_and_tasks() {
        let a = vec![vec![1.0, 1.0, 0.5, 0.0], vec![1.0, 1.0]];
        let tasks = BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), vec![vec![1.0], Vec::new()])]);
        let found = auc(&tasks).unwrap();
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        near(found.value, 5.5 / 7.0);
        // Run means .625 and 1 in one task, 1 in the other.
        near(found.per_task["a"], 0.8125);
        near(found.by_task, 0.90625);
        near(found.without_one_task, 4.5 / 6.0);
        assert_eq!(found.comparisons, 7);
        // Tasks that all give 1 still leave room.
        let sure = BTreeMap::from(["a", "b", "c"].map(|task| (task.to_owned(), vec![vec![1.0; 9]])));
        let (low, high) = auc(&sure).unwrap().interval.unwrap();
        assert!(low < 0.9 && (high - 1.0).abs() < 1e-12, "{low} {high}");
        assert!(auc(&BTreeMap::new()).is_none());
    }
}
