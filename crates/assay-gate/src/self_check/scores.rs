//! The scores that a check of a gate divides: those of a store's runs, or of a table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assay_store::{RunOutcomes, Store, StoreError};
use assay_table::{ReadError, TableReader, Value};

/// The scores of an arm: by task, then by measurement (all one without such a column).
pub(super) type ScoredArm = BTreeMap<String, BTreeMap<String, Vec<f64>>>;

/// The scores by group (such as a skill) and arm.
#[derive(Debug, Default)]
pub struct ScoreGroups(pub(super) BTreeMap<String, BTreeMap<String, ScoredArm>>);

/// Why a gate cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum SelfCheckError {
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] ReadError),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The range of scores is invalid.
    #[error("`--range {0}` is not LOW..HIGH")]
    Range(String),
    /// The table lacks a column.
    #[error("{}: no column `{column}`", path.display())]
    NoColumn {
        /// The table.
        path: PathBuf,
        /// The column.
        column: String,
    },
    /// No arm can be divided.
    #[error("no arm has five tasks with two trials each: nothing to check")]
    Nothing,
}

impl ScoreGroups {
    /// The scores of every run of a store: agents and conditions are arms.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn of_store(store: &Store) -> Result<Self, SelfCheckError> {
        let mut groups = Self::default();
        for name in store.run_names() {
            let run = store.run(&name)?;
            let outcomes = RunOutcomes::read(store, &run)?;
            let arms = groups.0.entry(name.clone()).or_default();
            let mut cells: Vec<_> = run.cells.iter().collect();
            cells.sort_by_key(|cell| cell.repetition);
            for cell in cells {
                let record = store.record(&cell.trial)?;
                let Some(score) = record.and_then(|record| outcomes.value(&record)) else { continue };
                let arm =
                    arms.entry(format!("{} {}", run.agents[cell.agent].name(), cell.condition)).or_default();
                arm.entry(cell.task.clone()).or_default().entry(String::new()).or_default().push(score);
            }
        }
        Ok(groups)
    }

    /// The scores of a table with a row for each trial. `arms` is the column whose values are compared, and `range` has the
    /// lowest and the highest possible score, as `LOW..HIGH`.
    ///
    /// # Errors
    /// The range is invalid, or the table cannot be read or lacks a column.
    pub fn of_table(path: &Path, arms: &str, range: &str) -> Result<Self, SelfCheckError> {
        let limits = range.split_once("..").and_then(|(low, high)| {
            let (low, high): (f64, f64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
            (low < high && low.is_finite() && high.is_finite()).then_some((low, high))
        });
        let (low, high) = limits.ok_or_else(|| SelfCheckError::Range(range.to_owned()))?;
        let mut reader = TableReader::open(path)?;
        let mut groups = Self::default();
        while let Some(row) = reader.next() {
            let row = row?;
            let columns = reader.columns();
            for name in ["task", "score", arms] {
                if !columns.iter().any(|column| column == name) {
                    return Err(SelfCheckError::NoColumn { path: path.to_owned(), column: name.to_owned() });
                }
            }
            let get = |name: &str| {
                columns.iter().position(|column| column == name).and_then(|at| row.values.get(at))
            };
            let text = |name: &str| match get(name) {
                Some(Value::Text(text)) => Some(text.clone()),
                Some(Value::Integer(number)) => Some(number.to_string()),
                _ => None,
            };
            let score = get("score").and_then(Value::as_f64).map(|score| (score - low) / (high - low));
            let (Some(task), Some(arm), Some(score)) =
                (text("task"), text(arms), score.filter(|score| (0.0..=1.0).contains(score)))
            else {
                continue;
            };
            let measurement = match (text("commit"), text("entry")) {
                (Some(commit), Some(entry)) => format!("{commit} {entry}"),
                _ => String::new(),
            };
            let group = text("skill").unwrap_or_default();
            let cells = groups.0.entry(group).or_default().entry(arm).or_default().entry(task).or_default();
            cells.entry(measurement).or_default().push(score);
        }
        Ok(groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_or_say_what_they_lack() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trials.csv");
        let read = |text: &str, range: &str| {
            std::fs::write(&path, text).unwrap();
            ScoreGroups::of_table(&path, "model", range).map_err(|error| error.to_string())
        };
        let good = "skill,model,task,score\npdf,a,t1,50\npdf,a,t1,100\npdf,b,t1,200\n";
        // What lies outside of the range is no score.
        let groups = read(good, "0..100").unwrap().0;
        assert_eq!(groups["pdf"].len(), 1, "{groups:?}");
        assert_eq!(groups["pdf"]["a"]["t1"][""], [0.5, 1.0]);
        let check = |text: &str, range: &str, expected: &str| {
            let error = read(text, range).unwrap_err();
            assert!(error.ends_with(expected), "{error}");
        };
        check(good, "1..0", "`--range 1..0` is not LOW..HIGH");
        check(good, "x", "`--range x` is not LOW..HIGH");
        check("model,task\na,t1\n", "0..1", "trials.csv: no column `score`");
        check("task,score\nt1,1\n", "0..1", "trials.csv: no column `model`");
    }
}
