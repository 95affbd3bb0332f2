//! What a plan promises of two models of a real suite, and what their trials then give.

use crate::interval::PairedTask;
use crate::plan::{Impossible, Plan};
use crate::random::{Purpose, index, stream};
use crate::verdict::{VerdictKind, verdict};

/// A plan for a pair of models, and its power on their trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// The pair's lift, which the plan was asked to find.
    pub lift: f64,
    /// The tasks that the plan asked for.
    pub tasks: usize,
    /// The power that it promised with them.
    pub promised: f64,
    /// The share of suites of as many tasks, drawn from the real ones with replacement, that helped.
    pub had: f64,
}

/// Plans the comparison of two arms whose trials of `tasks` are known, and draws suites from these tasks.
///
/// The plan is asked for the pair's lift with a chance of 80 %, at its own baseline and repetitions; a drawn suite has all
/// trials of its tasks. `None` where the plan has no number of tasks for it.
///
/// # Errors
/// What the plan cannot be asked for.
pub fn promise(
    plan: &Plan,
    tasks: &[PairedTask],
    suites: u64,
    seed: u64,
) -> Result<Option<Promise>, Impossible> {
    let lift = crate::lift(tasks, 0.95).map_or(0.0, |estimate| estimate.mean);
    let Some(needed) = plan.tasks_for_lift(lift, seed)? else { return Ok(None) };
    let promised = Plan { tasks: needed, ..*plan }.chances(lift, seed)?;
    let kind = if lift > 0.0 { VerdictKind::Helps } else { VerdictKind::Harms };
    let right = (0..suites)
        .filter(|&suite| {
            let mut random = stream(seed, Purpose::Promise, suite);
            let drawn: Vec<PairedTask> =
                (0..needed).map(|_| tasks[index(&mut random, tasks.len())].clone()).collect();
            verdict(&drawn, plan.family, plan.margin, None).kind == kind
        })
        .count();
    Ok(Some(Promise {
        lift,
        tasks: needed,
        promised: if lift > 0.0 { promised.helps } else { promised.harms },
        had: right as f64 / suites.max(1) as f64,
    }))
}
