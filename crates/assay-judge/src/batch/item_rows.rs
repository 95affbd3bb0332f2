//! The rows of a table of items.

use std::path::Path;

use assay_table::{TableReader, Value};

use super::error::BatchTableError;
use crate::cells::cell_text;

/// The columns of a table of items.
#[derive(Debug, Clone)]
pub struct ItemColumns<'a> {
    /// The requirement.
    pub criterion: &'a str,
    /// Material to judge by.
    pub material: &'a [String],
    /// What the candidate was told; `instruction` by default, if there is one.
    pub instruction: Option<&'a str>,
    /// The model that is judged; `model` by default, if there is one.
    pub candidate: Option<&'a str>,
}

/// A row that is judged.
#[derive(Debug)]
pub(super) struct ItemRow {
    /// All columns, as read.
    pub(super) columns: Vec<(String, Value)>,
    pub(super) criterion: String,
    pub(super) material: Vec<(String, String)>,
    pub(super) instruction: String,
    pub(super) candidate: Option<String>,
}

/// Reads the rows of a table.
pub(super) fn read_rows(table: &Path, names: &ItemColumns<'_>) -> Result<Vec<ItemRow>, BatchTableError> {
    let mut reader = TableReader::open(table)?;
    let mut rows = Vec::new();
    while let Some(row) = reader.next() {
        let row = row?;
        let columns: Vec<(String, Value)> = reader.columns().iter().cloned().zip(row.values).collect();
        let get =
            |name: &str| columns.iter().find(|(own, _)| own == name).and_then(|(_, value)| cell_text(value));
        let needed = |name: &str| {
            get(name).ok_or_else(|| BatchTableError::NoValue {
                table: table.to_owned(),
                line: row.line,
                column: name.to_owned(),
                columns: columns.iter().map(|(name, _)| name.clone()).collect(),
            })
        };
        let criterion = needed(names.criterion)?;
        let material = names.material.iter().map(|name| Ok((name.clone(), needed(name)?)));
        let material = material.collect::<Result<Vec<_>, BatchTableError>>()?;
        let instruction = match names.instruction {
            Some(name) => needed(name)?,
            None => get("instruction").unwrap_or_default(),
        };
        let candidate = match names.candidate {
            Some(name) => Some(needed(name)?),
            None => get("model"),
        };
        rows.push(ItemRow { columns, criterion, material, instruction, candidate });
    }
    if rows.is_empty() {
        return Err(BatchTableError::Empty { table: table.to_owned() });
    }
    Ok(rows)
}
