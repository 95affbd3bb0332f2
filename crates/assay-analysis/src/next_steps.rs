//! What to do next, derived from the findings of a run.

use assay_stats::{Reason, VerdictKind};
use assay_store::{ConditionRole, RunFolder, TrialId};

use crate::explore::ResidualFailure;
use crate::model::{Arm, Comparison};

/// A report has at most so many.
const MOST: usize = 3;

/// Fewest tasks that a confidence interval needs.
const FEWEST_TASKS: usize = 5;

/// A skill that is opened in less than this share of trials is hardly noticed.
const NOTICED: f64 = 0.5;

/// A check that fails in this share of a task's trials or more fails reliably.
const RELIABLE: f64 = 0.5;

/// A step that the data suggest. Each has one rule, and the rules have an order: first what a
/// verdict needs, then what would change the skill.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Trials without a result: the run is executed again.
    Finish {
        /// Trials with an infrastructure error, and trials that were not executed.
        trials: usize,
    },
    /// No comparison has enough tasks for an interval.
    FewTasks {
        /// Tasks of the largest comparison.
        tasks: usize,
        /// Tasks that are needed.
        needed: usize,
    },
    /// The treatment of the condition was not there in most trials.
    NotDelivered {
        /// The run.
        run: String,
        /// The condition.
        condition: String,
        /// The share of valid trials with the treatment.
        delivered: f64,
    },
    /// The primary comparison, or one if there is none, is inconclusive.
    Inconclusive {
        /// The condition.
        condition: String,
        /// The equivalence margin.
        margin: f64,
    },
    /// The skill of a condition was opened in few trials.
    NotOpened {
        /// The condition.
        condition: String,
        /// The share of valid trials in which a skill was opened.
        opened: f64,
    },
    /// The condition is worse than the baseline.
    Harms {
        /// The run.
        run: String,
        /// The condition.
        condition: String,
    },
    /// A check of a task still fails.
    StillFails {
        /// The run.
        run: String,
        /// The condition.
        condition: String,
        /// The task.
        task: String,
        /// The check; absent if the verifier reports none.
        test: Option<String>,
        /// Failed and valid trials.
        failed: [usize; 2],
        /// The first of the failed trials.
        trial: TrialId,
    },
    /// The curated skills help, and no placebo shows that it is their content.
    NoPlacebo {
        /// The condition.
        condition: String,
    },
}

/// The first of the steps whose rules hold.
pub(crate) fn next_steps(
    run: &RunFolder,
    arms: &[Arm],
    comparisons: &[Comparison],
    residual: &[ResidualFailure],
    is_interim: bool,
) -> Vec<NextStep> {
    let unfinished: usize = arms.iter().map(|arm| arm.unfinished + arm.infrastructure).sum();
    let is_imported = run.imported.is_some();
    let finish = (unfinished > 0 && !is_imported).then_some(NextStep::Finish { trials: unfinished });
    if is_interim {
        // The others speak as of all trials.
        return finish.into_iter().collect();
    }
    let most = comparisons.iter().map(|comparison| comparison.tasks).max();
    let few = most.filter(|tasks| *tasks < FEWEST_TASKS);
    let few = few.map(|tasks| NextStep::FewTasks { tasks, needed: FEWEST_TASKS });

    // What the experiment was made for: its primary condition, else each in turn.
    let is_chief = |condition: &str| run.primary.as_deref().is_none_or(|primary| primary == condition);
    let of = |kind: VerdictKind| {
        let found =
            comparisons.iter().find(|found| is_chief(&found.condition) && found.verdict == Some(kind));
        found.map(|found| found.condition.clone())
    };
    let undelivered = comparisons
        .iter()
        .find(|found| is_chief(&found.condition) && found.reason == Some(Reason::NotDelivered));
    let undelivered = undelivered.and_then(|found| {
        let (condition, delivered) = (found.condition.clone(), found.delivered?);
        Some(NextStep::NotDelivered { run: run.run.clone(), condition, delivered })
    });
    let inconclusive = of(VerdictKind::Inconclusive).filter(|_| few.is_none() && undelivered.is_none());
    let inconclusive = inconclusive.map(|condition| NextStep::Inconclusive { condition, margin: run.margin });
    let harms = of(VerdictKind::Harms).map(|condition| NextStep::Harms { run: run.run.clone(), condition });
    let unnoticed = arms.iter().find_map(|arm| {
        let is_chief_skill =
            run.role_of(&arm.condition) == ConditionRole::Curated && is_chief(&arm.condition);
        let shares = arm.exposure.filter(|shares| shares.offered > 0.0 && shares.opened < NOTICED)?;
        let condition = arm.condition.clone();
        is_chief_skill.then_some(NextStep::NotOpened { condition, opened: shares.opened })
    });
    let reliable = |row: &&ResidualFailure| row.failed as f64 >= RELIABLE * row.trials as f64;
    let still = residual.iter().filter(|row| is_chief(&row.condition)).find(reliable).and_then(|row| {
        Some(NextStep::StillFails {
            run: run.run.clone(),
            condition: row.condition.clone(),
            task: row.task.clone(),
            test: row.test.clone(),
            failed: [row.failed, row.trials],
            trial: row.failed_trials.first()?.clone(),
        })
    });
    let has_placebo = run.conditions.iter().any(|name| run.role_of(name) == ConditionRole::Placebo);
    let helps = of(VerdictKind::Helps).filter(|name| run.role_of(name) == ConditionRole::Curated);
    let placebo = helps.filter(|_| !has_placebo && !is_imported);
    let placebo = placebo.map(|condition| NextStep::NoPlacebo { condition });

    let all = [finish, undelivered, few, harms, inconclusive, unnoticed, still, placebo];
    all.into_iter().flatten().take(MOST).collect()
}
