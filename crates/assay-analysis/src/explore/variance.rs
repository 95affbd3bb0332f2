//! The sources of an interval's width, and how to reduce it.
//!
//! Within a task, a trial's variance is estimated without bias by r·p(1 − p)/(r − 1), p the share
//! of its r trials that passed; a task with one trial gives no estimate. Between tasks it is the
//! variance of the tasks' means minus the part from their trials alone: the one-way analysis of
//! variance, and the share is the intraclass correlation (Shrout & Fleiss 1979, ICC(1)), no less
//! than 0. Twice the repetitions halve the part from trials; twice the tasks halve all of it.

use std::f64::consts::FRAC_1_SQRT_2;

use assay_store::RunFolder;
use serde::Serialize;

use super::pair::{Pair, difference};
use crate::model::AgentKey;
use crate::table::{Slot, Table};

/// Repetitions are sufficient if no more than this share of the variance of a task's value comes
/// from its trials: doubling them then narrows the interval by no more than 1 − √¾, 13%, and
/// doubling tasks by 29%.
const SUFFICES: f64 = 0.5;

/// The variance of one arm's results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variance {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition.
    pub condition: String,
    /// Tasks that count.
    pub tasks: usize,
    /// Their valid trials.
    pub trials: usize,
    /// Of a trial, within its task: the mean over tasks. `null` if no task has two trials.
    pub within: Option<f64>,
    /// Between the tasks' true pass rates. `null` below two tasks, and where `within` is.
    pub between: Option<f64>,
    /// between / (between + within), the intraclass correlation; `null` if all trials have the same
    /// result.
    pub between_share: Option<f64>,
    /// By how much of itself the arm's interval would be narrower with twice the repetitions.
    pub narrower_by_repetitions: Option<f64>,
    /// The same with twice the tasks.
    pub narrower_by_tasks: Option<f64>,
}

/// Whether a comparison's repetitions suffice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repetitions {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The condition compared with.
    pub baseline: String,
    /// The condition compared.
    pub condition: String,
    /// Tasks that count.
    pub tasks: usize,
    /// Variance of the tasks' differences.
    pub variance: Option<f64>,
    /// Of it, what trials alone would make: the mean over tasks of within/r of both arms.
    pub noise: Option<f64>,
    /// By how much of itself the lift's interval would be narrower with twice the repetitions.
    pub narrower_by_repetitions: Option<f64>,
    /// The same with twice the tasks.
    pub narrower_by_tasks: Option<f64>,
    /// Whether the repetitions are sufficient: at most half of the variance comes from trials.
    /// `null` if unknown.
    pub suffice: Option<bool>,
    /// What to add next: more tasks if the repetitions are sufficient, else more repetitions or more tasks, which narrow the
    /// interval alike. `null` if unknown.
    pub next: Option<NextTrials>,
}

/// Where more trials narrow an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NextTrials {
    /// On more tasks.
    Tasks,
    /// In more repetitions, or on more tasks where there are any.
    Repetitions,
}

/// Each arm's variance.
pub(super) fn variance(run: &RunFolder, tables: &[Table]) -> Vec<Variance> {
    let mut arms = Vec::new();
    for table in tables {
        let shared = table.shared_tasks();
        for condition in &run.conditions {
            let Some(tasks) = table.cells.get(condition) else { continue };
            let counted = shared.iter().filter_map(|task| tasks.get(*task));
            let slots: Vec<&Slot> = counted.filter(|slot| slot.valid().next().is_some()).collect();
            let spread = Spread::of(&slots);
            arms.push(Variance {
                who: table.who.clone(),
                condition: condition.clone(),
                tasks: slots.len(),
                trials: slots.iter().map(|slot| slot.valid().count()).sum(),
                within: spread.within,
                between: spread.between(),
                between_share: spread.share(),
                narrower_by_repetitions: narrower(spread.between(), spread.noise),
                narrower_by_tasks: narrower(spread.between(), spread.noise).map(|_| 1.0 - FRAC_1_SQRT_2),
            });
        }
    }
    arms
}

/// Each comparison's repetitions.
pub(super) fn repetitions(pairs: &[Pair<'_>]) -> Vec<Repetitions> {
    pairs.iter().map(suffice).collect()
}

fn suffice(pair: &Pair<'_>) -> Repetitions {
    let arms: Vec<&Slot> = pair.tasks.iter().map(|(_, arm, _)| *arm).collect();
    let bases: Vec<&Slot> = pair.tasks.iter().map(|(_, _, base)| *base).collect();
    let noise = Spread::of(&arms).noise.zip(Spread::of(&bases).noise).map(|(arm, base)| arm + base);
    let differences: Vec<f64> =
        pair.tasks.iter().filter_map(|(_, arm, base)| difference(arm, base)).collect();
    let variance = variance_of(&differences);
    let real = variance.zip(noise).map(|(variance, noise)| (variance - noise).max(0.0));
    let narrower = narrower(real, noise);
    let suffice =
        narrower.and_then(|_| real.zip(noise)).map(|(real, noise)| noise <= SUFFICES * (real + noise));
    Repetitions {
        who: pair.who.clone(),
        baseline: pair.baseline.to_owned(),
        condition: pair.condition.to_owned(),
        tasks: pair.tasks.len(),
        variance,
        noise,
        narrower_by_repetitions: narrower,
        narrower_by_tasks: narrower.map(|_| 1.0 - FRAC_1_SQRT_2),
        suffice,
        next: suffice.map(|suffice| if suffice { NextTrials::Tasks } else { NextTrials::Repetitions }),
    }
}

/// The relative reduction of an interval's width when the part of the variance that comes from
/// trials is halved.
fn narrower(real: Option<f64>, noise: Option<f64>) -> Option<f64> {
    let (real, noise) = real.zip(noise)?;
    let all = real + noise;
    (all > 0.0).then(|| 1.0 - ((real + noise / 2.0) / all).sqrt())
}

/// The variance of an arm, in its parts.
struct Spread {
    /// Of a trial within its task.
    within: Option<f64>,
    /// Of a task's mean, from its trials: the mean over tasks of within/r.
    noise: Option<f64>,
    /// Of the tasks' means, as observed.
    means: Option<f64>,
}

impl Spread {
    fn of(slots: &[&Slot]) -> Self {
        let tasks: Vec<Vec<f64>> = slots.iter().map(|slot| slot.scores()).filter(|s| !s.is_empty()).collect();
        let known: Vec<f64> = tasks.iter().filter_map(|scores| variance_of(scores)).collect();
        let within = (!known.is_empty()).then(|| mean(&known));
        // A task with one trial is taken to be like the others.
        let noise = within.map(|within| {
            let noises: Vec<f64> = tasks
                .iter()
                .map(|scores| variance_of(scores).unwrap_or(within) / scores.len() as f64)
                .collect();
            mean(&noises)
        });
        let means: Vec<f64> = tasks.iter().map(|scores| mean(scores)).collect();
        Self { within, noise, means: variance_of(&means) }
    }

    fn between(&self) -> Option<f64> {
        self.means.zip(self.noise).map(|(means, noise)| (means - noise).max(0.0))
    }

    fn share(&self) -> Option<f64> {
        let (between, within) = self.between().zip(self.within)?;
        (between + within > 0.0).then(|| between / (between + within))
    }
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// Without bias; `None` below two numbers.
fn variance_of(numbers: &[f64]) -> Option<f64> {
    let mean = mean(numbers);
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    (numbers.len() > 1).then(|| squares / (numbers.len() - 1) as f64)
}
