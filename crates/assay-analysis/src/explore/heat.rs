//! Task by arm.

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
    /// From the largest gain to the largest loss; tasks without one come last, by name.
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
    /// The difference that it is ordered by.
    pub lift: Option<f64>,
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
            Some(HeatRow { task: task.name.clone(), pass_rates, scores, lift })
        })
        .collect();
    rows.sort_by(|one, other| {
        let key = |row: &HeatRow| row.lift.unwrap_or(f64::NEG_INFINITY);
        key(other).total_cmp(&key(one)).then_with(|| one.task.cmp(&other.task))
    });
    HeatMap {
        who: table.who.clone(),
        conditions: conditions.into_iter().cloned().collect(),
        sorted_by: sorted_by.cloned(),
        rows,
    }
}
