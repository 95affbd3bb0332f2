//! Task by task.

use assay_store::{Outcome, RunFolder};

use crate::model::{TaskArm, TaskRow};
use crate::table::{Slot, Table};

pub(crate) fn rows(run: &RunFolder, tables: &[Table]) -> Vec<TaskRow> {
    let mut rows = Vec::new();
    for table in tables {
        for task in &run.tasks {
            let arms: Vec<TaskArm> = run
                .conditions
                .iter()
                .filter_map(|condition| Some((condition, table.cells.get(condition)?.get(&task.name)?)))
                .map(|(condition, slot)| arm(run, table, &task.name, condition, slot))
                .collect();
            if !arms.is_empty() {
                rows.push(TaskRow {
                    task: task.name.clone(),
                    who: table.who.clone(),
                    difficulty: task.difficulty.clone(),
                    category: task.category.clone(),
                    arms,
                });
            }
        }
    }
    rows
}

fn arm(run: &RunFolder, table: &Table, task: &str, condition: &str, slot: &Slot) -> TaskArm {
    let baseline = run.conditions.first().filter(|baseline| *baseline != condition);
    let base = baseline.and_then(|baseline| table.cells.get(baseline)?.get(task)).and_then(Slot::score);
    let own = slot.score();
    TaskArm {
        condition: condition.to_owned(),
        trials: slot.valid().count(),
        passed: slot.valid().filter(|record| record.outcome == Outcome::Passed).count(),
        pass_rate: slot.pass_rate(),
        score: own,
        lift: own.zip(base).map(|(own, base)| own - base),
        infrastructure: slot.results.iter().filter(|record| !record.outcome.counts()).count(),
    }
}
