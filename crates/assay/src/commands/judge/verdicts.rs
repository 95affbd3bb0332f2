//! Tables of verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use assay_table::{TableReader, Value};

use crate::failure::Failure;

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
    /// Columns that may be absent.
    pub optional: Vec<&'a str>,
}

/// Numbers of clusters by their names, common to several tables.
pub type ClusterNumbers = BTreeMap<String, usize>;

/// Reads the rows of a table.
pub fn read(
    path: &Path,
    columns: &VerdictColumns<'_>,
    clusters: &mut ClusterNumbers,
) -> Result<Vec<VerdictRow>, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::bad_input(error.to_string());
    let mut reader = TableReader::open(path).map_err(|error| bad(&error))?;
    let mut rows = Vec::new();
    while let Some(row) = reader.next() {
        let row = row.map_err(|error| bad(&error))?;
        let names = reader.columns();
        let get = |name: &str| {
            let at = names.iter().position(|column| column == name)?;
            row.values.get(at).and_then(text)
        };
        let by: Vec<String> = columns.by.iter().filter_map(|name| get(name)).collect();
        let cluster = columns.cluster.and_then(get).map(|name| {
            let next = clusters.len();
            *clusters.entry(name).or_insert(next)
        });
        rows.push(VerdictRow {
            label: columns.label.and_then(get),
            verdict: get(columns.verdict),
            second: columns.second.and_then(get),
            by: (!by.is_empty() && by.len() == columns.by.len()).then(|| by.join(" / ")),
            cluster,
        });
    }
    let named = [Some(columns.verdict), columns.label, columns.second, columns.cluster].into_iter().flatten();
    let mut needed = named.chain(columns.by.iter().copied()).filter(|name| !columns.optional.contains(name));
    if let Some(missing) = needed.find(|name| !reader.columns().iter().any(|column| column == name)) {
        let known: Vec<String> = reader.columns().iter().map(|name| format!("`{name}`")).collect();
        let failure = Failure::bad_input(format!("{}: no column `{missing}`", path.display()));
        return Err(failure.hint(format!("the table has {}", known.join(", "))));
    }
    let cluster = columns.cluster.filter(|name| !columns.optional.contains(name));
    let without = rows.iter().position(|row| row.cluster.is_none());
    if let Some((name, at)) = cluster.zip(without) {
        let row = at + 1;
        return Err(Failure::bad_input(format!(
            "{}: row {row}: no value in column `{name}`",
            path.display()
        )));
    }
    Ok(rows)
}

/// Whether the table has the column.
pub(in crate::commands) fn has_column(path: &Path, name: &str) -> Result<bool, Failure> {
    let mut reader = TableReader::open(path).map_err(|error| Failure::bad_input(error.to_string()))?;
    // The columns of JSON Lines are known from the rows.
    for row in reader.by_ref() {
        row.map_err(|error| Failure::bad_input(error.to_string()))?;
    }
    Ok(reader.columns().iter().any(|column| column == name))
}

fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => text.trim().to_owned(),
    };
    (!text.is_empty()).then_some(text)
}

/// The category that means *met*, of those that occur: `true` after [`as_booleans`], else `1`.
pub(in crate::commands) fn positive(categories: &BTreeSet<String>) -> Option<&'static str> {
    let is = |word: &&str| categories.contains(*word);
    ["true", "1"].into_iter().find(is).filter(|_| categories.len() <= 2)
}

/// Replaces the words for met and not met by `true` and `false`, if no other word occurs.
pub fn as_booleans(rows: &mut [VerdictRow]) -> BTreeSet<String> {
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
