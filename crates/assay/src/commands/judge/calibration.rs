//! Tables of labeled items, by which reports correct the scores of judges.

use std::path::Path;

use assay_analysis::judged::{CalibrationItem, CalibrationSet};
use assay_judge::read_labeled_items;
use clap::ValueEnum as _;

use crate::args::judge::LabelsBy;
use crate::failure::Failure;

/// Reads a table with a label and a verdict for each item.
pub(in crate::commands) fn read_set(
    table: &Path,
    label: &str,
    verdict: &str,
    labels_by: LabelsBy,
) -> Result<CalibrationSet, Failure> {
    let items = read_labeled_items(table, label, verdict)?.into_iter().map(|item| CalibrationItem {
        label: item.label,
        verdict: item.verdict,
        cluster: item.cluster,
        condition: item.condition,
        item: item.item,
        weight: item.weight,
    });
    let name = labels_by.to_possible_value().map(|value| value.get_name().to_owned());
    Ok(CalibrationSet {
        schema: CalibrationSet::SCHEMA.to_owned(),
        source: table.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        labels_by: name.unwrap_or_default(),
        items: items.collect(),
    })
}
