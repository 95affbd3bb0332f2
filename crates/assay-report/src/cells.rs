//! What cells of several tables say.

use assay_analysis::AgentKey;

use crate::doc::Cell;
use crate::labels::Labels;
use crate::links::Target;

pub(crate) const NONE: &str = "–";

pub(crate) fn or_none<T>(figure: Option<T>, words: impl FnOnce(T) -> String) -> Cell {
    figure.map_or_else(|| NONE.to_owned(), words).into()
}

/// The trials of a task under a condition.
pub(crate) fn in_cell(task: &str, who: &AgentKey, condition: &str) -> Target {
    Target::Cell { task: task.to_owned(), who: who.clone(), condition: condition.to_owned() }
}

/// Links a cell, counted from the end of a row.
pub(crate) fn link_last(cells: &mut [Cell], from_end: usize, target: Target) {
    if let Some(at) = cells.len().checked_sub(from_end) {
        cells[at] = cells[at].clone().link(target);
    }
}

/// The heading of scores. If all scores are 0 or 1, they are pass rates.
pub(crate) fn rate_name(labels: &Labels) -> &'static str {
    if labels.fractional() { "score" } else { "pass rate" }
}

pub(crate) fn plus_minus(figure: f64) -> String {
    format!("±{:.0}", 100.0 * figure)
}
