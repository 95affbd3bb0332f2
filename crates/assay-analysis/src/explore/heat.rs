//! Task by arm.

use std::collections::BTreeMap;

use assay_stats::PairedTask;
use assay_store::RunFolder;
use serde::Serialize;

use crate::model::AgentKey;
use crate::table::{Slot, Table};

/// The pass rates and mean scores of one agent in one sandbox.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatMap {
    /// Whose results these are.
    #[serde(flatten)]
    pub who: AgentKey,
    /// In the plan's order; the first is the baseline.
    pub conditions: Vec<String>,
    /// The condition by whose lift the rows are ordered; `null` if there is only a baseline.
    pub sorted_by: Option<String>,
    /// From the largest gain to the largest loss, by `shrunk_lift` where it is known; tasks without one come last, by name.
    pub rows: Vec<HeatRow>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeatRow {
    /// The task.
    pub task: String,
    /// Its pass rates, in the order of `conditions`; `null` without a valid trial.
    pub pass_rates: Vec<Option<f64>>,
    /// Its mean scores, likewise.
    pub scores: Vec<Option<f64>>,
    /// The difference of scores.
    pub lift: Option<f64>,
    /// The same, shrunk towards the mean of all tasks; `null` if it is unknown how much of the variance comes from trials.
    pub shrunk_lift: Option<f64>,
}

pub(super) fn heat(run: &RunFolder, tables: &[Table]) -> Vec<HeatMap> {
    tables.iter().map(|table| map(run, table)).collect()
}

fn map(run: &RunFolder, table: &Table) -> HeatMap {
    let baseline = run.conditions.first().filter(|baseline| table.cells.contains_key(*baseline));
    let conditions: Vec<&String> =
        run.conditions.iter().filter(|condition| table.cells.contains_key(*condition)).collect();
    let sorted_by = baseline.and_then(|_| conditions.get(1).copied());
    let mut rows: Vec<HeatRow> = run
        .tasks
        .iter()
        .filter_map(|task| {
            let slots: Vec<_> =
                conditions.iter().map(|condition| table.cells[*condition].get(&task.name)).collect();
            // Tasks without a cell in this table belong to another table.
            slots.iter().any(Option::is_some).then_some(())?;
            let each = |figure: fn(&Slot) -> Option<f64>| -> Vec<Option<f64>> {
                slots.iter().map(|slot| slot.and_then(figure)).collect()
            };
            let (pass_rates, scores) = (each(Slot::pass_rate), each(Slot::score));
            let score = |at: usize| scores.get(at).copied().flatten();
            let lift = sorted_by.and_then(|_| Some(score(1)? - score(0)?));
            Some(HeatRow { task: task.name.clone(), pass_rates, scores, lift, shrunk_lift: None })
        })
        .collect();
    if let (Some(baseline), Some(condition)) = (baseline, sorted_by) {
        shrink(&mut rows, &table.cells[baseline], &table.cells[condition]);
    }
    rows.sort_by(|one, other| {
        let key = |row: &HeatRow| row.shrunk_lift.or(row.lift).unwrap_or(f64::NEG_INFINITY);
        key(other).total_cmp(&key(one)).then_with(|| one.task.cmp(&other.task))
    });
    HeatMap {
        who: table.who.clone(),
        conditions: conditions.into_iter().cloned().collect(),
        sorted_by: sorted_by.cloned(),
        rows,
    }
}

/// Shrinks the lifts of the tasks that have one.
fn shrink(rows: &mut [HeatRow], bases: &BTreeMap<String, Slot>, arms: &BTreeMap<String, Slot>) {
    let scores =
        |cells: &BTreeMap<String, Slot>, task: &str| cells.get(task).map(Slot::scores).unwrap_or_default();
    let tasks: Vec<PairedTask> = rows
        .iter()
        .map(|row| PairedTask { arm: scores(arms, &row.task), base: scores(bases, &row.task), cluster: None })
        .collect();
    for (row, shrunk) in rows.iter_mut().zip(assay_stats::shrunk_lifts(&tasks).into_iter().flatten()) {
        row.shrunk_lift = shrunk;
    }
}
