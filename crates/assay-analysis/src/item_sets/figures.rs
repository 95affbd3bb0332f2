//! Scores, time, cost and tokens without and with a condition, as in Tessl's tables: in total, and task by task.

use assay_store::{CheckClass, CheckSet};
use serde::Serialize;

use super::scores::{GROUPS, items_of};
use super::seen::{PairView, ViewedTask, is_met};
use crate::judged::Pair;
use crate::result::TrialResult;

/// The figures of a condition and its baseline, of all tasks that count or of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetFigures {
    /// Who, and what is compared.
    #[serde(flatten)]
    pub pair: Pair,
    /// The task; `null` for all tasks that count.
    pub task: Option<String>,
    /// Valid trials, without and with.
    pub trials: [usize; 2],
    /// The figures, in the order of the tables.
    pub measures: Vec<SetMeasure>,
}

/// A figure without and with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetMeasure {
    /// Which.
    pub measure: SetMeasureName,
    /// Without; `null` if it is unknown in any trial. A score is a mean over items, or over tasks, of the mean over trials; the
    /// others are means over trials.
    pub without: Option<f64>,
    /// With.
    pub with: Option<f64>,
    /// The difference; `null` if either is.
    pub difference: Option<f64>,
}

/// What a figure measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SetMeasureName {
    /// IF, items of knowledge.
    IfKnowledge,
    /// IF, items of convention.
    IfConvention,
    /// IF, reminders.
    IfReminder,
    /// IF, items of no known class.
    IfUnclassified,
    /// Goal completion.
    Gc,
    /// The score that the verdict is about.
    Overall,
    /// Minutes of the agent in a trial.
    Minutes,
    /// USD of a trial.
    CostUsd,
    /// Tokens that a model read in a trial, those of a cache included.
    TokensIn,
    /// Tokens that it wrote.
    TokensOut,
}

impl SetMeasureName {
    /// Whether it is a score between 0 and 1.
    pub fn is_score(self) -> bool {
        self <= Self::Overall
    }

    fn of_group(set: CheckSet, class: Option<CheckClass>) -> Self {
        match (set, class) {
            (CheckSet::Gc, _) => Self::Gc,
            (CheckSet::If, Some(CheckClass::Knowledge)) => Self::IfKnowledge,
            (CheckSet::If, Some(CheckClass::Convention)) => Self::IfConvention,
            (CheckSet::If, Some(CheckClass::Reminder)) => Self::IfReminder,
            (CheckSet::If, None) => Self::IfUnclassified,
        }
    }
}

/// The figures in total, then those of each task that counts.
pub(super) fn list_figures(view: &PairView<'_>) -> Vec<SetFigures> {
    let tasks = view.tasks();
    let counted: Vec<&ViewedTask<'_>> = tasks.iter().filter(|task| task.counts).collect();
    let of = |task: Option<&str>, tasks: &[&ViewedTask<'_>]| SetFigures {
        pair: view.pair.clone(),
        task: task.map(str::to_owned),
        trials: [0, 1].map(|side| trials(tasks, side).len()),
        measures: measures(tasks),
    };
    let each = counted.iter().map(|task| of(Some(task.name), &[task]));
    std::iter::once(of(None, &counted)).chain(each).collect()
}

fn trials<'a>(tasks: &[&'a ViewedTask<'_>], side: usize) -> Vec<&'a TrialResult> {
    tasks.iter().flat_map(|task| task.slots[side].valid()).collect()
}

fn measures(tasks: &[&ViewedTask<'_>]) -> Vec<SetMeasure> {
    let mut found = Vec::new();
    let mut add = |measure, [without, with]: [Option<f64>; 2]| {
        let difference = with.zip(without).map(|(with, without)| with - without);
        found.push(SetMeasure { measure, without, with, difference });
    };
    for (set, class) in GROUPS {
        if tasks.iter().any(|task| items_of(task, set, class).next().is_some()) {
            add(SetMeasureName::of_group(set, class), group_scores(tasks, set, class));
        }
    }
    let overall =
        |side: usize| mean(&tasks.iter().filter_map(|task| task.slots[side].score()).collect::<Vec<_>>());
    add(SetMeasureName::Overall, [0, 1].map(overall));
    let sides = [0, 1].map(|side| trials(tasks, side));
    let mut of_trials = |measure, figure: fn(&TrialResult) -> Option<f64>| {
        let figures = sides.each_ref().map(|side| {
            let all: Option<Vec<f64>> = side.iter().map(|result| figure(result)).collect();
            all.and_then(|all| mean(&all))
        });
        add(measure, figures);
    };
    of_trials(SetMeasureName::Minutes, |result| result.seconds.map(|seconds| seconds / 60.0));
    of_trials(SetMeasureName::CostUsd, |result| result.cost_usd);
    of_trials(SetMeasureName::TokensIn, |result| result.usage.map(|usage| usage.prompt() as f64));
    of_trials(SetMeasureName::TokensOut, |result| result.usage.map(|usage| usage.output as f64));
    found
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The score of a group without and with, as its comparison has it: items of IF weigh the same, and of GC tasks.
fn group_scores(tasks: &[&ViewedTask<'_>], set: CheckSet, class: Option<CheckClass>) -> [Option<f64>; 2] {
    let mut units: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for task in tasks {
        let pairs: Vec<[Option<f64>; 2]> = match set {
            CheckSet::If => {
                let met = |item, side: usize| {
                    let scores = task.slots[side].valid().filter_map(|result| is_met(result, item).score());
                    mean(&scores.collect::<Vec<_>>())
                };
                items_of(task, set, class).map(|item| [met(item, 0), met(item, 1)]).collect()
            }
            CheckSet::Gc => {
                vec![task.slots.map(|slot| mean(&super::scores::shares(task, slot, set, class)))]
            }
        };
        for [without, with] in pairs {
            if let Some((without, with)) = without.zip(with) {
                units[0].push(without);
                units[1].push(with);
            }
        }
    }
    units.each_ref().map(|side| mean(side))
}
