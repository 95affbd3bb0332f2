//! Why a comparison shows no effect, from its data: what a reader should change first.

use std::collections::BTreeSet;

use assay_stats::{PairedTask, Reason, VerdictKind, opposite_effects};
use assay_store::{ConditionRole, NEEDS_NETWORK, RunFolder, TrialId};

use crate::cause::{Cause, EQUAL, FEWEST_TASKS, ceiling, floor};
use crate::comparisons::{clusters, compared_tasks};
use crate::gather::Gathered;
use crate::model::{Arm, Comparison};
use crate::table::Table;

/// A skill that is opened in less than this share of trials is hardly noticed.
const NOTICED: f64 = 0.5;

/// The causes of one comparison; none for one that helps or harms.
pub(crate) fn causes(
    run: &RunFolder,
    gathered: &Gathered,
    arms: &[Arm],
    comparison: &Comparison,
) -> Vec<Cause> {
    if !matches!(comparison.verdict, Some(VerdictKind::Inconclusive | VerdictKind::Negligible))
        || matches!(comparison.reason, Some(Reason::Judge | Reason::NotDelivered))
    {
        return Vec::new();
    }
    let Some(table) = gathered.tables.iter().find(|table| table.who == comparison.who) else {
        return Vec::new();
    };
    let at;
    let table = match table.looks.get(&comparison.condition) {
        Some(look) => {
            at = table.as_read_by(look);
            &at
        }
        None => table,
    };
    let clusters = clusters(run);
    let (tasks, losses) = compared_tasks(table, &comparison.baseline, &comparison.condition, &clusters);
    let names = task_names(table, comparison);
    let arm = arms.iter().find(|arm| arm.who == comparison.who && arm.condition == comparison.condition);
    let few = few_tasks(comparison);
    let lost = (comparison.reason == Some(Reason::Losses))
        .then_some(Cause::LostTrials { trials: losses.arm_lost + losses.base_lost });
    let all = [
        needs_network(gathered),
        few,
        lost,
        ceiling(&tasks, run.margin),
        floor(&tasks),
        arm.and_then(|arm| not_opened(run, arm, table)),
        opposite(&tasks, &names, table, comparison),
        partial_credit(run, comparison),
    ];
    let mut causes: Vec<Cause> = all.into_iter().flatten().collect();
    if causes.is_empty() && comparison.verdict == Some(VerdictKind::Inconclusive) {
        causes.push(Cause::Noise);
    }
    causes
}

fn few_tasks(comparison: &Comparison) -> Option<Cause> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the number of tasks"
    )]
    let units =
        comparison.effective_clusters.map_or(comparison.tasks, |units| (units + EQUAL).floor() as usize);
    (units < FEWEST_TASKS).then_some(Cause::FewTasks { units, needed: FEWEST_TASKS })
}

fn needs_network(gathered: &Gathered) -> Option<Cause> {
    let tasks: BTreeSet<String> = gathered
        .excluded
        .iter()
        .filter(|excluded| excluded.reason.contains(NEEDS_NETWORK))
        .map(|excluded| excluded.task.clone())
        .collect();
    (!tasks.is_empty()).then(|| Cause::NeedsNetwork { tasks: tasks.into_iter().collect() })
}

pub(crate) fn not_opened(run: &RunFolder, arm: &Arm, table: &Table) -> Option<Cause> {
    if run.role_of(&arm.condition) != ConditionRole::Curated || arm.trials == 0 {
        return None;
    }
    let shares = arm.exposure.filter(|shares| shares.offered > 0.0 && shares.opened < NOTICED)?;
    let unopened = table
        .cells
        .get(&arm.condition)
        .into_iter()
        .flat_map(|tasks| tasks.values())
        .flat_map(crate::table::Slot::valid)
        .find(|result| result.exposure.is_some_and(|stages| !stages[3]));
    Some(Cause::NotOpened { opened: shares.opened, trial: unopened.map(|result| result.trial.clone()) })
}

/// The compared tasks, in the order of [`compared_tasks`].
fn task_names<'a>(table: &'a Table, comparison: &Comparison) -> Vec<&'a str> {
    let shared = table.shared_tasks();
    let executed = table.executed_tasks();
    let base = table.cells.get(&comparison.baseline);
    let arm = table.cells.get(&comparison.condition).into_iter().flatten();
    arm.map(|(task, _)| task.as_str())
        .filter(|task| {
            executed.contains(task)
                && shared.contains(task)
                && base.is_some_and(|base| base.contains_key(*task))
        })
        .collect()
}

fn opposite(tasks: &[PairedTask], names: &[&str], table: &Table, comparison: &Comparison) -> Option<Cause> {
    let found = opposite_effects(tasks)?;
    let named = |indices: &[usize]| -> Vec<String> {
        indices.iter().filter_map(|at| names.get(*at)).map(|name| (*name).to_owned()).collect()
    };
    let worse = named(&found.worse);
    let trial = worse.first().and_then(|task| lowest_trial(table, &comparison.condition, task));
    Some(Cause::OppositeEffects { better: named(&found.better), worse, trial })
}

/// The trial of a task with the lowest score, the first of several.
pub(crate) fn lowest_trial(table: &Table, condition: &str, task: &str) -> Option<TrialId> {
    let slot = table.cells.get(condition)?.get(task)?;
    let score = |result: &&crate::result::TrialResult| result.score.unwrap_or(0.0);
    let lowest = slot.valid().min_by(|one, other| score(one).total_cmp(&score(other)))?;
    Some(lowest.trial.clone())
}

fn partial_credit(run: &RunFolder, comparison: &Comparison) -> Option<Cause> {
    let (lift, pass_rate_lift) = comparison.lift.zip(comparison.pass_rate_lift)?;
    let hides = pass_rate_lift.abs() > run.margin && pass_rate_lift.abs() - lift.abs() > run.margin;
    hides.then_some(Cause::PartialCredit { pass_rate_lift })
}
