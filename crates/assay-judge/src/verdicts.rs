//! Tables of verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assay_table::{ReadError, TableReader};

use crate::cells::cell_text;

/// Words for the two values of an item, by what they say.
const MET: [&str; 7] = ["true", "yes", "met", "pass", "passed", "satisfied", "1"];
const NOT_MET: [&str; 8] = ["false", "no", "not met", "not-met", "fail", "failed", "unsatisfied", "0"];

/// One row. What is absent, null or empty is `None`.
#[derive(Debug, Default)]
pub struct VerdictRow {
    /// What a person says.
    pub label: Option<String>,
    /// What a judge says.
    pub verdict: Option<String>,
    /// What another person says.
    pub second: Option<String>,
    /// The group of the row.
    pub by: Option<String>,
    /// Number of the cluster, by its name.
    pub cluster: Option<usize>,
    /// What the item is called.
    pub item: Option<String>,
    /// How many items its label counts for.
    pub weight: Option<f64>,
}

/// The columns to read.
#[derive(Debug, Default)]
pub struct VerdictColumns<'a> {
    /// What a person says.
    pub label: Option<&'a str>,
    /// What a judge says.
    pub verdict: &'a str,
    /// What another person says.
    pub second: Option<&'a str>,
    /// Columns whose values name the group of a row.
    pub by: Vec<&'a str>,
    /// The cluster of a row.
    pub cluster: Option<&'a str>,
    /// The name of an item, unique within its group and cluster.
    pub item: Option<&'a str>,
    /// 1/the probability with which an item was drawn, as `assay judge export --sample` writes it.
    pub weight: Option<&'a str>,
    /// Columns that may be absent.
    pub optional: Vec<&'a str>,
}

/// Numbers of clusters by their names, common to several tables.
pub type ClusterNumbers = BTreeMap<String, usize>;

/// Why a table of verdicts cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerdictTableError {
    /// The table cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A column that is needed is not there.
    #[error("{}: no column `{column}`", path.display())]
    NoColumn {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
        /// The columns that are there.
        columns: Vec<String>,
    },
    /// A row has no cluster.
    #[error("{}: row {row}: no value in column `{column}`", path.display())]
    NoCluster {
        /// The table.
        path: PathBuf,
        /// From 1.
        row: usize,
        /// The column with the clusters.
        column: String,
    },
    /// A weight that is none.
    #[error("{}: row {row}: the weight `{weight}` is not a number above 0", path.display())]
    BadWeight {
        /// The table.
        path: PathBuf,
        /// From 1.
        row: usize,
        /// What is there.
        weight: String,
    },
    /// Verdicts that are neither met nor not met.
    #[error("{}: verdicts must be true or false, not {}", path.display(), words.join(", "))]
    NotBoolean {
        /// The table.
        path: PathBuf,
        /// Some of the words that occur, in backticks.
        words: Vec<String>,
    },
    /// Labels or verdicts of a calibration set that are neither met nor not met.
    #[error("{}: labels and verdicts must be true or false", path.display())]
    LabelNotBoolean {
        /// The table.
        path: PathBuf,
    },
    /// No row has a verdict.
    #[error("{}: no verdicts", path.display())]
    NoVerdicts {
        /// The table.
        path: PathBuf,
    },
    /// No row has both a label and a verdict.
    #[error("{}: no row has both a label in `{label}` and a verdict in `{verdict}`", path.display())]
    NothingToCompare {
        /// The table.
        path: PathBuf,
        /// The column with the labels.
        label: String,
        /// The column with the verdicts.
        verdict: String,
    },
    /// No row of a calibration set has both.
    #[error("{}: no row has a value in `{label}` and in `{verdict}`", path.display())]
    NoLabeledRow {
        /// The table.
        path: PathBuf,
        /// The column with the labels.
        label: String,
        /// The column with the verdicts.
        verdict: String,
    },
}

/// Reads the rows of a table.
///
/// # Errors
/// The table cannot be read, or misses a column or a cluster.
pub fn read_verdicts(
    path: &Path,
    columns: &VerdictColumns<'_>,
    clusters: &mut ClusterNumbers,
) -> Result<Vec<VerdictRow>, VerdictTableError> {
    let mut reader = TableReader::open(path)?;
    let mut rows = Vec::new();
    while let Some(row) = reader.next() {
        let row = row?;
        let names = reader.columns();
        let get = |name: &str| {
            let at = names.iter().position(|column| column == name)?;
            row.values.get(at).and_then(cell_text).map(|text| text.trim().to_owned())
        };
        let by: Vec<String> = columns.by.iter().filter_map(|name| get(name)).collect();
        let cluster = columns.cluster.and_then(get).map(|name| {
            let next = clusters.len();
            *clusters.entry(name).or_insert(next)
        });
        let weight = columns.weight.and_then(get).map(|text| {
            let number = text.parse::<f64>().ok().filter(|weight| *weight > 0.0 && weight.is_finite());
            number.ok_or(VerdictTableError::BadWeight {
                path: path.to_owned(),
                row: rows.len() + 1,
                weight: text,
            })
        });
        rows.push(VerdictRow {
            item: columns.item.and_then(get),
            weight: weight.transpose()?,
            label: columns.label.and_then(get),
            verdict: get(columns.verdict),
            second: columns.second.and_then(get),
            by: (!by.is_empty() && by.len() == columns.by.len()).then(|| by.join(" / ")),
            cluster,
        });
    }
    let named = [Some(columns.verdict), columns.label, columns.second, columns.cluster, columns.item];
    let named = named.into_iter().flatten();
    let mut needed = named.chain(columns.by.iter().copied()).filter(|name| !columns.optional.contains(name));
    if let Some(missing) = needed.find(|name| !reader.columns().iter().any(|column| column == name)) {
        return Err(VerdictTableError::NoColumn {
            path: path.to_owned(),
            column: missing.to_owned(),
            columns: reader.columns().to_vec(),
        });
    }
    let cluster = columns.cluster.filter(|name| !columns.optional.contains(name));
    let without = rows.iter().position(|row| row.cluster.is_none());
    if let Some((name, at)) = cluster.zip(without) {
        let (path, column) = (path.to_owned(), name.to_owned());
        return Err(VerdictTableError::NoCluster { path, row: at + 1, column });
    }
    Ok(rows)
}

/// Whether the table has the column.
///
/// # Errors
/// The table cannot be read.
pub fn has_column(path: &Path, name: &str) -> Result<bool, ReadError> {
    let mut reader = TableReader::open(path)?;
    // The columns of JSON Lines are known from the rows.
    for row in reader.by_ref() {
        row?;
    }
    Ok(reader.columns().iter().any(|column| column == name))
}

/// The category that means *met*, of those that occur: `true` after [`use_booleans`], else `1`.
pub(crate) fn positive_category(categories: &BTreeSet<String>) -> Option<&'static str> {
    let is = |word: &&str| categories.contains(*word);
    ["true", "1"].into_iter().find(is).filter(|_| categories.len() <= 2)
}

/// An item with what a person and a judge say of it.
#[derive(Debug, Clone, PartialEq)]
pub struct LabeledItem {
    /// What the person says.
    pub label: bool,
    /// What the judge says; `None` if it could not decide.
    pub verdict: Option<bool>,
    /// Number of its cluster.
    pub cluster: Option<usize>,
    /// Its condition.
    pub condition: Option<String>,
    /// Its name.
    pub item: Option<String>,
    /// How many items its label counts for.
    pub weight: Option<f64>,
}

/// Reads a calibration set: a table with a label and a verdict for each item. Columns `condition`, `task`, `item` and
/// `weight` are used if they are there.
///
/// # Errors
/// The table cannot be read, or has no row with a label and a verdict that are true or false.
pub fn read_labeled_items(
    table: &Path,
    label: &str,
    verdict: &str,
) -> Result<Vec<LabeledItem>, VerdictTableError> {
    let by = has_column(table, "condition")?.then_some("condition");
    let cluster = has_column(table, "task")?.then_some("task");
    let columns = VerdictColumns {
        label: Some(label),
        verdict,
        by: by.into_iter().collect(),
        cluster,
        item: Some("item"),
        weight: Some("weight"),
        optional: by.into_iter().chain(["item"]).collect(),
        ..VerdictColumns::default()
    };
    let mut rows = read_verdicts(table, &columns, &mut ClusterNumbers::new())?;
    let categories = use_booleans(&mut rows);
    let met = positive_category(&categories)
        .ok_or_else(|| VerdictTableError::LabelNotBoolean { path: table.to_owned() })?;
    let items: Vec<LabeledItem> = rows
        .into_iter()
        .filter_map(|row| {
            Some(LabeledItem {
                label: row.label? == met,
                verdict: row.verdict.map(|verdict| verdict == met),
                cluster: row.cluster,
                condition: row.by,
                item: row.item,
                weight: row.weight,
            })
        })
        .collect();
    if items.iter().all(|item| item.verdict.is_none()) {
        let (label, verdict) = (label.to_owned(), verdict.to_owned());
        return Err(VerdictTableError::NoLabeledRow { path: table.to_owned(), label, verdict });
    }
    Ok(items)
}

/// Replaces the words for met and not met by `true` and `false`, if no other word occurs.
pub fn use_booleans(rows: &mut [VerdictRow]) -> BTreeSet<String> {
    let known = |word: &str| {
        let word = word.to_lowercase();
        let met = MET.contains(&word.as_str());
        (met || NOT_MET.contains(&word.as_str())).then_some(met)
    };
    let words = |row: &VerdictRow| {
        [&row.label, &row.verdict, &row.second].into_iter().flatten().cloned().collect::<Vec<_>>()
    };
    let all: BTreeSet<String> = rows.iter().flat_map(words).collect();
    if !all.iter().all(|word| known(word).is_some()) {
        return all;
    }
    for row in rows {
        for word in [&mut row.label, &mut row.verdict, &mut row.second].into_iter().flatten() {
            if let Some(met) = known(word) {
                *word = met.to_string();
            }
        }
    }
    all.iter().filter_map(|word| known(word)).map(|met| met.to_string()).collect()
}
