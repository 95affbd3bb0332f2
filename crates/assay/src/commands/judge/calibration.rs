//! Tables of labeled items, by which reports correct the scores of judges.

use std::path::Path;

use assay_analysis::judged::{CalibrationItem, CalibrationSet};
use clap::ValueEnum as _;

use super::verdicts::{ClusterNumbers, VerdictColumns, as_booleans, has_column, positive, read};
use crate::args::judge::LabelsBy;
use crate::failure::Failure;

/// Reads a table with a label and a verdict for each item. Columns `condition` and `task` are used if they are there.
pub(in crate::commands) fn read_set(
    table: &Path,
    label: &str,
    verdict: &str,
    labels_by: LabelsBy,
) -> Result<CalibrationSet, Failure> {
    let by = has_column(table, "condition")?.then_some("condition");
    let cluster = has_column(table, "task")?.then_some("task");
    let columns = VerdictColumns {
        label: Some(label),
        verdict,
        by: by.into_iter().collect(),
        cluster,
        optional: by.into_iter().collect(),
        ..VerdictColumns::default()
    };
    let mut rows = read(table, &columns, &mut ClusterNumbers::new())?;
    let categories = as_booleans(&mut rows);
    let met = positive(&categories).ok_or_else(|| {
        Failure::bad_input(format!("{}: labels and verdicts must be true or false", table.display()))
    })?;
    let items: Vec<CalibrationItem> = rows
        .into_iter()
        .filter_map(|row| {
            Some(CalibrationItem {
                label: row.label? == met,
                verdict: row.verdict? == met,
                cluster: row.cluster,
                condition: row.by,
            })
        })
        .collect();
    if items.is_empty() {
        return Err(Failure::bad_input(format!(
            "{}: no row has a value in `{label}` and in `{verdict}`",
            table.display()
        )));
    }
    let name = labels_by.to_possible_value().map(|value| value.get_name().to_owned());
    Ok(CalibrationSet {
        schema: CalibrationSet::SCHEMA.to_owned(),
        source: table.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        labels_by: name.unwrap_or_default(),
        items,
    })
}
