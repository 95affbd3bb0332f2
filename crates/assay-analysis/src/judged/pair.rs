//! Two conditions side by side, in what judges decided.

use std::collections::BTreeMap;

use assay_store::RunFolder;
use serde::Serialize;

use crate::delivered::is_undelivered;
use crate::model::{AgentKey, Comparison};
use crate::result::TrialResult;
use crate::table::Table;

/// What two conditions of a table have in common: for each task, the values of the baseline and of the condition.
pub(super) fn paired<'a>(
    table: &'a Table,
    baseline: &str,
    condition: &str,
    value: impl Fn(&TrialResult) -> Option<f64>,
) -> BTreeMap<&'a str, [Vec<f64>; 2]> {
    let mut tasks = BTreeMap::new();
    let (Some(base), Some(arm)) = (table.cells.get(baseline), table.cells.get(condition)) else {
        return tasks;
    };
    for (task, slot) in arm {
        let Some(base) = base.get(task) else { continue };
        let values = [base, slot].map(|slot| slot.valid().filter_map(&value).collect::<Vec<f64>>());
        if values.iter().all(|values| !values.is_empty()) {
            tasks.insert(task.as_str(), values);
        }
    }
    tasks
}

/// The mean over tasks of the means of their trials, without and with.
pub(super) fn means(tasks: &BTreeMap<&str, [Vec<f64>; 2]>) -> Option<[f64; 2]> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let of = |which: usize| mean(&tasks.values().map(|values| mean(&values[which])).collect::<Vec<_>>());
    (!tasks.is_empty()).then(|| [of(0), of(1)])
}

/// Who a row is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Agent, model and sandbox.
    #[serde(flatten)]
    pub who: AgentKey,
    /// The baseline.
    pub baseline: String,
    /// The condition.
    pub condition: String,
}

/// The share of a condition's trials that had its treatment, if it is too small to say anything of it.
pub(crate) fn undelivered_share(comparisons: &[Comparison], pair: &Pair) -> Option<f64> {
    let own = comparisons.iter().find(|one| one.who == pair.who && one.condition == pair.condition)?;
    own.delivered.filter(|share| is_undelivered(Some(*share)))
}

/// Every agent with every condition that is compared with its baseline.
pub(crate) fn pairs<'a>(run: &'a RunFolder, tables: &'a [Table]) -> Vec<(&'a Table, Pair)> {
    let Some((baseline, others)) = run.conditions.split_first() else { return Vec::new() };
    let tables = tables.iter().filter(|table| table.is_usable(baseline));
    tables
        .flat_map(|table| {
            let usable = others.iter().filter(|condition| table.is_usable(condition));
            usable.map(move |condition| {
                let pair =
                    Pair { who: table.who.clone(), baseline: baseline.clone(), condition: condition.clone() };
                (table, pair)
            })
        })
        .collect()
}
