//! The rows of a table of pairs.

use std::collections::BTreeMap;
use std::path::Path;

use assay_diagnostic::clean;
use assay_stats::pairwise::Preference;
use assay_table::{TableReader, Value};

use super::error::BatchTableError;
use crate::cells::cell_text;

/// The columns of a table of pairs.
#[derive(Debug, Clone, Copy)]
pub struct PairColumns<'a> {
    /// One result.
    pub a: &'a str,
    /// The other result.
    pub b: &'a str,
    /// What the candidates were told.
    pub instruction: &'a str,
    /// Criteria to compare by; `criteria` by default, if there is one.
    pub criteria: Option<&'a str>,
    /// The conditions of `a` and `b`; `condition_a` and `condition_b` by default, if there are any.
    pub conditions: [Option<&'a str>; 2],
    /// The models that made `a` and `b`; `model_a`, `model_b` or `model` by default, if there are any.
    pub candidates: [Option<&'a str>; 2],
    /// Whose pairs are not independent; `task` by default, if there is one.
    pub cluster: Option<&'a str>,
    /// The judge of recorded choices; `judge` by default, if there is one.
    pub by: Option<&'a str>,
}

/// What is known of a pair without its judge.
#[derive(Debug, Clone)]
pub(super) struct PairOrigin {
    /// The conditions of `a` and `b`, or the names of their columns.
    pub(super) conditions: [String; 2],
    /// Number of the cluster.
    pub(super) cluster: Option<usize>,
    /// Characters of `a` and `b`.
    pub(super) lengths: Option<[usize; 2]>,
}

/// A row that is judged.
#[derive(Debug)]
pub(super) struct PairRow {
    /// All columns, as read.
    pub(super) columns: Vec<(String, Value)>,
    pub(super) instruction: String,
    pub(super) criteria: String,
    pub(super) results: [String; 2],
    pub(super) candidates: [Option<String>; 2],
    pub(super) origin: PairOrigin,
}

/// A row whose choices are recorded.
#[derive(Debug)]
pub(super) struct RecordedRow {
    pub(super) judge: String,
    /// By order: `a` first, `b` first.
    pub(super) choices: [Option<Preference>; 2],
    pub(super) origin: PairOrigin,
}

/// The columns of one row.
struct Cells<'a> {
    table: &'a Path,
    names: &'a PairColumns<'a>,
    line: u64,
    columns: &'a [(String, Value)],
}

impl Cells<'_> {
    fn get(&self, name: &str) -> Option<String> {
        self.columns.iter().find(|(own, _)| own == name).and_then(|(_, value)| cell_text(value))
    }

    fn needed(&self, name: &str) -> Result<String, BatchTableError> {
        self.get(name).ok_or_else(|| BatchTableError::NoValue {
            table: self.table.to_owned(),
            line: self.line,
            column: name.to_owned(),
            columns: self.columns.iter().map(|(name, _)| name.clone()).collect(),
        })
    }

    /// A named column, which must have a value, or one of those that may be there.
    fn optional(&self, named: Option<&str>, defaults: &[&str]) -> Result<Option<String>, BatchTableError> {
        match named {
            Some(name) => self.needed(name).map(Some),
            None => Ok(defaults.iter().find_map(|name| self.get(name))),
        }
    }

    fn origin(&self, clusters: &mut Clusters) -> Result<PairOrigin, BatchTableError> {
        let names = self.names;
        let [a, b] = names.conditions;
        let conditions = [
            self.optional(a, &["condition_a"])?.unwrap_or_else(|| names.a.to_owned()),
            self.optional(b, &["condition_b"])?.unwrap_or_else(|| names.b.to_owned()),
        ];
        if conditions[0] == conditions[1] {
            return Err(BatchTableError::OneCondition {
                table: self.table.to_owned(),
                line: self.line,
                condition: clean_name(&conditions[0]),
            });
        }
        let cluster = self.optional(names.cluster, &["task"])?;
        Ok(PairOrigin { conditions, cluster: clusters.number(cluster, self)?, lengths: self.lengths() })
    }

    /// Characters of both results, or the recorded ones.
    fn lengths(&self) -> Option<[usize; 2]> {
        let recorded = |name: &str| self.get(name)?.parse::<usize>().ok();
        let of = |result: &str, length: &str| match self.get(result) {
            Some(text) => Some(text.chars().count()),
            None => recorded(length),
        };
        Some([of(self.names.a, "length_a")?, of(self.names.b, "length_b")?])
    }

    fn choice(&self, column: &str) -> Result<Option<Preference>, BatchTableError> {
        let Some(word) = self.get(column) else { return Ok(None) };
        match word.trim().to_lowercase().as_str() {
            "1" | "a" => Ok(Some(Preference::A)),
            "2" | "b" => Ok(Some(Preference::B)),
            "tie" => Ok(Some(Preference::Tie)),
            _ => Err(BatchTableError::NotAChoice {
                table: self.table.to_owned(),
                line: self.line,
                word: clean_name(&word),
                column: column.to_owned(),
            }),
        }
    }
}

fn clean_name(name: &str) -> String {
    clean(name).chars().take(100).collect()
}

/// Numbers of clusters by their names. All rows have one, or none has.
#[derive(Default)]
struct Clusters {
    numbers: BTreeMap<String, usize>,
    without: bool,
}

impl Clusters {
    fn number(&mut self, name: Option<String>, cells: &Cells<'_>) -> Result<Option<usize>, BatchTableError> {
        self.without |= name.is_none();
        if self.without && (name.is_some() || !self.numbers.is_empty()) {
            let (table, line) = (cells.table.to_owned(), cells.line);
            return Err(BatchTableError::MixedClusters { table, line });
        }
        Ok(name.map(|name| {
            let next = self.numbers.len();
            *self.numbers.entry(name).or_insert(next)
        }))
    }
}

/// Reads each row of the table.
fn read_all<T>(
    table: &Path,
    names: &PairColumns<'_>,
    mut row_of: impl FnMut(Cells<'_>, &mut Clusters) -> Result<T, BatchTableError>,
) -> Result<Vec<T>, BatchTableError> {
    let mut reader = TableReader::open(table)?;
    let mut clusters = Clusters::default();
    let mut rows = Vec::new();
    while let Some(row) = reader.next() {
        let row = row?;
        let columns: Vec<(String, Value)> = reader.columns().iter().cloned().zip(row.values).collect();
        rows.push(row_of(Cells { table, names, line: row.line, columns: &columns }, &mut clusters)?);
    }
    if rows.is_empty() {
        return Err(BatchTableError::Empty { table: table.to_owned() });
    }
    Ok(rows)
}

/// Reads pairs to judge.
pub(super) fn read_rows(table: &Path, names: &PairColumns<'_>) -> Result<Vec<PairRow>, BatchTableError> {
    let [candidate_a, candidate_b] = names.candidates;
    read_all(table, names, |cells, clusters| {
        Ok(PairRow {
            columns: cells.columns.to_vec(),
            instruction: cells.needed(names.instruction)?,
            criteria: cells.optional(names.criteria, &["criteria"])?.unwrap_or_default(),
            results: [cells.needed(names.a)?, cells.needed(names.b)?],
            candidates: [
                cells.optional(candidate_a, &["model_a", "model"])?,
                cells.optional(candidate_b, &["model_b", "model"])?,
            ],
            origin: cells.origin(clusters)?,
        })
    })
}

/// Reads recorded choices from two columns.
pub(super) fn read_recorded_rows(
    table: &Path,
    names: &PairColumns<'_>,
    winners: [&str; 2],
) -> Result<Vec<RecordedRow>, BatchTableError> {
    let mut seen = [false; 2];
    let rows = read_all(table, names, |cells, clusters| {
        for (seen, name) in seen.iter_mut().zip(winners) {
            *seen |= cells.columns.iter().any(|(own, _)| own == name);
        }
        Ok(RecordedRow {
            judge: cells.optional(names.by, &["judge"])?.unwrap_or_else(|| "all".to_owned()),
            choices: [cells.choice(winners[0])?, cells.choice(winners[1])?],
            origin: cells.origin(clusters)?,
        })
    })?;
    if let Some((name, _)) = winners.iter().zip(seen).find(|(_, seen)| !seen) {
        return Err(BatchTableError::NoColumn { table: table.to_owned(), column: (*name).to_owned() });
    }
    Ok(rows)
}
