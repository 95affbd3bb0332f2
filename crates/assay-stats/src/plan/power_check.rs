//! The predicted power of a plan against the power observed on trials of a real suite.

use super::comparison::Plan;
use super::limits::Impossible;
use crate::paired_task::PairedTask;
use crate::random::{Purpose, index, stream};
use crate::verdict::{VerdictKind, verdict};

/// The predicted and the observed power for a pair of models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerCheck {
    /// The lift of the pair, which the plan is to detect.
    pub lift: f64,
    /// The tasks needed according to the plan.
    pub tasks: usize,
    /// The power predicted with them.
    pub predicted: f64,
    /// The share of resampled suites of that size with the right verdict.
    pub observed: f64,
}

/// Plans the comparison of two arms with known trials, and resamples suites from their tasks.
///
/// The plan has 80% power for the lift of the pair, at its own baseline and repetitions; a
/// resampled suite has all trials of its tasks. `None` if no number of tasks is enough.
///
/// # Errors
/// The plan cannot detect the lift at all.
pub fn check_power(
    plan: &Plan,
    tasks: &[PairedTask],
    suites: u64,
    seed: u64,
) -> Result<Option<PowerCheck>, Impossible> {
    let lift = crate::lift(tasks, 0.95).map_or(0.0, |estimate| estimate.mean);
    let Some(needed) = plan.tasks_for_lift(lift, seed)? else { return Ok(None) };
    let predicted = Plan { tasks: needed, ..*plan }.chances(lift, seed)?;
    let kind = if lift > 0.0 { VerdictKind::Helps } else { VerdictKind::Harms };
    let right = (0..suites)
        .filter(|&suite| {
            let mut random = stream(seed, Purpose::PowerCheck, suite);
            let drawn: Vec<PairedTask> =
                (0..needed).map(|_| tasks[index(&mut random, tasks.len())].clone()).collect();
            verdict(&drawn, plan.family, plan.margin, None).kind == kind
        })
        .count();
    Ok(Some(PowerCheck {
        lift,
        tasks: needed,
        predicted: if lift > 0.0 { predicted.helps } else { predicted.harms },
        observed: right as f64 / suites.max(1) as f64,
    }))
}
