//! Figures of a plan from recorded trials of its own comparisons.

use assay_stats::{PairedTask, tasks_to_detect};
use assay_store::{RunFolder, Selection, Store, StoreError};

use crate::cause::FEWEST_TASKS;
use crate::comparisons::{Families, clusters, compared_tasks};
use crate::gather::Gathered;

/// What measured comparisons need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ObservedNeed {
    /// Tasks; `None` if no number of tasks is enough.
    pub(super) tasks: Option<usize>,
}

/// The tasks that detect a lift with 80% power at the variance of the recorded trials, the most of the primary
/// comparisons (all, without a primary). It is the figure of the report: with the plan's margin as the lift, `tasks_needed`.
///
/// `None` if no such comparison has trials of enough tasks.
pub(super) fn tasks_for_lift(
    plan: &RunFolder,
    store: &Store,
    lift: f64,
) -> Result<Option<ObservedNeed>, StoreError> {
    let gathered = Gathered::read(store, plan, &Selection::default())?;
    let Some((baseline, others)) = plan.conditions.split_first() else { return Ok(None) };
    let families = Families::of(plan, &gathered.tables);
    let clusters = clusters(plan);
    let is_chief = |name: &&String| plan.primary.as_ref().is_none_or(|primary| primary == *name);
    let mut most: Option<ObservedNeed> = None;
    for table in &gathered.tables {
        for condition in others.iter().filter(is_chief) {
            if !table.is_usable(baseline) || !table.is_usable(condition) {
                continue;
            }
            let (tasks, _) = match table.looks.get(condition) {
                Some(look) => compared_tasks(&table.as_read_by(look), baseline, condition, &clusters),
                None => compared_tasks(table, baseline, condition, &clusters),
            };
            if tasks.len() < FEWEST_TASKS {
                continue;
            }
            let needed = if leaves_room(&tasks, lift) {
                tasks_to_detect(&tasks, families.size_of(condition), lift.abs(), plan.margin)
            } else {
                None
            };
            let tasks = match most {
                None => needed,
                // One that cannot be met decides.
                Some(ObservedNeed { tasks }) => tasks.zip(needed).map(|(known, needed)| known.max(needed)),
            };
            most = Some(ObservedNeed { tasks });
        }
    }
    Ok(most)
}

/// Whether the baseline's mean score plus the lift is a score.
fn leaves_room(tasks: &[PairedTask], lift: f64) -> bool {
    let means = tasks.iter().map(|task| task.base.iter().sum::<f64>() / task.base.len().max(1) as f64);
    let reached = means.sum::<f64>() / tasks.len().max(1) as f64 + lift;
    (-1e-9..=1.0 + 1e-9).contains(&reached)
}
